use super::*;
use crate::models::Registry;

const NOW: i64 = 1_700_000_000_000;

fn credentials(env: &'static [(&'static str, &'static str)], file: &str, command_line: Option<&str>) -> Credentials {
    let environment: Environment =
        Arc::new(move |name| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string()));
    let runner: CommandRunner = Arc::new(|command| match command {
        "fail" => Err("exit code 1".to_string()),
        "empty" => Ok(" \n".to_string()),
        other => Ok(format!("from {other}\n")),
    });
    let line = command_line.map(|key| ("anthropic".to_string(), Secret::new(key)));
    Credentials::new(environment, runner, AuthFile::parse(file).unwrap(), line)
}

fn provider(api_key: Option<&str>) -> ProviderEntry {
    let mut entry = Registry::builtin(&|_| None).provider("anthropic").unwrap().clone();
    entry.api_key = api_key.map(str::to_string);
    entry
}

#[tokio::test]
async fn uses_the_first_source_with_a_key() {
    let file = r#"{"anthropic": {"type": "api_key", "key": "stored"}}"#;
    let login = r#"{"anthropic": {"type": "oauth", "access": "token", "refresh": "r", "expires": 1800000000000}}"#;
    let env = &[("ANTHROPIC_API_KEY", "variable"), ("OTHER", "named")];
    let cases = [
        (credentials(env, file, Some("typed")), Some("literal"), Source::CommandLine, "typed", false),
        (credentials(env, file, None), Some("literal"), Source::AuthFile, "stored", false),
        (credentials(env, login, None), Some("literal"), Source::AuthFile, "token", true),
        (credentials(env, "{}", None), Some("literal"), Source::Environment, "variable", false),
        (
            credentials(&[("ANTHROPIC_OAUTH_TOKEN", "tok-1"), ("ANTHROPIC_API_KEY", "k")], "", None),
            None,
            Source::Environment,
            "tok-1",
            true,
        ),
        (credentials(&[], "{}", None), Some("literal"), Source::ModelsFile, "literal", false),
        (credentials(&[("OTHER", "named")], "{}", None), Some("OTHER"), Source::ModelsFile, "named", false),
        (credentials(&[], "{}", None), Some("!vault get"), Source::ModelsFile, "from vault get", false),
    ];
    for (credentials, api_key, source, key, bearer) in cases {
        let provider = provider(api_key);
        assert!(credentials.has_key(&provider));
        let found = credentials.resolve(&provider, "s", NOW).await.unwrap();
        assert_eq!((found.source, found.auth.secret().unwrap().expose()), (source, key));
        assert_eq!(matches!(found.auth, Auth::Bearer(_)), bearer, "{key}");
        assert!(!format!("{found:?} {credentials:?}").contains(key));
    }
}

#[tokio::test]
async fn missing_keys_and_failing_commands_name_the_entry() {
    let none = credentials(&[("ANTHROPIC_API_KEY", " ")], "{}", None);
    assert!(!none.has(&provider(None)));
    for (api_key, text) in [
        (None, "anthropic: no key; set ANTHROPIC_API_KEY, use --api-key, or run sinew login anthropic"),
        (Some("!fail"), "models.json: apiKey of anthropic: the command failed: exit code 1"),
        (Some("!empty"), "models.json: apiKey of anthropic: the command printed nothing"),
    ] {
        let error = none.resolve(&provider(api_key), "s", NOW).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Config, text));
    }
    let headers = none.headers(&[("X-A".into(), "!fail".into())]).await.unwrap_err();
    assert_eq!(headers.message, "models.json: header X-A: the command failed: exit code 1");
}

#[tokio::test]
async fn a_login_is_treated_as_expired_early() {
    let file = format!(r#"{{"anthropic": {{"type": "oauth", "access": "token", "expires": {}}}}}"#, NOW + 60_000);
    let error = credentials(&[], &file, None).resolve(&provider(None), "s", NOW).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Auth, "anthropic: the login has expired; run sinew login anthropic")
    );
}

#[tokio::test]
async fn rotates_several_keys() {
    let file = r#"{"anthropic": [{"type": "api_key", "key": "a"}, {"type": "api_key", "key": "b"}]}"#;
    let credentials = credentials(&[], file, None);
    let provider = provider(None);
    let first = credentials.resolve(&provider, "session", NOW).await.unwrap();
    assert_eq!(credentials.resolve(&provider, "session", NOW).await.unwrap(), first);
    let sessions = ["1", "2", "3", "4", "5", "6"];
    let mut used = std::collections::BTreeSet::new();
    for session in sessions {
        used.insert(credentials.resolve(&provider, session, NOW).await.unwrap().index);
    }
    assert_eq!(used.len(), 2);

    assert_eq!(credentials.pause("anthropic", first.index, Some(1000), NOW), (NOW + 1000, true));
    let second = credentials.resolve(&provider, "session", NOW).await.unwrap();
    assert_ne!(second.index, first.index);
    assert_eq!(credentials.pause("anthropic", second.index, None, NOW), (NOW + 300_000, false));
    let error = credentials.resolve(&provider, "session", NOW).await.unwrap_err();
    assert_eq!((error.kind, error.retry_after_ms), (ErrorKind::UsageLimit, Some(1000)));
    assert_eq!(
        error.message,
        "anthropic: all 2 credentials have reached their limit or were refused; the next is tried in 1 s"
    );
    assert_eq!(credentials.resolve(&provider, "session", NOW + 1000).await.unwrap(), first);
    // Twice as long each time, at most an hour; starts again after an hour without failures.
    let minutes = |now: i64| (credentials.pause("anthropic", second.index, None, now).0 - now) / 60_000;
    assert_eq!([NOW; 5].map(minutes), [10, 20, 40, 60, 60]);
    assert_eq!(minutes(NOW + 2 * 3_600_000 + 1), 5);
}

#[tokio::test]
async fn the_only_credential_is_never_paused() {
    let only = credentials(&[], r#"{"anthropic": {"type": "api_key", "key": "a"}}"#, None);
    assert_eq!(only.pause("anthropic", 0, None, NOW), (NOW + 300_000, false));
    assert_eq!(only.resolve(&provider(None), "s", NOW).await.unwrap().index, 0);
}

#[tokio::test]
async fn prefers_a_key_and_falls_back_to_a_login() {
    let file = r#"{"anthropic": [{"type": "oauth", "access": "token", "expires": 1800000000000},
        {"type": "passkey"}, {"type": "api_key", "key": "k"}]}"#;
    let both = credentials(&[], file, None);
    let first = both.resolve(&provider(None), "any", NOW).await.unwrap();
    assert_eq!((first.index, first.auth), (1, Auth::ApiKey(Secret::new("k"))));
    assert!(both.pause("anthropic", 1, None, NOW).1);
    assert_eq!(both.resolve(&provider(None), "any", NOW).await.unwrap().auth, Auth::Bearer(Secret::new("token")));
}

#[tokio::test]
async fn caches_successful_commands_and_repeats_failed_ones() {
    let runs = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&runs);
    let runner: CommandRunner = Arc::new(move |_| {
        let mut runs = counted.lock();
        *runs += 1;
        if *runs == 1 { Err("locked: sk-abcdefghijklmnop".to_string()) } else { Ok("key\n".to_string()) }
    });
    let credentials = Credentials::new(Arc::new(|_| None), runner, AuthFile::default(), None);
    let provider = provider(Some("!vault"));
    let error = credentials.resolve(&provider, "s", NOW).await.unwrap_err();
    assert_eq!(error.message, "models.json: apiKey of anthropic: the command failed: locked: ***");
    for _ in 0..3 {
        assert_eq!(credentials.resolve(&provider, "s", NOW).await.unwrap().auth, Auth::ApiKey(Secret::new("key")));
    }
    assert_eq!(*runs.lock(), 2);
}

#[test]
fn the_file_is_private_and_preserves_unknown_entries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth.json");
    assert_eq!(AuthFile::load(&path).unwrap(), AuthFile::default());
    let mut file = AuthFile::parse(r#"{"x": {"type": "passkey"}, "y": {"type": "api_key", "key": "k"}}"#).unwrap();
    assert_eq!(file.entries("x"), []);
    file.set("y", &[]);
    file.set("z", &[AuthEntry::ApiKey { key: "secret".into() }]);
    file.save(&path).unwrap();
    assert_eq!(AuthFile::load(&path).unwrap(), file);
    assert_eq!(file.providers().collect::<Vec<_>>(), ["x", "z"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // A new key only replaces keys; `forget` removes both.
    let mut mixed = AuthFile::parse(
        r#"{"l": [{"type": "passkey"}, {"type": "api_key", "key": "a"},
        {"type": "api_key", "key": "b"}, {"type": "oauth", "access": "t"}]}"#,
    )
    .unwrap();
    mixed.set_key("l", "c");
    let kinds = |file: &AuthFile| {
        file.entries("l").iter().map(|entry| matches!(entry, AuthEntry::ApiKey { .. })).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&mixed), [false, true]);
    assert!(mixed.forget("l") && !mixed.forget("l") && !mixed.forget("none"));
    assert_eq!((mixed.entries("l"), mixed.providers().count()), (Vec::new(), 1));
    // Unknown fields are preserved when a login is refreshed.
    let list = r#"{"l": [{"type": "passkey"}, {"type": "oauth", "access": "old", "account": "me"}]}"#;
    let mut logins = AuthFile::parse(list).unwrap();
    let fresh = AuthEntry::Oauth { access: "new".into(), refresh: "r".into(), expires: 5 };
    logins.replace("l", 0, &fresh);
    assert_eq!(logins.entries("l"), [fresh]);
    logins.save(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("passkey") && text.contains("\"account\": \"me\"") && !text.contains("old"), "{text}");
    std::fs::write(&path, "{\"a\": secret}").unwrap();
    let error = AuthFile::load(&path).unwrap_err();
    assert!(!error.message().contains("secret") && error.message().contains("line 1, column 7"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refreshes_an_expiring_login_once() {
    use sinew_testkit::provider::{Reply, Server};
    let server = Server::start(|request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        if body == "grant_type=refresh_token&refresh_token=r%26+1&client_id=c" {
            Reply::json(200, &serde_json::json!({"access_token": "fresh", "refresh_token": "r2", "expires_in": 3600}))
        } else {
            Reply::json(400, &serde_json::json!({"error": "invalid_grant", "hint": body}))
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth.json");
    let old = AuthEntry::Oauth { access: "stale".into(), refresh: "r& 1".into(), expires: NOW };
    let mut file = AuthFile::default();
    file.set("anthropic", &[old]);
    file.save(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut provider = provider(None);
    provider.oauth = Some(serde_json::json!({"tokenUrl": server.url(), "clientId": "c"}));

    // Two processes that read the file before either of them refreshed.
    let ask = || async {
        let credentials = credentials(&[], &text, None).with_renewal(HttpClient::default(), path.clone());
        credentials.resolve(&provider, "s", NOW).await.unwrap().auth
    };
    let fresh = Auth::Bearer(Secret::new("fresh"));
    assert_eq!(tokio::join!(ask(), ask()), (fresh.clone(), fresh));
    assert_eq!(server.requests().len(), 1);
    let renewed = AuthEntry::Oauth { access: "fresh".into(), refresh: "r2".into(), expires: NOW + 3_600_000 };
    assert_eq!(AuthFile::load(&path).unwrap().entries("anthropic"), [renewed]);

    let later = credentials(&[], &text, None).with_renewal(HttpClient::default(), path.clone());
    let error = later.resolve(&provider, "s", NOW + 3_600_000).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert_eq!(
        error.message,
        "anthropic: failed to renew the login: the server answered HTTP 400: invalid_grant; run sinew login anthropic if it fails again"
    );
}
