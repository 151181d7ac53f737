//! The table of settings: key, type, default, who may set it, help. Every default stands here and nowhere else.

use serde_json::{Map, Value};

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number from 0.
    Number,
    /// A whole number.
    Signed,
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of anything.
    List,
    /// An object of anything.
    Object,
}

impl Kind {
    /// Says what was expected instead of `value`; None where it fits.
    pub(crate) fn refusal(self, value: &Value) -> Option<String> {
        let fits = match self {
            Kind::Flag => value.is_boolean(),
            Kind::Number => value.is_u64(),
            Kind::Signed => value.is_i64(),
            Kind::Text => value.is_string(),
            Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Kind::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            Kind::List => value.is_array(),
            Kind::Object => value.is_object(),
        };
        (!fits).then(|| self.describe())
    }

    /// The type in words: `a whole number`.
    pub(crate) fn describe(self) -> String {
        match self {
            Kind::Flag => "true or false".into(),
            Kind::Number | Kind::Signed => "a whole number".into(),
            Kind::Text => "a text".into(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
            Kind::Texts => "a list of texts".into(),
            Kind::List => "a list".into(),
            Kind::Object => "an object".into(),
        }
    }
}

/// The files in which a key counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The user's and every project's: the key changes how things look, and nothing else.
    Display,
    /// The user's, and a project's once it is trusted.
    Trusted,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// `retry.enabled`.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    /// Its default as JSON; empty for none.
    pub(crate) default: &'static str,
    pub(crate) scope: Scope,
    /// The part of the program that will read it and does not exist yet; None: it is read.
    pub(crate) waits_for: Option<&'static str>,
    /// One line for people.
    pub(crate) help: &'static str,
}

impl Key {
    /// The default; null for none.
    pub(crate) fn default_value(&self) -> Value {
        serde_json::from_str(self.default).unwrap_or_default()
    }
}

const fn key(path: &'static str, kind: Kind, default: &'static str, scope: Scope, help: &'static str) -> Key {
    Key { path, kind, default, scope, waits_for: None, help }
}

/// A key that nothing reads yet.
const fn later(
    path: &'static str,
    kind: Kind,
    default: &'static str,
    scope: Scope,
    part: &'static str,
    help: &'static str,
) -> Key {
    Key { path, kind, default, scope, waits_for: Some(part), help }
}

/// A key below an object of the table.
const fn entry(path: &'static str, kind: Kind) -> Key {
    key(path, kind, "", Scope::Trusted, "")
}

const SUBAGENTS: &str = "subagents";
const LANGUAGE_SERVERS: &str = "language servers";

use Kind::{Flag, List, Number, Object, Signed, Text, Texts, Word};
use Scope::{Display, Trusted};

const LEVELS: Kind = Word(&["off", "minimal", "low", "medium", "high", "xhigh"]);
const DELIVERY: Kind = Word(&["one-at-a-time", "all"]);

/// All keys, in the order of the reference page.
// One row per key, whatever its width.
#[rustfmt::skip]
pub(crate) static KEYS: &[Key] = &[
    key("defaultProvider", Text, "", Trusted, "The provider to begin with; without it the one of `defaultModel`, else the first that has a key."),
    key("defaultModel", Text, "", Trusted, "The model to begin with: `provider/id`, or a part of an id."),
    key("defaultThinkingLevel", LEVELS, "\"medium\"", Trusted, "How much a model thinks where nothing else says so."),
    key("modelRoles", Object, "{}", Trusted, "Models by role: `{\"fast\": \"…\", \"slow\": \"…\", \"plan\": \"…\", \"default\": \"…\"}`."),
    key("enabledModels", Texts, "[]", Trusted, "Globs of the models that are cycled through; empty: all that have a key."),
    key("thinkingBudgets", Object, "{}", Trusted, "Tokens of thought by level, for providers that count them: `{\"high\": 20000}`."),
    key("providerTimeouts.connectMs", Number, "30000", Trusted, "Milliseconds until a connection must stand; 0: no limit."),
    key("providerTimeouts.idleMs", Number, "300000", Trusted, "Milliseconds that an answer may pause; 0: no limit."),
    key("cacheRetention", Word(&["none", "short", "long"]), "\"short\"", Trusted, "How long providers keep the common start of requests."),
    key("tools", Texts, "", Trusted, "Only these tools are offered; unset: all of them."),
    key("excludeTools", Texts, "[]", Trusted, "Tools that are not offered."),
    key("toolExecution", Word(&["parallel", "sequential"]), "\"parallel\"", Trusted, "Whether tools of one turn run side by side."),
    key("steeringMode", DELIVERY, "\"one-at-a-time\"", Trusted, "How many waiting steering messages are delivered at a time."),
    key("followUpMode", DELIVERY, "\"one-at-a-time\"", Trusted, "How many waiting follow-up messages are delivered at a time."),
    key("interruptMode", Word(&["immediate", "wait"]), "\"wait\"", Trusted, "Whether steering waits for running tools (`wait`) or ends them (`immediate`); tools not begun are skipped."),
    key("maxTurns", Number, "1000", Trusted, "How many requests to the model one prompt may take; 0: no limit."),
    key("doubleEscapeAction", Word(&["tree", "branch", "none"]), "\"tree\"", Trusted, "What Esc twice on an empty editor opens."),
    key("retry.enabled", Flag, "true", Trusted, "Failed requests are tried again."),
    key("retry.maxRetries", Number, "3", Trusted, "Attempts after the first one."),
    key("retry.baseDelayMs", Number, "2000", Trusted, "Milliseconds before the first retry; doubled each time."),
    key("retry.maxDelayMs", Number, "60000", Trusted, "Milliseconds before a retry at most."),
    key("contextPromotion.enabled", Flag, "false", Trusted, "A full context moves to a model with a larger window."),
    key("compaction.enabled", Flag, "true", Trusted, "A full context is summed up."),
    key("compaction.reserveTokens", Number, "16384", Trusted, "Tokens of the window that stay free."),
    key("compaction.keepRecentTokens", Number, "20000", Trusted, "Tokens of the newest messages that are kept word for word."),
    key("compaction.autoContinue", Flag, "true", Trusted, "The model goes on by itself after a compaction."),
    key("compaction.model", Text, "", Trusted, "The model that writes the summary; unset: the current one."),
    key("compaction.remoteEndpoint", Text, "", Trusted, "The address of a server that writes the summary."),
    key("branchSummary.enabled", Flag, "false", Trusted, "A branch that is left is summed up."),
    key("branchSummary.reserveTokens", Number, "16384", Trusted, "Tokens of the window that such a summary leaves free."),
    key("sessions.fsync", Word(&["turn", "always", "never"]), "\"turn\"", Trusted, "When session files are forced to the disk."),
    key("edit.mode", Word(&["replace", "hashline"]), "\"replace\"", Trusted, "How the model writes edits: texts that are replaced, or line numbers with hashes."),
    key("edit.fuzzy", Flag, "true", Trusted, "Edits tolerate differences in white space and typographic characters."),
    key("edit.streamGuard", Flag, "false", Trusted, "An answer whose edit can only fail is stopped while it comes."),
    key("fileGuard", Word(&["on", "warn", "off"]), "\"on\"", Trusted, "What a write to a file that changed since it was read does."),
    key("bash.timeoutSeconds", Number, "120", Trusted, "Seconds that a command may take where it names none."),
    key("bash.autoBackground.thresholdMs", Number, "0", Trusted, "Milliseconds after which a command becomes a background job; 0: never."),
    key("async.enabled", Flag, "false", Trusted, "Commands may run as background jobs."),
    key("bashGuard.enabled", Flag, "true", Trusted, "Commands that destroy much by accident are refused."),
    key("bashGuard.deny", Texts, "[]", Trusted, "More regular expressions of commands that are refused."),
    key("bashGuard.allow", Texts, "[]", Trusted, "Commands, word for word, that are never refused."),
    key("bashInterceptor.enabled", Flag, "false", Trusted, "Commands for which there is a tool are refused."),
    key("bashInterceptor.rules", List, "[]", Trusted, "More of them: `[{\"pattern\": \"^cat \", \"tool\": \"read\"}]`."),
    key("shellPath", Text, "\"auto\"", Trusted, "The interpreter of commands: `auto`, `bash`, `brush` or the path of a bash."),
    key("shellCommandPrefix", Text, "", Trusted, "A text that is written before each command."),
    key("images.autoResize", Flag, "true", Trusted, "Pictures are made small enough for providers."),
    key("images.blockImages", Flag, "false", Trusted, "No picture is sent to a model."),
    key("fetch.enabled", Flag, "true", Trusted, "The tool `fetch` is offered."),
    key("fetch.allowPrivate", Texts, "[]", Trusted, "Hosts that may resolve to private addresses."),
    key("search.index", Word(&["auto", "off"]), "\"auto\"", Trusted, "Searches keep the work tree in view, and index it where it is large; off: each search walks."),
    key("ask.timeoutSeconds", Number, "0", Trusted, "Seconds until a question takes its recommended answer; 0: never."),
    key("acp.clientFs", Word(&["auto", "off"]), "\"auto\"", Trusted, "In an editor tools read unsaved texts and write through it, where it offers that; off: the disk alone counts."),
    key("todo.reminders", Flag, "true", Trusted, "The model is reminded of open items when it stops; off in print mode where unset."),
    key("todo.autoClearSeconds", Signed, "60", Trusted, "Seconds until a finished list is cleared; 0: at once, negative: never."),
    key("ttsr.enabled", Flag, "true", Trusted, "Rules on a stream: an answer that breaks one is stopped and asked for again."),
    key("ttsr.contextMode", Word(&["discard", "keep"]), "\"discard\"", Trusted, "Whether the stopped answer stays in the context."),
    key("ttsr.repeatMode", Word(&["once", "after-gap"]), "\"once\"", Trusted, "Whether a rule that was told once may be told again."),
    key("ttsr.repeatGap", Number, "10", Trusted, "Turns after which a rule may be told again (`after-gap`)."),
    key("ttsr.interruptMode", Word(&["always", "prose-only", "tool-only", "never"]), "\"always\"", Trusted, "Which parts of an answer a rule stops; others are reported afterwards."),
    key("ttsr.disabledRules", Texts, "[]", Trusted, "Names of rules that do not count."),
    later("task.maxDepth", Number, "2", Trusted, SUBAGENTS, "Levels of subagents below each other."),
    later("task.maxConcurrency", Number, "4", Trusted, SUBAGENTS, "Subagents at work side by side."),
    later("task.maxTurns", Number, "100", Trusted, SUBAGENTS, "Requests to the model of a subagent at most."),
    later("task.timeoutSeconds", Number, "0", Trusted, SUBAGENTS, "Seconds that a subagent may take; 0: no limit."),
    later("task.isolation.mode", Text, "\"none\"", Trusted, SUBAGENTS, "How the files of subagents are kept apart."),
    later("task.isolation.merge", Text, "\"patch\"", Trusted, SUBAGENTS, "How their changes come back."),
    key("mcp.enabled", Flag, "true", Trusted, "Servers of the Model Context Protocol are used."),
    key("mcp.enableProjectConfig", Flag, "true", Trusted, "Those of the project too, once it is trusted."),
    key("secrets.enabled", Flag, "false", Trusted, "Values of secrets are hidden from models and session files."),
    key("env.passThrough", Texts, "[]", Trusted, "Variables that programs get although their names look like credentials. Other names in `env` are variables for commands."),
    key("skills.enabled", Flag, "true", Trusted, "Skills are loaded."),
    key("skills.enableCommands", Flag, "true", Trusted, "`/skill:name` is a command."),
    key("skills.directories", Texts, "[]", Trusted, "More folders of skills."),
    key("skills.include", Texts, "[]", Trusted, "Globs of names: only these skills count; empty: all."),
    key("skills.ignore", Texts, "[]", Trusted, "Globs of names of skills that do not count."),
    key("skills.enableClaude", Flag, "true", Trusted, "`.claude/skills` are loaded too."),
    key("rules.enableForeign", Flag, "false", Trusted, "Rules of other programs are loaded too."),
    later("agents.enableForeign", Flag, "false", Trusted, SUBAGENTS, "Subagents of other programs are loaded too."),
    key("theme.dark", Text, "\"dark\"", Display, "The theme on a dark background: `dark`, `light` or `ansi`."),
    key("theme.light", Text, "\"light\"", Display, "The theme on a light background."),
    key("symbolPreset", Word(&["unicode", "nerd", "ascii"]), "\"unicode\"", Display, "The symbols: with `ascii` those of ASCII alone; `nerd` is `unicode`."),
    key("colorBlindMode", Flag, "false", Display, "Added and removed are blue and orange."),
    key("hideThinkingBlock", Flag, "false", Display, "Thoughts are folded to their first heading, or one row (ctrl+t)."),
    key("quietStartup", Flag, "false", Display, "Name, model and the first hints are not written at the start."),
    key("tui.mode", Word(&["auto", "screen", "linear"]), "\"auto\"", Trusted, "The interactive mode in words, line by line (`linear`); otherwise only where the terminal knows no cursor."),
    key("tui.resize", Word(&["screen", "live", "rebuild"]), "\"screen\"", Trusted, "What is laid out anew for a new size: the screen, only what still changes, or all that `/redraw all` writes."),
    key("tui.editor", Word(&["emacs", "vi"]), "\"emacs\"", Trusted, "The keys of the editor; `/vim` changes them until you leave."),
    key("tui.statusRows", Number, "1", Display, "Rows of the status: with 2 the folder, branch and title have one of their own."),
    key("tui.statusCommand", Text, "", Trusted, "A command that writes the right part of the status, from facts as JSON; counts in your own settings alone."),
    key("tui.reducedMotion", Flag, "false", Display, "Elapsed time moves on each ten seconds only."),
    key("tui.passthrough", Flag, "false", Trusted, "Notifications, progress and the pictures of Kitty and Ghostty go through tmux to the terminal around it (`allow-passthrough`)."),
    key("tui.resumeRows", Number, "200", Display, "Rows of a session that are written again where one goes on with it, about."),
    key("tui.replayRows", Number, "2000", Display, "Rows of the session that `/redraw all` writes again, about."),
    key("tui.title", Flag, "true", Trusted, "The terminal's title tells the session and its state."),
    key("tui.progress", Flag, "true", Trusted, "Terminals that can show progress do so while the model works."),
    key("tui.marks", Flag, "true", Display, "Prompts are marked, so that terminals can jump from one to the next."),
    key("tui.links", Flag, "true", Trusted, "Addresses are links."),
    key("tui.notify", Word(&["auto", "osc99", "osc777", "osc9", "bell", "off"]), "\"auto\"", Trusted, "How the terminal notifies: as it is known to, by one of these codes, by its bell, or not at all."),
    key("tui.notifyAfterSeconds", Number, "10", Trusted, "Seconds after which the end of a run is worth a notification."),
    key("tui.approvalDelayMs", Number, "400", Trusted, "Milliseconds for which a question takes no key, so that none answers it by accident."),
    key("tui.linear.stream", Word(&["line", "sentence", "end"]), "\"line\"", Display, "When linear mode says an answer: line by line, sentence by sentence, or at its end."),
    key("tui.maxInlineImages", Number, "8", Display, "Pictures that Kitty, Ghostty, iTerm2 and WezTerm show at most, the newest; elsewhere a line tells of them."),
    key("notifications", Flag, "true", Trusted, "The terminal notifies when a long run ends or something asks, and you look elsewhere."),
    key("verbose", Flag, "false", Trusted, "Tools, thoughts and all warnings are shown."),
    key("permissions", Object, "", Trusted, "Rules of calls: `{\"deny\": [\"write(/etc/**)\"], \"ask\": [], \"allow\": [\"bash(git status*)\"]}`."),
    key("share.command", Text, "", Trusted, "The command of `/share`: is given the session's page and writes its link; unset: `gh gist create --public=false`."),
    key("sessionDir", Text, "", Trusted, "A folder that holds the session files of every project."),
    later("lsp.formatOnWrite", Flag, "false", Trusted, LANGUAGE_SERVERS, "A language server formats files that are written."),
    later("lsp.diagnosticsOnWrite", Flag, "true", Trusted, LANGUAGE_SERVERS, "Its diagnostics are shown after a write."),
];

/// Keys in objects whose names the user chooses, or of which no name has a default; `*` is any name.
static ENTRIES: &[Key] = &[
    // Beside `passThrough`: variables for commands.
    entry("env.*", Text),
    entry("modelRoles.*", Text),
    entry("thinkingBudgets.minimal", Number),
    entry("thinkingBudgets.low", Number),
    entry("thinkingBudgets.medium", Number),
    entry("thinkingBudgets.high", Number),
    entry("thinkingBudgets.xhigh", Number),
];

/// A name that is no key, and that a project must not be the first to use.
const RESERVED: &str = "trust";

/// Finds the row of a key.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    let fits = |key: &&Key| match key.path.strip_suffix('*') {
        Some(parent) => path.strip_prefix(parent).is_some_and(|name| !name.is_empty() && !name.contains('.')),
        None => key.path == path,
    };
    KEYS.iter().find(|key| key.path == path).or_else(|| ENTRIES.iter().find(fits))
}

/// Returns true if `path` is `above`, or below it.
fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn below(path: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.path.len() > path.len() && is_within(key.path, path))
}

/// Lists of rules that only make the rest stricter: they count from every project, trusted or not.
pub(crate) const STRICTER: [&str; 2] = ["permissions.deny", "permissions.ask"];
/// Lists of rules to which a project adds its own: it never replaces those of the user.
pub(crate) const ADDED: [&str; 4] = ["permissions.deny", "permissions.ask", "permissions.allow", "bashGuard.deny"];

/// Returns true if only a trusted project may set `path`: a key of that scope or what is below it, or a section of which every
/// key has it.
pub(crate) fn is_guarded(path: &str) -> bool {
    let section = path.split('.').next().unwrap_or_default();
    let mut keys = below(section).peekable();
    let whole = keys.peek().is_some() && keys.all(|key| key.scope == Trusted);
    whole || section == RESERVED || KEYS.iter().any(|key| key.scope == Trusted && is_within(path, key.path))
}

/// Returns true if a guarded key is below `path`.
pub(super) fn holds_guarded(path: &str) -> bool {
    below(path).any(|key| key.scope == Trusted)
}

/// Returns true if the table has rows for members of the object at `path`.
pub(super) fn has_entries(path: &str) -> bool {
    is_parent(path) || ENTRIES.iter().any(|key| key.path.len() > path.len() && is_within(key.path, path))
}

/// Returns true if keys are below `path`.
pub(super) fn is_parent(path: &str) -> bool {
    below(path).next().is_some()
}

/// Returns true if the table holds a key, a section, or an object of anything around it.
pub(crate) fn is_known(path: &str) -> bool {
    let is_around = |key: &Key| key.kind == Object && !has_entries(key.path) && is_within(path, key.path);
    find(path).is_some() || is_parent(path) || KEYS.iter().any(is_around)
}

/// Finds the key whose name is nearest to `path`, unless all are far: the same but for the case of letters, the same
/// last word, or few letters off.
pub(crate) fn nearest(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase();
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
    let away = |key: &Key| {
        let known = key.path.to_lowercase();
        let least = if last(&known) == last(&path) { 1 } else { usize::MAX };
        (least.min(strsim::osa_distance(&path, &known)), key.path)
    };
    // More edits than a third of the name make another name.
    KEYS.iter().map(away).min().filter(|(edits, _)| *edits <= path.len().max(3) / 3).map(|(_, known)| known)
}

/// All defaults as an object.
pub(super) fn defaults() -> Map<String, Value> {
    let mut out = Map::new();
    for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
        super::values::insert(&mut out, key.path, key.default_value());
    }
    out
}
