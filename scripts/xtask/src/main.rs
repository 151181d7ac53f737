//! The project's own commands: `cargo xtask ci`, `cargo xtask docs`, `cargo xtask tidy`, `cargo xtask gen`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to the terminal")]

mod defaults;
mod generate;
mod models;
mod programs;
mod suite;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use programs::{root, run};

const HELP: &str = "\
cargo xtask COMMAND

  ci     what `npm test` runs of Rust: format, clippy, tests, tidy, generated files unchanged
  docs   write the reference of all libraries; a broken link is an error
  tidy   hold the imports that ARCHITECTURE.md allows, the file sizes, and the list of dependencies
  gen    write packages/natives/src/native.d.ts and native-exports.ts from native/
  gen models [FILE]   write the table of models, from FILE or from the pinned release of LiteLLM (needs the network)
  gen settings  write crates/sinew-control/SETTINGS.md from the table of settings; a test of sinew-control compares it
  gen --check   fail where a generated file is not up to date, or the reference states another default than the core has
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["ci"] => ci(),
        ["docs"] => docs(),
        ["tidy"] => tidy::run(&root()),
        ["gen"] => generate::write(&root()),
        ["gen", "models"] => models::write(&root(), None),
        ["gen", "models", file] => models::write(&root(), Some(Path::new(file))),
        ["gen", "settings"] => generate::settings(&root()),
        ["gen", "--check"] => generated(),
        _ => {
            print!("{HELP}");
            return ExitCode::from(u8::from(!words.is_empty()));
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn ci() -> Result<(), String> {
    run(&["fmt", "--all", "--check"], &[])?;
    tidy::run(&root())?;
    // `npm test` compiles with clippy's driver in place of rustc (scripts/lib/linted.mjs), so that one build both checks and compiles.
    if std::env::var_os("RUSTC_WORKSPACE_WRAPPER").is_none() {
        run(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    }
    let programs = suite::build()?;
    generated()?;
    // Random cases have a fixed seed, so that runs can be repeated; `cargo test` uses a new seed. Many tests wait for
    // other programs, so each test program runs more of them at once than there are cores.
    let threads = (2 * std::thread::available_parallelism().map_or(1, usize::from)).to_string();
    let passed = suite::run(&programs, &[("PROPTEST_RNG_SEED", "1"), ("RUST_TEST_THREADS", &threads)]);
    passed.and(run(&["test", "--workspace", "--doc", "--no-fail-fast"], &[]))
}

/// Fails if the reference of a library has a broken link. It compiles every dependency again, so it is not part of
/// [`ci`].
fn docs() -> Result<(), String> {
    run(&["doc", "--workspace", "--no-deps", "--lib"], &[("RUSTDOCFLAGS", "-D warnings")])
}

/// Fails if a generated file is not up to date, or if the reference states a default that the core does not have.
fn generated() -> Result<(), String> {
    models::check(&root())?;
    defaults::check(&root())?;
    generate::check(&root())
}
