//! Tests the built-in tools with real files and a real bash, and compares them with the conformance table.
#![no_main]
#![expect(clippy::print_stdout, reason = "a test without a harness prints its own results")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[cfg(unix)]
mod access;
#[cfg(unix)]
mod bash;
mod conformance;
#[cfg(unix)]
mod files;
mod harness;
mod hashline;
#[cfg(unix)]
mod jobs;
#[cfg(unix)]
mod odd;
mod patch;
#[cfg_attr(not(unix), expect(dead_code, reason = "the tests that need bash use the rest"))]
mod stage;
mod web;
#[cfg(windows)]
mod windows;

use harness::Case;

const CASES: &[&[Case]] = &[
    #[cfg(unix)]
    access::CASES,
    #[cfg(unix)]
    files::CASES,
    #[cfg(unix)]
    odd::CASES,
    #[cfg(unix)]
    bash::CASES,
    #[cfg(unix)]
    jobs::CASES,
    web::CASES,
    #[cfg(windows)]
    windows::CASES,
    hashline::CASES,
    patch::CASES,
    conformance::CASES,
];
