//! Kills a process at each point of a hand-back: after the next start, the directory is untouched or completely updated.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sinew_base::CancelToken;

use super::{Project, apply, tree};
use crate::{IsolatedView, OpenOptions, leftovers};

/// Covers every kind of step.
const SETUP: &str = "mkdir -p d/e ro kind; echo 1 > a; echo 2 > b; seq 1 20 > m; echo 3 > d/e/f; echo 4 > kind/x; echo 5 > \
                     turned; echo s > s; ln -s a l";
const VIEW: &str = "echo x >> a; rm b; sed -i 2s/$/v/ m; rm -r d; rm -r kind; echo k > kind; rm turned; mkdir -p turned/in; \
                    echo t > turned/in/t; chmod 755 s; ln -sfn b l; echo n > n; mkdir -m 500 closed";
const REAL: &str = "sed -i 18s/$/r/ m";

/// Calls another process, which is killed at a point. Returns true if it was not.
fn run_child(project: &Project, action: &str, point: u64) -> bool {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::kill_tests::does_what_the_environment_names"])
        .env("SINEW_TEST_ROOT", project.root())
        .env("SINEW_TEST_HOME", project.home())
        .env("SINEW_TEST_ACTION", action)
        .env("SINEW_TEST_FAULT", point.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

#[test]
fn does_what_the_environment_names() {
    let variable = |name: &str| std::env::var(format!("SINEW_TEST_{name}"));
    let (Ok(root), Ok(home), Ok(action)) = (variable("ROOT"), variable("HOME"), variable("ACTION")) else { return };
    let (home, never) = (Path::new(&home), CancelToken::never());
    if action == "open" {
        drop(IsolatedView::open(Path::new(&root), &OpenOptions::new(home), &never).unwrap());
    } else {
        apply(&mut IsolatedView::reopen(home, &action, &never).unwrap());
    }
}

#[test]
fn an_open_can_be_killed_at_any_point() {
    let project = Project::new(&format!("{SETUP}; git init -q; git add .; git commit -qm 1"));
    let before = tree(&project.root(), true);
    for point in 1.. {
        let is_finished = run_child(&project, "open", point);
        let found = leftovers(&project.home(), &CancelToken::never()).unwrap();
        assert_eq!(found.len(), usize::from(is_finished), "point {point}");
        let folders = project.home().join("isolated").read_dir().unwrap().count();
        assert_eq!((folders, tree(&project.root(), true) == before), (found.len(), true), "point {point}");
        if is_finished {
            assert!(point > 10, "{point}");
            break;
        }
    }
}

#[test]
fn each_of_several_killed_hand_backs_is_complete_or_absent() {
    let project = Project::new("seq 1 20 > lines");
    let ids: Vec<String> = (0..8)
        .map(|number| {
            let script =
                format!("for i in 1 2 3 4; do echo {number} > v{number}-$i; done; sed -i '{}d' lines", number * 2 + 1);
            project.changed(&script).id().to_string()
        })
        .collect();
    std::thread::scope(|scope| {
        for (point, id) in (5..).zip(&ids) {
            let project = &project;
            scope.spawn(move || run_child(project, id, point));
        }
    });
    let found = leftovers(&project.home(), &CancelToken::never()).unwrap();
    assert_eq!(found.len(), ids.len());
    let mut complete = 0;
    for number in 0..8 {
        let files = (1..=4).filter(|file| project.root().join(format!("v{number}-{file}")).exists()).count();
        let has_line = project.run("cat lines").lines().any(|line| line == (number * 2 + 1).to_string());
        assert!(matches!((files, has_line), (0, true) | (4, false)), "{number}: {files} {has_line}");
        complete += files / 4;
    }
    assert!((1..8).contains(&complete), "{complete}");
    assert!(!names(&project.root()).iter().any(|name| name.to_string_lossy().contains(".sinew-")));
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
