//! `sinew config`.

use serde_json::Value;

use crate::stage::{Stage, text};

#[track_caller]
fn check(stage: &Stage, args: &[&str], code: i32, stdout: &str, stderr: &str) {
    let ran = stage.run(&[&["config"], args].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), stdout), "{args:?}: {}", ran.stderr);
    assert!(ran.stderr.contains(stderr) && ran.stderr.is_empty() == stderr.is_empty(), "{args:?}: {}", ran.stderr);
}

#[test]
fn config_reads_and_writes_settings() {
    let stage = Stage::new();
    let file = stage.agent().join("settings.json");
    check(&stage, &["path"], 0, &format!("{}\n", file.display()), "");
    check(&stage, &["get", "maxTurns"], 0, "1000\n", "");
    check(&stage, &["set", "maxTurns", "7"], 0, "", "");
    check(&stage, &["get", "maxTurns"], 0, "7\n", "");
    check(&stage, &["set", "defaultModel", "qwen3:8b"], 0, "", "");
    check(&stage, &["get", "defaultModel"], 0, "qwen3:8b\n", "");
    check(&stage, &["set", "defaultModel", "7"], 0, "", "");
    check(&stage, &["get", "defaultModel"], 0, "7\n", "");
    check(&stage, &["set", "modelRoles.fast", "x/y"], 0, "", "");
    check(&stage, &["get", "modelRoles"], 0, "{\n  \"fast\": \"x/y\"\n}\n", "");
    check(&stage, &["set", "env.LANG", "C"], 0, "", "");
    check(&stage, &["get", "env.LANG"], 0, "C\n", "");
    check(&stage, &["set", "excludeTools", "[\"ls\"]"], 0, "", "");
    check(&stage, &["get", "excludeTools"], 0, "[\n  \"ls\"\n]\n", "");
    let all = stage.run(&["config", "get"]);
    let all: serde_json::Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!((&all["maxTurns"], &all["retry"]["maxRetries"]), (&7.into(), &3.into()));
}

/// All keys with defaults.
const DEFAULTS: &str = r#"{
    "defaultThinkingLevel": "medium", "modelRoles": {}, "enabledModels": [], "thinkingBudgets": {},
    "providerTimeouts": {"connectMs": 30000, "idleMs": 300000}, "cacheRetention": "short",
    "excludeTools": [], "toolExecution": "parallel",
    "steeringMode": "one-at-a-time", "followUpMode": "one-at-a-time", "interruptMode": "wait",
    "maxTurns": 1000, "doubleEscapeAction": "tree",
    "retry": {"enabled": true, "maxRetries": 3, "baseDelayMs": 2000, "maxDelayMs": 60000},
    "contextPromotion": {"enabled": false},
    "compaction": {"enabled": true, "reserveTokens": 16384, "keepRecentTokens": 20000, "autoContinue": true},
    "branchSummary": {"enabled": false, "reserveTokens": 16384}, "sessions": {"fsync": "turn"},
    "edit": {"mode": "replace", "fuzzy": true, "streamGuard": false}, "fileGuard": "on",
    "bash": {"timeoutSeconds": 120, "autoBackground": {"thresholdMs": 0}}, "async": {"enabled": false},
    "bashGuard": {"enabled": true, "deny": [], "allow": []}, "bashInterceptor": {"enabled": false, "rules": []},
    "shellPath": "auto", "images": {"autoResize": true, "blockImages": false},
    "fetch": {"enabled": true, "allowPrivate": []}, "search": {"index": "auto"},
    "checkpoint": {"enabled": true, "maxFileBytes": 5000000, "wait": 300}, "ask": {"timeoutSeconds": 0},
    "todo": {"reminders": true, "autoClearSeconds": 60},
    "ttsr": {"enabled": true, "contextMode": "discard", "repeatMode": "once", "repeatGap": 10,
        "interruptMode": "always", "disabledRules": []},
    "task": {"maxDepth": 1, "maxConcurrency": 4, "maxTotal": 100, "maxTurns": 100, "maxTokens": 2000000},
    "acp": {"clientFs": "auto"}, "mcp": {"enabled": true, "enableProjectConfig": true}, "secrets": {"enabled": false},
    "env": {"passThrough": []},
    "skills": {"enabled": true, "enableCommands": true, "directories": [], "include": [], "ignore": [],
        "enableClaude": true},
    "rules": {"enableForeign": false}, "agents": {"enableForeign": false},
    "theme": {"dark": "dark", "light": "light"}, "symbolPreset": "unicode", "colorBlindMode": false,
    "hideThinkingBlock": false, "quietStartup": false, "tui": {
        "mode": "auto", "resize": "screen", "editor": "emacs", "statusRows": 1, "reducedMotion": false, "passthrough": false, "resumeRows": 200, "replayRows": 2000, "title": true, "progress": true, "marks": true, "links": true,
        "notify": "auto", "notifyAfterSeconds": 10, "approvalDelayMs": 400, "linear": {"stream": "line"}, "maxInlineImages": 8
    },
    "notifications": true, "verbose": false, "share": {}, "plan": {"modelMayEnter": false}, "approve": {"outside": "ask"},
    "sandbox": {"write": [], "denyRead": [], "denyWrite": [], "denyExec": [], "fallback": false},
    "lsp": {"formatOnWrite": false, "diagnosticsOnWrite": true}
}"#;

#[test]
fn config_shows_every_default() {
    let ran = Stage::new().run(&["config", "get"]);
    let mut all: Value = serde_json::from_str(&ran.stdout).unwrap();
    without_nulls(&mut all);
    let expect: Value = serde_json::from_str(DEFAULTS).unwrap();
    assert_eq!(all, expect);
}

fn without_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(without_nulls);
    }
}

#[test]
fn config_lists_every_setting_with_its_description() {
    let ran = Stage::new().run(&["config", "list"]);
    let entry =
        "maxTurns\n    Limit of requests to the model per prompt. 0: no limit.\n    a whole number; default 1000\n";
    assert!(ran.code == Some(0) && ran.stdout.contains(entry), "{}", ran.stdout);
    assert!(ran.stdout.contains("    A project can set it only once you trust the project.\n"), "{}", ran.stdout);
}

#[test]
fn config_help_lists_its_commands() {
    let stage = Stage::new();
    for args in [&["config"][..], &["config", "--help"], &["sessions"], &["sessions", "--help"]] {
        let ran = stage.run(args);
        let head = format!("sinew {}: ", args[0]);
        assert!(
            ran.code == Some(0) && ran.stdout.starts_with(&head) && ran.stderr.is_empty(),
            "{args:?}: {}",
            ran.stdout
        );
    }
}

#[test]
fn comments_and_unknown_keys_are_kept() {
    let stage = Stage::new();
    let text = "{\n  // mine\n  \"maxTurns\": 5, /* few */\n  \"own\": [1]\n}\n";
    stage.write("home/agent/settings.json", text);
    check(&stage, &["set", "maxTurns", "6"], 0, "", "");
    check(&stage, &["set", "retry.enabled", "false"], 0, "", "");
    let file = std::fs::read_to_string(stage.agent().join("settings.json")).unwrap();
    let expect =
        "{\n  // mine\n  \"maxTurns\": 6, /* few */\n  \"own\": [1],\n  \"retry\": {\n    \"enabled\": false\n  }\n}\n";
    assert_eq!(file, expect);
    check(&stage, &["get", "maxTurns", "--verbose"], 0, "6\n", "own: unknown key");
}

#[test]
fn invalid_values_are_refused_and_change_nothing() {
    let stage = Stage::new();
    stage.write("home/agent/settings.json", "{oops");
    check(&stage, &["set", "maxTurns", "6"], 3, "", "settings.json: ");
    assert_eq!(std::fs::read_to_string(stage.agent().join("settings.json")).unwrap(), "{oops");
    stage.write("home/agent/settings.json", "{}");
    check(&stage, &["set", "maxTurns", "many"], 2, "", "config set maxTurns: expected a whole number, got \"many\"");
    check(&stage, &["set", "cacheRetention", "ever"], 2, "", "expected one of none, short, long");
    check(&stage, &["set", "maxturns", "3"], 2, "", "unknown key; did you mean maxTurns?");
    check(&stage, &["set", "retry.enabeld", "false"], 2, "", "did you mean retry.enabled?");
    check(&stage, &["set", "enabledmodel", "[]"], 2, "", "did you mean enabledModels?");
    check(&stage, &["get", "retries"], 2, "", "config get retries: unknown key");
    check(&stage, &["set", "retry", "3"], 2, "", "expected an object");
    check(&stage, &["set", "thinkingBudgets.high", "much"], 2, "", "expected a whole number");
    check(&stage, &["set", "thinkingBudgets.hight", "3"], 2, "", "unknown key");
    check(&stage, &["set", "ttsr.repeatMode", "often"], 2, "", "expected one of once, after-gap");
    check(&stage, &["set", "maxTurns"], 2, "", "use sinew config get [KEY]");
    assert_eq!(std::fs::read_to_string(stage.agent().join("settings.json")).unwrap(), "{}");
}

#[test]
fn concurrent_writers_keep_each_others_settings() {
    let stage = Stage::new();
    std::thread::scope(|scope| {
        for (key, value) in
            [("maxTurns", "1"), ("retry.maxRetries", "2"), ("modelRoles.fast", "x"), ("ask.timeoutSeconds", "4")]
        {
            let stage = &stage;
            scope.spawn(move || check(stage, &["set", key, value], 0, "", ""));
        }
    });
    for (key, value) in
        [("maxTurns", "1\n"), ("retry.maxRetries", "2\n"), ("modelRoles.fast", "x\n"), ("ask.timeoutSeconds", "4\n")]
    {
        check(&stage, &["get", key], 0, value, "");
    }
}

#[test]
fn a_setting_without_effect_is_reported_by_name() {
    let stage = Stage::scripted(&[text("B")]);
    let told = "Warning: lsp.formatOnWrite: no effect yet: this version does not have language servers\n";
    check(&stage, &["set", "lsp.formatOnWrite", "true"], 0, "", told);
    check(&stage, &["set", "lsp", "{\"formatOnWrite\": true}"], 0, "", told);
    // Null does not set a value.
    stage.write(
        "home/agent/settings.json",
        r#"{"lsp": {"formatOnWrite": true}, "colorBlindMode": true, "quietStartup": null}"#,
    );
    let file = stage.agent().join("settings.json");
    let ran = stage.play(&["-p", "go"]);
    let expect = told.replace("lsp.", &format!("{}: lsp.", file.display()));
    assert_eq!((ran.code, ran.stderr), (Some(0), expect));
}
