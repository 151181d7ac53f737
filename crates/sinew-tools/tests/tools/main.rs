//! The built-in tools on real files and a real bash, and the conformance table of tools.
#![no_main]
#![expect(clippy::print_stdout, reason = "a test without harness reports by itself")]
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod access;
mod bash;
mod conformance;
mod files;
mod harness;
mod hashline;
mod jobs;
mod odd;
mod stage;
mod web;

use harness::Case;

const CASES: &[&[Case]] = &[
    access::CASES,
    files::CASES,
    odd::CASES,
    bash::CASES,
    jobs::CASES,
    web::CASES,
    hashline::CASES,
    conformance::CASES,
];
