//! Tests the agent with the built-in tools: permissions, mentions and jobs, with real files and a real bash.
#![no_main]
#![expect(clippy::print_stdout, reason = "a test without a harness prints its own results")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[cfg(unix)]
mod access;
mod background;
#[path = "../../../sinew-tools/tests/tools/harness.rs"]
mod harness;
mod mentions;
#[expect(dead_code, reason = "the tests of sinew-tools use the rest")]
#[path = "../../../sinew-tools/tests/tools/stage.rs"]
mod stage;
#[cfg(unix)]
mod undo;

use harness::Case;

const CASES: &[&[Case]] = &[
    #[cfg(unix)]
    access::CASES,
    mentions::CASES,
    background::CASES,
    #[cfg(unix)]
    undo::CASES,
];
