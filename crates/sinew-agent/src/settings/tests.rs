use serde_json::json;

use super::*;

#[track_caller]
fn warned(text: &str, source: Source, expect: &[&str]) -> Settings {
    let layer = read(text, "s.json", source).unwrap();
    assert_eq!(layer.warnings, expect, "{text}");
    let mut settings = Settings::default();
    settings.merge(layer.values);
    settings
}

#[test]
fn each_default_has_the_type_of_its_key() {
    for (at, key) in KEYS.iter().enumerate() {
        assert!(key.default.is_empty() || key.kind.refusal(&key.default_value()).is_none(), "{}", key.path);
        assert!(KEYS[..at].iter().all(|other| other.path != key.path), "{}", key.path);
    }
    let settings = Settings::default();
    let agent = settings.agent();
    assert_eq!((agent.run.max_turns, agent.retry, agent.compaction), {
        (200, RetrySettings::default(), CompactionSettings::default())
    });
    assert_eq!(settings.tools(), tools::Settings::default());
}

#[test]
fn a_wrong_type_is_named_and_the_rest_applies() {
    let settings = warned(
        r#"{"maxTurns": "many", "retry": {"enabled": 1, "maxRetries": 5}, "todo": 3, "cacheRetention": "ever",
            "modelRoles": {"fast": 3, "slow": "x"}, "thinkingBudgets": {"high": "2k", "low": 9}, "ttsr": {"enabled": "no"}}"#,
        Source::User,
        &[
            r#"s.json: maxTurns: expected a whole number, got "many""#,
            "s.json: retry.enabled: expected true or false, got 1",
            "s.json: todo: expected an object, got 3",
            r#"s.json: cacheRetention: expected one of none, short, long, got "ever""#,
            "s.json: modelRoles.fast: expected a text, got 3",
            r#"s.json: thinkingBudgets.high: expected a whole number, got "2k""#,
            r#"s.json: ttsr.enabled: expected true or false, got "no""#,
        ],
    );
    assert_eq!(settings.number("retry.maxRetries"), 5);
    assert_eq!(settings.number("maxTurns"), 200);
    assert!(settings.flag("retry.enabled") && settings.flag("ttsr.enabled"));
    assert_eq!(settings.names("modelRoles"), [("slow".to_string(), "x".to_string())]);
    assert_eq!(settings.agent().thinking_budgets.into_iter().collect::<Vec<_>>(), [(ThinkingLevel::Low, 9)]);
}

#[test]
fn layers_merge_deeply_and_lists_replace() {
    let mut settings = Settings::default();
    for value in [
        json!({"retry": {"maxRetries": 1, "baseDelayMs": 5}, "excludeTools": ["a", "b"]}),
        json!({"retry": {"maxRetries": 2}, "excludeTools": ["c"], "defaultModel": "x"}),
        json!({"defaultModel": null}),
    ] {
        let Value::Object(values) = value else { unreachable!() };
        settings.merge(values);
    }
    settings.set("modelRoles.fast", json!("y"));
    let found = (settings.number("retry.maxRetries"), settings.number("retry.baseDelayMs"));
    assert_eq!(found, (2, 5));
    assert_eq!(settings.texts("excludeTools"), ["c"]);
    assert_eq!(settings.text("defaultModel"), None);
    assert_eq!(settings.names("modelRoles"), [("fast".to_string(), "y".to_string())]);
}

#[test]
fn a_project_does_not_lower_a_guard() {
    let text = r#"{"fileGuard": "off", "bashGuard": {"enabled": false}, "env": {"passThrough": ["X"]}, "maxTurns": 3}"#;
    let refused = read(text, "s.json", Source::Project).unwrap().refused;
    assert_eq!(refused.keys().collect::<Vec<_>>(), ["fileGuard", "bashGuard", "env"]);
    let settings = warned(text, Source::Project, &[]);
    assert_eq!(settings.tools(), tools::Settings::default());
    assert_eq!(settings.number("maxTurns"), 3);
    assert!(!warned(text, Source::User, &[]).tools().bash_guard.enabled);
    // Null takes back what the user set: of parents too.
    let text = r#"{"bashGuard": null, "fetch": null, "compaction": null, "retry": null}"#;
    let layer = read(text, "s.json", Source::Project).unwrap();
    assert_eq!(layer.refused.keys().collect::<Vec<_>>(), ["bashGuard", "fetch", "compaction"]);
    assert_eq!(layer.values.keys().collect::<Vec<_>>(), ["retry"]);
}

#[test]
fn comments_old_names_and_unknown_keys_are_read() {
    let early = "s.json: theme.dark, theme.light: no effect yet: this version does not have the terminal interface";
    let settings = warned("{\"queueMode\": \"all\", // why\n \"theme\": \"blue\",}", Source::User, &[early]);
    assert_eq!(settings.agent().steering_mode, Mode::All);
    assert_eq!(settings.text("theme.light").as_deref(), Some("blue"));
    let text = r#"{"retry": {"often": 1}, "speed": 3, "thinkingBudgets": {"hight": 1}}"#;
    let layer = read(text, "s.json", Source::User).unwrap();
    let unknown = ["retry.often", "speed", "thinkingBudgets.hight"].map(|key| format!("s.json: {key}: unknown key"));
    assert_eq!(layer.unknown, unknown);
    assert_eq!(read("{\n  \"a\": }", "s.json", Source::User).unwrap_err(), "s.json:2:8: expected value");
    assert_eq!(read("[]", "s.json", Source::User).unwrap_err(), "s.json: expected an object");
}

#[test]
fn variables_for_commands_stand_beside_the_list_of_those_that_pass() {
    let text = r#"{"env": {"passThrough": ["A_TOKEN"], "LANG": "C", "N": 3}}"#;
    let settings = warned(text, Source::User, &["s.json: env.N: expected a text, got 3"]);
    let tools = settings.tools();
    assert_eq!((tools.env, tools.pass_through), (vec![("LANG".into(), "C".into())], vec!["A_TOKEN".to_string()]));
}

#[test]
fn shells_get_what_the_user_set() {
    let text = r#"{"shellPath": "/opt/bash", "async": {"enabled": true},
        "bash": {"timeoutSeconds": 9, "autoBackground": {"thresholdMs": 70}}, "todo": {"autoClearSeconds": -1}}"#;
    let tools = warned(text, Source::User, &[]).tools();
    assert_eq!((tools.engine, tools.bash), (Engine::Auto, Some("/opt/bash".into())));
    let numbers = (tools.jobs, tools.auto_background_ms, tools.bash_timeout_seconds, tools.todo_auto_clear_seconds);
    assert_eq!(numbers, (true, 70, 9, -1));
    let tools = warned(r#"{"shellPath": "brush"}"#, Source::User, &[]).tools();
    assert_eq!((tools.engine, tools.bash), (Engine::Brush, None));
}

#[test]
fn what_the_user_sets_reaches_the_agent() {
    let text = r#"{
        "maxTurns": 5, "toolExecution": "sequential", "interruptMode": "wait",
        "retry": {"enabled": false, "maxRetries": 6, "baseDelayMs": 7, "maxDelayMs": 8},
        "compaction": {"enabled": false, "reserveTokens": 9, "keepRecentTokens": 10, "autoContinue": false,
            "model": "m", "remoteEndpoint": "http://e"},
        "branchSummary": {"enabled": true, "reserveTokens": 11}, "contextPromotion": {"enabled": true},
        "todo": {"reminders": false}, "followUpMode": "all", "cacheRetention": "none", "sessions": {"fsync": "always"}}"#;
    let settings = warned(text, Source::User, &[]);
    assert_eq!(settings.sync(), Sync::Always);
    let agent = settings.agent();
    let run = (agent.run.max_turns, agent.run.execution, agent.run.interrupt);
    assert_eq!(run, (5, ToolExecution::Sequential, Interrupt::Wait));
    let retry = RetrySettings { enabled: false, max_retries: 6, base_delay_ms: 7, max_delay_ms: 8 };
    assert_eq!(agent.retry, retry);
    let compaction = CompactionSettings {
        enabled: false,
        limits: Limits { reserve: 9, keep_recent: 10 },
        auto_continue: false,
        model: Some("m".into()),
        remote_endpoint: Some("http://e".into()),
    };
    assert_eq!(agent.compaction, compaction);
    assert_eq!(agent.branch_summary, BranchSummarySettings { enabled: true, reserve: 11 });
    assert_eq!((agent.promotion, agent.todo_reminders), (true, false));
    assert_eq!((agent.steering_mode, agent.follow_up_mode), (Mode::OneAtATime, Mode::All));
    assert_eq!(agent.cache, CacheRetention::None);
}

#[test]
fn what_the_user_sets_reaches_the_tools() {
    let text = r#"{
        "fileGuard": "warn", "images": {"autoResize": false, "blockImages": true},
        "edit": {"mode": "hashline", "fuzzy": false, "streamGuard": true},
        "bashGuard": {"enabled": false, "deny": ["d"], "allow": ["a"]},
        "bashInterceptor": {"enabled": true, "rules": [{"pattern": "^p", "tool": "t"}, {"pattern": "no tool"}]},
        "shellCommandPrefix": "x", "fetch": {"enabled": false, "allowPrivate": ["h"]}, "ask": {"timeoutSeconds": 4},
        "env": {"passThrough": []}}"#;
    let found = warned(text, Source::User, &[]).tools();
    let expect = tools::Settings {
        file_guard: tools::FileGuard::Warn,
        images: tools::ImageSettings { auto_resize: false, block_images: true },
        edit: tools::EditSettings { mode: tools::EditMode::Hashline, fuzzy: false, stream_guard: true },
        bash_guard: tools::GuardSettings { enabled: false, deny: vec!["d".into()], allow: vec!["a".into()] },
        bash_interceptor: tools::InterceptorSettings { enabled: true, patterns: vec![("^p".into(), "t".into())] },
        shell_command_prefix: Some("x".into()),
        fetch: false,
        fetch_allow_private: vec!["h".into()],
        ask_timeout_seconds: 4,
        pass_through: Vec::new(),
        ..tools::Settings::default()
    };
    assert_eq!(found, expect);
}
