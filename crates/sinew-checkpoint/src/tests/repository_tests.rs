//! Tests that a repository is undone as a whole or not at all, and that the named commands move one back.

use std::process::Command;

use sinew_base::CancelToken;

use super::{Project, difference, kept, restore, span, take};
use crate::{Force, RestoreOptions};

const COMMIT: &str = "git init -q; echo 1 > a; mkdir d; echo 2 > d/b; git add -A; git commit -qm 1; echo 3 > a";

/// Returns a hash of everything below a folder, with the data of repositories.
fn hash(project: &Project, folder: &str) -> String {
    let script = format!("cd {folder} && find . -type f -print0 | sort -z | xargs -0 sha256sum");
    let output = Command::new("bash").args(["-ec", &script]).current_dir(project.root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_new_repository_is_undone_and_redone_as_a_whole() {
    let limits = crate::Limits { file: 1_000, ..Default::default() };
    for (work, folder) in [
        (format!("mkdir lib; cd lib; {COMMIT}"), "lib"),
        (format!("mkdir -p v/lib; cd v/lib; {COMMIT}; mkdir -- -x; cd -- -x; git init -q; echo 1 > in"), "v/lib"),
        ("git init -q --bare mirror.git".to_string(), "mirror.git"),
        ("mkdir lib; cd lib; git init -q; head -c 5000 /dev/urandom > large; ln large same".to_string(), "lib"),
    ] {
        let project = Project::with_limits(limits);
        project.run("echo 1 > other");
        let checkpoints = project.open();
        let start = take(&checkpoints);
        let before = project.tree();
        project.run(&work);
        let (later, hashed) = (project.tree(), hash(&project, folder));
        let end = take(&checkpoints);
        let mut undone = restore(&checkpoints, &start, &span(&start, &end));
        assert_eq!(undone.done, undone.planned, "{work}: {:?}", undone.plan);
        assert_eq!(difference(&before, &project.tree()), [""; 0], "{work}");
        for _ in 0..2 {
            // A new process knows only what is in the store.
            let checkpoints = project.open();
            let redone = restore(&checkpoints, &undone.redo.unwrap(), &Default::default());
            assert_eq!(redone.done, redone.planned, "{work}: {:?}", redone.plan);
            assert_eq!(difference(&later, &project.tree()), [""; 0], "{work}");
            assert_eq!(hash(&project, folder), hashed, "{work}: its data is the same");
            undone = restore(&checkpoints, &redone.redo.unwrap(), &Default::default());
            assert_eq!(difference(&before, &project.tree()), [""; 0], "{work}");
        }
        checkpoints.gc(&CancelToken::never()).unwrap();
        restore(&project.open(), &undone.redo.unwrap(), &Default::default());
        assert_eq!(hash(&project, folder), hashed, "{work}: a collection keeps what a redo needs");
    }
}

#[test]
fn a_new_repository_stays_whole_if_others_changed_it() {
    for (others, options) in [
        ("echo mine > lib/mine", RestoreOptions::default()),
        ("echo mine >> lib/d/b", RestoreOptions::default()),
        ("cd lib; git commit -qam 2; git checkout -q HEAD", RestoreOptions::default()),
        ("cd lib; git add a", RestoreOptions::default()),
        ("true", RestoreOptions { paths: Some(vec![b"lib/d".to_vec()]), ..Default::default() }),
    ] {
        let project = Project::new();
        project.run("echo 1 > other");
        let checkpoints = project.open();
        let start = take(&checkpoints);
        project.run(&format!("mkdir lib; cd lib; {COMMIT}"));
        let end = take(&checkpoints);
        project.run(others);
        let hashed = hash(&project, "lib");
        let options = RestoreOptions { spans: span(&start, &end).spans, ..options };
        let undone = restore(&checkpoints, &start, &options);
        assert_eq!((undone.done, undone.redo), (0, None), "{others}: {:?}", undone.plan);
        assert!(!kept(&undone.plan).is_empty(), "{others}");
        assert_eq!(hash(&project, "lib"), hashed, "{others}");
    }
}

#[test]
fn force_undoes_a_new_repository_that_others_changed() {
    let project = Project::new();
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run(&format!("mkdir lib; cd lib; {COMMIT}"));
    let end = take(&checkpoints);
    project.run("cd lib; echo mine >> d/b; git commit -qam 2");
    let hashed = hash(&project, "lib");
    let undone = restore(&checkpoints, &start, &RestoreOptions { force: Force::All, ..span(&start, &end) });
    project.run("[ ! -e lib ]");
    restore(&checkpoints, &undone.redo.unwrap(), &Default::default());
    assert_eq!(hash(&project, "lib"), hashed);
}

#[test]
fn a_command_moves_a_repository_back_before_its_first_commit() {
    for setup in ["git init -q", "git init -q; git checkout -q -b other"] {
        let project = Project::new();
        project.run(setup);
        let checkpoints = project.open();
        let start = take(&checkpoints);
        project.run("echo 1 > a; git add a; git commit -qm 1");
        let plan = checkpoints.plan(&start, &Default::default(), &CancelToken::never()).unwrap();
        let command = plan.repositories[0].command.clone().unwrap();
        project.run(&format!("{command}; ! git rev-parse -q --verify HEAD; [ -z \"$(git ls-files)\" ]"));
        let plan = checkpoints.plan(&start, &Default::default(), &CancelToken::never()).unwrap();
        let moved: Vec<_> = plan.repositories.iter().filter(|moved| moved.from != moved.to).collect();
        assert!(moved.is_empty(), "{moved:?}");
    }
}
