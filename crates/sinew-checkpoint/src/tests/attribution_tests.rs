//! Tests that a restore keeps the files that others changed, and lists them.

use sinew_base::CancelToken;

use super::{Project, kept, restore, span, take};
use crate::{Action, ChangeKind, Force, PlanEntry, RestoreOptions, TakeOptions};

/// Checks the work of an agent, a later change by others, the files that the undo keeps, and a shell line that must
/// succeed afterwards.
fn check(work: &str, others: &str, expect_kept: &[(&str, &str)], holds: &str) {
    let project = Project::new();
    project.run("mkdir d; for i in 1 2 3; do echo $i > f$i; echo $i > d/f$i; done");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run(work);
    let end = take(&checkpoints);
    project.run(others);
    let options = span(&start, &end);
    let plan = checkpoints.plan(&start, &options, &CancelToken::never()).unwrap();
    let restored = restore(&checkpoints, &start, &options);
    assert_eq!(plan, restored.plan, "{work}; {others}: the plan is what is done");
    let kept = kept(&plan);
    let kept: Vec<(&str, &str)> = kept.iter().map(|(path, reason)| (&**path, &**reason)).collect();
    assert_eq!(kept, expect_kept, "{work}; {others}");
    project.run(holds);
}

#[test]
fn keeps_what_others_changed_after_the_span() {
    for (work, others, kept, holds) in [
        (
            "echo a >> f1; echo a >> f2",
            "echo mine >> f1",
            &[("f1", "changed since")][..],
            "grep mine f1; [ $(cat f2) = 2 ]",
        ),
        ("echo a >> f1", "rm f1", &[("f1", "deleted or moved since")], "[ ! -e f1 ]"),
        ("rm f1", "echo mine > f1", &[("f1", "created again since")], "grep mine f1"),
        ("echo a > new", "echo mine >> new", &[("new", "changed since")], "grep mine new"),
        ("chmod 600 f1", "chmod 640 f1", &[("f1", "changed since")], "[ $(stat -c %a f1) = 640 ]"),
        (
            "mkdir n; echo a > n/a",
            "echo mine > n/mine",
            &[("n", "holds n/mine, which stays")],
            "[ ! -e n/a ]; grep mine n/mine",
        ),
        ("rm d/f1", "rm -r d; echo mine > d", &[("d/f1", "d is no directory now")], "grep mine d"),
        ("rm d/f1", "mv d e; ln -s e d", &[("d/f1", "d is no directory now")], "[ ! -e e/f1 ]"),
        ("rm d/f1", "rm -r d", &[], "[ $(ls d) = f1 ]"),
        ("echo a >> f1", "echo 1 > f1", &[], "[ $(cat f1) = 1 ]"),
        ("echo a >> f1", "touch f1; cp f1 x; mv x f1", &[], "[ $(cat f1) = 1 ]"),
        (
            "rm f1; mkdir f1; echo a > f1/a",
            "echo mine > f1/mine",
            &[("f1", "holds f1/mine, which stays")],
            "grep mine f1/mine",
        ),
    ] {
        check(work, others, kept, holds);
    }
}

#[test]
fn keeps_a_change_between_two_spans() {
    let project = Project::new();
    project.run("echo 1 > a; echo 1 > b");
    let checkpoints = project.open();
    let mut spans = Vec::new();
    for round in [2, 3] {
        let start = take(&checkpoints);
        project.run(&format!("echo {round} >> a; echo {round} >> b"));
        spans.push((start, take(&checkpoints)));
        if round == 2 {
            project.run("echo mine >> a");
        }
    }
    let id = spans[0].0.clone();
    let restored = restore(&checkpoints, &id, &RestoreOptions { spans: Some(spans), ..Default::default() });
    assert_eq!(kept(&restored.plan), [("a".to_string(), "changed by someone else in between".to_string())]);
    project.run("grep mine a; [ $(cat b) = 1 ]");
}

#[test]
fn force_restores_kept_files_and_redo_brings_them_back() {
    for force in [Force::All, Force::Paths(vec![b"a".to_vec()])] {
        let project = Project::new();
        project.run("echo 1 > a");
        let checkpoints = project.open();
        let start = take(&checkpoints);
        project.run("echo 2 > a");
        let end = take(&checkpoints);
        project.run("echo mine > a");
        let options = RestoreOptions { force, ..span(&start, &end) };
        let restored = restore(&checkpoints, &start, &options);
        project.run("[ $(cat a) = 1 ]");
        restore(&checkpoints, &restored.redo.unwrap(), &Default::default());
        project.run("[ $(cat a) = mine ]");
    }
}

#[test]
fn restores_only_the_named_paths() {
    let project = Project::new();
    project.run("mkdir a ab; echo 1 > a/x; echo 1 > ab/x");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run("echo 2 > a/x; echo 2 > ab/x; echo 2 > a/y");
    let options = RestoreOptions { paths: Some(vec![b"a".to_vec()]), ..Default::default() };
    assert_eq!(restore(&checkpoints, &start, &options).done, 2);
    project.run("[ $(cat a/x) = 1 ]; [ $(cat ab/x) = 2 ]; [ ! -e a/y ]");
}

#[test]
fn an_undo_without_changes_does_nothing_and_has_no_redo() {
    let project = Project::new();
    project.run("echo 1 > a");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run("cat a");
    let end = take(&checkpoints);
    assert_eq!(start, end, "nothing changed, so nothing was written");
    project.run("echo mine > a");
    let restored = restore(&checkpoints, &start, &span(&start, &end));
    assert_eq!((restored.redo, restored.planned), (None, 0));
    project.run("[ $(cat a) = mine ]");
}

#[test]
fn lists_files_that_are_too_large_or_moves_them_into_the_store() {
    let project = Project::with_limits(crate::Limits { file: 1_000, ..Default::default() });
    project.run("head -c 2000 /dev/urandom > old; head -c 2000 /dev/urandom > moved; echo 1 > a");
    let checkpoints = project.open();
    let never = CancelToken::never();
    let taken = checkpoints.take(&TakeOptions::default(), &never).unwrap();
    assert_eq!(taken.coverage.to_string(), "2 files over 1000 bytes");
    project.run("echo x >> old; mv moved elsewhere; head -c 3000 /dev/urandom > made; cp made $OUT/made; echo 2 > a");
    let restored = restore(&checkpoints, &taken.id, &Default::default());
    let reasons = [("old".to_string(), "its old content was too large to keep".to_string())];
    assert_eq!(kept(&restored.plan), reasons);
    project.run("[ ! -e made ]; [ ! -e elsewhere ]; [ $(stat -c %s moved) = 2000 ]; [ $(cat a) = 1 ]");
    restore(&checkpoints, &restored.redo.unwrap(), &Default::default());
    project.run("cmp made $OUT/made; [ ! -e moved ]; [ $(stat -c %s elsewhere) = 2000 ]; [ $(cat a) = 2 ]");
}

#[test]
fn noted_paths_only_read_their_directories() {
    let project = Project::new();
    project.run("mkdir d; echo 1 > d/a; echo 1 > b");
    let checkpoints = project.open();
    take(&checkpoints);
    project.run("echo mine > d/a; echo mine > b");
    let noted = checkpoints.note(&[b"d/a".to_vec(), b"d/new/x".to_vec()], Some("s"), &CancelToken::never()).unwrap();
    project.run("echo 2 > d/a; mkdir d/new; echo 2 > d/new/x");
    let end = take(&checkpoints);
    let restored =
        restore(&checkpoints, &noted.id, &RestoreOptions { paths: Some(vec![b"d".to_vec()]), ..span(&noted.id, &end) });
    assert_eq!(restored.done, 3, "{:?}", restored.plan);
    project.run("[ $(cat d/a) = mine ]; [ ! -e d/new ]; [ $(cat b) = mine ]");
}

#[test]
fn does_not_delete_files_of_a_directory_that_could_not_be_listed() {
    if rustix::process::geteuid().is_root() {
        println!("root may list every directory");
        return;
    }
    let project = Project::new();
    project.run("mkdir d; echo 1 > d/a; chmod 000 d");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run("chmod 755 d; echo 2 > d/b");
    let plan = restore(&checkpoints, &start, &Default::default()).plan;
    assert!(plan.entries.iter().all(|entry| entry.action != Action::Delete), "{plan:?}");
    project.run("chmod 755 d; [ -e d/a ] && [ -e d/b ]");
}

#[test]
fn classifies_changes() {
    let project = Project::new();
    project.run("mkdir d e; for i in a b c g h; do echo $i > $i; done; ln -s a l; mkdir k; echo x > f");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run("echo more >> a; rm b; mv c d/c; echo n > n; chmod 700 e; ln -sf b l; rm -r k; echo k > k; ln g g2; chmod 600 f");
    let end = take(&checkpoints);
    let changes = checkpoints.changes(&start, &end, &CancelToken::never()).unwrap();
    let shown: Vec<String> = changes
        .entries
        .iter()
        .map(|change| format!("{} {}", String::from_utf8_lossy(&change.path), change.change.as_str()))
        .collect();
    let expect = [
        "a modified",
        "b deleted",
        "d/c renamed",
        "e mode",
        "f mode",
        "g link",
        "g2 created",
        "k directory",
        "l link",
        "n created",
    ];
    assert_eq!(shown, expect);
    let renamed = changes.entries.iter().find(|change| change.change == ChangeKind::Renamed).unwrap();
    assert_eq!(renamed.from.as_deref(), Some(&b"c"[..]));
}

#[test]
fn leaves_out_ignored_files_first() {
    let project = Project::with_limits(crate::Limits { checkpoint: 3_000, ..Default::default() });
    project.run("git init -q; echo a-build > .gitignore; mkdir a-build; for i in 1 2 3; do head -c 900 /dev/urandom > a-build/$i; head -c 900 /dev/urandom > z$i; done");
    let checkpoints = project.open();
    let taken = checkpoints.take(&TakeOptions::default(), &CancelToken::never()).unwrap();
    assert_eq!(taken.coverage.to_string(), "3 files beyond the limit of one checkpoint");
    project.run("rm z*; echo x >> a-build/1");
    let restored = restore(&checkpoints, &taken.id, &Default::default());
    let reasons = [("a-build/1".to_string(), "its old content was beyond the limit of one checkpoint".to_string())];
    assert_eq!((restored.done, kept(&restored.plan)), (3, reasons.to_vec()));
}

#[test]
fn selected_and_forced_entries_do_not_include_those_below_them() {
    let project = Project::new();
    project.run("mkdir d; echo 1 > d/a; chmod 700 d; chmod 755 .");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run("chmod 755 d; echo 2 > d/a; mkdir made; echo 1 > made/x; chmod 750 .");
    let end = take(&checkpoints);
    let plan = |entries: &[&str]| {
        let entries = Some(entries.iter().map(|entry| entry.as_bytes().to_vec()).collect());
        let options = RestoreOptions { entries, ..span(&start, &end) };
        checkpoints.plan(&start, &options, &CancelToken::never()).unwrap()
    };
    for (entries, expect) in [
        (&["d"][..], &["restore d"][..]),
        (&["."], &["restore ."]),
        (&["d/a", "made/x"], &["restore d/a", "delete made/x"]),
        (&["made"], &["keep made"]),
        (&["made", "made/x"], &["delete made", "delete made/x"]),
    ] {
        let shown = |entry: &PlanEntry| format!("{} {}", entry.action.as_str(), String::from_utf8_lossy(&entry.path));
        assert_eq!(plan(entries).entries.iter().map(shown).collect::<Vec<_>>(), expect, "{entries:?}");
    }
    project.run("chmod 711 d; echo 3 > d/a");
    let force = Force::Entries(vec![b"d".to_vec()]);
    let options = RestoreOptions { force, ..span(&start, &end) };
    let forced = checkpoints.plan(&start, &options, &CancelToken::never()).unwrap();
    assert_eq!(kept(&forced), [("d/a".to_string(), "changed since".to_string())]);
}

#[test]
fn files_that_the_caller_keeps_stay_unless_forced() {
    let project = Project::new();
    project.run("echo 1 > a; echo 1 > b");
    let checkpoints = project.open();
    let start = take(&checkpoints);
    project.run("echo 2 > a; echo 2 > b");
    let end = take(&checkpoints);
    let keep = vec![(b"a".to_vec(), "unsaved in the editor".to_string())];
    let options = RestoreOptions { keep, ..span(&start, &end) };
    let restored = restore(&checkpoints, &start, &options);
    assert_eq!(kept(&restored.plan), [("a".to_string(), "unsaved in the editor".to_string())]);
    project.run("[ $(cat a) = 2 ]; [ $(cat b) = 1 ]");
    restore(&checkpoints, &start, &RestoreOptions { force: Force::All, ..options });
    project.run("[ $(cat a) = 1 ]");
}
