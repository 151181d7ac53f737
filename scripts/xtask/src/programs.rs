//! Programs that the commands start: cargo, and test programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("xtask lies two folders below the root")
        .to_path_buf()
}

/// Cargo in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let mut command = command(env!("CARGO"));
    command.current_dir(root());
    command
}

/// A program without the variables that `cargo run` sets for this one. A build script that reads them would run again in
/// the next build without them, and everything that depends on it would be rebuilt.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let is_ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_ours)) {
        command.env_remove(name);
    }
    command
}

/// Runs cargo and lets it inherit our output.
pub(crate) fn run(args: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
    eprintln!("\n$ cargo {}", args.join(" "));
    let status = cargo()
        .args(args)
        .envs(env.iter().copied())
        .status()
        .map_err(|cause| format!("failed to start cargo: {cause}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", args.join(" "))) }
}
