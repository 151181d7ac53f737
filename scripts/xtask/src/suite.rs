//! Runs the test programs of the workspace, as many at once as there are cores. `cargo test` runs one after the other,
//! so most cores wait for the last test of each program.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;

/// A compiled test program.
pub(crate) struct Program {
    /// Package and target for the reader, for example `sinew-shell all`.
    name: String,
    path: PathBuf,
    /// The folder of its package, which cargo makes the working directory of its tests.
    folder: PathBuf,
    bytes: u64,
}

/// Compiles all tests and returns the programs, the largest first: it has the most tests, so it must not start last.
pub(crate) fn build() -> Result<Vec<Program>, String> {
    eprintln!("\n$ cargo test --workspace --no-run");
    let mut cargo = crate::programs::cargo();
    cargo.args(["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]);
    let built = cargo.stderr(Stdio::inherit()).output().map_err(|cause| format!("failed to start cargo: {cause}"))?;
    if !built.status.success() {
        return Err("cargo test --no-run failed".to_string());
    }
    let messages = String::from_utf8_lossy(&built.stdout);
    let mut programs = messages.lines().filter_map(program).collect::<Result<Vec<_>, _>>()?;
    programs.sort_by_key(|program| Reverse(program.bytes));
    Ok(programs)
}

/// Returns the program that a message of cargo names, if it is a test program.
fn program(message: &str) -> Option<Result<Program, String>> {
    let message: Value = serde_json::from_str(message).ok()?;
    let path = PathBuf::from(message["executable"].as_str()?);
    if message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let package = folder.file_name()?.to_string_lossy();
    let kind = if message["target"]["kind"][0] == "test" { message["target"]["name"].as_str()? } else { "unit tests" };
    let name = format!("{package} {kind}");
    let size = path.metadata().map_err(|cause| format!("{}: {cause}", path.display()));
    Some(size.map(|metadata| Program { name, path, folder, bytes: metadata.len() }))
}

/// Runs the programs with `env`. The error names those that failed.
pub(crate) fn run(programs: &[Program], env: &[(&str, &str)]) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    eprintln!("\n{} test programs, {cores} at once", programs.len());
    let rest = Mutex::new(programs.iter());
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(program) = next() {
                    if let Err(reason) = run_one(program, env) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(reason);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed.is_empty() { Ok(()) } else { Err(format!("tests failed in\n  {}", failed.join("\n  "))) }
}

/// Runs one program. Prints its results, and everything that it printed if it failed.
fn run_one(program: &Program, env: &[(&str, &str)]) -> Result<(), String> {
    let began = Instant::now();
    // So that a program that hangs is known.
    eprintln!("running {}", program.name);
    let mut command = crate::programs::command(&program.path);
    let output = command.current_dir(&program.folder).envs(env.iter().copied()).stdin(Stdio::null()).output();
    let output = output.map_err(|cause| format!("{}: failed to start: {cause}", program.name))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let is_result = |line: &&str| line.starts_with("test result: ") || line.starts_with("skipped: ");
    let results: Vec<&str> = text.lines().filter(is_result).collect();
    let shown = match output.status.success() {
        true => results.join("\n"),
        false => format!("{text}{}", String::from_utf8_lossy(&output.stderr)),
    };
    // In one call, so that the lines of two programs are not mixed.
    println!("\n{} ({:.1} s)\n{shown}", program.name, began.elapsed().as_secs_f64());
    if output.status.success() { Ok(()) } else { Err(format!("{}: {}", program.name, output.status)) }
}
