//! The report of `/debug`: facts about the program, the terminal and the session, for troubleshooting. It contains
//! names of settings and variables, but not their values.

use std::fmt::Write as _;
use std::path::PathBuf;

use sinew_control::actions::{Control, ControlError};
use sinew_control::settings::KEYS;

use super::private_file;

/// Variables whose values only describe the terminal.
const TERMINAL: &[&str] = &[
    "TERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "COLORTERM",
    "NO_COLOR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "VTE_VERSION",
];
/// Variables of which the report says whether they are set.
const PRESENT: &[&str] =
    &["TMUX", "STY", "ZELLIJ", "SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY", "SINEW_LINEAR", "ACCESSIBLE"];

/// Writes the report to a file that only the user can read, and returns its path.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub(super) fn write(control: &Control) -> Result<PathBuf, ControlError> {
    private_file::write(control, "debug", ("report", "txt"), &text(control))
}

fn text(control: &Control) -> String {
    let startup = &control.app.startup;
    let mut out = String::new();
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name}: {value}");
    };
    line("sinew", &env!("CARGO_PKG_VERSION"));
    line("system", &format_args!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    for name in TERMINAL {
        line(name, &startup.environment.get(name).unwrap_or("unset"));
    }
    for name in PRESENT {
        line(name, &if startup.environment.get(name).is_some() { "set" } else { "unset" });
    }
    let set: Vec<&str> = KEYS.iter().map(|key| key.path).filter(|path| startup.values.is_set(path)).collect();
    line("settings that are set", &set.join(", "));
    line("project trusted", &startup.trusted);
    let open = control.session();
    line("model", &open.agent.model().model.key());
    line("thinking", &open.agent.thinking().as_str());
    line("running", &open.agent.is_running());
    let tools: Vec<String> = control.tools().iter().map(|listed| listed.tool.name().to_string()).collect();
    line("tools", &tools.join(", "));
    line("jobs", &open.host.jobs().len());
    let (steering, follow_up) = open.agent.queued();
    line("queued", &(steering.len() + follow_up.len()));
    match control.stats() {
        Ok(stats) => {
            line("session", &stats.session.id);
            line("kept in a file", &stats.session.file.is_some());
            line("messages", &stats.counts.total_messages);
            line("context tokens", &stats.context.map_or(0, |usage| usage.tokens));
        }
        Err(error) => line("session cannot be read", &error.message),
    }
    out
}
