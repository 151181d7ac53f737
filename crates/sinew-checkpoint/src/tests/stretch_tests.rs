//! Tests that a restore keeps the changes that two sessions may have made.

use std::fs;

use sinew_base::CancelToken;

use super::{Project, kept, restore, take};
use crate::{CheckpointKind, Checkpoints, Force, RestoreOptions, TakeOptions};

fn border(checkpoints: &Checkpoints, kind: CheckpointKind, session: &str) -> String {
    let options = TakeOptions { kind, session: Some(session.into()), ..TakeOptions::default() };
    checkpoints.take(&options, &CancelToken::never()).unwrap().id
}

fn start(checkpoints: &Checkpoints, session: &str) -> String {
    border(checkpoints, CheckpointKind::Start, session)
}

fn end(checkpoints: &Checkpoints, session: &str) -> String {
    border(checkpoints, CheckpointKind::End, session)
}

fn note(checkpoints: &Checkpoints, session: &str, path: &str) -> String {
    checkpoints.note(&[path.as_bytes().to_vec()], Some(session), &CancelToken::never()).unwrap().id
}

/// Restores spans and returns the paths that two sessions may have changed.
fn undo(checkpoints: &Checkpoints, spans: &[(&str, &str)]) -> Vec<String> {
    let spans: Vec<(String, String)> = spans.iter().map(|(start, end)| (start.to_string(), end.to_string())).collect();
    let first = spans[0].0.clone();
    let plan = restore(checkpoints, &first, &RestoreOptions { spans: Some(spans), ..Default::default() }).plan;
    let kept = kept(&plan);
    assert!(kept.iter().all(|(_, reason)| reason == "two were at work"), "{kept:?}");
    kept.into_iter().map(|(path, _)| path).collect()
}

fn project() -> Project {
    let project = Project::new();
    project.run("mkdir d; for i in 1 2 3; do echo $i > f$i; done");
    project
}

#[test]
fn keeps_what_changed_while_two_sessions_worked() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    let (a1, _) = (start(&a, "a"), start(&b, "b"));
    project.run("echo a > f1; echo b > new");
    end(&b, "b");
    let a2 = end(&a, "a");
    assert_eq!(undo(&a, &[(&a1, &a2)]), ["f1", "new"]);
    project.run("[ $(cat f1) = a ]; [ $(cat new) = b ]");
}

#[test]
fn undoes_what_changed_while_only_one_session_worked() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    let a1 = start(&a, "a");
    project.run("echo a > f1; echo a > first");
    let b1 = start(&b, "b");
    project.run("echo both > f2");
    let a2 = end(&a, "a");
    project.run("echo b > f3");
    let b2 = end(&b, "b");
    assert_eq!(undo(&a, &[(&a1, &a2)]), ["f2"]);
    assert_eq!(undo(&b, &[(&b1, &b2)]), ["f2"]);
    project.run("[ $(cat f1) = 1 ]; [ ! -e first ]; [ $(cat f2) = both ]; [ $(cat f3) = 3 ]");
}

#[test]
fn undoes_what_only_this_session_claims() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    let (a1, b1) = (start(&a, "a"), start(&b, "b"));
    note(&a, "a", "n/x");
    note(&a, "a", "f1");
    project.run("mkdir n; echo a > n/x; echo a > f1");
    note(&b, "b", "f2");
    note(&a, "a", "f2");
    project.run("echo both > f2; echo b > command");
    let b2 = end(&b, "b");
    let a2 = end(&a, "a");
    assert_eq!(undo(&a, &[(&a1, &a2)]), ["command", "f2"]);
    project.run("[ ! -e n ]; [ $(cat f1) = 1 ]; [ $(cat f2) = both ]; [ -e command ]");
    assert_eq!(undo(&b, &[(&b1, &b2)])[..2], ["command", "f2"]);
}

#[test]
fn keeps_what_another_session_only_edited() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    take(&a);
    let b1 = start(&b, "b");
    note(&a, "a", "edited");
    project.run("echo a > edited; echo b > f1");
    let b2 = end(&b, "b");
    assert_eq!(undo(&b, &[(&b1, &b2)]), ["edited"]);
    project.run("[ $(cat edited) = a ]; [ $(cat f1) = 1 ]");
}

#[test]
fn a_claim_holds_even_if_nothing_changed_before_it() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    let (a1, _) = (start(&a, "a"), start(&b, "b"));
    project.run("echo b > other");
    take(&b);
    let before = a.list().unwrap().len();
    note(&a, "a", "f1");
    assert_eq!(a.list().unwrap().len(), before, "the note writes no checkpoint");
    project.run("echo a > f1");
    let a2 = end(&a, "a");
    assert_eq!(undo(&a, &[(&a1, &a2)]), ["other"]);
    project.run("[ $(cat f1) = 1 ]");
}

#[test]
fn sessions_that_work_one_after_the_other_do_not_meet() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    let a1 = start(&a, "a");
    project.run("echo a > f1");
    let a2 = end(&a, "a");
    let b1 = start(&b, "b");
    assert_eq!(a2, b1, "nothing changed in between");
    project.run("echo b > f2");
    let b2 = end(&b, "b");
    assert_eq!(undo(&a, &[(&a1, &a2)]), [""; 0]);
    assert_eq!(undo(&b, &[(&b1, &b2)]), [""; 0]);
    project.run("[ $(cat f1) = 1 ]; [ $(cat f2) = 2 ]");
}

#[test]
fn sessions_that_change_nothing_write_no_checkpoint() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    let first = start(&a, "a");
    assert_eq!(end(&a, "a"), first);
    start(&a, "a");
    let second = start(&b, "b");
    assert_ne!(first, second, "the checkpoint identifies the session");
    assert_eq!(end(&b, "b"), second);
    end(&a, "a");
    assert_eq!(a.list().unwrap().len(), 2);
}

#[test]
fn the_work_of_a_dead_process_ends_when_another_notices() {
    let project = project();
    let b = project.open();
    let a = project.open();
    start(&a, "a");
    let b1 = start(&b, "b");
    project.run("echo a > f1");
    // The lock of the process is released, as after a kill.
    drop(a);
    let b2 = end(&b, "b");
    let b3 = start(&b, "b");
    assert_eq!(b2, b3);
    project.run("echo b > f2");
    let b4 = end(&b, "b");
    assert_eq!(undo(&b, &[(&b1, &b2), (&b3, &b4)]), ["f1"]);
    project.run("[ $(cat f1) = a ]; [ $(cat f2) = 2 ]");
}

#[test]
fn the_work_of_a_dead_process_counts_before_anyone_notices() {
    let project = project();
    let b = project.open();
    let a = project.open();
    let b1 = start(&b, "b");
    start(&a, "a");
    project.run("echo a > f1");
    let b2 = end(&b, "b");
    drop(a);
    assert_eq!(undo(&b, &[(&b1, &b2)]), ["f1"]);
}

#[test]
fn a_damaged_file_of_stretches_keeps_everything_until_the_next_checkpoint() {
    let project = project();
    let a = project.open();
    let a1 = start(&a, "a");
    project.run("echo a > f1");
    let a2 = end(&a, "a");
    let path = project.store().read_dir().unwrap().next().unwrap().unwrap().path().join("stretches");
    fs::write(&path, b"damaged").unwrap();
    assert_eq!(undo(&a, &[(&a1, &a2)]), ["f1"]);
    let a3 = start(&a, "a");
    project.run("echo a > f2");
    let a4 = end(&a, "a");
    assert_eq!(undo(&a, &[(&a3, &a4)]), [""; 0]);
    assert_eq!(undo(&a, &[(&a1, &a2)]), ["f1"], "still unknown");
    project.run("[ $(cat f1) = a ]; [ $(cat f2) = 2 ]");
}

#[test]
fn force_undoes_what_two_sessions_may_have_changed() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    let (a1, _) = (start(&a, "a"), start(&b, "b"));
    project.run("echo a > f1");
    let a2 = end(&a, "a");
    let options = RestoreOptions { spans: Some(vec![(a1.clone(), a2)]), force: Force::All, ..Default::default() };
    assert_eq!(restore(&a, &a1, &options).done, 1);
    project.run("[ $(cat f1) = 1 ]");
}

#[test]
fn an_end_without_a_session_ends_the_only_stretch_of_the_process() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    start(&a, "a");
    project.run("echo a > f1");
    a.take(&TakeOptions { kind: CheckpointKind::End, ..TakeOptions::default() }, &CancelToken::never()).unwrap();
    let b1 = start(&b, "b");
    project.run("echo b > f2");
    let b2 = end(&b, "b");
    assert_eq!(undo(&b, &[(&b1, &b2)]), [""; 0]);
}

#[test]
fn a_take_without_changed_directories_records_the_work_of_its_session() {
    let project = project();
    let (a, b) = (project.open(), project.open());
    take(&a);
    let take_unchanged = |kind| {
        let (session, changed) = (Some("a".to_string()), Some(Vec::new()));
        a.take(&TakeOptions { kind, session, changed, ..TakeOptions::default() }, &CancelToken::never()).unwrap()
    };
    project.run("echo unseen > f3");
    let unchanged = take_unchanged(CheckpointKind::Start);
    assert_eq!(a.list().unwrap().len(), 1, "nothing is scanned");
    let b1 = start(&b, "b");
    project.run("echo a > f1");
    let b2 = end(&b, "b");
    assert!(unchanged.id < b1);
    assert_eq!(undo(&b, &[(&b1, &b2)]), ["f1"]);
    assert_eq!(take_unchanged(CheckpointKind::End).coverage.to_string(), "full");
    let b3 = start(&b, "b");
    project.run("echo b > f2");
    let b4 = end(&b, "b");
    assert_eq!(undo(&b, &[(&b3, &b4)]), [""; 0]);
}
