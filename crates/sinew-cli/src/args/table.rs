//! All flags, as data.

/// What stands behind a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Value(&'static str),
    Optional(&'static str),
}

/// Under which heading `--help` lists a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Output,
    Sessions,
    Model,
    Tools,
    Prompt,
    Resources,
    Run,
}

impl Group {
    pub(crate) const ALL: [(Group, &'static str); 7] = [
        (Group::Output, "Output"),
        (Group::Sessions, "Sessions"),
        (Group::Model, "Model"),
        (Group::Tools, "Tools"),
        (Group::Prompt, "Prompt"),
        (Group::Resources, "Resources"),
        (Group::Run, "Run"),
    ];
}

/// A flag.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    /// Without the two dashes.
    pub(crate) long: &'static str,
    /// Without the dash; empty for none.
    pub(crate) short: &'static str,
    pub(crate) takes: Takes,
    pub(crate) group: Group,
    pub(crate) help: &'static str,
    /// False: the flag is known, and using it is an error that says so.
    pub(crate) available: bool,
    /// False: `--help` does not name it.
    pub(crate) listed: bool,
}

const fn flag(group: Group, short: &'static str, long: &'static str, takes: Takes, help: &'static str) -> Flag {
    Flag { long, short, takes, group, help, available: true, listed: true }
}

const fn later(group: Group, short: &'static str, long: &'static str, takes: Takes, help: &'static str) -> Flag {
    Flag { long, short, takes, group, help, available: false, listed: false }
}

/// Switches off what this version does not have: it does what it says, and there is nothing to tell.
const fn already(group: Group, long: &'static str, help: &'static str) -> Flag {
    Flag { long, short: "", takes: Takes::Nothing, group, help, available: true, listed: false }
}

use Group::{Model, Output, Prompt, Resources, Run, Sessions, Tools};
use Takes::{Nothing, Optional, Value};

/// In the order of `--help`.
// One row per flag, whatever its width.
#[rustfmt::skip]
pub(crate) static FLAGS: &[Flag] = &[
    flag(Output, "p", "print", Nothing, "answer on stdout and leave"),
    flag(Output, "", "mode", Value("text|json|rpc"), "text for people, json: one event per line, rpc: commands on stdin, events on stdout"),
    flag(Output, "", "output", Value("text|json"), "json: one object with the answer, session, model, usage, cost and why it ended"),
    flag(Output, "", "output-schema", Value("FILE"), "the answer is JSON that fits this schema: checked, with two corrections"),
    flag(Output, "", "verbose", Nothing, "show tools and thoughts on stderr, and every warning"),
    flag(Output, "", "export", Value("IN [OUT]"), "write a session, named by its file or id, as one HTML file"),
    flag(Output, "", "list-models", Optional("FILTER"), "list the models and leave"),
    flag(Output, "h", "help", Nothing, "show this text"),
    flag(Output, "V", "version", Nothing, "show the version"),
    flag(Sessions, "c", "continue", Nothing, "go on with the last session of this terminal or folder"),
    flag(Sessions, "r", "resume", Optional("ID|PATH"), "go on with a session: the start or end of its id, or its file"),
    flag(Sessions, "", "session", Value("PATH"), "use this file; a missing one is a new session"),
    flag(Sessions, "", "fork", Value("ID|PATH"), "go on with a copy of a session"),
    flag(Sessions, "", "no-session", Nothing, "keep nothing"),
    flag(Sessions, "", "session-dir", Value("DIR"), "keep sessions here"),
    flag(Sessions, "", "all", Nothing, "list sessions of all folders, and empty ones"),
    flag(Sessions, "", "dry-run", Nothing, "with `sessions gc`: say what would be removed"),
    flag(Model, "", "model", Value("PATTERN"), "provider/id, or a part of an id; `:high` behind it sets the thinking level"),
    flag(Model, "", "provider", Value("ID"), "anthropic, openai, google, ollama, …"),
    flag(Model, "", "models", Value("GLOBS"), "models to choose from, divided by commas; the first one answers"),
    flag(Model, "", "thinking", Value("LEVEL"), "off, minimal, low, medium, high or xhigh"),
    flag(Model, "", "api-key", Value("KEY"), "a key for the chosen provider"),
    flag(Model, "", "fallback-model", Value("PATTERN"), "answers where the chosen model cannot: overloaded, refused, gone"),
    flag(Model, "", "max-tokens", Value("N"), "tokens of an answer at most"),
    flag(Model, "", "fast-model", Value("PATTERN"), "the model of the role `fast`"),
    flag(Model, "", "slow-model", Value("PATTERN"), "the model of the role `slow`"),
    flag(Model, "", "plan-model", Value("PATTERN"), "the model of the role `plan`"),
    flag(Model, "", "script", Value("FILE"), "answers come from a script: no model, no network"),
    flag(Tools, "", "tools", Value("A,B"), "offer only these tools"),
    flag(Tools, "", "exclude-tools", Value("A,B"), "do not offer these tools"),
    flag(Tools, "", "no-tools", Nothing, "offer no tool"),
    flag(Tools, "", "no-builtin-tools", Nothing, "offer no built-in tool"),
    flag(Tools, "", "allow", Value("RULE"), "run what the rule fits without asking: bash(git status*); may be repeated"),
    flag(Tools, "", "deny", Value("RULE"), "never run what the rule fits: write(/etc/**); may be repeated"),
    flag(Tools, "", "no-pty", Nothing, "never give commands a terminal"),
    flag(Prompt, "", "system-prompt", Value("TEXT|FILE"), "replaces the system prompt"),
    flag(Prompt, "", "append-system-prompt", Value("TEXT|FILE"), "goes behind the system prompt; may be repeated"),
    flag(Prompt, "nc", "no-context-files", Nothing, "do not read AGENTS.md and CLAUDE.md"),
    flag(Resources, "", "skill", Value("PATH"), "one more skill, or a folder of them; may be repeated"),
    flag(Resources, "", "prompt-template", Value("PATH"), "one more prompt template, or a folder of them; may be repeated"),
    later(Resources, "", "theme", Value("PATH"), "one more theme"),
    flag(Resources, "", "hook", Value("PATH"), "one more hooks.json: programs that are told of events; may be repeated"),
    later(Resources, "", "mcp-config", Value("PATH"), "one more mcp.json"),
    later(Resources, "e", "extension", Value("PATH"), "one more extension"),
    flag(Resources, "", "no-skills", Nothing, "load no skill"),
    flag(Resources, "", "no-prompt-templates", Nothing, "load no prompt template"),
    flag(Resources, "", "no-rules", Nothing, "load no rule"),
    already(Resources, "no-themes", "load no theme"),
    already(Resources, "no-extensions", "load no extension"),
    already(Resources, "no-mcp", "start no MCP server"),
    flag(Run, "", "max-turns", Value("N"), "questions to the model at most; 0 is no limit"),
    flag(Run, "", "max-cost", Value("DOLLARS"), "send no request once so much was spent"),
    flag(Run, "", "cwd", Value("DIR"), "work in this folder"),
    flag(Run, "", "offline", Nothing, "no network but for the model"),
    flag(Run, "", "trust", Nothing, "use what of this project starts programs: hooks, servers, some settings"),
    flag(Run, "", "no-trust", Nothing, "do not use it, and do not speak of it"),
];
