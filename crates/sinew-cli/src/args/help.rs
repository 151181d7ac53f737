//! The text of `--help`, made from the table of flags.

use super::table::{FLAGS, Flag, Group, Takes};

/// The program in one line.
pub(super) const TITLE: &str = "a coding agent for the terminal";

/// The ways to call the program, and their meaning.
pub(super) const USAGE: &[(&str, &str)] = &[
    ("sinew [options] [message…]", "work with the agent at this terminal"),
    ("sinew -p [options] [@file…] [message…]", "answer and leave"),
    ("command | sinew [options] [message…]", "put the output of the command before the message"),
    ("sinew --mode rpc [options]", "serve another program: commands on stdin, events on stdout"),
    ("sinew sessions list [--all]", "list the sessions of this folder"),
    ("sinew sessions rm ID…", "remove sessions and their files for good"),
    ("sinew sessions gc [--dry-run]", "remove pictures that no session names"),
    ("sinew index status | remove | prune", "the indexes of searches on disk"),
    ("sinew config get [KEY] | set KEY VALUE", "show or change settings"),
    ("sinew config unset KEY", "take a setting back to its default"),
    ("sinew config list", "list all settings with type, default and meaning"),
    ("sinew config path", "show the file of your settings"),
    ("sinew mcp list | add | test | …", "servers of tools (MCP); sinew mcp tells more"),
    ("sinew login [PROVIDER]", "store a key or a login, so that no variable is needed"),
    ("sinew logout [PROVIDER]", "remove it"),
    ("sinew completions bash | zsh | fish", "the script by which your shell completes these words and flags"),
    ("sinew help [COMMAND]", "this text, or that of a command"),
    ("sinew version", "the version"),
    ("sinew man", "this text as a manual page: sinew man | man -l -"),
];

pub(super) const EXAMPLES: &[&str] = &[
    "sinew --continue",
    "sinew -p \"Why does the build fail?\"",
    "git diff | sinew -p \"Review this change\"",
    "sinew -p --continue \"And now fix it\"",
    "sinew -p --mode json \"List the TODOs\"",
    "sinew --output json --max-cost 0.50 fix the failing test",
];

/// The paragraphs behind the flags: heading in the manual page, and lines.
pub(super) const PARAGRAPHS: &[(&str, &str)] = &[
    (
        "KEYS AND SETTINGS",
        "\
A key comes from --api-key, sinew login, the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …) or
models.json. ANTHROPIC_BASE_URL, OPENAI_BASE_URL, OPENROUTER_BASE_URL, GOOGLE_GEMINI_BASE_URL and OLLAMA_HOST name
other addresses of these servers; a baseUrl in models.json wins over them. Settings are read from
~/.sinew/agent/settings.json and .sinew/settings.json; SINEW_HOME moves the first.
",
    ),
    (
        "ENVIRONMENT",
        "\
SINEW_LOG=debug writes events to sinew.log beside the settings; SINEW_TIMING=1 prints how long the start took. NO_COLOR
and FORCE_COLOR switch colours off and on.
",
    ),
    ("SECURITY", "Tools run with your rights; there is no sandbox. Use a container where that matters.\n"),
    (
        "EXIT STATUS",
        "\
Exit codes: 0 done, 1 the run ended with an error, 2 usage, 3 configuration, 4 --max-turns or --max-cost reached,
130 and 143 ended by a signal.
",
    ),
];

/// Writes the whole text.
pub(crate) fn help() -> String {
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

/// A flag with its short form and the shape of its value.
pub(super) fn shape(flag: &Flag) -> String {
    let short = if flag.short.is_empty() { String::new() } else { format!("-{}, ", flag.short) };
    let value = match flag.takes {
        Takes::Nothing => String::new(),
        Takes::Value(shape) => format!(" {shape}"),
        Takes::Optional(shape) => format!(" [{shape}]"),
    };
    format!("{short}--{}{value}", flag.long)
}
