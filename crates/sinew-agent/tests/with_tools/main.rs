//! Tests the agent with the built-in tools: permissions, mentions and jobs, with real files and a real bash.
#![no_main]
#![expect(clippy::print_stdout, reason = "a test without harness reports by itself")]
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

#[cfg(unix)]
mod access;
mod background;
#[path = "../../../sinew-tools/tests/tools/harness.rs"]
mod harness;
mod mentions;
#[expect(dead_code, reason = "the tests of the tools use more of it")]
#[path = "../../../sinew-tools/tests/tools/stage.rs"]
mod stage;

use harness::Case;

const CASES: &[&[Case]] = &[
    #[cfg(unix)]
    access::CASES,
    mentions::CASES,
    background::CASES,
];
