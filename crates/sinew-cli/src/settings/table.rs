//! The table of settings: key, type, default, who may set it, help. It is the only place for defaults.

use serde_json::{Map, Value};

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Flag,
    /// An integer that is not negative.
    Number,
    /// A number that is not negative.
    Amount,
    /// An integer.
    Signed,
    Text,
    /// One of these values.
    Word(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// A list of any values.
    List,
    /// An object with any values.
    Object,
}

impl Kind {
    /// Returns a text that says what was expected instead of `value`; `None` if the value is valid.
    pub(crate) fn refusal(self, value: &Value) -> Option<String> {
        let fits = match self {
            Kind::Flag => value.is_boolean(),
            Kind::Number => value.is_u64(),
            Kind::Amount => value.as_f64().is_some_and(|number| number >= 0.0),
            Kind::Signed => value.is_i64(),
            Kind::Text => value.is_string(),
            Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Kind::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            Kind::List => value.is_array(),
            Kind::Object => value.is_object(),
        };
        (!fits).then(|| self.describe())
    }

    /// Returns the name of the type: `a whole number`.
    pub(crate) fn describe(self) -> String {
        match self {
            Kind::Flag => "true or false".into(),
            Kind::Number | Kind::Signed => "a whole number".into(),
            Kind::Amount => "a number".into(),
            Kind::Text => "a text".into(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
            Kind::Texts => "a list of texts".into(),
            Kind::List => "a list".into(),
            Kind::Object => "an object".into(),
        }
    }
}

/// Which settings files may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The user's file, and every project's, because the key only changes the display.
    Display,
    /// The user's file, and a project's if it is trusted.
    Trusted,
    /// The user's file. A project's value is in force if it is stricter, even if the project is not trusted.
    Tighten,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// A path such as `retry.enabled`.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    /// The default as JSON; empty if there is none.
    pub(crate) default: &'static str,
    pub(crate) scope: Scope,
    /// The part of the program that will use the key but does not exist yet; `None` if the key is implemented.
    pub(crate) waits_for: Option<&'static str>,
    /// A description in one line.
    pub(crate) help: &'static str,
}

impl Key {
    /// Returns the default, or null if there is none.
    pub(crate) fn default_value(&self) -> Value {
        serde_json::from_str(self.default).unwrap_or_default()
    }
}

const fn key(path: &'static str, kind: Kind, default: &'static str, scope: Scope, help: &'static str) -> Key {
    Key { path, kind, default, scope, waits_for: None, help }
}

/// Returns a row for a key that is not implemented yet.
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

/// Returns a row for a key of an object whose keys the user chooses.
const fn entry(path: &'static str, kind: Kind) -> Key {
    key(path, kind, "", Scope::Trusted, "")
}

const LANGUAGE_SERVERS: &str = "language servers";

/// Keys of earlier versions, and what replaces them.
pub(crate) const REMOVED: &[(&str, &str)] = &[
    ("task.timeoutSeconds", "task.maxTurns, task.maxTokens and task.maxCost limit subagents"),
    ("task.isolation", "the file of an agent has the key isolation, and a call of task has isolated"),
];

use Kind::{Amount, Flag, List, Number, Object, Signed, Text, Texts, Word};
use Scope::{Display, Tighten, Trusted};

const LEVELS: Kind = Word(&["off", "minimal", "low", "medium", "high", "xhigh"]);
/// The modes of the sandbox, from the least to the most strict.
pub(crate) const SANDBOX_MODES: [&str; 4] = ["off", "rules", "workspace", "read-only"];
const DELIVERY: Kind = Word(&["one-at-a-time", "all"]);

/// All keys, in the order of the reference page.
// One key per row, even if the line is long.
#[rustfmt::skip]
pub(crate) static KEYS: &[Key] = &[
    key("defaultProvider", Text, "", Trusted, "Provider to use at the start. Unset: the provider of `defaultModel`, else the first one with a key."),
    key("defaultModel", Text, "", Trusted, "Model to use at the start: `provider/id`, or a part of an id."),
    key("defaultThinkingLevel", LEVELS, "\"medium\"", Trusted, "Default thinking level."),
    key("modelRoles", Object, "{}", Trusted, "Models by role: `{\"fast\": \"…\", \"slow\": \"…\", \"plan\": \"…\", \"default\": \"…\"}`."),
    key("enabledModels", Texts, "[]", Trusted, "Globs of the models that ctrl+p cycles through. Empty: all models with a key."),
    key("thinkingBudgets", Object, "{}", Trusted, "Thinking tokens for each level, for providers with a budget: `{\"high\": 20000}`."),
    key("providerTimeouts.connectMs", Number, "30000", Trusted, "Timeout for connecting to a provider, in milliseconds. 0: none."),
    key("providerTimeouts.idleMs", Number, "300000", Trusted, "Longest pause within an answer, in milliseconds. 0: no limit."),
    key("cacheRetention", Word(&["none", "short", "long"]), "\"short\"", Trusted, "How long providers cache the common prefix of requests."),
    key("tools", Texts, "", Trusted, "Tools to offer. Unset: all."),
    key("excludeTools", Texts, "[]", Trusted, "Tools that are not offered."),
    key("toolExecution", Word(&["parallel", "sequential"]), "\"parallel\"", Trusted, "Whether the tool calls of a turn run in parallel."),
    key("steeringMode", DELIVERY, "\"one-at-a-time\"", Trusted, "How many queued steering messages are sent at a time."),
    key("followUpMode", DELIVERY, "\"one-at-a-time\"", Trusted, "How many queued follow-up messages are sent at a time."),
    key("interruptMode", Word(&["immediate", "wait"]), "\"wait\"", Trusted, "Whether a steering message waits for running tools (`wait`) or stops them (`immediate`). Other tools are skipped."),
    key("maxTurns", Number, "1000", Trusted, "Limit of requests to the model per prompt. 0: no limit."),
    key("doubleEscapeAction", Word(&["tree", "branch", "none"]), "\"tree\"", Trusted, "What pressing Esc twice in an empty editor opens."),
    key("retry.enabled", Flag, "true", Trusted, "Retry failed requests."),
    key("retry.maxRetries", Number, "3", Trusted, "Maximum number of retries."),
    key("retry.baseDelayMs", Number, "2000", Trusted, "Delay before the first retry, in milliseconds. Doubled for each further retry."),
    key("retry.maxDelayMs", Number, "60000", Trusted, "Maximum delay before a retry, in milliseconds."),
    key("contextPromotion.enabled", Flag, "false", Trusted, "Change to a model with a larger context window when the context is full."),
    key("compaction.enabled", Flag, "true", Trusted, "Summarize the conversation when the context is full."),
    key("compaction.reserveTokens", Number, "16384", Trusted, "Tokens of the context window that stay free."),
    key("compaction.keepRecentTokens", Number, "20000", Trusted, "Tokens of the newest messages that are kept unchanged."),
    key("compaction.autoContinue", Flag, "true", Trusted, "Let the model continue automatically after a compaction."),
    key("compaction.model", Text, "", Trusted, "Model that writes the summary. Unset: the current model."),
    key("compaction.remoteEndpoint", Text, "", Trusted, "URL of a server that writes the summary."),
    key("branchSummary.enabled", Flag, "false", Trusted, "Summarize a branch when you leave it."),
    key("branchSummary.reserveTokens", Number, "16384", Trusted, "Tokens of the context window that stay free for such a summary."),
    key("sessions.fsync", Word(&["turn", "always", "never"]), "\"turn\"", Trusted, "When session files are flushed to disk."),
    key("edit.mode", Word(&["replace", "hashline", "patch"]), "\"replace\"", Trusted, "How the model writes edits: old and new text (`replace`), line numbers with hashes (`hashline`), or patches (`patch`)."),
    key("edit.fuzzy", Flag, "true", Trusted, "Ignore differences in white space and typographic characters when an edit is applied."),
    key("edit.streamGuard", Flag, "false", Trusted, "Stop an answer as soon as its edit cannot succeed."),
    key("fileGuard", Word(&["on", "warn", "off"]), "\"on\"", Trusted, "Refuse (`on`) or warn about (`warn`) writes to a file that changed since it was read."),
    key("bash.timeoutSeconds", Number, "120", Trusted, "Default timeout of a command, in seconds."),
    key("bash.autoBackground.thresholdMs", Number, "0", Trusted, "Time after which a command continues in the background, in milliseconds. 0: never."),
    key("async.enabled", Flag, "false", Trusted, "Allow background commands."),
    key("bashGuard.enabled", Flag, "true", Trusted, "Refuse commands that could destroy much by accident."),
    key("bashGuard.deny", Texts, "[]", Trusted, "Regular expressions of further commands to refuse."),
    key("bashGuard.allow", Texts, "[]", Trusted, "Exact commands that are never refused."),
    key("bashInterceptor.enabled", Flag, "false", Trusted, "Refuse commands for which there is a tool."),
    key("bashInterceptor.rules", List, "[]", Trusted, "Further rules for it: `[{\"pattern\": \"^cat \", \"tool\": \"read\"}]`."),
    key("shellPath", Text, "\"auto\"", Trusted, "Interpreter of commands: `auto`, `bash`, `brush`, or the path of a bash."),
    key("shellCommandPrefix", Text, "", Trusted, "Text to put before each command."),
    key("images.autoResize", Flag, "true", Trusted, "Resize images to the limits of providers."),
    key("images.blockImages", Flag, "false", Trusted, "Do not send images to models."),
    key("fetch.enabled", Flag, "true", Trusted, "Offer the tool `fetch`."),
    key("fetch.allowPrivate", Texts, "[]", Trusted, "Hosts that may resolve to private addresses."),
    key("search.index", Word(&["auto", "off"]), "\"auto\"", Trusted, "Index large work trees for searches. `off`: every search reads the files."),
    key("checkpoint.enabled", Flag, "true", Trusted, "Record what each turn changes in the working directory, so that `/undo` can undo it."),
    key("checkpoint.maxFileBytes", Number, "5000000", Trusted, "Largest file whose old content is kept for `/undo`, in bytes."),
    key("checkpoint.wait", Number, "300", Trusted, "Longest time that the first command of a session waits for the first checkpoint, in milliseconds."),
    key("ask.timeoutSeconds", Number, "0", Trusted, "Time after which a question is answered with the recommended answer, in seconds. 0: never."),
    key("acp.clientFs", Word(&["auto", "off"]), "\"auto\"", Trusted, "In an editor that supports it, read unsaved files and write through the editor. `off`: use the disk only."),
    key("todo.reminders", Flag, "true", Trusted, "Remind the model of open tasks when it stops. In print mode the default is off."),
    key("todo.autoClearSeconds", Signed, "60", Trusted, "Time until a finished task list is cleared, in seconds. 0: at once; negative: never."),
    key("ttsr.enabled", Flag, "true", Trusted, "Stop an answer that breaks a stream rule, and ask for it again."),
    key("ttsr.contextMode", Word(&["discard", "keep"]), "\"discard\"", Trusted, "Whether the stopped answer stays in the context."),
    key("ttsr.repeatMode", Word(&["once", "after-gap"]), "\"once\"", Trusted, "Whether a rule can be sent to the model again."),
    key("ttsr.repeatGap", Number, "10", Trusted, "Turns after which a rule can be sent again (`after-gap`)."),
    key("ttsr.interruptMode", Word(&["always", "prose-only", "tool-only", "never"]), "\"always\"", Trusted, "The parts of an answer that a rule can stop. Matches in other parts are reported afterwards."),
    key("ttsr.disabledRules", Texts, "[]", Trusted, "Names of stream rules to ignore."),
    key("task.maxDepth", Number, "1", Trusted, "Depth to which agents can start subagents. 0: none."),
    key("task.maxConcurrency", Number, "4", Trusted, "Maximum number of subagents that work at the same time."),
    key("task.maxTotal", Number, "100", Trusted, "Maximum number of subagents of a session."),
    key("task.maxTurns", Number, "100", Trusted, "Maximum number of requests of a subagent; it is then asked once more for its result."),
    key("task.maxTokens", Number, "2000000", Trusted, "Maximum number of tokens of a subagent, without those from a cache."),
    key("task.maxCost", Amount, "", Trusted, "Maximum cost of all subagents of the program, in US dollars. No default."),
    key("mcp.enabled", Flag, "true", Trusted, "Use MCP servers."),
    key("mcp.enableProjectConfig", Flag, "true", Trusted, "Use the MCP servers of a trusted project too."),
    key("secrets.enabled", Flag, "false", Trusted, "Mask secret values for models and in session files."),
    key("env.passThrough", Texts, "[]", Trusted, "Variables that programs receive although they look like credentials. Other names in `env` are variables for commands."),
    key("skills.enabled", Flag, "true", Trusted, "Load skills."),
    key("skills.enableCommands", Flag, "true", Trusted, "Offer skills as commands: `/skill:name`."),
    key("skills.directories", Texts, "[]", Trusted, "Further directories with skills."),
    key("skills.include", Texts, "[]", Trusted, "Globs of the skills to load. Empty: all."),
    key("skills.ignore", Texts, "[]", Trusted, "Globs of skills to ignore."),
    key("skills.enableClaude", Flag, "true", Trusted, "Load `.claude/skills` too."),
    key("rules.enableForeign", Flag, "false", Trusted, "Load the rules of other programs too."),
    key("agents.enableForeign", Flag, "false", Trusted, "Load the subagents of other programs too, from `.claude/agents`."),
    key("theme.dark", Text, "\"dark\"", Display, "Theme for a dark background: `dark`, `light` or `ansi`."),
    key("theme.light", Text, "\"light\"", Display, "Theme for a light background."),
    key("symbolPreset", Word(&["unicode", "nerd", "ascii"]), "\"unicode\"", Display, "Symbols of the screen: `unicode`, or only ASCII (`ascii`). `nerd` is the same as `unicode`."),
    key("colorBlindMode", Flag, "false", Display, "Show added and removed lines in blue and orange."),
    key("hideThinkingBlock", Flag, "false", Display, "Show only the first heading or row of thinking (ctrl+t)."),
    key("quietStartup", Flag, "false", Display, "Do not print name, model and hints at the start."),
    key("tui.mode", Word(&["auto", "screen", "linear"]), "\"auto\"", Trusted, "`screen`, or lines that never change (`linear`). `auto`: `linear` if the terminal has no cursor movement."),
    key("tui.resize", Word(&["screen", "live", "rebuild"]), "\"screen\"", Trusted, "What is redrawn after a resize: the screen, its changing part (`live`), or all of `/redraw all` (`rebuild`)."),
    key("tui.editor", Word(&["emacs", "vi"]), "\"emacs\"", Trusted, "Key style of the editor. `/vim` changes it until you quit."),
    key("tui.statusRows", Number, "1", Display, "Rows of the status. With 2, directory, branch and title have a row of their own."),
    key("tui.statusCommand", Text, "", Trusted, "Command that prints the right part of the status row; it receives JSON. Only used from your own settings."),
    key("tui.reducedMotion", Flag, "false", Display, "Update elapsed times only every ten seconds."),
    key("tui.passthrough", Flag, "false", Trusted, "Send notifications, progress and images through tmux to the outer terminal (needs `allow-passthrough` in tmux)."),
    key("tui.resumeRows", Number, "200", Display, "Approximate number of rows replayed when a session is resumed."),
    key("tui.replayRows", Number, "2000", Display, "Approximate number of rows that `/redraw all` prints."),
    key("tui.title", Flag, "true", Trusted, "Show the session and its state in the terminal's title."),
    key("tui.progress", Flag, "true", Trusted, "Show progress in terminals that support it."),
    key("tui.marks", Flag, "true", Display, "Mark prompts, so that terminals can jump between them."),
    key("tui.links", Flag, "true", Trusted, "Make URLs clickable."),
    key("tui.notify", Word(&["auto", "osc99", "osc777", "osc9", "bell", "off"]), "\"auto\"", Trusted, "How to notify you: chosen for the terminal (`auto`), with one of these codes, with the bell, or not at all."),
    key("tui.notifyAfterSeconds", Number, "10", Trusted, "Shortest run, in seconds, whose end is notified."),
    key("tui.approvalDelayMs", Number, "400", Trusted, "Time for which a new question ignores keys, in milliseconds, so that no key answers it by accident."),
    key("tui.linear.stream", Word(&["line", "sentence", "end"]), "\"line\"", Display, "When linear mode prints an answer: by line, by sentence, or at its end."),
    key("tui.maxInlineImages", Number, "8", Display, "Maximum number of images on the screen, the newest first. Terminals without image support show a line instead."),
    key("notifications", Flag, "true", Trusted, "Notify you when a long run ends or needs an answer while the terminal is not focused."),
    key("verbose", Flag, "false", Trusted, "Show tool calls, thinking and all warnings."),
    key("permissions", Object, "", Trusted, "Permission rules: `{\"deny\": [\"write(/etc/**)\"], \"ask\": [], \"allow\": [\"bash(git status*)\"]}`."),
    key("sandbox.mode", Word(&SANDBOX_MODES), "", Tighten, "Sandbox of commands and tools. Unset: `rules` if a permission rule denies files, else `off`."),
    key("sandbox.network", Word(&["off", "on", "loopback"]), "", Tighten, "Network in the sandbox. Unset: `on` with `rules`, else `off`."),
    key("sandbox.write", Texts, "[]", Trusted, "Further paths and globs that can be written in the sandbox. Only used from your own settings."),
    key("sandbox.denyRead", Texts, "[]", Tighten, "Paths and globs that cannot be read in the sandbox."),
    key("sandbox.denyWrite", Texts, "[]", Tighten, "Paths and globs that cannot be written in the sandbox."),
    key("sandbox.denyExec", Texts, "[]", Tighten, "Programs that cannot be executed in the sandbox: names, or paths."),
    key("sandbox.fallback", Flag, "false", Trusted, "Run without the limits that the system cannot enforce. Only used from your own settings."),
    key("approve.outside", Word(&["ask", "deny"]), "\"ask\"", Tighten, "Whether to offer to run a refused command again outside the sandbox."),
    key("plan.modelMayEnter", Flag, "false", Trusted, "Offer the tool `enter_plan`, by which the model changes to plan mode."),
    key("share.command", Text, "", Trusted, "Command of `/share`. It receives the session's page and prints its link. Unset: `gh gist create --public=false`."),
    key("sessionDir", Text, "", Trusted, "Directory for the session files of all projects."),
    later("lsp.formatOnWrite", Flag, "false", Trusted, LANGUAGE_SERVERS, "Format written files with a language server."),
    later("lsp.diagnosticsOnWrite", Flag, "true", Trusted, LANGUAGE_SERVERS, "Show the diagnostics of a language server after a write."),
];

/// Keys in objects whose names the user chooses, or in which names have no defaults; `*` stands for any name.
static ENTRIES: &[Key] = &[
    // Variables of commands, in addition to `passThrough`.
    entry("env.*", Text),
    entry("modelRoles.*", Text),
    entry("thinkingBudgets.minimal", Number),
    entry("thinkingBudgets.low", Number),
    entry("thinkingBudgets.medium", Number),
    entry("thinkingBudgets.high", Number),
    entry("thinkingBudgets.xhigh", Number),
];

/// Reserved for a later key, so that no untrusted project can use the name first.
const RESERVED: &str = "trust";

/// Returns the row of a key.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    let fits = |key: &&Key| match key.path.strip_suffix('*') {
        Some(parent) => path.strip_prefix(parent).is_some_and(|name| !name.is_empty() && !name.contains('.')),
        None => key.path == path,
    };
    KEYS.iter().find(|key| key.path == path).or_else(|| ENTRIES.iter().find(fits))
}

/// Returns true if `path` is `above` or below it.
fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn below(path: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.path.len() > path.len() && is_within(key.path, path))
}

/// Lists of rules that can only restrict more; those of untrusted projects are in force too.
pub(crate) const STRICTER: [&str; 2] = ["permissions.deny", "permissions.ask"];
/// Lists of rules to which a project adds its own, without replacing those of the user.
pub(crate) const ADDED: [&str; 7] = [
    "permissions.deny",
    "permissions.ask",
    "permissions.allow",
    "bashGuard.deny",
    "sandbox.denyRead",
    "sandbox.denyWrite",
    "sandbox.denyExec",
];

/// Sections that limit what may run. An unknown key below one is an error, because it may be a limit with a typo.
const LIMITS: [&str; 3] = ["bashGuard", "sandbox", "approve"];

/// Returns true if `path` is below a section that limits what may run.
pub(super) fn is_limit(path: &str) -> bool {
    LIMITS.iter().any(|section| path.len() > section.len() && is_within(path, section))
}

/// Returns true if only a trusted project may set `path`: it is a key of that scope or below one, or a section in which
/// all keys have that scope.
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

/// Returns true if the table contains `path` as a key, as a section, or as a member of an object with any members.
pub(crate) fn is_known(path: &str) -> bool {
    let is_around = |key: &Key| key.kind == Object && !has_entries(key.path) && is_within(path, key.path);
    find(path).is_some() || is_parent(path) || KEYS.iter().any(is_around)
}

/// Returns the known key that is most similar to `path`: equal except for case, with the same last word, or a few edits
/// away. Returns `None` if no key is similar.
pub(crate) fn nearest(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase();
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
    let away = |key: &Key| {
        let known = key.path.to_lowercase();
        let least = if last(&known) == last(&path) { 1 } else { usize::MAX };
        (least.min(strsim::osa_distance(&path, &known)), key.path)
    };
    // If more than a third of the letters differ, it is a different name.
    KEYS.iter().map(away).min().filter(|(edits, _)| *edits <= path.len().max(3) / 3).map(|(_, known)| known)
}

/// Returns all defaults as an object.
pub(super) fn defaults() -> Map<String, Value> {
    let mut out = Map::new();
    for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
        super::values::insert(&mut out, key.path, key.default_value());
    }
    out
}
