//! `sinew mcp …`: servers of the Model Context Protocol, those that we use and the one that we are.

use crate::failure::Failure;
use crate::output::print;
use crate::startup::Startup;

/// The names of the commands, for errors.
const COMMANDS: &str = "list, get, add, remove, enable, disable, test or serve";

pub(crate) const HELP: &str = "\
sinew mcp: servers of the Model Context Protocol

Usage:
  sinew mcp COMMAND
";

/// Runs the command that the words behind `mcp` name.
///
/// # Errors
/// There is no such command, or it fails.
pub(crate) fn run(startup: &Startup, warnings: &[String], words: &[&str]) -> Result<u8, Failure> {
    let _ = (startup, warnings);
    match words {
        [] => print(HELP),
        ["serve", ..] => Err(Failure::usage("`sinew mcp serve` is not available yet in this version")),
        [other, ..] => Err(Failure::usage(format!("sinew mcp {other}: unknown command; use {COMMANDS}"))),
    }
}
