//! The parts of tests that run in a separate process, which is killed.

use std::path::PathBuf;

use sinew_base::CancelToken;

use crate::{Checkpoints, Limits, OpenOptions, RestoreOptions, TakeOptions};

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn does_what_the_environment_names() {
    let (Some(root), Some(store)) = (variable("SINEW_TEST_ROOT"), variable("SINEW_TEST_STORE")) else { return };
    let action = variable("SINEW_TEST_ACTION").unwrap_or_default();
    let limits = match action.as_str() {
        "gc" => Limits { directory: 4_000, ..Limits::default() },
        _ => Limits { file: 1_000, ..Limits::default() },
    };
    let options = OpenOptions { store: PathBuf::from(store), limits, ..OpenOptions::default() };
    let checkpoints = Checkpoints::open(&PathBuf::from(root), &options).unwrap();
    let never = CancelToken::never();
    match action.as_str() {
        "take" => drop(checkpoints.take(&TakeOptions::default(), &never).unwrap()),
        "gc" => assert!(!checkpoints.gc(&never).unwrap().removed.is_empty()),
        _ => {
            let id = variable("SINEW_TEST_RESTORE").unwrap();
            let spans = variable("SINEW_TEST_SPANS").unwrap_or_default();
            let spans: Vec<(String, String)> = spans
                .split(' ')
                .filter_map(|span| span.split_once(','))
                .map(|(start, end)| (start.to_string(), end.to_string()))
                .collect();
            let spans = (!spans.is_empty()).then_some(spans);
            checkpoints.restore(&id, &RestoreOptions { spans, ..RestoreOptions::default() }, &never).unwrap();
        }
    }
}
