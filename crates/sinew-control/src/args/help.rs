//! Generates the text of `--help` from the table of flags.

use super::table::{FLAGS, Flag, FlagValue, Group};

/// The description of the program in one line.
pub(super) const TITLE: &str = "a coding agent for the terminal";

/// The ways to call the program, with descriptions.
pub(super) const USAGE: &[(&str, &str)] = &[
    ("sinew [options] [message…]", "start an interactive session"),
    ("sinew -p [options] [@file…] [message…]", "print the answer and exit"),
    ("command | sinew [options] [message…]", "add the output of a command to the message"),
    ("sinew --mode rpc [options]", "be controlled by a program: commands on stdin, events on stdout"),
    ("sinew sessions list [--all]", "list the sessions of this directory"),
    ("sinew sessions rm ID…", "delete sessions and their files"),
    ("sinew sessions gc [--dry-run]", "remove images that no session uses"),
    ("sinew undo [redo] [SESSION] | gc", "undo the file changes of the last turn; --dry-run shows them"),
    ("sinew index status | remove | prune", "show and delete the search indexes on disk"),
    ("sinew config get [KEY] | set KEY VALUE", "show or change settings"),
    ("sinew config unset KEY", "reset a setting to its default"),
    ("sinew config list", "list all settings with type, default and meaning"),
    ("sinew config path", "print the path of your settings"),
    ("sinew mcp list | add | test | …", "manage MCP servers; sinew mcp prints more"),
    ("sinew login [PROVIDER]", "store an API key, or sign in"),
    ("sinew logout [PROVIDER]", "remove stored keys and logins"),
    ("sinew doctor", "check this machine, the settings and the sandbox"),
    ("sinew completions bash | zsh | fish", "print a completion script for your shell"),
    ("sinew help [COMMAND]", "print this help, or that of a command"),
    ("sinew version", "print the version"),
    ("sinew man", "print the manual page: sinew man | man -l -"),
];

pub(super) const EXAMPLES: &[&str] = &[
    "sinew --continue",
    "sinew -p \"Why does the build fail?\"",
    "git diff | sinew -p \"Review this change\"",
    "sinew -p --continue \"And now fix it\"",
    "sinew -p --mode json \"List the TODOs\"",
    "sinew --output json --max-cost 0.50 fix the failing test",
];

/// The paragraphs after the flags: the heading in the manual page, and the lines.
pub(super) const PARAGRAPHS: &[(&str, &str)] = &[
    (
        "KEYS AND SETTINGS",
        "\
Sinew looks for an API key in --api-key, in the keys that sinew login stored, in the environment (ANTHROPIC_API_KEY,
OPENAI_API_KEY, GEMINI_API_KEY, …), and in models.json. To use another URL, set ANTHROPIC_BASE_URL, OPENAI_BASE_URL,
OPENROUTER_BASE_URL, GOOGLE_GEMINI_BASE_URL or OLLAMA_HOST; a baseUrl in models.json overrides them. Settings are read
from ~/.sinew/agent/settings.json and from .sinew/settings.json of the project; SINEW_HOME moves ~/.sinew.
",
    ),
    (
        "ENVIRONMENT",
        "\
SINEW_LOG=debug writes a log to sinew.log next to the settings. SINEW_TIMING=1 prints how long the start took. NO_COLOR
and FORCE_COLOR turn colors off and on.
",
    ),
    (
        "SECURITY",
        "\
Tools run with your rights. With --sandbox workspace the kernel keeps commands and tools from writing outside the
project and from using the network (Linux). sinew doctor shows what is enforced.
",
    ),
    (
        "EXIT STATUS",
        "\
Exit codes: 0 success, 1 the run failed, 2 invalid command line, 3 invalid configuration, 4 --max-turns or --max-cost
reached, 130 and 143 ended by a signal.
",
    ),
];

/// Returns the whole text.
pub fn help() -> String {
    let mut out = format!("sinew: {TITLE}\n\nUsage:\n");
    for (form, meaning) in USAGE {
        out.push_str(&format!("  {form:43}{meaning}\n"));
    }
    out.push_str("\nExamples:\n");
    for example in EXAMPLES {
        out.push_str(&format!("  {example}\n"));
    }
    for (group, title) in Group::ALL {
        out.push_str(&format!("\n{title}:\n"));
        for flag in FLAGS.iter().filter(|flag| flag.group == group && !flag.help.is_empty()) {
            let name = shape(flag);
            if name.chars().count() > 34 {
                out.push_str(&format!("  {name}\n  {:34}  {}\n", "", flag.help));
            } else {
                out.push_str(&format!("  {name:34}  {}\n", flag.help));
            }
        }
    }
    for (_, text) in PARAGRAPHS {
        out.push_str(&format!("\n{text}"));
    }
    out
}

/// Returns the short and the long form of a flag with the placeholder of its value.
pub(super) fn shape(flag: &Flag) -> String {
    let short = if flag.short.is_empty() { String::new() } else { format!("-{}, ", flag.short) };
    let value = match flag.takes {
        FlagValue::Nothing => String::new(),
        FlagValue::Value(shape) => format!(" {shape}"),
        FlagValue::Optional(shape) => format!(" [{shape}]"),
    };
    format!("{short}--{}{value}", flag.long)
}
