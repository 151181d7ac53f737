//! The keys: path, type, default, and who may set them.

use serde_json::Value;

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number from 0.
    Number,
    /// A whole number.
    Signed,
    /// A text.
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
    /// What was expected instead of `value`; none where it fits.
    #[must_use]
    pub fn refusal(self, value: &Value) -> Option<String> {
        let (fits, expected) = match self {
            Kind::Flag => (value.is_boolean(), "true or false".to_string()),
            Kind::Number => (value.is_u64(), "a whole number".to_string()),
            Kind::Signed => (value.is_i64(), "a whole number".to_string()),
            Kind::Text => (value.is_string(), "a text".to_string()),
            Kind::Word(words) => {
                (value.as_str().is_some_and(|word| words.contains(&word)), format!("one of {}", words.join(", ")))
            }
            Kind::Texts => {
                let texts = value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
                (texts, "a list of texts".to_string())
            }
            Kind::List => (value.is_array(), "a list".to_string()),
            Kind::Object => (value.is_object(), "an object".to_string()),
        };
        (!fits).then_some(expected)
    }
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// `retry.enabled`.
    pub path: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Its default as JSON; empty for none.
    pub default: &'static str,
    /// The part of the program that will read it and does not exist yet; none: it is read.
    pub waits_for: Option<&'static str>,
}

impl Key {
    /// The default; null for none.
    #[must_use]
    pub fn default_value(&self) -> Value {
        serde_json::from_str(self.default).unwrap_or_default()
    }
}

const fn key(path: &'static str, kind: Kind, default: &'static str) -> Key {
    Key { path, kind, default, waits_for: None }
}

/// A key that nothing reads yet.
const fn later(path: &'static str, kind: Kind, default: &'static str, part: &'static str) -> Key {
    Key { path, kind, default, waits_for: Some(part) }
}

const TERMINAL: &str = "the terminal interface";
const SUBAGENTS: &str = "subagents";
const MCP: &str = "MCP";
const SHARING: &str = "sharing of sessions";
const LANGUAGE_SERVERS: &str = "language servers";

/// Keys that a project may not set unless it is trusted, and everything below them.
const GUARDED: &[&str] = &[
    "shellPath",
    "shellCommandPrefix",
    "bashGuard",
    "fileGuard",
    "share",
    "secrets",
    "trust",
    "compaction.remoteEndpoint",
    "env",
    "fetch.allowPrivate",
    "sessionDir",
    "permissions",
];

pub(super) fn is_guarded(path: &str) -> bool {
    GUARDED
        .iter()
        .any(|guarded| path.strip_prefix(guarded).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Whether a guarded key stands below `path`.
pub(super) fn holds_guarded(path: &str) -> bool {
    GUARDED.iter().any(|guarded| guarded.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// What stands in objects whose names the user chooses, or of which no name has a default; `*` is any name.
static ENTRIES: &[Key] = &[
    // Beside `passThrough`: variables for commands.
    key("env.*", Text, ""),
    key("modelRoles.*", Text, ""),
    key("thinkingBudgets.minimal", Number, ""),
    key("thinkingBudgets.low", Number, ""),
    key("thinkingBudgets.medium", Number, ""),
    key("thinkingBudgets.high", Number, ""),
    key("thinkingBudgets.xhigh", Number, ""),
];

pub(super) fn find(path: &str) -> Option<&'static Key> {
    let fits = |key: &&Key| match key.path.strip_suffix('*') {
        Some(parent) => path.strip_prefix(parent).is_some_and(|name| !name.is_empty() && !name.contains('.')),
        None => key.path == path,
    };
    KEYS.iter().find(|key| key.path == path).or_else(|| ENTRIES.iter().find(fits))
}

/// Whether the table says what may stand in the object at `path`.
pub(super) fn has_entries(path: &str) -> bool {
    is_parent(path) || ENTRIES.iter().any(|key| key.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// Whether keys stand below `path`.
pub(super) fn is_parent(path: &str) -> bool {
    KEYS.iter().any(|key| key.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// Whether `path` stands below a key that holds an object of anything.
pub(super) fn is_below(path: &str) -> bool {
    let inside = |key: &&Key| path.strip_prefix(key.path).is_some_and(|rest| rest.starts_with('.'));
    KEYS.iter().any(|key| matches!(key.kind, Kind::Object) && !has_entries(key.path) && inside(&key))
}

/// The key whose name is nearest to `path`, unless all are far: the same but for the case of letters, the same last
/// word, or few letters off.
pub(super) fn nearest(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase();
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
    let away = |key: &Key| {
        let known = key.path.to_lowercase();
        let least = if last(&known) == last(&path) { 1 } else { usize::MAX };
        (least.min(edits(&path, &known)), key.path)
    };
    // More edits than a third of the name make another name.
    KEYS.iter().map(away).min().filter(|(edits, _)| *edits <= path.len().max(3) / 3).map(|(_, known)| known)
}

/// How many letters must be added, removed or replaced.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.bytes().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in b.bytes().enumerate() {
            let replaced = corner + usize::from(left != right);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

use Kind::{Flag, List, Number, Object, Signed, Text, Texts, Word};

const LEVELS: Kind = Word(&["off", "minimal", "low", "medium", "high", "xhigh"]);
const TAKEN: Kind = Word(&["one-at-a-time", "all"]);

/// All keys.
pub static KEYS: &[Key] = &[
    key("defaultProvider", Text, ""),
    key("defaultModel", Text, ""),
    key("defaultThinkingLevel", LEVELS, "\"medium\""),
    key("modelRoles", Object, "{}"),
    key("enabledModels", Texts, "[]"),
    key("thinkingBudgets", Object, "{}"),
    key("providerTimeouts.connectMs", Number, "30000"),
    key("providerTimeouts.idleMs", Number, "300000"),
    key("cacheRetention", Word(&["none", "short", "long"]), "\"short\""),
    key("tools", Texts, ""),
    key("excludeTools", Texts, "[]"),
    key("toolExecution", Word(&["parallel", "sequential"]), "\"parallel\""),
    key("steeringMode", TAKEN, "\"one-at-a-time\""),
    key("followUpMode", TAKEN, "\"one-at-a-time\""),
    key("interruptMode", Word(&["immediate", "wait"]), "\"immediate\""),
    key("maxTurns", Number, "200"),
    later("doubleEscapeAction", Text, "\"tree\"", TERMINAL),
    key("retry.enabled", Flag, "true"),
    key("retry.maxRetries", Number, "3"),
    key("retry.baseDelayMs", Number, "2000"),
    key("retry.maxDelayMs", Number, "60000"),
    key("contextPromotion.enabled", Flag, "false"),
    key("compaction.enabled", Flag, "true"),
    key("compaction.reserveTokens", Number, "16384"),
    key("compaction.keepRecentTokens", Number, "20000"),
    key("compaction.autoContinue", Flag, "true"),
    key("compaction.model", Text, ""),
    key("compaction.remoteEndpoint", Text, ""),
    key("branchSummary.enabled", Flag, "false"),
    key("branchSummary.reserveTokens", Number, "16384"),
    key("sessions.fsync", Word(&["turn", "always", "never"]), "\"turn\""),
    key("edit.mode", Word(&["replace", "hashline"]), "\"replace\""),
    key("edit.fuzzy", Flag, "true"),
    key("edit.streamGuard", Flag, "false"),
    key("fileGuard", Word(&["on", "warn", "off"]), "\"on\""),
    key("bash.timeoutSeconds", Number, "120"),
    key("bash.autoBackground.thresholdMs", Number, "0"),
    key("async.enabled", Flag, "false"),
    key("bashGuard.enabled", Flag, "true"),
    key("bashGuard.deny", Texts, "[]"),
    key("bashGuard.allow", Texts, "[]"),
    key("bashInterceptor.enabled", Flag, "false"),
    key("bashInterceptor.rules", List, "[]"),
    key("shellPath", Text, "\"auto\""),
    key("shellCommandPrefix", Text, ""),
    key("images.autoResize", Flag, "true"),
    key("images.blockImages", Flag, "false"),
    key("fetch.enabled", Flag, "true"),
    key("fetch.allowPrivate", Texts, "[]"),
    key("ask.timeoutSeconds", Number, "0"),
    key("todo.reminders", Flag, "true"),
    key("todo.autoClearSeconds", Signed, "60"),
    key("ttsr.enabled", Flag, "true"),
    key("ttsr.contextMode", Word(&["discard", "keep"]), "\"discard\""),
    key("ttsr.repeatMode", Word(&["once", "after-gap"]), "\"once\""),
    key("ttsr.repeatGap", Number, "10"),
    key("ttsr.interruptMode", Word(&["always", "prose-only", "tool-only", "never"]), "\"always\""),
    key("ttsr.disabledRules", Texts, "[]"),
    later("task.maxDepth", Number, "2", SUBAGENTS),
    later("task.maxConcurrency", Number, "4", SUBAGENTS),
    later("task.maxTurns", Number, "100", SUBAGENTS),
    later("task.timeoutSeconds", Number, "0", SUBAGENTS),
    later("task.isolation.mode", Text, "\"none\"", SUBAGENTS),
    later("task.isolation.merge", Text, "\"patch\"", SUBAGENTS),
    later("mcp.enabled", Flag, "true", MCP),
    later("mcp.enableProjectConfig", Flag, "true", MCP),
    key("secrets.enabled", Flag, "false"),
    key("env.passThrough", Texts, r#"["GITHUB_TOKEN", "GH_TOKEN", "CARGO_REGISTRY_TOKEN", "NPM_TOKEN"]"#),
    key("skills.enabled", Flag, "true"),
    key("skills.enableCommands", Flag, "true"),
    key("skills.directories", Texts, "[]"),
    key("skills.include", Texts, "[]"),
    key("skills.ignore", Texts, "[]"),
    key("skills.enableClaude", Flag, "true"),
    key("rules.enableForeign", Flag, "false"),
    later("agents.enableForeign", Flag, "false", SUBAGENTS),
    later("theme.dark", Text, "\"dark\"", TERMINAL),
    later("theme.light", Text, "\"light\"", TERMINAL),
    later("symbolPreset", Text, "\"unicode\"", TERMINAL),
    later("colorBlindMode", Flag, "false", TERMINAL),
    later("hideThinkingBlock", Flag, "false", TERMINAL),
    later("quietStartup", Flag, "false", TERMINAL),
    later("tui.maxInlineImages", Number, "8", TERMINAL),
    later("tui.clearOnShrink", Flag, "false", TERMINAL),
    later("notifications", Flag, "true", TERMINAL),
    key("verbose", Flag, "false"),
    key("permissions", Object, ""),
    later("share.command", Text, "", SHARING),
    key("sessionDir", Text, ""),
    later("lsp.formatOnWrite", Flag, "false", LANGUAGE_SERVERS),
    later("lsp.diagnosticsOnWrite", Flag, "true", LANGUAGE_SERVERS),
];
