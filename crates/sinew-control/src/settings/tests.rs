use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sinew::shell::Engine;
use sinew_agent::agent::{BranchSummarySettings, CompactionSettings, RetrySettings};
use sinew_agent::compaction::Limits;
use sinew_agent::core::{Interrupt, QueueMode, ToolExecution};
use sinew_agent::resource::stream::{InterruptMode, StreamSettings};
use sinew_agent::resource::{ResourceFolders, ResourceOptions};
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::CacheRetention;
use sinew_session::Sync;
use sinew_tools as tools;

use super::*;

fn merged(layer: Map<String, Value>) -> Values {
    let mut values = Values::default();
    values.merge(layer);
    values
}

#[track_caller]
fn warned(text: &str, source: Source, expect: &[&str]) -> Settings {
    let layer = read(text, "s.json", source).unwrap();
    assert_eq!([layer.faults, layer.warnings].concat(), expect, "{text}");
    merged(layer.values).typed()
}

#[test]
fn each_default_has_the_type_of_its_key_and_is_the_default_of_the_crates() {
    for (at, key) in KEYS.iter().enumerate() {
        assert!(key.default.is_empty() || key.kind.refusal(&key.default_value()).is_none(), "{}", key.path);
        assert!(KEYS[..at].iter().all(|other| other.path != key.path), "{}", key.path);
    }
    let settings = Values::default().typed();
    let agent = settings.agent();
    assert_eq!((agent.run.max_turns, agent.retry, agent.compaction, agent.branch_summary), {
        (1_000, RetrySettings::default(), CompactionSettings::default(), BranchSummarySettings::default())
    });
    assert_eq!(settings.tools(), tools::Settings::default());
    assert_eq!(settings.stream_rules(), StreamSettings::default());
    let folders = ResourceFolders::default();
    assert_eq!(settings.resources(folders.clone()), ResourceOptions::new(folders));
}

/// Every key has a field, which rejects a value of another type, or is listed as not implemented.
#[test]
fn every_setting_is_read_or_listed_as_not_implemented() {
    for key in KEYS.iter() {
        // The contents of objects are checked by the code that uses them.
        if key.path == "permissions" {
            continue;
        }
        let wrong = if key.kind.refusal(&json!(-0.5)).is_some() { json!(-0.5) } else { json!({}) };
        let mut values = Values::default();
        values.set(key.path, wrong);
        assert_eq!(values.parse().is_err(), key.waits_for.is_none(), "{}", key.path);
    }
}

#[test]
fn every_word_of_the_table_can_be_parsed() {
    for key in KEYS.iter() {
        let row::Kind::Word(words) = key.kind else { continue };
        for word in words {
            let mut values = Values::default();
            values.set(key.path, json!(word));
            values.typed();
        }
    }
}

#[test]
fn a_wrong_type_is_reported_and_the_rest_applies() {
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
    let agent = settings.agent();
    assert_eq!((agent.retry.max_retries, agent.run.max_turns), (5, 1_000));
    assert!(agent.retry.enabled && settings.stream_rules().enabled);
    assert_eq!(settings.model_roles.clone().into_iter().collect::<Vec<_>>(), [("slow".to_string(), "x".to_string())]);
    assert_eq!(settings.agent().thinking_budgets.into_iter().collect::<Vec<_>>(), [(ThinkingLevel::Low, 9)]);
}

#[test]
fn layers_merge_deeply_and_lists_replace() {
    let mut values = Values::default();
    for value in [
        json!({"retry": {"maxRetries": 1, "baseDelayMs": 5}, "excludeTools": ["a", "b"]}),
        json!({"retry": {"maxRetries": 2}, "excludeTools": ["c"], "defaultModel": "x"}),
        json!({"defaultModel": null, "modelRoles": {"slow": null}}),
    ] {
        let Value::Object(layer) = value else { unreachable!() };
        values.merge(layer);
    }
    values.set("modelRoles.fast", json!("y"));
    assert!(values.is_set("retry.maxRetries") && !values.is_set("defaultModel") && !values.is_set("maxTurns"));
    let settings = values.typed();
    let retry = settings.agent().retry;
    assert_eq!((retry.max_retries, retry.base_delay_ms), (2, 5));
    assert_eq!(settings.exclude_tools, ["c"]);
    assert_eq!(settings.default_model, None);
    assert_eq!(settings.model_roles.into_iter().collect::<Vec<_>>(), [("fast".to_string(), "y".to_string())]);
}

#[test]
fn a_project_does_not_lower_a_guard() {
    let text = r#"{"fileGuard": "off", "bashGuard": {"enabled": false}, "env": {"passThrough": ["X"]}, "maxTurns": 3, "symbolPreset": "ascii"}"#;
    let refused = read(text, "s.json", Source::Project).unwrap().refused;
    assert_eq!(refused.keys().collect::<Vec<_>>(), ["fileGuard", "bashGuard", "env", "maxTurns"]);
    let settings = warned(text, Source::Project, &[]);
    assert_eq!(settings.tools(), tools::Settings::default());
    assert_eq!(settings.agent().run.max_turns, 1_000);
    assert_eq!(settings.symbol_preset, SymbolPreset::Ascii);
    assert!(!warned(text, Source::User, &[]).tools().bash_guard.enabled);
    // Null resets what the user set, for parent keys too.
    let text = r#"{"bashGuard": null, "fetch": null, "tui": null, "permissions": null, "theme": null}"#;
    let layer = read(text, "s.json", Source::Project).unwrap();
    assert_eq!(layer.refused.keys().collect::<Vec<_>>(), ["bashGuard", "fetch", "tui", "permissions"]);
    assert_eq!(layer.values.keys().collect::<Vec<_>>(), ["theme"]);
}

#[test]
fn comments_old_names_and_unknown_keys_are_read() {
    let early = "s.json: lsp.formatOnWrite: no effect yet: this version does not have language servers";
    let settings =
        warned("{\"queueMode\": \"all\", // why\n \"lsp\": {\"formatOnWrite\": true},}", Source::User, &[early]);
    assert_eq!(settings.agent().steering_mode, QueueMode::All);
    let removed = [
        "s.json: task.timeoutSeconds was removed and has no effect: task.maxTurns, task.maxTokens and task.maxCost limit \
         subagents",
        "s.json: task.isolation was removed and has no effect: the file of an agent has the key isolation, and a call of \
         task has isolated",
    ];
    let text = r#"{"task": {"timeoutSeconds": 9, "isolation": {"mode": "copy"}, "maxTurns": 5}}"#;
    assert_eq!(warned(text, Source::User, &removed).task.max_turns, 5);
    let layer = read("{\"theme\": \"blue\"}", "s.json", Source::User).unwrap();
    assert_eq!(merged(layer.values).get("theme.light"), "blue");
    let text = r#"{"retry": {"often": 1}, "speed": 3, "thinkingBudgets": {"hight": 1}}"#;
    let layer = read(text, "s.json", Source::User).unwrap();
    let unknown = ["retry.often", "speed", "thinkingBudgets.hight"].map(|key| format!("s.json: {key}: unknown key"));
    assert_eq!(layer.unknown, unknown);
    assert_eq!(read("{\n  \"a\": }", "s.json", Source::User).unwrap_err(), "s.json:2:8: expected value");
    assert_eq!(read("[]", "s.json", Source::User).unwrap_err(), "s.json: expected an object");
}

#[test]
fn variables_for_commands_and_the_pass_through_list_share_a_section() {
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
    assert_eq!((agent.steering_mode, agent.follow_up_mode), (QueueMode::OneAtATime, QueueMode::All));
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

#[test]
fn what_the_user_sets_reaches_resources_and_stream_rules() {
    let text = r#"{
        "skills": {"enabled": false, "enableCommands": false, "directories": ["d"], "include": ["i"], "ignore": ["g"],
            "enableClaude": false}, "rules": {"enableForeign": true},
        "ttsr": {"enabled": false, "contextMode": "keep", "repeatMode": "after-gap", "repeatGap": 3,
            "interruptMode": "tool-only", "disabledRules": ["r"]},
        "providerTimeouts": {"connectMs": 0, "idleMs": 7}}"#;
    let settings = warned(text, Source::User, &[]);
    let folders = ResourceFolders { cwd: "/p".into(), ..ResourceFolders::default() };
    let ResourceOptions {
        skills,
        skill_commands,
        skill_directories,
        skill_include,
        skill_ignore,
        claude_skills,
        foreign_rules,
        ..
    } = settings.resources(folders);
    assert!(!skills && !skill_commands && !claude_skills && foreign_rules);
    assert_eq!(skill_directories, [std::path::PathBuf::from("/p/d")]);
    assert_eq!((skill_include, skill_ignore), (vec!["i".to_string()], vec!["g".to_string()]));
    let rules = StreamSettings {
        enabled: false,
        keep: true,
        gap: Some(3),
        interrupt: InterruptMode::ToolOnly,
        disabled: vec!["r".into()],
    };
    assert_eq!(settings.stream_rules(), rules);
    assert_eq!(settings.connect_timeout(), None);
    assert_eq!(settings.idle_timeout(), Some(std::time::Duration::from_millis(7)));
}

#[test]
fn only_a_trusted_project_sets_guarded_keys() {
    for path in ["env", "env.LANG", "bashGuard", "bashGuard.new", "share", "secrets.enabled", "trust", "trust.all"] {
        assert!(lookup::is_guarded(path), "{path}");
    }
    for path in ["permissions", "permissions.allow", "fetch.allowPrivate", "compaction.remoteEndpoint", "sessionDir"] {
        assert!(lookup::is_guarded(path), "{path}");
    }
    for path in
        ["defaultModel", "modelRoles.fast", "maxTurns", "retry.baseDelayMs", "tui.approvalDelayMs", "fetch.enabled"]
    {
        assert!(lookup::is_guarded(path), "{path}");
    }
    for path in ["tui", "tui.statusRows", "theme", "theme.dark", "symbolPreset", "trusty", "environment", "x"] {
        assert!(!lookup::is_guarded(path), "{path}");
    }
}

#[test]
fn a_project_adds_rules_and_replaces_none() {
    let user = json!({"deny": ["bash(a)"], "ask": ["write"], "allow": ["read(x)"]});
    let all = |deny: &[&str], ask: &[&str], allow: &[&str]| json!({"deny": deny, "ask": ask, "allow": allow});
    for (project, source, expect) in [
        (json!({"deny": ["bash(b)"]}), Source::Project, all(&["bash(a)", "bash(b)"], &["write"], &["read(x)"])),
        (json!({"deny": [], "ask": []}), Source::Project, all(&["bash(a)"], &["write"], &["read(x)"])),
        (json!({"ask": ["ls"], "allow": ["bash"]}), Source::Project, all(&["bash(a)"], &["write", "ls"], &["read(x)"])),
        (json!(null), Source::Project, all(&["bash(a)"], &["write"], &["read(x)"])),
        (json!({"deny": null}), Source::Project, all(&["bash(a)"], &["write"], &["read(x)"])),
        (json!({"deny": []}), Source::User, all(&["bash(a)"], &["write"], &["read(x)"])),
        (json!({"deny": null, "allow": ["bash"]}), Source::User, all(&["bash(a)"], &["write"], &["read(x)", "bash"])),
        (json!(null), Source::User, all(&["bash(a)"], &["write"], &["read(x)"])),
    ] {
        let mut values = Values::default();
        values.merge(read(&json!({"permissions": user}).to_string(), "u", Source::User).unwrap().values);
        let mut layer = read(&json!({"permissions": project}).to_string(), "p", source).unwrap();
        assert_eq!(layer.faults, Vec::<String>::new());
        add_below(values.as_map(), &mut layer.values);
        values.merge(layer.values);
        assert_eq!(values.typed().permissions, expect, "{project} {source:?}");
    }
}

/// Generates words of keys, including some that look like paths.
fn word() -> impl Strategy<Value = String> {
    let words = KEYS.iter().flat_map(|key| key.path.split('.').chain([key.path])).chain(["a.b", "", "x", "trust"]);
    proptest::sample::select(words.map(str::to_string).collect::<Vec<_>>())
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        Just(json!(0.5)),
        Just(json!("always")),
        Just(json!([1, "a"])),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop::collection::vec((word(), inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The typed settings can be built from any layers.
    #[test]
    fn no_layer_breaks_the_typed_settings(layers in prop::collection::vec((word(), any_value()), 0..6)) {
        let mut values = Values::default();
        for (key, value) in layers {
            let object = Map::from_iter([(key, value)]);
            values.merge(layer(object, "s.json", Source::User).values);
        }
        prop_assert!(values.parse().is_ok(), "{:?}", values);
    }
}

#[test]
fn keys_with_dots_are_not_paths() {
    for text in [r#"{"modelRoles": {"a.b": 3}}"#, r#"{"env": {"A.B": 3, "": "x"}}"#, r#"{"retry.enabled": false}"#] {
        let layer = read(text, "s.json", Source::Project).unwrap();
        let settings = merged(layer.values).typed();
        assert!(settings.model_roles.is_empty() && settings.tools().env.is_empty(), "{text}");
        assert!(settings.agent().retry.enabled, "{text}");
    }
}
