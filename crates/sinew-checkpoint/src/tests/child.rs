//! The part of tests that runs in a process of its own, to be killed.

use std::path::PathBuf;

use sinew_base::CancelToken;

use crate::{Checkpoints, OpenOptions, RestoreOptions};

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn restores_what_the_environment_names() {
    let (Some(root), Some(store)) = (variable("SINEW_TEST_ROOT"), variable("SINEW_TEST_STORE")) else { return };
    let options = OpenOptions { store: PathBuf::from(store), ..OpenOptions::default() };
    let checkpoints = Checkpoints::open(&PathBuf::from(root), &options).unwrap();
    let id = variable("SINEW_TEST_RESTORE").unwrap();
    let spans: Vec<(String, String)> = variable("SINEW_TEST_SPANS")
        .unwrap_or_default()
        .split(' ')
        .filter_map(|span| span.split_once(','))
        .map(|(start, end)| (start.to_string(), end.to_string()))
        .collect();
    let spans = (!spans.is_empty()).then_some(spans);
    checkpoints.restore(&id, &RestoreOptions { spans, ..RestoreOptions::default() }, &CancelToken::never()).unwrap();
}
