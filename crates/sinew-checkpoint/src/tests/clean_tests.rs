//! Tests that the files that git's index knows have exactly the content of git's objects.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use sinew_base::CancelToken;

use super::{Project, difference, restore, take};
use crate::GitUser;
use crate::directory::{Directory, as_name};
use crate::git_clean::clean_files;
use crate::row::GitId;
use crate::scan::{ScanOptions, Scope, scan};
use crate::state::State;
use crate::store::hex;

/// Returns the files that need not be read.
fn clean(project: &Project) -> HashMap<Box<[u8]>, GitId> {
    let root = Directory::open(&project.root()).unwrap();
    let options = ScanOptions { scope: Scope::All, skip: &[], max_entries: usize::MAX };
    let state = scan(&root, &State::default(), options, &CancelToken::never()).unwrap();
    // A home without settings.
    let user = GitUser { home: project.root().join("no-home"), config: None };
    clean_files(&root, &state, &user)
}

/// Returns git's id of the bytes of a file, without conversions.
fn id_of(project: &Project, path: &[u8]) -> String {
    let mut command = Command::new("git");
    command.args(["hash-object", "--no-filters", "--"]).arg(as_name(path)).current_dir(project.root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

const SETUP: &str = "git init -q; mkdir -p d/e; for i in $(seq 1 12); do seq $i 200 > f$i; seq $i 90 > d/e/g$i; done; \
    sleep 0.1; git add -A; git commit -qm 1; sleep 0.1; git update-index -q --refresh";

#[test]
fn files_that_git_committed_are_clean() {
    for setup in ["true", "git gc -q", "git update-index --index-version 4", "git update-index --chmod=+x f1 || true"] {
        let project = Project::new();
        project.run(&format!("{SETUP}; {setup}"));
        let clean = clean(&project);
        assert_eq!(clean.len(), 24, "{setup}");
        for (path, id) in &clean {
            assert_eq!(hex(id), id_of(&project, path), "{setup}");
        }
    }
}

#[test]
fn a_changed_file_is_never_clean() {
    // Every change keeps the size; most of them also put the modification time back.
    let kept = "r=$(mktemp -p \"$OUT\"); touch -r f1 $r";
    for (work, count) in [
        ("tr 1 2 < f1 > x; cat x > f1; rm x".to_string(), 23),
        (format!("{kept}; tr 1 2 < f1 > x; cat x > f1; rm x; touch -r $r f1"), 23),
        (format!("{kept}; tr 1 2 < f1 > x; touch -r $r x; mv x f1"), 23),
        ("git update-index --assume-unchanged f1; tr 1 2 < f1 > x; cat x > f1; rm x".into(), 23),
        ("git update-index --assume-unchanged f1".into(), 23),
        ("git update-index --skip-worktree f1".into(), 23),
        ("echo new > n; git add -N n".into(), 24),
        ("ln -sf f2 f1; git add f1".into(), 23),
        ("touch f1 f2".into(), 22),
        ("touch -d '1 hour ago' .git/index".into(), 0),
        ("echo '* text=auto' > .gitattributes".into(), 0),
        ("mkdir -p .git/info; echo '* -text' > .git/info/attributes".into(), 0),
        ("git config core.autocrlf input".into(), 0),
        ("git config core.attributesFile /somewhere".into(), 0),
        ("git update-index --split-index".into(), 0),
        ("printf x >> .git/index".into(), 0),
        ("rm .git/index".into(), 0),
    ] {
        let project = Project::new();
        project.run(&format!("{SETUP}; {work}"));
        let clean = clean(&project);
        assert_eq!(clean.len(), count, "{work}");
        for (path, id) in &clean {
            assert_eq!(hex(id), id_of(&project, path), "{work}");
        }
    }
}

#[test]
fn random_changes_never_leave_a_wrong_id() {
    let mut seed = 7u64;
    let mut next = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let project = Project::new();
    project.run(SETUP);
    let mut found = 0;
    for round in 0..40 {
        let number = next(12) + 1;
        let work = match next(8) {
            0 => format!("seq {round} 150 > f{number}"),
            1 => format!("tr 1 2 < f{number} > x; touch -r f{number} x; cat x > f{number}; touch -r x f{number}; rm x"),
            2 => format!("git add -A; seq {round} 99 > f{number}"),
            3 => format!("mv f{number} x; cp -p d/e/g{number} f{number}; mv x d/e/g{number}"),
            4 => "git add -A; git commit -qm x --allow-empty; git gc -q".to_string(),
            5 => "git stash -q || true".to_string(),
            6 => format!("rm -f f{number}; git checkout -q -- f{number} || seq 1 3 > f{number}"),
            _ => "sleep 0.1; git add -A; git update-index -q --refresh".to_string(),
        };
        project.run(&work);
        let clean = clean(&project);
        found += clean.len();
        for (path, id) in &clean {
            assert_eq!(hex(id), id_of(&project, path), "{work}");
        }
    }
    assert!(found > 100, "only {found} clean files were seen");
}

#[test]
fn clean_files_are_restored_from_git_even_after_git_is_gone() {
    let project = Project::new();
    // Contents are only looked up in git if they are large in total.
    project.run("git init -q; for i in 1 2 3 4 5 6; do head -c 900000 /dev/urandom > big$i; done; seq 1 9 > small; setfattr -n user.k -v v small 2> /dev/null || true; sleep 0.1; git add -A; git commit -qm 1; git gc -q; sleep 0.1; git update-index -q --refresh");
    assert_eq!(clean(&project).len(), 7);
    let before = project.tree();
    let checkpoints = project.open();
    let start = take(&checkpoints);
    let folder = fs::read_dir(project.store()).unwrap().next().unwrap().unwrap().path();
    assert!(crate::gc::size_of(&folder.join("packs")) < 100_000, "no content was copied");
    project.run("rm -rf .git big1; for i in 2 3 4; do echo x >> big$i; done; seq 2 9 > small");
    restore(&project.open(), &start, &Default::default());
    // The restore does not bring back the data of the repository.
    let changed = difference(&before, &project.tree());
    assert!(changed.len() == 1 && changed[0].starts_with(".git: "), "{changed:?}");
}

#[test]
fn a_file_that_git_converted_is_read_even_if_its_settings_are_gone() {
    let project = Project::new();
    project.run("git init -q; git config core.autocrlf input; seq 1 350000 | sed 's/$/\\r/' > dos; cp dos dos2; sleep 0.1; git add -A; git commit -qm 1; git config --unset core.autocrlf; sleep 0.1");
    assert_eq!(clean(&project).len(), 2, "the index says nothing about the conversion");
    let before = project.tree();
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run("rm dos dos2");
    restore(&checkpoints, &start, &Default::default());
    assert_eq!(difference(&before, &project.tree()), [""; 0]);
}
