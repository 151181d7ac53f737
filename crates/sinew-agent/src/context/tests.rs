use std::fs;
use std::path::Path;

use super::*;

fn put(root: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns the texts below `root` for a session in `cwd`. Files above `root` belong to the machine and are ignored.
fn texts(root: &Path, cwd: &str) -> Vec<String> {
    let found = context_files(&[&root.join("agent"), &root.join("beside")], &root.join(cwd), None, true);
    found.files.into_iter().filter(|file| file.path.starts_with(root)).map(|file| file.text).collect()
}

#[test]
fn context_files_come_outermost_first_and_once() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    put(root, "agent/AGENTS.md", "user");
    put(root, "p/AGENTS.md", "outer");
    put(root, "p/CLAUDE.md", "outer");
    put(root, "p/q/CLAUDE.md", "claude");
    put(root, "p/q/r/AGENTS.md", "inner");
    put(root, "p/q/r/CLAUDE.md", "other");
    assert_eq!(texts(root, "p/q/r"), ["user", "outer", "claude", "inner", "other"]);
    assert_eq!(texts(root, "p"), ["user", "outer"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../AGENTS.md", root.join("p/q/AGENTS.md")).unwrap();
        assert_eq!(texts(root, "p/q"), ["user", "outer", "claude"]);
    }
}

#[test]
fn a_file_next_to_the_folder_of_the_user_is_the_fallback() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    put(root, "beside/AGENTS.md", "beside");
    put(root, "p/x", "");
    assert_eq!(texts(root, "p"), ["beside"]);
    put(root, "agent/AGENTS.md", "user");
    assert_eq!(texts(root, "p"), ["user"]);
}

#[test]
fn at_most_twenty_levels_are_read() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    let deep = (0..25).map(|level| level.to_string()).collect::<Vec<_>>();
    for level in 1..=deep.len() {
        put(root, &format!("{}/AGENTS.md", deep[..level].join("/")), deep[level - 1].clone());
    }
    assert_eq!(texts(root, &deep.join("/")), deep[5..]);
}

#[test]
fn hidden_folders_are_skipped_unless_the_session_is_in_them() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    put(root, "p/.x/AGENTS.md", "hidden");
    put(root, "p/.x/y/AGENTS.md", "below");
    assert_eq!(texts(root, "p/.x"), ["hidden"]);
    assert_eq!(texts(root, "p/.x/y"), ["below"]);
}

#[test]
fn a_project_in_a_hidden_folder_has_its_own_files() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    put(root, "repo/.git/HEAD", "");
    put(root, "repo/AGENTS.md", "repo");
    put(root, "repo/.claude/worktrees/w1/.git", "gitdir: ../../../.git/worktrees/w1");
    put(root, "repo/.claude/worktrees/w1/AGENTS.md", "worktree");
    put(root, "repo/.claude/worktrees/w1/src/x", "");
    put(root, ".dotfiles/.git/HEAD", "");
    put(root, ".dotfiles/AGENTS.md", "dotfiles");
    put(root, ".dotfiles/nvim/AGENTS.md", "nvim");
    assert_eq!(texts(root, "repo/.claude/worktrees/w1/src"), ["repo", "worktree"]);
    assert_eq!(texts(root, ".dotfiles/nvim"), ["dotfiles", "nvim"]);
    // A worktree contains a copy of its repository's file.
    put(root, "repo/.claude/worktrees/w1/AGENTS.md", "repo");
    assert_eq!(texts(root, "repo/.claude/worktrees/w1"), ["repo"]);
}

#[test]
fn imported_files_follow_the_file_that_names_them() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    put(root, "p/.git/HEAD", "");
    put(root, "p/CLAUDE.md", "See @docs/a.md, @missing.md and `@docs/code.md`.\n```\n@docs/code.md\n```\n@../out.md");
    put(root, "p/docs/a.md", "a @b.md");
    put(root, "p/docs/b.md", "b @a.md @../CLAUDE.md");
    put(root, "p/docs/code.md", "code");
    put(root, "out.md", "out");
    let read = |trusted| {
        let found = context_files(&[], &root.join("p"), None, trusted).files.into_iter();
        found.filter(|file| file.path.starts_with(root)).map(|file| file.text).skip(1).collect::<Vec<_>>()
    };
    assert_eq!(read(false), ["a @b.md", "b @a.md @../CLAUDE.md"]);
    assert_eq!(read(true), ["a @b.md", "b @a.md @../CLAUDE.md", "out"]);
    // The depth of a chain of imports is limited.
    for step in 0..9 {
        put(root, &format!("q/{step}.md"), format!("{step} @{}.md", step + 1));
    }
    put(root, "q/AGENTS.md", "@0.md");
    assert_eq!(texts(root, "q").len(), 6);
}

#[test]
fn instructions_between_the_session_and_a_file_are_loaded() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    for folder in ["p", "p/a", "p/a/b", "p/.hidden", "q"] {
        put(root, &format!("{folder}/AGENTS.md"), folder);
    }
    for (file, expect) in
        [("p/a/b/file", &["p/a", "p/a/b"][..]), ("p/file", &[]), ("p/.hidden/file", &[]), ("q/file", &[])]
    {
        let found = nested_context_files(&root.join("p"), &root.join(file), None, true, &[]).files;
        assert_eq!(found.iter().map(|file| file.text.as_str()).collect::<Vec<_>>(), expect, "{file}");
    }
}

#[test]
fn a_nested_copy_of_a_loaded_file_is_left_out() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    put(root, "p/AGENTS.md", "same\nlines\n");
    put(root, "p/a/AGENTS.md", "same  \r\nlines\r\n \r\n");
    put(root, "p/a/CLAUDE.md", "own");
    put(root, "p/a/b/AGENTS.md", "own\t\n");
    let cwd = root.join("p");
    let loaded = context_files(&[], &cwd, None, true).files;
    let found = nested_context_files(&cwd, &cwd.join("a/b/file"), None, true, &loaded).files;
    assert_eq!(found.iter().map(|file| file.text.as_str()).collect::<Vec<_>>(), ["own"]);
}

#[test]
fn a_blank_behind_a_backslash_is_part_of_an_imported_path() {
    let check = |text: &str, expect: &[&str]| assert_eq!(super::imports::imports(text), expect, "{text}");
    check(r"see @docs/with\ blank.md, @b.md", &["docs/with blank.md", "b.md"]);
    check(r"@a\ b\ c.md @d.md", &["a b c.md", "d.md"]);
    check(r"word\ @a.md", &["a.md"]);
    check(r"@a\b.md", &[r"a\b.md"]);
    check("@a.md\\", &["a.md\\"]);
}

#[test]
fn long_files_are_truncated_with_a_warning() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    let mut cwd = String::new();
    for index in 0..6 {
        cwd.push_str(&format!("d{index}/"));
        put(root, &format!("{cwd}AGENTS.md"), format!("{index}{}", "x".repeat(80 << 10)));
    }
    let found = context_files(&[], &root.join(&cwd), None, true);
    let sizes: Vec<usize> =
        found.files.iter().filter(|file| file.path.starts_with(root)).map(|file| file.text.len()).collect();
    assert_eq!(sizes, [64 << 10; 4]);
    assert!(
        found.warnings.iter().any(|text| text.ends_with("is truncated to its first 65536 bytes")),
        "{:?}",
        found.warnings
    );
    assert!(found.warnings.iter().any(|text| text.contains("is skipped")), "{:?}", found.warnings);
}

#[test]
fn the_last_file_gets_the_remaining_bytes() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    let mut cwd = String::new();
    for index in 0..6 {
        cwd.push_str(&format!("d{index}/"));
        put(root, &format!("{cwd}AGENTS.md"), format!("{index}{}", "x".repeat((60 << 10) - 1)));
    }
    let found = context_files(&[], &root.join(&cwd), None, true);
    let sizes: Vec<usize> =
        found.files.iter().filter(|file| file.path.starts_with(root)).map(|file| file.text.len()).collect();
    assert_eq!(sizes, [60 << 10, 60 << 10, 60 << 10, 60 << 10, 16 << 10]);
    let ends: Vec<bool> = [
        "d4/AGENTS.md is truncated to its first 16384 bytes",
        "d5/AGENTS.md is skipped: the context files exceed 256 KB",
    ]
    .map(|end| found.warnings.iter().any(|text| text.ends_with(end)))
    .to_vec();
    assert_eq!(ends, [true, true], "{:?}", found.warnings);
}

#[test]
fn no_character_is_cut_in_two() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    put(dir.path(), "AGENTS.md", format!("x{}", "é".repeat(40 << 10)));
    assert_eq!(texts(dir.path(), "")[0].len(), (64 << 10) - 1);
    put(dir.path(), "AGENTS.md", b"a\xffb");
    assert_eq!(texts(dir.path(), ""), ["a\u{fffd}b"]);
    put(dir.path(), "AGENTS.md", vec![0xff; 60 << 10]);
    assert!(texts(dir.path(), "")[0].len() <= 64 << 10, "an invalid byte becomes three bytes");
}

#[test]
fn copies_with_other_line_ends_are_one_text() {
    let text = "a\n\nb\n";
    for (copy, count) in [
        ("a\n\nb\n", 1),
        ("a\r\n\r\nb\r\n", 1),
        ("a\r\n\nb\n", 1),
        ("a\n\nb", 1),
        ("a\n\nb\n\r\n\n", 1),
        ("\u{feff}a\n\nb\n", 1),
        ("\u{feff}a\r\n\r\nb", 1),
        ("a\nb\n", 2),
        ("a\n\nb c\n", 2),
        ("a\n\n b\n", 2),
    ] {
        let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
        put(dir.path(), "AGENTS.md", text);
        put(dir.path(), "CLAUDE.md", copy);
        assert_eq!(texts(dir.path(), "").len(), count, "{copy:?}");
    }
}

#[test]
fn a_copy_imports_the_files_of_its_own_folder() {
    let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
    let root = dir.path();
    for (name, text) in [("p", "outer"), ("p/q", "inner"), ("p/q/r", "inner")] {
        put(root, &format!("{name}/AGENTS.md"), "@more.md");
        put(root, &format!("{name}/more.md"), text);
    }
    assert_eq!(texts(root, "p/q/r"), ["@more.md", "outer", "inner"]);
}

#[test]
fn imports_in_code_and_comments_are_ignored() {
    for (text, expect) in [
        ("@a (@b) x@c @d.", &["a", "d"][..]),
        ("```\n@a\n```\n@b", &["b"]),
        ("~~~\n@a\n~~~\n@b", &["b"]),
        ("~~~ text `x`\n@a\n```\n@b\n~~~\n@c", &["c"]),
        ("```\n@a\n~~~\n@b\n```\n@c", &["c"]),
        ("````\n```\n@a\n```\n````\n@b", &["b"]),
        ("```\n``` x\n@a\n`````\n@b", &["b"]),
        ("- item\n  ```\n  @a\n  ```\n  @b", &["b"]),
        ("```@a``` @b\n@c", &["b", "c"]),
        ("~~~\n@a", &[]),
        ("~~ @a\n`` @b", &["a", "b"]),
        ("`@a` @b `` @c ` @d `` @e", &["b", "e"]),
        ("<!-- @a --> @b", &["b"]),
        ("@a <!-- x\n@b\n```\n--> @c\n@d", &["a", "c", "d"]),
        ("<!-- @a --> <!-- @b -->@c `<!--` @d", &["c", "d"]),
        ("```\n<!--\n```\n@a", &["a"]),
        ("<!--\n@a", &[]),
        ("<!-->@a", &["a"]),
        ("<!-- ` --> @a `-->` @b", &["a", "b"]),
    ] {
        assert_eq!(imports(text), expect, "{text:?}");
    }
}

/// Returns the bytes of a text in UTF-16, with a byte order mark.
fn utf16(text: &str, bytes: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
}

#[test]
fn encodings_are_decoded_and_binary_files_are_skipped() {
    let wide = "wide \u{e9} \u{1f600} @more.md";
    let long = "x".repeat(70 << 10);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    for name in ["AGENTS.md", "import.bin"] {
        for (bytes, expect) in [
            (utf16(wide, u16::to_le_bytes), Some(wide)),
            (utf16(wide, u16::to_be_bytes), Some(wide)),
            ([&utf16("odd", u16::to_le_bytes)[..], b"x"].concat(), Some("odd")),
            (utf16(&long, u16::to_le_bytes), Some(&long[..64 << 10])),
            (png.to_vec(), None),
            (b"text \0 text".to_vec(), None),
            (utf16("no mark", u16::to_le_bytes)[2..].to_vec(), None),
        ] {
            let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
            put(dir.path(), "AGENTS.md", "@import.bin");
            put(dir.path(), name, &bytes);
            put(dir.path(), "more.md", "more");
            let found = context_files(&[], dir.path(), None, true);
            let path = dir.path().join(name);
            let text = found.files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
            assert_eq!(text, expect, "{name}: {bytes:?}");
            let more = found.files.iter().any(|file| file.text == "more");
            assert_eq!(more, expect == Some(wide), "{name}: {bytes:?}");
            let skipped = format!("{} is not read: it is a binary file", path.display());
            assert_eq!(found.warnings.contains(&skipped), expect.is_none(), "{:?}", found.warnings);
        }
    }
}

/// Creates a file of some kind at a path.
#[cfg(unix)]
type Make<'a> = &'a dyn Fn(&Path);

/// A file that the user expects in the prompt and that cannot be read is named in a warning.
#[cfg(unix)]
#[test]
fn files_that_cannot_be_read_are_reported() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    let folder = |path: &Path| fs::create_dir(path).unwrap();
    let broken = |path: &Path| symlink("nowhere", path).unwrap();
    let cycle = |path: &Path| symlink(path.file_name().unwrap(), path).unwrap();
    let socket = |path: &Path| drop(UnixListener::bind(path).unwrap());
    let locked = |path: &Path| {
        fs::write(path, "x").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    };
    let missing = |_: &Path| {};
    let cases: [(&str, Make<'_>, Option<&str>); 12] = [
        ("p/AGENTS.md", &folder, Some("is not read: it is a directory")),
        ("p/AGENTS.md", &broken, Some("is not read: it is a broken symbolic link")),
        ("p/CLAUDE.md", &cycle, Some("is not read: Too many levels of symbolic links")),
        ("p/AGENTS.md", &socket, Some("is not read: it is a pipe, a socket or a device")),
        ("p/AGENTS.md", &locked, Some("is not read: Permission denied")),
        ("p/AGENTS.md", &missing, None),
        ("agent/AGENTS.md", &broken, Some("is not read: it is a broken symbolic link")),
        ("agent/AGENTS.md", &folder, Some("is not read: it is a directory")),
        ("p/import.md", &broken, Some("is not read: it is a broken symbolic link")),
        ("p/import.md", &locked, Some("is not read: Permission denied")),
        // Many words with an `@` are names of people, packages or folders.
        ("p/import.md", &folder, None),
        ("p/import.md", &missing, None),
    ];
    for (name, make, expect) in cases {
        let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
        let root = dir.path();
        put(root, "p/.git/HEAD", "");
        put(root, "p/CLAUDE.md", "@import.md");
        put(root, "beside/AGENTS.md", "beside");
        fs::create_dir(root.join("agent")).unwrap();
        let path = root.join(name);
        if name == "p/CLAUDE.md" {
            fs::remove_file(&path).unwrap();
        }
        make(&path);
        if expect.is_some_and(|text| text.contains("Permission")) && fs::read(&path).is_ok() {
            // The superuser can read every file.
            continue;
        }
        let found = context_files(&[&root.join("agent"), &root.join("beside")], &root.join("p"), None, true);
        let warnings: Vec<&String> =
            found.warnings.iter().filter(|text| text.contains(&*root.to_string_lossy())).collect();
        let text = expect.map(|text| format!("{} {text}", path.display()));
        match &text {
            Some(text) => assert!(warnings.len() == 1 && warnings[0].starts_with(text), "{text}: {warnings:?}"),
            None => assert!(warnings.is_empty(), "{name}: {warnings:?}"),
        }
        // A file of the user that cannot be used does not hide the fallback.
        let beside = found.files.iter().any(|file| file.text == "beside");
        assert!(beside, "{name}");
    }
}

#[test]
fn imports_below_the_depth_limit_are_reported_once() {
    for (top, read, unread) in [
        ("@0.md", 6, Some("5.md")),
        ("@0.md @0.md", 6, Some("5.md")),
        // The file is too deep on one path, but not on the other.
        ("@0.md @5.md", 10, None),
        ("@4.md @0.md", 10, None),
    ] {
        let dir = tempfile::Builder::new().prefix("context").tempdir().unwrap();
        let root = dir.path();
        for step in 0..9 {
            put(root, &format!("{step}.md"), format!("{step} @{}.md @none.md @0.md", step + 1));
        }
        put(root, "AGENTS.md", top);
        let found = context_files(&[], root, None, true);
        let own = |text: &&String| text.contains(&*root.to_string_lossy());
        let warnings: Vec<&String> = found.warnings.iter().filter(own).collect();
        let expect = unread.map(|name| {
            format!("{} is not read: imports are followed at most 5 levels deep", root.join(name).display())
        });
        assert_eq!(warnings, expect.iter().collect::<Vec<_>>(), "{top}");
        assert_eq!(found.files.iter().filter(|file| file.path.starts_with(root)).count(), read, "{top}");
    }
}

#[test]
fn the_prompt_has_its_parts_in_order_and_each_guideline_once() {
    let tool = |name: &str| PromptTool {
        name: name.into(),
        line: format!("Does {name}."),
        guidelines: vec!["Same.".into(), format!("Of {name}.")],
    };
    let facts = PromptFacts {
        appended: vec!["Appended.".into(), String::new()],
        tools: vec![tool("a"), tool("b")],
        context_files: vec![ContextFile { path: "/p/\"x\"/AGENTS.md".into(), text: "Be kind.\n".into() }],
        date: "2026-01-31".into(),
        cwd: "/p".into(),
        ..PromptFacts::default()
    };
    let parts = system_prompt(&facts);
    assert_eq!(parts.len(), 4);
    assert!(
        parts[0].contains("Tools\n- a: Does a.\n- b: Does b.\n\nHow to use them\n- Same.\n- Of a.\n- Of b.\n"),
        "{}",
        parts[0]
    );
    assert_eq!(parts[1], "Appended.");
    assert_eq!(
        parts[2],
        "<project_context>\n<project_instructions path=\"/p/&quot;x&quot;/AGENTS.md\">\nBe kind.\n\
         </project_instructions>\n</project_context>"
    );
    assert_eq!(parts[3], "Current date: 2026-01-31\nCurrent working directory: /p");
    assert_eq!(system_prompt(&PromptFacts { replaced: Some("Mine.".into()), ..facts })[0], "Mine.");
}
