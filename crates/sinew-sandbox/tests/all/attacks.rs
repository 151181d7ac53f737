//! Runs tables of attacks and legitimate uses in sandboxes: each attack must fail, and each use must succeed.

use std::path::Path;

use crate::play::{self, Outcome, Player, Table};

/// The table that is shared between projects.
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/trials/sandbox.json");
/// The variable that makes the test program run as an ordinary user in this directory.
const FOLDER: &str = "SINEW_ATTACK_FOLDER";
/// The variable with the path of the table, if it is not next to the repository.
const TABLE: &str = "SINEW_ATTACK_TABLE";

fn shared_table() -> Option<Table> {
    let path = std::env::var_os(TABLE).unwrap_or_else(|| SHARED.into());
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(Table::parse(&text)),
        Err(_) => {
            println!("skipped: there is no {path:?}");
            None
        }
    }
}

/// Runs the tables of this crate: without a sandbox, where every check must exit with 0, and with one.
fn play_own(folder: &Path) {
    play_table(folder, &Table::parse_yaml(include_str!("attacks.yaml")));
    let files = Table::parse_yaml(include_str!("files.yaml"));
    assert!(files.len() >= 160, "{} rows", files.len());
    play_table(folder, &files);
}

fn play_table(folder: &Path, table: &Table) {
    let only = std::env::var("SINEW_ATTACK_ROWS").unwrap_or_default();
    let player = Player::new(folder, table);
    for with_sandbox in [false, true] {
        let outcomes = player.play(table, &only, with_sandbox);
        let bad: Vec<_> = outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Fails).collect();
        assert!(bad.is_empty(), "with a sandbox: {with_sandbox}: {bad:?}");
    }
}

/// Runs the shared table as the user of this process.
fn play_shared(folder: &Path) {
    let Some(table) = shared_table() else { return };
    let only = std::env::var("SINEW_ATTACK_ROWS").unwrap_or_default();
    let player = Player::new(folder, &table);
    let outcomes = player.play(&table, &only, true);
    let open: Vec<&str> =
        outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Fails).map(|(id, _)| id.as_str()).collect();
    let count = |wanted| outcomes.iter().filter(|(_, outcome)| *outcome == wanted).count();
    let (good, skipped) = (count(Outcome::Good), count(Outcome::Skipped));
    println!("{good} rows as expected, {} not, {skipped} skipped", open.len());
    // A row of two commands, of which the second signals the first. Only a session of one shell supports that, see
    // `sinew-shell`.
    let expected: &[&str] = if only.is_empty() { &["use.again-2"] } else { &[] };
    assert_eq!(open, expected, "rows that are not as expected");
}

#[test]
fn attacks_fail_and_legitimate_uses_work() {
    let folder = play::folder();
    play_own(folder.path());
}

#[test]
fn attacks_fail_and_legitimate_uses_work_for_an_ordinary_user() {
    as_user("attacks::attacks_fail_and_legitimate_uses_work_for_an_ordinary_user", play_own);
}

#[test]
fn the_shared_table_passes() {
    let folder = play::folder();
    play_shared(folder.path());
}

#[test]
fn the_shared_table_passes_for_an_ordinary_user() {
    as_user("attacks::the_shared_table_passes_for_an_ordinary_user", play_shared);
}

/// Runs the test with this name in a process of an ordinary user.
fn as_user(test: &str, play: fn(&Path)) {
    if let Some(folder) = std::env::var_os(FOLDER) {
        play(Path::new(&folder));
    } else if rustix::process::geteuid().is_root() {
        let folder = play::folder();
        play::run_as_user(folder.path(), test, FOLDER);
    } else {
        println!("skipped: this process is no root, so that the other test is this one");
    }
}
