//! Kills a process at each point of a hand-back: after the next start, the directory is untouched or completely updated.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sinew_base::CancelToken;

use super::{Project, apply, tree};
use crate::{IsolatedView, leftovers};

/// Covers every kind of step.
const SETUP: &str = "mkdir -p d/e ro kind; echo 1 > a; echo 2 > b; seq 1 20 > m; echo 3 > d/e/f; echo 4 > kind/x; echo 5 > \
                     turned; echo s > s; ln -s a l";
const VIEW: &str = "echo x >> a; rm b; sed -i 2s/$/v/ m; rm -r d; rm -r kind; echo k > kind; rm turned; mkdir -p turned/in; \
                    echo t > turned/in/t; chmod 755 s; ln -sfn b l; echo n > n; mkdir -m 500 closed";
const REAL: &str = "sed -i 18s/$/r/ m";

/// Applies a view in another process, which is killed at a point. Returns true if it was not.
fn run_child(project: &Project, id: &str, point: u64) -> bool {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::kill_tests::applies_the_view_that_the_environment_names"])
        .env("SINEW_TEST_HOME", project.home())
        .env("SINEW_TEST_VIEW", id)
        .env("SINEW_TEST_FAULT", point.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

#[test]
fn applies_the_view_that_the_environment_names() {
    let (Ok(home), Ok(id)) = (std::env::var("SINEW_TEST_HOME"), std::env::var("SINEW_TEST_VIEW")) else { return };
    let mut view = IsolatedView::reopen(Path::new(&home), &id, &CancelToken::never()).unwrap();
    apply(&mut view);
}

fn names(root: &Path) -> Vec<PathBuf> {
    root.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_hand_back_can_be_killed_at_any_point() {
    let (mut untouched, mut updated) = (0, 0);
    for point in 1.. {
        let project = Project::new(SETUP);
        let view = project.changed(VIEW);
        project.run(REAL);
        let before = tree(&project.root(), false);
        let after = {
            let mut other = tree(view.path(), false);
            let merged = project.run("sed 2s/$/v/ m");
            other.insert("\"m\"".into(), format!("{}{merged}", &before["\"m\""][..9]));
            other
        };
        let id = view.id().to_string();
        drop(view);
        let is_finished = run_child(&project, &id, point);
        let found = leftovers(&project.home(), &CancelToken::never()).unwrap();
        assert_eq!(found.iter().map(|view| &view.id).collect::<Vec<_>>(), [&id], "point {point}");
        let mut view = IsolatedView::reopen(&project.home(), &id, &CancelToken::never()).unwrap();
        let now = tree(&project.root(), false);
        assert!(now == before || now == after, "point {point}: {now:#?}\n{after:#?}");
        *(if now == before { &mut untouched } else { &mut updated }) += 1;
        assert_eq!(apply(&mut view).conflicts().count(), 0, "point {point}");
        assert_eq!(tree(&project.root(), false), after, "point {point}");
        assert!(!names(&project.root()).iter().any(|name| name.to_string_lossy().contains(".sinew-")));
        if is_finished {
            break;
        }
    }
    assert!(untouched > 5 && updated > 10, "{untouched} and {updated}");
}

#[test]
fn a_recovery_can_be_killed_too() {
    let project = Project::new(SETUP);
    let view = project.changed(VIEW);
    let expect = tree(view.path(), false);
    let id = view.id().to_string();
    drop(view);
    // The points of the preparation, of the first steps, and of each recovery.
    for point in [14, 3, 5, 7, 9, 11, 2, 1] {
        run_child(&project, &id, point);
    }
    let mut view = IsolatedView::reopen(&project.home(), &id, &CancelToken::never()).unwrap();
    apply(&mut view);
    assert_eq!(tree(&project.root(), false), expect);
}
