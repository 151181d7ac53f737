use std::path::PathBuf;

use serde_json::{Value, json};
use sinew_agent::mcp::config::{ConfigFile, Entries, EntryStatus, Origin, ServerConfig, Transport, read};
use sinew_mcp::catalogue::Expose;

use crate::mcp::stage::variables;

fn file(origin: Origin, trusted: bool, text: &str) -> ConfigFile {
    let name = match origin {
        Origin::Flag => "flag.json",
        Origin::Project => "project.json",
        Origin::User => "user.json",
        Origin::Client => "the client",
    };
    ConfigFile { path: name.into(), origin, trusted, text: text.into() }
}

/// Reads one entry `s` from a file of this origin.
#[track_caller]
fn one(origin: Origin, entry: Value) -> (EntryStatus, Vec<String>) {
    let text = json!({"mcpServers": {"s": entry}}).to_string();
    let Entries { mut list, warnings } = read(&[file(origin, true, &text)], &variables());
    assert_eq!(list.len(), 1);
    (list.remove(0).standing, warnings)
}

#[track_caller]
fn ready(origin: Origin, entry: Value) -> ServerConfig {
    match one(origin, entry) {
        (EntryStatus::Ready(config), _) => (*config).clone(),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn invalid(origin: Origin, entry: Value, says: &str) {
    match one(origin, entry) {
        (EntryStatus::Invalid(reason), _) => assert!(reason.contains(says), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_invalid_entry_does_not_affect_the_others() {
    let text = r#"{
        // Comments and trailing commas are allowed.
        "mcpServers": {
            "both": {"command": "a", "url": "https://b"},
            "none": {},
            "text": "x",
            "a name": {"command": "x"},
            "typed": {"type": "pigeon", "url": "https://b"},
            "args": {"command": "x", "args": "y"},
            "good": {"command": "x", "args": [],},
            "web": {"type": "streamable-http", "url": "https://b/mcp"},
            "old": {"type": "sse", "url": "https://b/sse"},
            "off": {"command": "x", "enabled": false},
        },
    }"#;
    let entries = read(&[file(Origin::User, true, text)], &variables());
    let of = |name: &str| entries.list.iter().find(|entry| entry.name == name).unwrap().standing.clone();
    for (name, says) in [
        ("both", "both \"command\" and \"url\""),
        ("none", "neither \"command\" nor \"url\""),
        ("text", "not an object"),
        ("a name", "is not a valid name"),
        ("typed", "\"pigeon\" cannot be used with \"url\""),
        ("args", "\"args\" must be a list of strings"),
    ] {
        assert!(matches!(of(name), EntryStatus::Invalid(reason) if reason.contains(says)), "{name}: {:?}", of(name));
    }
    assert!(matches!(of("good"), EntryStatus::Ready(_)));
    let EntryStatus::Ready(web) = of("web") else { panic!() };
    assert_eq!(web.transport, Transport::Http { url: "https://b/mcp".into(), headers: Vec::new() });
    assert!(matches!(of("old"), EntryStatus::Ready(_)));
    assert_eq!(of("off"), EntryStatus::Disabled);
    assert_eq!(entries.list.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>()[..2], ["both", "none"]);
}

#[test]
fn the_first_file_that_defines_a_server_wins() {
    let named = |text: &str| json!({"mcpServers": {"s": {"command": text}}}).to_string();
    let files = [
        file(Origin::Flag, true, &named("flag")),
        file(Origin::Project, true, &named("project")),
        file(Origin::User, true, &named("user")),
    ];
    let entries = read(&files, &variables());
    let standings: Vec<&EntryStatus> = entries.list.iter().map(|entry| &entry.standing).collect();
    assert!(matches!(standings[0], EntryStatus::Ready(_)));
    assert_eq!(standings[1..], [&EntryStatus::Shadowed(PathBuf::from("flag.json")); 2]);
}

#[test]
fn an_unreadable_config_file_is_reported_and_the_others_apply() {
    let good = json!({"mcpServers": {"s": {"command": "x"}}}).to_string();
    for bad in ["{", "[]", r#"{"mcpServers": []}"#, "7"] {
        let files = [file(Origin::Project, true, bad), file(Origin::User, true, &good)];
        let entries = read(&files, &variables());
        assert_eq!((entries.list.len(), entries.warnings.len()), (1, 1), "{bad}");
        assert!(entries.warnings[0].starts_with("project.json: "), "{:?}", entries.warnings);
    }
    let large = json!({"mcpServers": {"s": {"command": "x", "args": ["y".repeat(1 << 20)]}}}).to_string();
    assert_eq!(read(&[file(Origin::User, true, &large)], &variables()).list.len(), 1);
}

#[test]
fn an_untrusted_project_contributes_only_server_names() {
    let text = json!({"mcpServers": {
        "s": {"command": "${NOT_SET}", "args": ["${GITHUB_TOKEN}"]}, "bad": 7, "off": {"enabled": false},
    }});
    let entries = read(&[file(Origin::Project, false, &text.to_string())], &variables());
    assert!(entries.list.iter().all(|entry| entry.standing == EntryStatus::Untrusted), "{entries:?}");
    assert!(entries.warnings.is_empty());
}

#[test]
fn project_entries_use_secret_variables_only_in_env_and_headers() {
    let url = json!({"url": "https://h/${GITHUB_TOKEN}"});
    invalid(Origin::Project, url.clone(), "\"url\": GITHUB_TOKEN looks like a secret");
    for entry in [
        json!({"command": "${GITHUB_TOKEN}"}),
        json!({"command": "x", "args": ["--token=${GITHUB_TOKEN:-none}"]}),
        json!({"command": "x", "cwd": "${GITHUB_TOKEN}"}),
    ] {
        invalid(Origin::Project, entry, "looks like a secret");
    }
    let env = json!({"command": "x", "env": {"T": "${GITHUB_TOKEN}", "P": "${PLAIN}-$PLAIN-${NONE:-d}-${1}-${"}});
    let Transport::Stdio { env, .. } = ready(Origin::Project, env).transport else { panic!() };
    assert_eq!(env[0].1, "tok");
    assert_eq!(env[1].1, "plain-$PLAIN-d-${1}-${");
    let headers = json!({"url": "https://h", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}});
    let Transport::Http { headers, .. } = ready(Origin::Project, headers).transport else { panic!() };
    assert_eq!(headers[0].1, "Bearer tok");
    // The user's own file may use any variable here.
    assert!(matches!(one(Origin::User, url).0, EntryStatus::Ready(_)));
    for origin in [Origin::User, Origin::Project, Origin::Flag] {
        let key = json!({"command": "x", "env": {"K": "${OPENAI_API_KEY}"}});
        invalid(origin, key, "OPENAI_API_KEY contains the key of a provider");
        invalid(origin, json!({"command": "${NOT_SET}"}), "the variable NOT_SET is not set");
    }
}

#[test]
fn only_user_entries_may_request_secrets() {
    let entry = json!({"command": "x", "secrets": true});
    assert!(ready(Origin::User, entry.clone()).secrets);
    let (standing, warnings) = one(Origin::Project, entry);
    assert!(matches!(standing, EntryStatus::Ready(config) if !config.secrets));
    assert!(warnings[0].contains("\"secrets\" only has an effect in your own mcp.json"), "{warnings:?}");
}

#[test]
fn entries_set_start_exposure_and_limits() {
    let config = ready(
        Origin::User,
        json!({
            "command": "x", "timeout": 1500, "maxTotalMs": 0, "startupTimeoutMs": 9, "start": "eager", "required": true,
            "expose": "direct", "supportsParallel": false, "description": "d",
            "tools": {"include": ["a*"], "exclude": ["ab"], "readOnly": ["*_get"]},
        }),
    );
    assert_eq!((config.times.silence.as_millis(), config.start_limit.as_millis()), (1500, 9));
    assert!(config.times.total > std::time::Duration::from_secs(1 << 40));
    assert_eq!((config.expose, config.required, config.calls_at_once), (Expose::Direct, true, 1));
    let takes: Vec<bool> = ["a", "ab", "abc", "b"].iter().map(|tool| config.tools.takes(tool)).collect();
    assert_eq!(takes, [true, false, true, false]);
    assert!(config.tools.is_read_only("x_get") && !config.tools.is_read_only("x_get2"));
    invalid(Origin::User, json!({"command": "x", "expose": "sometimes"}), "use auto, direct, deferred, off");
    invalid(Origin::User, json!({"command": "x", "timeout": "5s"}), "is not a number of milliseconds");
    let (_, warnings) =
        one(Origin::User, json!({"command": "x", "colour": "red", "tools": {"includes": ["a"], "exclude": []}}));
    assert_eq!(warnings, ["user.json: s: colour, tools.includes: unknown and ignored"]);
}

#[test]
fn the_hash_of_an_entry_depends_on_command_and_env_but_not_on_limits() {
    let hash = |entry| ready(Origin::User, entry).hash;
    let plain = hash(json!({"command": "x"}));
    assert_eq!(plain, hash(json!({"timeout": 5, "command": "x"})));
    assert_ne!(plain, hash(json!({"command": "x", "env": {"A": "${PLAIN}"}})));
    assert_ne!(plain, hash(json!({"command": "y"})));
}

#[test]
fn oauth_options_are_read_and_invalid_ones_reported() {
    let web = |oauth: Value| json!({"url": "https://b/mcp", "oauth": oauth});
    let full = json!({"clientId": "${PLAIN}", "clientSecret": "s", "callbackPort": 8123, "scopes": ["a", "b"],
        "metadataUrl": "https://me/client.json"});
    let oauth = ready(Origin::User, web(full)).oauth;
    assert_eq!((oauth.client_id.as_deref(), oauth.client_secret.as_deref()), (Some("plain"), Some("s")));
    assert_eq!((oauth.callback_port, oauth.scopes.len()), (Some(8123), 2));
    assert_eq!(oauth.metadata_url.as_deref(), Some("https://me/client.json"));
    for (bad, says) in [
        (json!(7), "\"oauth\" must be an object with clientId"),
        (json!({"client_id": "x"}), "\"client_id\" is unknown"),
        (json!({"callbackPort": 70_000}), "\"callbackPort\": 70000 is not a port"),
        (json!({"scopes": "a b"}), "\"scopes\" must be a list of strings"),
    ] {
        invalid(Origin::User, web(bad), says);
    }
    invalid(Origin::User, json!({"command": "x", "oauth": {}}), "\"oauth\" requires \"url\"");
    // A project must not send a hidden value to a server of its choice.
    invalid(Origin::Project, web(json!({"clientSecret": "${GITHUB_TOKEN}"})), "GITHUB_TOKEN looks like a secret");
}

#[test]
fn client_servers_are_used_verbatim_and_not_cached() {
    let config =
        ready(Origin::Client, json!({"command": "x", "args": ["${NOT_SET}"], "env": {"A": "${GITHUB_TOKEN}"}}));
    let Transport::Stdio { args, env, .. } = &config.transport else { panic!() };
    assert_eq!((args[0].as_str(), env[0].1.as_str(), config.cached), ("${NOT_SET}", "${GITHUB_TOKEN}", false));
    // The servers of a client are not in a list where the user would look for errors.
    let (_, warnings) = one(Origin::Client, json!({"command": ""}));
    assert_eq!(warnings, ["MCP server \"s\" of the client: Invalid server config: \"command\" is empty"]);
}

/// A run warns about entries with syntax of other programs, and about entries that cannot work.
#[test]
fn unusable_entries_produce_warnings() {
    let (standing, warnings) = one(Origin::User, json!({"command": "x", "args": ["${NOT_SET}"]}));
    assert!(matches!(standing, EntryStatus::Invalid(_)));
    let reason = "the variable NOT_SET is not set; set it, or write ${NOT_SET:-default}";
    assert_eq!(warnings, [format!("MCP server \"s\" of user.json: Invalid server config: \"args\": {reason}")]);
    for (entry, says) in [
        (json!({"command": "x", "env": {"T": "a ${env:TOKEN} b"}}), "${env:TOKEN} is not expanded; write ${NAME}"),
        (json!({"command": "x", "args": ["$", "${", "${input:key}"]}), "${input:key} is not expanded"),
        (json!({"command": "x", "env": {"T": "{env:TOKEN}"}}), "{env:TOKEN} is not expanded; write ${NAME}"),
        (json!({"type": "sse", "url": "https://h/sse"}), "the transport \"sse\" is not supported"),
    ] {
        let (standing, warnings) = one(Origin::User, entry);
        assert!(matches!(standing, EntryStatus::Ready(_)), "{standing:?}");
        assert!(warnings.len() == 1 && warnings[0].starts_with("user.json: s: "), "{warnings:?}");
        assert!(warnings[0].contains(says), "{warnings:?}");
    }
    let fine = json!({"command": "x", "args": ["${PLAIN:-a}", "http://h:8/", "{}:", "${1:2}"]});
    assert_eq!(one(Origin::User, fine).1, [""; 0]);
}

/// Reads a file and returns its entries as `name status`, and the warnings.
fn listed(trusted: bool, text: &Value) -> (Vec<String>, Vec<String>) {
    let entries = read(&[file(Origin::Project, trusted, &text.to_string())], &variables());
    let list = entries.list.iter().map(|entry| match &entry.standing {
        EntryStatus::Ready(config) => match &config.transport {
            Transport::Stdio { command, args, env, .. } => {
                let env = env.iter().map(|(name, value)| format!(" {name}={value}")).collect::<String>();
                format!("{}: {command} {}{env}", entry.name, args.join(" "))
            }
            Transport::Http { url, .. } => format!("{}: {url}", entry.name),
        },
        EntryStatus::Shadowed(_) => format!("{} shadowed", entry.name),
        EntryStatus::Untrusted => format!("{} untrusted", entry.name),
        EntryStatus::Disabled => format!("{} disabled", entry.name),
        EntryStatus::Invalid(reason) => format!("{} {reason}", entry.name),
    });
    (list.collect(), entries.warnings)
}

#[test]
fn tables_of_other_programs_are_read() {
    let entry = json!({"command": "x", "args": ["y"]});
    for (text, expect) in [
        (json!({"mcpServers": {"s": entry}}), &["s: x y"][..]),
        // VS Code: `.vscode/mcp.json` and `settings.json`.
        (json!({"servers": {"s": entry}, "inputs": []}), &["s: x y"]),
        (json!({"mcp": {"servers": {"s": entry}, "inputs": []}}), &["s: x y"]),
        // opencode.
        (
            json!({"$schema": "https://h", "mcp": {
                "s": {"type": "local", "command": ["x", "-y", "z"], "environment": {"A": "${PLAIN}"}, "enabled": true},
                "web": {"type": "remote", "url": "https://h/mcp", "headers": {"B": "c"}},
                "off": {"enabled": false},
                "servers": {"type": "local", "command": ["servers"]},
            }}),
            &["s: x -y z A=plain", "web: https://h/mcp", "off disabled", "servers: servers "],
        ),
        // Zed, in its older and its current form.
        (
            json!({"context_servers": {
                "a": {"source": "custom", "command": "x", "args": ["y"], "env": {"A": "b"}},
                "b": {"command": {"path": "x", "args": ["y"], "env": {"A": "b"}}},
            }}),
            &["a: x y A=b", "b: x y A=b"],
        ),
        // Gemini CLI and Windsurf.
        (json!({"mcpServers": {"a": {"httpUrl": "https://h/a"}}}), &["a: https://h/a"]),
        (json!({"mcpServers": {"a": {"serverUrl": "https://h/a"}}}), &["a: https://h/a"]),
        (json!({"servers": [{"name": "s", "command": "x"}]}), &["s: x "]),
        // Several tables are merged.
        (
            json!({"context_servers": {"d": entry}, "mcp": {"c": entry}, "servers": {"b": entry}, "mcpServers": {"a": entry}}),
            &["a: x y", "b: x y", "c: x y", "d: x y"],
        ),
    ] {
        assert_eq!(listed(true, &text), (expect.iter().map(ToString::to_string).collect(), Vec::new()), "{text}");
        let (names, warnings) = listed(false, &text);
        assert_eq!((names.len(), warnings.len()), (expect.len(), 0), "{text}");
        assert!(names.iter().all(|name| name.ends_with(" untrusted")), "{names:?}");
    }
}

#[test]
fn keys_that_are_not_understood_are_named() {
    let entry = json!({"command": "x"});
    let known = "use \"mcpServers\", \"servers\", \"mcp\" or \"context_servers\"";
    for (text, entries, says) in [
        (
            json!({"amp.mcpServers": {"s": entry}}),
            0,
            format!("\"amp.mcpServers\" looks like servers, but is ignored; {known}"),
        ),
        (
            json!({"mcp_servers": {"s": {"url": "https://h"}}}),
            0,
            format!("\"mcp_servers\" looks like servers, but is ignored; {known}"),
        ),
        (
            json!({"MCPServers": {}, "mcpServers": {"s": entry}}),
            1,
            format!("\"MCPServers\" looks like servers, but is ignored; {known}"),
        ),
        (json!({"s": entry}), 0, format!("\"s\" looks like a server, but is ignored; {known}")),
        (json!({"servers": 7}), 0, "\"servers\" is not an object".into()),
        (json!({"context_servers": [], "mcpServers": {"s": entry}}), 1, "\"context_servers\" is not an object".into()),
        (json!({"mcp": "x"}), 0, "\"mcp\" is not an object".into()),
        (json!({"mcp": {"servers": 7}}), 0, "\"mcp.servers\" is not an object".into()),
        (
            json!({"mcp": {"s": entry, "t": 7}}),
            2,
            "MCP server \"t\" of project.json: Invalid server config: not an object".into(),
        ),
        (
            json!({"mcpServers": {"s": entry}, "servers": {"s": {"command": "y"}}}),
            2,
            "\"servers\" also has \"s\", which is ignored: the one of \"mcpServers\" is used".into(),
        ),
    ] {
        let (list, warnings) = listed(true, &text);
        assert_eq!((list.len(), warnings.len()), (entries, 1), "{text}: {list:?} {warnings:?}");
        assert!(warnings[0].contains(&says), "{text}: {warnings:?}");
        assert!(warnings[0].contains("project.json"), "{text}: {warnings:?}");
        assert_eq!(listed(false, &text).1, [""; 0], "{text}");
    }
    for fine in [
        json!({}),
        json!({"$schema": "x", "inputs": [{"id": "a", "command": "b"}], "theme": {"command": 5}, "editor": {"a": {"b": 1}}}),
    ] {
        assert_eq!(listed(true, &fine), (Vec::new(), Vec::new()), "{fine}");
    }
}
