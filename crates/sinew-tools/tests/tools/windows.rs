//! Tests Windows paths in the forms that models write, and files with Windows line endings.

use serde_json::{Value, json};

use crate::Case;
use crate::stage::{Stage, holds};

pub(crate) const CASES: &[Case] = &[
    ("all_spellings_of_a_path_name_one_file", all_spellings_of_a_path_name_one_file),
    (
        "reserved_windows_names_are_refused_before_a_file_is_created",
        reserved_windows_names_are_refused_before_a_file_is_created,
    ),
    ("unusable_paths_suggest_what_to_write", unusable_paths_suggest_what_to_write),
    ("windows_line_endings_are_kept", windows_line_endings_are_kept),
    ("paths_longer_than_260_characters_work", paths_longer_than_260_characters_work),
];

fn folder(stage: &Stage) -> String {
    stage.cwd().to_str().unwrap().to_string()
}

fn all_spellings_of_a_path_name_one_file() {
    let stage = Stage::new();
    let folder = folder(&stage);
    stage.ok("write", json!({"path": "Sub\\a.txt", "content": "x"}), "Successfully wrote 1 bytes to Sub/a.txt");
    let upper = folder.to_uppercase();
    let forms = [
        "Sub/a.txt".to_string(),
        "sub\\A.TXT".to_string(),
        format!("{folder}\\Sub\\a.txt"),
        format!("{upper}/SUB/a.txt"),
        format!(r"\\?\{folder}\Sub\a.txt"),
        format!("file:///{}/Sub/a.txt", folder.replace('\\', "/")),
        format!("{}\\Sub\\a.txt", &folder[2..]),
    ];
    for path in forms {
        let (text, is_error) = stage.call("read", json!({"path": path}));
        assert_eq!((text.as_str(), is_error), ("1:x", false), "{path}");
        let (text, is_error) = stage.call("write", json!({"path": path, "content": "x"}));
        assert!(!is_error, "{path}: {text}");
    }
    holds(&stage.cwd().join("Sub"), &["a.txt"]);
    holds(&stage.cwd(), &["Sub"]);
    for path in ["sub", &format!("{upper}\\Sub\\")] {
        stage.ok("ls", json!({"path": path}), "a.txt (1 B)");
        let (text, _) = stage.call("find", json!({"path": path, "pattern": "*.txt"}));
        assert!(text.ends_with("a.txt") && text.lines().count() == 1, "{text}");
    }
}

fn reserved_windows_names_are_refused_before_a_file_is_created() {
    let stage = Stage::new();
    let table: Value =
        serde_json::from_str(include_str!("../../../sinew-search/tests/all/windows_paths.json")).unwrap();
    let bad = table["names"].as_array().unwrap().iter().filter(|row| !row[1].is_null());
    for name in bad.map(|row| row[0].as_str().unwrap()) {
        for path in [name.to_string(), format!("{name}\\inside")] {
            let (text, is_error) = stage.call("write", json!({"path": path, "content": "x"}));
            assert!(
                is_error && text.starts_with("Cannot write ") && text.contains(&format!("{name:?}")),
                "{path}: {text}"
            );
        }
    }
    holds(&stage.cwd(), &[]);
}

fn unusable_paths_suggest_what_to_write() {
    let stage = Stage::new();
    let drive = &folder(&stage)[..2];
    for tool in ["read", "ls"] {
        let (text, is_error) = stage.call(tool, json!({"path": format!("{drive}x")}));
        assert!(is_error && text.contains(&format!("write {drive}/x")), "{tool}: {text}");
    }
    stage.fails("write", json!({"path": "a\\", "content": "x"}), "Cannot write \"a\\\": it is not the path of a file");
    for path in ["no\\such", "CON", r"\\localhost\no such share\x"] {
        for tool in ["read", "ls"] {
            let (text, is_error) = stage.call(tool, json!({"path": path}));
            assert!(is_error && text.contains(path), "{tool} {path}: {text}");
        }
    }
    holds(&stage.cwd(), &[]);
}

fn windows_line_endings_are_kept() {
    let stage = Stage::new();
    stage.put("a.txt", "one\r\ntwo\r\nthree\r\n");
    stage.ok("read", json!({"path": "a.txt"}), "1:one\n2:two\n3:three");
    stage.call("edit", json!({"path": "a.txt", "oldText": "one\ntwo", "newText": "1\n2"}));
    assert_eq!(stage.get("a.txt"), "1\r\n2\r\nthree\r\n");
    let (text, _) = stage.call("grep", json!({"pattern": "2$"}));
    assert!(text.contains("2:2") && !text.contains('\r'), "{text:?}");
}

fn paths_longer_than_260_characters_work() {
    let stage = Stage::new();
    let path = format!("{}/a.txt", ["a folder of twenty-six chars"; 12].join("/"));
    stage.ok("write", json!({"path": path, "content": "x"}), &format!("Successfully wrote 1 bytes to {path}"));
    stage.ok("find", json!({"pattern": "a.txt"}), &path);
    // wine returns no metadata for long paths.
    if std::env::var_os("WINEPREFIX").is_none() {
        stage.ok("read", json!({"path": path}), "1:x");
    }
}
