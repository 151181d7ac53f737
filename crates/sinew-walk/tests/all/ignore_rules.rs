//! Compares the walk with git and ripgrep on generated trees.

use std::path::Path;
use std::process::Command;

use crate::tree::{Dice, Tree, names, scan};
use sinew_walk::{FileType, ScanOptions};

const NAMES: &[&str] = &["a", "b", "foo", "Foo", "bar", ".h", "x1", "x2", "log.txt", "a b", "n.rs", "m.o", "日"];
const PARTS: &[&str] =
    &["*", "**", "a", "foo", "f*", "*.o", "x?", "x[12]", "[!a]", "[a-c]", "log.*", "日*", "?", ".*", "{a,b}", "*o*"];

/// Returns a random line of an ignore file; without `odd` one that git and ripgrep interpret in the same way.
fn line(dice: &mut Dice, odd: bool) -> String {
    let mut line = String::new();
    line.push_str(dice.pick(&["", "", "", "!"]));
    line.push_str(dice.pick(&["", "", "/", "**/"]));
    for depth in 0..=dice.below(3) {
        let part = Some(dice.pick(PARTS)).filter(|part| odd || *part != "{a,b}").unwrap_or("b");
        line.push_str(if depth > 0 && !line.ends_with('/') { "/" } else { "" });
        line.push_str(part);
    }
    line.push_str(dice.pick(&["", "", "/"]));
    if odd {
        line.push_str(dice.pick(&["", "", "  ", "\\ "]));
    }
    line
}

fn generate(seed: u64, odd: bool, ignore_names: &[&str]) -> Tree {
    let mut dice = Dice::new(seed);
    let tree = Tree::new();
    for _ in 0..3 + dice.below(24) {
        let depth = 1 + dice.below(4);
        let path: Vec<&str> = (0..depth).map(|_| dice.pick(NAMES)).collect();
        tree.try_file(&path.join("/"), "x");
    }
    let mut folders: Vec<String> = tree.folders();
    folders.insert(0, String::new());
    for _ in 0..1 + dice.below(3) {
        let folder = folders[dice.below(folders.len())].clone();
        let rules: String = (0..1 + dice.below(4)).map(|_| line(&mut dice, odd) + "\n").collect();
        tree.file(&format!("{folder}/{}", dice.pick(ignore_names)), &rules);
    }
    tree
}

fn git(folder: &Path, args: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args(["-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=false", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .output()
        .expect("git is needed by this test: install it with your package manager");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn sorted(output: &[u8]) -> Vec<String> {
    let mut paths: Vec<String> = output
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| String::from_utf8_lossy(path).trim_start_matches("./").to_string())
        .collect();
    paths.sort();
    paths
}

fn ripgrep(folder: &Path) -> Vec<String> {
    let program = std::env::var_os("SINEW_RG").unwrap_or_else(|| "rg".into());
    let mut command = Command::new(&program);
    // Our paths have `/` on every system.
    command.args(["--files", "--hidden", "--null", "--no-config", "--path-separator=/", "."]);
    let output = command.current_dir(folder).output().unwrap_or_else(|cause| {
        panic!(
            "this test compares with ripgrep, and {program:?} did not start ({cause}): install it with \
             `cargo install ripgrep`, or name the program in SINEW_RG"
        )
    });
    sorted(&output.stdout).into_iter().filter(|path| !path.starts_with(".git/")).collect()
}

fn listed(root: &Path) -> Vec<String> {
    let options = ScanOptions { skip_node_modules: false, ..ScanOptions::new(root) };
    names(&scan(&options), |entry| entry.file_type() != FileType::Dir)
}

#[test]
fn lists_the_same_files_as_git() {
    for seed in 0..60 {
        let tree = generate(seed, true, &[".gitignore"]);
        git(tree.path(), &["init", "-q"]);
        // True on file systems that ignore case, where git would ignore it in patterns too; our patterns never do.
        git(tree.path(), &["config", "core.ignorecase", "false"]);
        let expect = sorted(&git(tree.path(), &["ls-files", "-z", "-co", "--exclude-standard"]));
        assert_eq!(listed(tree.path()), expect, "seed {seed}");
    }
}

#[test]
fn lists_the_same_files_as_ripgrep() {
    for seed in 1_000..1_040 {
        let tree = generate(seed, false, &[".gitignore", ".ignore", ".rgignore"]);
        // Without a work tree, `.gitignore` has no effect.
        if seed % 4 != 0 {
            tree.folder(".git");
        }
        assert_eq!(listed(tree.path()), ripgrep(tree.path()), "seed {seed}");
    }
}

#[test]
fn applies_rules_above_the_root_within_a_work_tree() {
    let tree = Tree::new();
    tree.folder(".git");
    for (path, text) in
        [(".gitignore", "*.log\n/sub/no\n"), ("sub/a.log", ""), ("sub/no", ""), ("sub/yes", ""), (".ignore", "yes2")]
    {
        tree.file(path, text);
    }
    tree.file("sub/yes2", "");
    assert_eq!(listed(&tree.path().join("sub")), ["yes"]);
}

#[test]
fn a_nested_repository_ignores_outer_rules() {
    let tree = Tree::new();
    git(tree.path(), &["init", "-q"]);
    tree.file(".gitignore", "*.log\n");
    tree.file("inner/a.log", "");
    tree.file("inner/b.tmp", "");
    tree.file("inner/.gitignore", "*.tmp\n");
    git(&tree.path().join("inner"), &["init", "-q"]);
    assert_eq!(listed(tree.path()), [".gitignore", "inner/.gitignore", "inner/a.log"]);
}

#[test]
fn exclude_files_apply_in_linked_work_trees() {
    let tree = Tree::new();
    let main = tree.path().join("main");
    tree.file("main/a.txt", "");
    git(&main, &["init", "-q"]);
    git(&main, &["add", "."]);
    git(&main, &["-c", "user.name=n", "-c", "user.email=e@example.invalid", "commit", "-qm", "m"]);
    tree.file("main/.git/info/exclude", "*.tmp\n");
    git(&main, &["worktree", "add", "-q", "../linked"]);
    tree.file("linked/b.tmp", "");
    tree.file("main/b.tmp", "");
    assert_eq!(listed(&main), ["a.txt"]);
    // In a linked work tree `.git` is a file; it is never listed.
    assert_eq!(listed(&tree.path().join("linked")), ["a.txt"]);
}

#[test]
fn a_repository_setting_overrides_the_global_ignore_file() {
    let tree = Tree::new();
    tree.file("global", "*.bak\n");
    tree.file("own", "*.own\n");
    for file in ["work/a.bak", "work/a.own", "work/a.txt"] {
        tree.file(file, "");
    }
    let work = tree.path().join("work");
    git(&work, &["init", "-q"]);
    let options = ScanOptions { global_excludes: Some(tree.path().join("global").into()), ..ScanOptions::new(&work) };
    assert_eq!(names(&scan(&options), |_| true), ["a.own", "a.txt"]);
    git(&work, &["config", "core.excludesFile", &tree.path().join("own").to_string_lossy()]);
    assert_eq!(names(&scan(&options), |_| true), ["a.bak", "a.txt"]);
}

#[test]
fn recognises_jujutsu_work_trees() {
    let tree = Tree::new();
    tree.folder(".jj");
    tree.file(".gitignore", "*.log\n");
    tree.file("a.log", "");
    assert_eq!(listed(tree.path()), [".gitignore"]);
}
