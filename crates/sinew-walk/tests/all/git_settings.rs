//! Tests that the global ignore file is the one that git uses, for all kinds of settings.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::tree::{Tree, names, scan};
use sinew_walk::{FileType, GitHome, GlobalExcludes, ScanOptions};

/// The files of one case: path and text. `%T%` is the path of the tree.
type Files = &'static [(&'static str, &'static str)];

/// Configuration of the user and of the repository. The ignore files `rules1` to `rules4` in several directories each
/// exclude one of the names `a.1` to `a.4`; `.config/git/ignore` excludes `a.5`.
const FILES: &[Files] = &[
    &[],
    // The syntax of values.
    &[("home/.gitconfig", "[core]\nexcludesFile = ~/rules1\n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = ~/rules1 # mine\n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = ~/rules1;mine\n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = \"~/rules#1\" ; a mark\n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = ~/\"rules\"1\n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = ~/with blank   \n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = \"~/with blank  \"\n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = ~/with\\\n blank\n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = ~/ru\\\nles1\n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = \"~/quo\\\"te\"\n")],
    &[("home/.gitconfig", "[core]\n\texcludesFile = ~/back\\\\slash\n")],
    &[("home/.gitconfig", "[core] excludesfile=~/rules1\n")],
    &[("home/.gitconfig", "[CORE]\r\n\tEXCLUDESFILE\t=\t~/rules1\r\n")],
    &[("home/.gitconfig", "\u{FEFF}[core]\nexcludesFile=~/rules1")],
    &[("home/.gitconfig", "# a\n; b\n[user]\nname = n # c\n[core] # d\nexcludesFile = ~/rules1")],
    &[("home/.gitconfig", "[core]\nexcludesFile = ~/rules1\nexcludesFile = ~/rules2\n")],
    &[("home/.gitconfig", "[core \"sub\"]\nexcludesFile = ~/rules1\n")],
    &[("home/.gitconfig", "[core.sub]\nexcludesFile = ~/rules1\n")],
    &[("home/.gitconfig", "[user]\nexcludesFile = ~/rules1\n")],
    &[("home/.gitconfig", "[core]\nexcludesFile =\n")],
    &[("home/.gitconfig", "[core]\nexcludesFile = \"\"\n")],
    &[("home/.gitconfig", "[core]\nexcludesFile = ~/rules1\nexcludesFile =\n")],
    &[("home/.gitconfig", "[core]\nexcludesFile = rules1\n")],
    &[("home/.gitconfig", "[core]\nexcludesFile = %T%/home/rules1\n")],
    &[("home/.gitconfig", "[core]\nexcludesFile = ~root/no-such-file\n")],
    &[("home/.gitconfig", "[core]\nexcludesFile = ~/none\n")],
    &[("home/.gitconfig", "[core]\nexcludesFile = ~/rules1\n[alias]\n\tx = \"!f() { echo \\\"a # b\\\"; }; f\"\n")],
    // Both files of the user, and the one of the system.
    &[
        ("home/.gitconfig", "[core]\nexcludesFile = ~/rules1\n"),
        ("home/.config/git/config", "[core]\nexcludesFile = ~/rules2\n"),
    ],
    &[("home/.gitconfig", "[user]\nname = n\n"), ("home/.config/git/config", "[core]\nexcludesFile = ~/rules2\n")],
    // Includes.
    &[("home/.gitconfig", "[include]\npath = more\n"), ("home/more", "[core]\nexcludesFile = ~/rules1\n")],
    &[
        ("home/.gitconfig", "[include]\npath = ~/d/more\n"),
        ("home/d/more", "[include]\npath=last"),
        ("home/d/last", "[core]excludesFile=~/rules1"),
    ],
    &[
        ("home/.gitconfig", "[include]\npath = %T%/more\n[core]\nexcludesFile = ~/rules2\n"),
        ("more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[core]\nexcludesFile = ~/rules2\n[include]\npath = more\npath = none\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[("home/.gitconfig", "[include \"x\"]\npath = more\n"), ("home/more", "[core]\nexcludesFile = ~/rules1\n")],
    // Conditions.
    &[
        ("home/.gitconfig", "[includeIf \"gitdir:%T%/work/\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"gitdir:%T%/work\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"gitdir:%T%/work/.git\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeif \"gitdir:work/\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeif \"gitdir:WORK/\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeif \"gitdir/i:WORK/\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeif \"gitdir:wor?/.git\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"gitdir:~/\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("conf", "[includeIf \"gitdir:./work/\"]\npath = more\n"),
        ("home/.gitconfig", "[include]\npath=%T%/conf"),
        ("more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"gitdir:./work/\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"onbranch:main\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"onbranch:m*\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"onbranch:main/\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"onbranch:feature/\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
        ("work/.git/HEAD", "ref: refs/heads/feature/a/b\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"hasconfig:remote.*.url:https://example.invalid/**\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
        ("work/.git/config", "[core]\n[remote \"o\"]\nurl = https://example.invalid/a/b.git\n"),
    ],
    &[
        ("home/.gitconfig", "[includeIf \"hasconfig:remote.*.url:https://example.invalid/**\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
        ("work/.git/config", "[core]\n[remote \"o\"]\nurl = https://other.invalid/a/b.git\n"),
    ],
    &[
        ("home/.gitconfig", "[core]\nexcludesFile=~/rules2\n[includeIf \"nothing:known\"]\npath = more\n"),
        ("home/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    // The repository's own settings.
    &[
        ("home/.gitconfig", "[core]\nexcludesFile = ~/rules1\n"),
        ("work/.git/config", "[core]\nexcludesFile = ~/rules2\n"),
    ],
    &[("work/.git/config", "[core]\nexcludesFile = rules3 # at the top of the work tree\n")],
    &[("home/.gitconfig", "[core]\nexcludesFile = ~/rules1\n"), ("work/.git/config", "[core]\nexcludesFile =\n")],
    &[
        ("work/.git/config", "[include]\npath = more\n[core]\n"),
        ("work/.git/more", "[core]\nexcludesFile = ~/rules1\n"),
    ],
    &[("work/.git/config", "[include]\npath = ../../home/more\n"), ("home/more", "[core]\nexcludesFile = ~/rules1\n")],
    &[
        (
            "work/.git/config",
            "[core]\nrepositoryformatversion = 0\nexcludesFile=~/rules1\n[extensions]\nworktreeConfig = true\n",
        ),
        ("work/.git/config.worktree", "[core]\nexcludesFile = ~/rules2\n"),
    ],
    &[
        ("work/.git/config", "[extensions]\nworktreeConfig = true\n[core]\nexcludesFile=~/rules1"),
        ("work/.git/config.worktree", "[core]\nexcludesFile = ~/rules2\n"),
    ],
    &[
        ("work/.git/config", "[core]\nrepositoryformatversion = 0\n[extensions]\nworktreeConfig\n"),
        ("work/.git/config.worktree", "[core]\nexcludesFile = ~/rules2\n"),
    ],
    &[
        ("work/.git/config", "[core]\nrepositoryformatversion = 0\n[extensions]\nworktreeConfig = off\n"),
        ("work/.git/config.worktree", "[core]\nexcludesFile = ~/rules2\n"),
    ],
    &[("work/.git/config.worktree", "[core]\nexcludesFile = ~/rules2\n")],
];

/// Variables of the environment, with the files of each case.
const VARIABLES: &[(Files, Files)] = &[
    (&[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.excludesFile"), ("GIT_CONFIG_VALUE_0", "~/rules1")], &[]),
    (
        &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.excludesFile"), ("GIT_CONFIG_VALUE_0", "~/rules1")],
        &[
            ("work/.git/config", "[core]\nexcludesFile = ~/rules2\n"),
            ("home/.gitconfig", "[core]excludesFile=~/rules3"),
        ],
    ),
    (
        &[
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "CORE.excludesfile"),
            ("GIT_CONFIG_VALUE_0", "~/rules1"),
            ("GIT_CONFIG_KEY_1", "core.excludesFile"),
            ("GIT_CONFIG_VALUE_1", ""),
        ],
        &[],
    ),
    (
        &[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "includeIf.gitdir:work/.path"),
            ("GIT_CONFIG_VALUE_0", "%T%/home/more"),
        ],
        &[("home/more", "[core]\nexcludesFile = ~/rules1\n")],
    ),
    (&[("GIT_CONFIG_COUNT", "")], &[("home/.gitconfig", "[core]\nexcludesFile = ~/rules1\n")]),
    (&[("GIT_CONFIG_PARAMETERS", "'core.excludesFile=~/rules1'")], &[]),
    (&[("GIT_CONFIG_PARAMETERS", "'core.excludesfile'='~/it'\\''s' 'a.b'=")], &[("home/it's", "a.4\n")]),
    (
        &[
            ("GIT_CONFIG_PARAMETERS", "'core.excludesFile'='~/rules2'  "),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.excludesFile"),
            ("GIT_CONFIG_VALUE_0", "~/rules1"),
        ],
        &[],
    ),
    (&[("GIT_CONFIG_GLOBAL", "%T%/mine")], &[("mine", "[core]excludesFile=~/rules1")]),
    (&[("GIT_CONFIG_GLOBAL", "%T%/none")], &[("home/.gitconfig", "[core]excludesFile=~/rules1")]),
    (&[("GIT_CONFIG_GLOBAL", "")], &[("home/.gitconfig", "[core]excludesFile=~/rules1")]),
    (&[("GIT_CONFIG_SYSTEM", "%T%/all"), ("GIT_CONFIG_NOSYSTEM", "0")], &[("all", "[core]excludesFile=~/rules1")]),
    (&[("GIT_CONFIG_SYSTEM", "%T%/all")], &[("all", "[core]excludesFile=~/rules1")]),
    (
        &[("GIT_CONFIG_SYSTEM", "%T%/all"), ("GIT_CONFIG_NOSYSTEM", "false")],
        &[("all", "[core]excludesFile=~/rules1"), ("home/.gitconfig", "[core]excludesFile=~/rules2")],
    ),
    (&[("XDG_CONFIG_HOME", "%T%/xdg")], &[("xdg/git/ignore", "a.4\n")]),
    (&[("XDG_CONFIG_HOME", "%T%/xdg")], &[("xdg/git/config", "[core]excludesFile=~/rules3")]),
    (&[("XDG_CONFIG_HOME", "")], &[]),
];

/// Runs git in the work tree with only these environment variables.
fn git(folder: &Path, variables: &[(String, String)], args: &[&str]) -> Vec<String> {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let output = command.args(args).current_dir(folder).output();
    let output = output.expect("git is needed by this test: install it with your package manager");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let mut paths: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect();
    paths.sort();
    paths
}

/// Creates the tree of a case and compares the files of the work tree with those that git lists.
fn check(files: Files, variables: Files) {
    let tree = Tree::new();
    let root = std::fs::canonicalize(tree.path()).unwrap().to_string_lossy().into_owned();
    for number in 1..6 {
        tree.file(&format!("work/a.{number}"), "");
        for folder in ["home", "work"] {
            tree.file(&format!("{folder}/rules{number}"), &format!("a.{number}\n"));
        }
    }
    for (name, text) in [("with blank", "a.2"), ("with blank  ", "a.3"), ("rules#1", "a.4"), ("rules", "a.3")] {
        tree.file(&format!("home/{name}"), text);
    }
    tree.file("home/quo\"te", "a.2");
    tree.file("home/back\\slash", "a.3");
    tree.file("home/.config/git/ignore", "a.5\n");
    let home = ("HOME".to_string(), format!("{root}/home"));
    let no_system = ("GIT_CONFIG_NOSYSTEM".to_string(), "1".to_string());
    let init = ["-c", "init.defaultBranch=main", "init", "-q"];
    git(&tree.path().join("work"), &[home.clone(), no_system.clone()], &init);
    for (path, text) in files {
        tree.file(path, &text.replace("%T%", &root));
    }
    let mut all = vec![home];
    all.extend(variables.iter().map(|(name, value)| ((*name).to_string(), value.replace("%T%", &root))));
    if variables.iter().all(|(name, _)| !name.contains("SYSTEM")) {
        all.push(no_system);
    }
    let variable = |name: &str| all.iter().find(|(known, _)| known == name).map(|(_, value)| OsString::from(value));
    let user = GlobalExcludes::of(GitHome::from_variables(variable("HOME").map(Into::into), variable));
    let work = tree.path().join("work");
    let options = ScanOptions { global_excludes: Some(user), ..ScanOptions::new(&work) };
    let listed = names(&scan(&options), |entry| entry.file_type() != FileType::Dir);
    assert_eq!(listed, git(&work, &all, &["ls-files", "-co", "--exclude-standard"]), "{files:?} {variables:?}");
}

#[test]
fn reads_settings_files_like_git() {
    FILES.iter().for_each(|files| check(files, &[]));
}

#[test]
fn reads_environment_variables_like_git() {
    VARIABLES.iter().for_each(|(variables, files)| check(files, variables));
}

#[test]
fn settings_of_a_linked_work_tree_apply_only_there() {
    let tree = Tree::new();
    let home = vec![
        ("HOME".to_string(), tree.path().to_string_lossy().into_owned()),
        ("GIT_CONFIG_NOSYSTEM".to_string(), "1".to_string()),
    ];
    let (main, linked) = (tree.path().join("main"), tree.path().join("linked"));
    for (path, text) in
        [("main/tracked", ""), ("rules1", "a.1"), ("rules2", "a.2"), ("conditional", "[core]excludesFile=~/rules2")]
    {
        tree.file(path, text);
    }
    git(&main, &home, &["init", "-q"]);
    git(&main, &home, &["add", "."]);
    git(&main, &home, &["-c", "user.name=n", "-c", "user.email=e@example.invalid", "commit", "-qm", "m"]);
    git(&main, &home, &["worktree", "add", "-q", "../linked"]);
    git(&main, &home, &["config", "extensions.worktreeConfig", "true"]);
    git(&linked, &home, &["config", "--worktree", "core.excludesFile", "~/rules1"]);
    for folder in ["main", "linked"] {
        tree.file(&format!("{folder}/a.1"), "");
        tree.file(&format!("{folder}/a.2"), "");
    }
    let compare = |expect: [&[&str]; 2]| {
        let variable =
            |name: &str| home.iter().find(|(known, _)| known == name).map(|(_, value)| OsString::from(value));
        let user = GlobalExcludes::of(GitHome::from_variables(Some(tree.path().into()), variable));
        for (work, expect) in [&main, &linked].into_iter().zip(expect) {
            let options = ScanOptions { global_excludes: Some(user.clone()), ..ScanOptions::new(work) };
            let listed = names(&scan(&options), |_| true);
            assert_eq!(listed, git(work, &home, &["ls-files", "-co", "--exclude-standard"]));
            assert_eq!(listed, expect);
        }
    };
    compare([&["a.1", "a.2", "tracked"], &["a.2", "tracked"]]);
    git(&linked, &home, &["config", "--worktree", "--unset", "core.excludesFile"]);
    tree.file(".gitconfig", "[includeIf \"gitdir:worktrees/linked\"]\npath = conditional\n");
    compare([&["a.1", "a.2", "tracked"], &["a.1", "tracked"]]);
}

#[test]
fn ignores_settings_that_git_rejects() {
    let loops = "[include]\npath = .gitconfig\n[core]\nexcludesFile = ~/x\n";
    for text in [
        "[",
        "[core",
        "[core]\nexcludesFile = \"a",
        "=",
        "[core]\nexcludesFile",
        "[a \"b\nc\"]\n",
        "\\",
        loops,
        "[core] excludesFile = \\x",
    ] {
        let tree = Tree::new();
        tree.file(".gitconfig", text);
        let home = GitHome { home: Some(tree.path().into()), no_system: true, ..GitHome::default() };
        let expected = if text == loops { "x" } else { ".config/git/ignore" };
        assert_eq!(GlobalExcludes::of(home).file(), Some(tree.path().join(expected).as_path()), "{text:?}");
    }
}
