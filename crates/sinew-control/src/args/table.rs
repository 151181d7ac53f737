//! The table of all flags.

use sinew_llm::model::ThinkingLevel;

use super::{Args, Mode, SessionChoice};
use crate::settings::SANDBOX_MODES;

/// Whether a flag has a value, and its placeholder in `--help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagValue {
    Nothing,
    Value(&'static str),
    Optional(&'static str),
}

/// The field that a flag sets. If a flag occurs twice, the last one wins, except for lists.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Switch(fn(&mut Args) -> &mut bool),
    Text(fn(&mut Args) -> &mut Option<String>),
    /// Each occurrence adds an element.
    Texts(fn(&mut Args) -> &mut Vec<String>),
    /// Words separated by commas.
    List(fn(&mut Args) -> &mut Option<Vec<String>>),
    Number(fn(&mut Args) -> &mut Option<u64>),
    /// A value that is parsed; the error names the valid values.
    Parsed(fn(&mut Args, &str) -> Result<(), String>),
    /// One of the flags that select a session; only one can be used.
    Session(fn(Option<String>) -> SessionChoice),
    Trust(bool),
    /// Has no effect, because there is nothing to disable.
    Ignored,
    /// A known flag that is not implemented yet; using it is an error.
    Unavailable,
}

/// The heading of a flag in `--help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Output,
    Sessions,
    Model,
    Tools,
    Prompt,
    Resources,
    Run,
    /// Flags of `sinew mcp`, which has its own help.
    Mcp,
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
pub(crate) struct Flag {
    /// The long name without the dashes.
    pub(crate) long: &'static str,
    /// The short name without the dash; empty if there is none.
    pub(crate) short: &'static str,
    pub(crate) takes: FlagValue,
    pub(crate) group: Group,
    pub(super) target: Target,
    /// The text in `--help`; empty to omit the flag.
    pub(crate) help: &'static str,
}

pub(super) const fn flag(
    group: Group,
    short: &'static str,
    long: &'static str,
    takes: FlagValue,
    target: Target,
    help: &'static str,
) -> Flag {
    Flag { long, short, takes, group, target, help }
}

/// Returns the flag named `word`, which includes the dashes. Flags in `more` are searched first.
pub(super) fn find(word: &str, more: &'static [Flag]) -> Option<&'static Flag> {
    match word.strip_prefix("--") {
        Some(long) => more.iter().chain(FLAGS).find(|flag| flag.long == long),
        None => {
            let short = word.strip_prefix('-').filter(|short| !short.is_empty())?;
            FLAGS.iter().find(|flag| flag.short == short)
        }
    }
}

fn mode(args: &mut Args, text: &str) -> Result<(), String> {
    let known = [Mode::Text, Mode::Json, Mode::Rpc, Mode::Acp].into_iter().find(|mode| mode.as_str() == text);
    args.output.mode = Some(known.ok_or_else(|| format!("--mode {text}: unknown mode; use text, json, rpc or acp"))?);
    Ok(())
}

fn sandbox(args: &mut Args, text: &str) -> Result<(), String> {
    let known = SANDBOX_MODES.into_iter().find(|mode| *mode == text);
    let wrong = || format!("--sandbox {text}: unknown mode; use off, rules, workspace or read-only");
    args.tools.sandbox = Some(known.ok_or_else(wrong)?);
    Ok(())
}

fn output(args: &mut Args, text: &str) -> Result<(), String> {
    args.output.object = match text {
        "json" => true,
        "text" => false,
        _ => return Err(format!("--output {text}: unknown output; use text or json")),
    };
    Ok(())
}

fn thinking(args: &mut Args, text: &str) -> Result<(), String> {
    let level = ThinkingLevel::parse(text);
    let wrong = || format!("--thinking {text}: unknown level; use off, minimal, low, medium, high or xhigh");
    args.model.thinking = Some(level.ok_or_else(wrong)?);
    Ok(())
}

fn max_cost(args: &mut Args, text: &str) -> Result<(), String> {
    let amount = text.strip_prefix('$').unwrap_or(text).parse::<f64>().ok();
    let amount = amount.filter(|amount| amount.is_finite() && *amount > 0.0);
    let wrong = || format!("--max-cost needs an amount of US dollars such as 0.50, not \"{text}\"");
    args.run.max_cost = Some(amount.ok_or_else(wrong)?);
    Ok(())
}

use FlagValue::{Nothing, Optional, Value};
use Group::{Model, Output, Prompt, Resources, Run, Sessions, Tools};
use Target::{Ignored, List, Number, Parsed, Session, Switch, Text, Texts, Trust, Unavailable};

/// The flags in the order of `--help`.
// One flag per row, even if the line is long.
#[rustfmt::skip]
pub(crate) static FLAGS: &[Flag] = &[
    flag(Output, "p", "print", Nothing, Switch(|args| &mut args.output.print), "print the answer and exit"),
    flag(Output, "", "mode", Value("text|json|rpc|acp"), Parsed(mode), "text for people, json: one event per line, rpc: for programs, acp: for editors"),
    flag(Output, "", "json-snapshots", Nothing, Switch(|args| &mut args.output.snapshots), "with --mode json and rpc: repeat the whole message in each event"),
    flag(Output, "", "output", Value("text|json"), Parsed(output), "json: print one object with answer, session, model, usage, cost and exit reason"),
    flag(Output, "", "output-schema", Value("FILE"), Text(|args| &mut args.output.schema), "require an answer in JSON that matches this JSON Schema; two corrections are allowed"),
    flag(Output, "", "verbose", Nothing, Switch(|args| &mut args.output.verbose), "print tool calls, thinking and all warnings to stderr"),
    flag(Output, "", "linear", Nothing, Switch(|args| &mut args.output.linear), "interactive mode for screen readers: lines that never change"),
    flag(Output, "", "export", Value("IN [OUT]"), Text(|args| &mut args.output.export), "export a session (file or id) as one HTML file"),
    flag(Output, "", "list-models", Optional("FILTER"), Text(|args| &mut args.output.list_models), "list the models and exit"),
    flag(Output, "h", "help", Nothing, Switch(|args| &mut args.output.help), "print this help"),
    flag(Output, "V", "version", Nothing, Switch(|args| &mut args.output.version), "print the version"),
    flag(Sessions, "c", "continue", Nothing, Session(|_| SessionChoice::Continue), "continue the last session of this terminal or directory"),
    flag(Sessions, "r", "resume", Optional("ID|PATH"), Session(SessionChoice::Resume), "continue a session, by its file or the first or last characters of its id"),
    flag(Sessions, "", "session", Value("PATH"), Session(|path| SessionChoice::File(path.unwrap_or_default())), "use this session file, or create it"),
    flag(Sessions, "", "fork", Value("ID|PATH"), Session(|source| SessionChoice::Fork(source.unwrap_or_default())), "continue a copy of a session"),
    flag(Sessions, "", "no-session", Nothing, Session(|_| SessionChoice::InMemory), "do not save the session"),
    flag(Sessions, "", "session-dir", Value("DIR"), Text(|args| &mut args.session.folder), "save sessions in this directory"),
    flag(Sessions, "", "all", Nothing, Switch(|args| &mut args.session.all), "list the sessions of all directories, and empty ones"),
    flag(Sessions, "", "dry-run", Nothing, Switch(|args| &mut args.session.dry_run), "with `undo`, `sessions gc` and `index prune`: only print what would change"),
    flag(Sessions, "", "usage", Nothing, Switch(|args| &mut args.session.usage), "with `undo`: print the size of the checkpoints"),
    flag(Sessions, "", "force", Nothing, Switch(|args| &mut args.session.force), "with `undo`: overwrite files that changed after the turn"),
    flag(Model, "", "model", Value("PATTERN"), Text(|args| &mut args.model.pattern), "use this model: provider/id or a part of an id; append :high to set the thinking level"),
    flag(Model, "", "provider", Value("ID"), Text(|args| &mut args.model.provider), "use this provider: anthropic, openai, google, ollama, …"),
    flag(Model, "", "models", Value("GLOBS"), List(|args| &mut args.model.scope), "models to choose from, separated by commas; the first one is used"),
    flag(Model, "", "thinking", Value("LEVEL"), Parsed(thinking), "set the thinking level: off, minimal, low, medium, high or xhigh"),
    flag(Model, "", "api-key", Value("KEY"), Text(|args| &mut args.model.api_key), "API key of the chosen provider"),
    flag(Model, "", "fallback-model", Value("PATTERN"), Text(|args| &mut args.model.fallback), "use this model if the chosen one is overloaded or unavailable"),
    flag(Model, "", "max-tokens", Value("N"), Number(|args| &mut args.model.max_tokens), "limit the length of each answer, in tokens"),
    flag(Model, "", "fast-model", Value("PATTERN"), Text(|args| &mut args.model.fast), "model for the role `fast`"),
    flag(Model, "", "slow-model", Value("PATTERN"), Text(|args| &mut args.model.slow), "model for the role `slow`"),
    flag(Model, "", "plan-model", Value("PATTERN"), Text(|args| &mut args.model.plan), "model for the role `plan`"),
    flag(Model, "", "script", Value("FILE"), Text(|args| &mut args.model.script), "read the answers from a script instead of a model; no network"),
    flag(Tools, "", "tools", Value("A,B"), List(|args| &mut args.tools.only), "offer only these tools"),
    flag(Tools, "", "exclude-tools", Value("A,B"), List(|args| &mut args.tools.without), "do not offer these tools"),
    flag(Tools, "", "no-tools", Nothing, Switch(|args| &mut args.tools.none), "offer no tools"),
    flag(Tools, "", "no-builtin-tools", Nothing, Switch(|args| &mut args.tools.no_builtin), "offer no built-in tools"),
    flag(Tools, "", "allow", Value("RULE"), Texts(|args| &mut args.tools.allow), "run matching calls without asking, for example bash(git status*); can be repeated"),
    flag(Tools, "", "deny", Value("RULE"), Texts(|args| &mut args.tools.deny), "refuse matching calls, for example write(/etc/**); can be repeated"),
    flag(Tools, "", "sandbox", Value("off|rules|workspace|read-only"), Parsed(sandbox), "limit what commands and tools can do; the kernel enforces it"),
    flag(Tools, "", "sandbox-fallback", Nothing, Switch(|args| &mut args.tools.sandbox_fallback), "run even if the system cannot enforce the sandbox"),
    flag(Tools, "", "no-pty", Nothing, Ignored, "never run commands in a terminal"),
    flag(Prompt, "", "system-prompt", Value("TEXT|FILE"), Text(|args| &mut args.prompt.system), "replace the system prompt"),
    flag(Prompt, "", "append-system-prompt", Value("TEXT|FILE"), Texts(|args| &mut args.prompt.append), "append to the system prompt; can be repeated"),
    flag(Prompt, "nc", "no-context-files", Nothing, Switch(|args| &mut args.prompt.no_context_files), "do not read AGENTS.md and CLAUDE.md"),
    flag(Resources, "", "skill", Value("PATH"), Texts(|args| &mut args.resources.skills), "load this skill or directory of skills; can be repeated"),
    flag(Resources, "", "prompt-template", Value("PATH"), Texts(|args| &mut args.resources.templates), "load this prompt template or directory of templates; can be repeated"),
    flag(Resources, "", "theme", Value("PATH"), Unavailable, ""),
    flag(Resources, "", "hook", Value("PATH"), Texts(|args| &mut args.resources.hooks), "load this hooks.json; can be repeated"),
    flag(Resources, "", "mcp-config", Value("PATH"), Texts(|args| &mut args.resources.mcp_configs), "load this mcp.json with MCP servers, before all others; can be repeated"),
    flag(Resources, "e", "extension", Value("PATH"), Unavailable, ""),
    flag(Resources, "", "no-skills", Nothing, Switch(|args| &mut args.resources.no_skills), "do not load skills"),
    flag(Resources, "", "no-prompt-templates", Nothing, Switch(|args| &mut args.resources.no_templates), "do not load prompt templates"),
    flag(Resources, "", "no-rules", Nothing, Switch(|args| &mut args.resources.no_rules), "do not load rules"),
    flag(Resources, "", "no-themes", Nothing, Ignored, ""),
    flag(Resources, "", "no-extensions", Nothing, Ignored, ""),
    flag(Resources, "", "no-mcp", Nothing, Switch(|args| &mut args.resources.no_mcp), "do not use MCP servers"),
    flag(Run, "", "stdin", Nothing, Switch(|args| &mut args.run.stdin), "wait for standard input even if it is silent for 3 seconds"),
    flag(Run, "", "max-turns", Value("N"), Number(|args| &mut args.run.max_turns), "limit the number of requests to the model; 0: no limit"),
    flag(Run, "", "max-cost", Value("DOLLARS"), Parsed(max_cost), "send no more requests once this much was spent"),
    flag(Run, "", "agent", Value("NAME"), Text(|args| &mut args.run.agent), "start as this agent: with its instructions, tools and model; /agents lists them"),
    flag(Run, "", "plan", Nothing, Switch(|args| &mut args.run.plan), "begin in plan mode: nothing can be changed, and the answer is a plan"),
    flag(Run, "", "cwd", Value("DIR"), Text(|args| &mut args.run.cwd), "work in this directory"),
    flag(Run, "", "offline", Nothing, Switch(|args| &mut args.run.offline), "use the network for the model only"),
    flag(Run, "", "trust", Nothing, Trust(true), "trust this project for this run: use its hooks, MCP servers and all of its settings"),
    flag(Run, "", "no-trust", Nothing, Trust(false), "do not trust this project, and do not warn about it"),
];
