//! Tests that undo and redo restore every byte after real programs changed a directory.

use super::{Project, difference, restore, span, take};

/// Checks one row: the undo must restore the tree before, and the redo the tree after.
fn check(name: &str, setup: &str, work: &str) {
    let project = Project::new();
    project.run("mkdir -p src/deep docs; for i in 1 2 3 4 5; do printf 'line %s\\nsecond\\n' $i > src/f$i.txt; done; echo guide > docs/guide.md; echo deep > src/deep/d.txt");
    project.run(setup);
    let checkpoints = project.open();
    let before = project.tree();
    let start = take(&checkpoints);
    project.run(work);
    let later = project.tree();
    assert!(!difference(&before, &later).is_empty(), "{name}: the work changes nothing");
    let end = take(&checkpoints);
    // Another process has no cached state.
    let checkpoints = project.open();
    let undone = restore(&checkpoints, &start, &span(&start, &end));
    assert_eq!(undone.done, undone.planned, "{name}: {:?}", undone.plan);
    assert_eq!(difference(&before, &project.tree()), [""; 0], "{name}: undo");
    let redone = restore(&checkpoints, &undone.redo.unwrap(), &Default::default());
    assert_eq!(difference(&later, &project.tree()), [""; 0], "{name}: redo");
    restore(&checkpoints, &redone.redo.unwrap(), &Default::default());
    assert_eq!(difference(&before, &project.tree()), [""; 0], "{name}: undo again");
}

#[test]
fn undoes_and_redoes_what_programs_change() {
    let mapped = r#"python3 - <<'X'
import mmap
with open("src/f1.txt", "r+b") as f:
    with mmap.mmap(f.fileno(), 0) as m:
        m[0:4] = b"MMAP"
        m.flush()
X"#;
    for (name, setup, work) in [
        ("redirection", "", "echo new > src/new.txt; echo more >> src/f1.txt; : > src/f2.txt"),
        ("sed in place", "", "sed -i s/line/LINE/ src/*.txt"),
        ("memory map", "", mapped),
        ("move", "", "mv src/f1.txt src/moved.txt; mv docs handbook; mv src/f2.txt src/f3.txt"),
        ("remove", "", "rm -r src docs"),
        (
            "same size, old time",
            "",
            "t=$(stat -c %y src/f1.txt); printf 'LINE 1\\nsecond\\n' > src/f1.txt; touch -d \"$t\" src/f1.txt",
        ),
        ("copy with times", "", "cp -p src/f1.txt src/f2.txt"),
        (
            "links",
            "ln -s f1.txt src/l; ln -s nowhere dangling",
            "rm src/l; ln -s f2.txt src/l; rm dangling; echo file > dangling; ln -s src s",
        ),
        (
            "hard link broken",
            "ln src/f1.txt src/h1.txt; ln src/f1.txt docs/h2.txt",
            "sed -i s/line/LINE/ src/f1.txt; rm docs/h2.txt",
        ),
        ("hard link written", "ln src/f1.txt src/h1.txt", "echo more >> src/h1.txt"),
        ("hard link made", "cp src/f1.txt src/same.txt", "ln -f src/f1.txt src/same.txt; ln src/f2.txt src/extra.txt"),
        (
            "hard links removed",
            "ln src/f1.txt src/h1.txt; ln src/f1.txt src/h2.txt",
            "rm src/f1.txt src/h1.txt src/h2.txt",
        ),
        (
            "permissions",
            "chmod 600 src/f3.txt; chmod 4755 src/f4.txt",
            "chmod 755 src/f1.txt; chmod 700 docs; rm src/f3.txt src/f4.txt",
        ),
        ("read-only directory", "chmod 555 docs", "chmod 755 docs; rm docs/guide.md; echo x > docs/x; chmod 555 docs"),
        ("left read-only", "", "rm docs/guide.md; echo x > docs/x; chmod 555 docs src/deep"),
        ("read-only directory removed", "chmod 555 docs src/deep", "chmod 755 docs src/deep; rm -r docs src/deep"),
        (
            "file and directory swapped",
            "mkdir e",
            "rm src/f1.txt; mkdir -p src/f1.txt/a; echo b > src/f1.txt/a/b; rm -r src/deep; echo f > src/deep; rmdir e; ln -s src e",
        ),
        ("empty directories", "mkdir -p a/b/c", "rm -r a; mkdir -p x/y/z"),
        (
            "names that are not UTF-8",
            "echo a > $'caf\\xe9'; mkdir $'d\\xff'; echo b > $'d\\xff/\\xfe'",
            "echo c >> $'caf\\xe9'; rm -r $'d\\xff'; echo n > $'new\\x80'",
        ),
        ("case of a name", "", "mv src/f1.txt src/F1.txt; mv docs Docs"),
        ("a hundred writes", "", "for i in $(seq 100); do echo $i > w$i; echo $i >> src/f$((i % 5 + 1)).txt; done"),
        (
            "git checkout",
            "git init -q -b main; git add -A; git commit -qm 1; git checkout -qb other; sed -i s/line/other/ src/*.txt; rm docs/guide.md; git commit -qam 2; git checkout -q main",
            "git checkout -q other; echo x > made",
        ),
        (
            "ignored files",
            "git init -q; echo '*.log' > .gitignore; echo secret > a.log",
            "echo more >> a.log; echo new > b.log",
        ),
        ("permissions of the directory itself", "chmod 750 .", "echo x > x; chmod 500 ."),
        ("pipes", "mkfifo -m 640 pipe; mkfifo both", "rm pipe both; echo f > both; mkfifo made; chmod 600 made"),
        ("background jobs", "", "for i in 1 2 3; do (echo job >> src/f$i.txt; echo $i > job$i) & done; wait"),
    ] {
        check(name, setup, work);
    }
}

#[test]
fn writes_nothing_inside_the_data_of_a_repository() {
    let project = Project::new();
    project.run("git init -q -b main; echo a > a; git add a; git commit -qm 1; echo b > b; git add b");
    let checkpoints = project.open();
    let data = || super::tree(&project.root().join(".git"));
    let start = take(&checkpoints);
    project.run("echo c >> a; rm b; git stash -q; git checkout -qb other; echo c > c");
    let end = take(&checkpoints);
    let before = data();
    for _ in 0..super::kill_tests::repetitions(20, 1_000) {
        take(&checkpoints);
        let undone = restore(&checkpoints, &start, &span(&start, &end));
        restore(&checkpoints, &undone.redo.unwrap(), &Default::default());
    }
    assert_eq!(difference(&before, &data()), [""; 0]);
    project.run("git fsck --strict");
}

#[test]
fn lists_a_moved_repository_with_the_command_that_moves_it_back() {
    let project = Project::new();
    project.run("git init -q -b main; echo a > a; git add a; git commit -qm 1");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    for (work, branch, index) in [
        ("echo b > b; git add b; git commit -qm 2", "main at ", true),
        ("git checkout -q --detach", "", false),
        ("git checkout -qb other", "other at ", false),
    ] {
        project.run(work);
        let plan = checkpoints.plan(&start, &Default::default(), &sinew_base::CancelToken::never()).unwrap();
        let [moved] = &plan.repositories[..] else { panic!("{work}: {:?}", plan.repositories) };
        assert_eq!(moved.path, b".git", "{work}");
        assert!(moved.to.as_ref().unwrap().starts_with(branch), "{work}: {moved:?}");
        assert!(!index || moved.index, "{work}: {moved:?}");
        project.run(moved.command.as_ref().unwrap());
        let plan = checkpoints.plan(&start, &Default::default(), &sinew_base::CancelToken::never()).unwrap();
        assert_eq!(plan.repositories, [], "{work}");
    }
}

/// Checks a tree whose old contents are in git. `is_copied` is true if the store may copy them anyway.
fn check_git(name: &str, setup: &str, work: &str, is_copied: bool) {
    let project = Project::new();
    // Large enough for git's objects to be used.
    project.run("git init -q -b main; for i in $(seq 30); do seq $((i * 1000)) $((i * 1000 + 30000)) > n$i; done; git add -A; git commit -qm 1");
    project.run(setup);
    let checkpoints = project.open();
    let before = project.tree();
    let start = take(&checkpoints);
    let packs = crate::gc::size_of(&project.store());
    assert_eq!(packs > 1_000_000, is_copied, "{name}: the store has {packs} bytes");
    project.run(work);
    let end = take(&checkpoints);
    checkpoints.gc(&sinew_base::CancelToken::never()).unwrap();
    let undone = restore(&project.open(), &start, &span(&start, &end));
    assert_eq!(undone.done, undone.planned, "{name}: {:?}", undone.plan);
    let mut lines = difference(&before, &project.tree());
    lines.retain(|line| !line.starts_with(".git: "));
    assert_eq!(lines, [""; 0], "{name}");
}

#[test]
fn does_not_copy_contents_that_git_has_and_keeps_them_without_git() {
    let remove = "rm n1 n2 n3; echo x >> n4; rm -rf .git";
    for (name, setup, work, is_copied) in [
        ("loose", "", remove, false),
        (
            "packed with differences",
            "for i in 1 2 3; do echo $i >> n1; git commit -qam $i; done; git gc -q --aggressive",
            remove,
            false,
        ),
        (
            "local changes",
            "git gc -q; echo local >> n2; git update-index --assume-unchanged n3; echo local >> n3",
            remove,
            false,
        ),
        ("converted", "git gc -q; echo '* text eol=crlf' > .gitattributes; rm n*; git checkout -q -- .", remove, true),
        (
            "alternates",
            "git gc -q; mv .git $OUT/origin; git clone -q --shared --no-checkout $OUT/origin t; mv t/.git .; rmdir t; git reset -q",
            "rm n1; rm -rf $OUT/origin",
            false,
        ),
        (
            "linked work tree",
            "git gc -q; mv .git $OUT/main; git --git-dir $OUT/main worktree add -q --no-checkout t; mv t/.git .; rmdir t",
            "rm n1; rm -rf $OUT/main",
            false,
        ),
        ("other ids", "rm -rf .git; git init -q --object-format=sha256; git add -A; git commit -qm 1", remove, true),
        (
            "pruned",
            "git gc -q",
            "rm n1 n2; git checkout -q --orphan o; git rm -rq --cached .; echo y > y; git add y; git commit -qm o; git branch -D main; git reflog expire --expire=now --all; git gc -q --prune=now",
            false,
        ),
    ] {
        check_git(name, setup, work, is_copied);
    }
}
