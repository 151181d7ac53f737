use super::*;

#[test]
fn invalid_entries_are_reported_and_invalid_guards_block() {
    let text = r#"{"hooks": [ // why
        {"event": "tool_call", "command": "x", "match": {"args": "("}},
        {"event": "tool_call", "comand": "x"},
        {"event": "tool_cal", "command": "x"},
        {"event": "message_update", "command": "x"},
        {"event": "turn_end", "command": ""},
        3,
    ]}"#;
    let (hooks, warnings) = read(text, Path::new("h.json"), Origin::User, &Arc::default()).unwrap();
    assert_eq!(warnings.len(), 6, "{warnings:#?}");
    assert!(hooks.len() == 2 && hooks.iter().all(|hook| hook.is_for("tool_call", Some(("any", &Value::Null)))));
    for (text, expect) in
        [("{oops", "h.json:1:"), ("[]", "expected an object"), ("{\"hooks\": {}}", "expected an object")]
    {
        let error = read(text, Path::new("h.json"), Origin::User, &Arc::default()).unwrap_err();
        assert!(error.contains(expect), "{error}");
    }
    assert!(read("", Path::new("h.json"), Origin::User, &Arc::default()).unwrap().0.is_empty());
}

#[test]
fn relative_commands_are_resolved_against_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path();
    std::fs::write(file.join("there"), "").unwrap();
    assert_eq!(command(file, "./there", Origin::Project), file.join("./there"));
    assert_eq!(command(file, "./none", Origin::Project), Path::new("./none"));
    assert_eq!(command(file, "./none", Origin::User), file.join("./none"));
    for plain in ["git", "/bin/sh"] {
        assert_eq!(command(file, plain, Origin::User), Path::new(plain));
    }
}
