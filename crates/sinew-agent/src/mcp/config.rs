//! Files that configure servers: `{"mcpServers": {"<name>": {…}}}`, and the shapes of other programs (`shapes`).
//!
//! If several files use one name, the first is used; entries are not merged. An invalid entry does not affect others.
//! Entries of a project's file are used only if the user trusts the project; until then only their names are listed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use sinew_mcp::CallTimes;
use sinew_mcp::catalogue::Expose;
use sinew_mcp::oauth::OAuthSettings;

use super::expand::{Scope, Variables, expand};
use super::shapes::servers;

/// The owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A file that the user named with a flag.
    Flag,
    /// Servers from the program that runs the session, in the user's own words; no file.
    Client,
    /// A file of the project.
    Project,
    /// A file of the user.
    User,
}

/// The text of a configuration file.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// The path of the file.
    pub path: PathBuf,
    /// Its owner.
    pub origin: Origin,
    /// Whether its entries may be used; those of a project need trust.
    pub trusted: bool,
    /// The text.
    pub text: String,
}

/// How to connect to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that communicates over its standard input and output.
    Stdio {
        /// A path, or a name on the `PATH`.
        command: String,
        /// The arguments.
        args: Vec<String>,
        /// Variables in addition to those of every program.
        env: Vec<(String, String)>,
        /// The working directory; `None` uses that of the session.
        cwd: Option<PathBuf>,
    },
    /// An HTTP address.
    Http {
        /// The address.
        url: String,
        /// The headers that are sent with each request.
        headers: Vec<(String, String)>,
    },
}

/// When a server is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Start {
    /// At the first call or search hit if its tools are cached; otherwise after the first request.
    #[default]
    Lazy,
    /// After the first request.
    Eager,
}

/// The enabled tools of a server, as patterns with `*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolChoice {
    /// Only these tools are enabled; if empty, all.
    pub include: Vec<String>,
    /// These tools are disabled.
    pub exclude: Vec<String>,
    /// Tools that change nothing according to the user: they may be repeated, and may run in plan mode.
    pub read_only: Vec<String>,
}

/// The configuration of a usable server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// The name in the file.
    pub name: String,
    /// The user's description.
    pub description: Option<String>,
    /// How to connect to it.
    pub transport: Transport,
    /// The time limits of its calls.
    pub times: CallTimes,
    /// The time limit of its start.
    pub start_limit: Duration,
    /// When it is started.
    pub start: Start,
    /// It is stopped after this time without a call, and the next call starts it again. `None` keeps it running.
    pub idle_stop: Option<Duration>,
    /// Whether the program exits if this server cannot be started.
    pub required: bool,
    /// The tools that are part of requests.
    pub expose: Expose,
    /// The tools that are enabled.
    pub tools: ToolChoice,
    /// The maximum number of parallel calls.
    pub calls_at_once: usize,
    /// Whether it receives hidden values; always false for a project's file.
    pub secrets: bool,
    /// The OAuth settings of the entry.
    pub oauth: OAuthSettings,
    /// Identifies the entry in the cache. Equal entries have equal hashes; values of variables are not included.
    pub hash: String,
    /// Whether its facts are cached on disk.
    pub cached: bool,
}

/// The status of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryStatus {
    /// The server can be used.
    Ready(Arc<ServerConfig>),
    /// The user disabled it.
    Disabled,
    /// It belongs to an untrusted project. Only its name was read.
    Untrusted,
    /// An earlier file, with this path, configures a server of the same name.
    Shadowed(PathBuf),
    /// The entry is invalid, for this reason.
    Invalid(String),
}

/// An entry of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name of the server.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// The owner of its file.
    pub origin: Origin,
    /// Its status.
    pub standing: EntryStatus,
}

/// The entries of all files, and warnings for the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entries {
    /// The entries, in the order of the files.
    pub list: Vec<Entry>,
    /// Warnings about unreadable files and unknown keys.
    pub warnings: Vec<String>,
}

/// The keys of an entry.
const KEYS: &[&str] = &[
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "description",
    "enabled",
    "disabled",
    "timeout",
    "startupTimeoutMs",
    "maxTotalMs",
    "start",
    "required",
    "expose",
    "tools",
    "supportsParallel",
    "secrets",
    "idleStopMs",
    "oauth",
];

/// The keys of `tools` in an entry.
const TOOL_KEYS: &[&str] = &["include", "exclude", "readOnly"];

/// The keys of `oauth` in an entry.
const OAUTH_KEYS: &[&str] = &["clientId", "clientSecret", "callbackPort", "scopes", "metadataUrl"];

/// The maximum number of characters of a name.
const NAME_CHARACTERS: usize = 100;
/// The default number of parallel calls of one server.
const CALLS_AT_ONCE: usize = 8;

/// Reads the entries of `files`. If a name occurs several times, the first file is used.
#[must_use]
pub fn read(files: &[ConfigFile], variables: &Variables<'_>) -> Entries {
    let mut out = Entries::default();
    let mut seen: HashMap<String, PathBuf> = HashMap::new();
    for file in files {
        let path = file.path.display();
        let found = match servers(&file.text) {
            Ok(found) => found,
            Err(reason) => {
                out.warnings.push(format!("{path}: {reason}; its servers are ignored"));
                continue;
            }
        };
        if file.trusted {
            out.warnings.extend(found.warnings.iter().map(|warning| format!("{path}: {warning}")));
        }
        for (name, value) in found.entries {
            let standing = match seen.get(&name) {
                Some(first) => EntryStatus::Shadowed(first.clone()),
                None if !file.trusted => EntryStatus::Untrusted,
                None => standing(&name, &value, file, variables, &mut out.warnings),
            };
            if let EntryStatus::Invalid(reason) = &standing {
                // A user who misses the tools of a server would not think of running `sinew mcp list`.
                out.warnings.push(format!("MCP server {name:?} of {path}: {reason}"));
            }
            seen.entry(name.clone()).or_insert_with(|| file.path.clone());
            out.list.push(Entry { name, file: file.path.clone(), origin: file.origin, standing });
        }
    }
    out
}

fn standing(
    name: &str,
    value: &Value,
    file: &ConfigFile,
    variables: &Variables<'_>,
    warnings: &mut Vec<String>,
) -> EntryStatus {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    if name.is_empty() || name.len() > NAME_CHARACTERS || !name.chars().all(letter) {
        return EntryStatus::Invalid(format!(
            "Invalid server config: {name:?} is not a valid name; use 1 to {NAME_CHARACTERS} letters, digits, _ . and -"
        ));
    }
    let Value::Object(members) = value else {
        return EntryStatus::Invalid("Invalid server config: not an object".into());
    };
    if members.get("enabled") == Some(&Value::Bool(false)) || members.get("disabled") == Some(&Value::Bool(true)) {
        return EntryStatus::Disabled;
    }
    let mut unknown: Vec<String> = members.keys().filter(|key| !KEYS.contains(&key.as_str())).cloned().collect();
    let tools = members.get("tools").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    unknown.extend(tools.filter(|key| !TOOL_KEYS.contains(&key.as_str())).map(|key| format!("tools.{key}")));
    if !unknown.is_empty() {
        let (path, unknown) = (file.path.display(), unknown.join(", "));
        warnings.push(format!("{path}: {name}: {unknown}: unknown and ignored"));
    }
    let scope = match file.origin {
        Origin::Project => Scope::Project,
        Origin::Client => Scope::Client,
        Origin::Flag | Origin::User => Scope::User,
    };
    let path = file.path.display();
    if let Some(text) = members.values().find_map(foreign_variable).filter(|_| scope != Scope::Client) {
        warnings.push(format!("{path}: {name}: {text} is not expanded; write ${{NAME}} for an environment variable"));
    }
    let mut reader = Reader { members, scope, variables };
    match reader.config(name) {
        Ok(mut config) => {
            if members.get("type").and_then(Value::as_str) == Some("sse") {
                warnings.push(format!(
                    "{path}: {name}: the transport \"sse\" is not supported; trying streamable HTTP at its URL"
                ));
            }
            if config.secrets && scope == Scope::Project {
                config.secrets = false;
                warnings.push(format!("{path}: {name}: \"secrets\" only has an effect in your own mcp.json"));
            }
            EntryStatus::Ready(Arc::new(config))
        }
        Err(reason) => EntryStatus::Invalid(format!("Invalid server config: {reason}")),
    }
}

/// Returns a text like `${env:NAME}` or `{env:NAME}`, which other programs would replace.
fn foreign_variable(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) => members.values().find_map(foreign_variable),
        Value::Array(list) => list.iter().find_map(foreign_variable),
        Value::String(text) => text.match_indices('{').find_map(|(brace, _)| {
            let from = if text[..brace].ends_with('$') { brace - 1 } else { brace };
            let inner = &text[from..=brace + text[brace..].find('}')?];
            let (word, behind) = inner.trim_start_matches(['$', '{']).split_once(':')?;
            let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
            // Without a dollar sign, the text may be JSON or a template of another kind.
            (is_word && !behind.starts_with('-') && (from < brace || word == "env")).then_some(inner)
        }),
        _ => None,
    }
}

/// Reads one entry.
struct Reader<'a> {
    members: &'a Map<String, Value>,
    scope: Scope,
    variables: &'a Variables<'a>,
}

impl Reader<'_> {
    fn config(&mut self, name: &str) -> Result<ServerConfig, String> {
        let kind = self.text("type")?;
        let transport = match (self.members.contains_key("command"), self.members.contains_key("url")) {
            (true, true) => return Err("both \"command\" and \"url\"; keep one of them".into()),
            (false, false) => return Err("neither \"command\" nor \"url\"; add one of them".into()),
            (true, false) => self.stdio(kind.as_deref())?,
            (false, true) => self.http(kind.as_deref())?,
        };
        let defaults = CallTimes::default();
        // 0 disables the limit.
        let limit = |time: Option<Duration>, default| match time {
            Some(Duration::ZERO) => Duration::MAX,
            Some(time) => time,
            None => default,
        };
        let silence = self.variables.timeout.or(self.milliseconds("timeout")?);
        let times = CallTimes {
            silence: limit(silence, defaults.silence),
            total: limit(self.milliseconds("maxTotalMs")?, defaults.total),
        };
        let tools = match self.members.get("tools") {
            None => ToolChoice::default(),
            Some(Value::Object(tools)) => {
                let list = |key: &str| texts(tools.get(key), &format!("tools.{key}"));
                ToolChoice { include: list("include")?, exclude: list("exclude")?, read_only: list("readOnly")? }
            }
            Some(_) => return Err("\"tools\" must be an object with include, exclude and readOnly".into()),
        };
        let word = |text: Option<String>, key: &str, known: &[&str]| match text {
            Some(text) if !known.contains(&text.as_str()) => {
                Err(format!("\"{key}\": {text:?} is unknown; use {}", known.join(", ")))
            }
            other => Ok(other),
        };
        let start = word(self.text("start")?, "start", &["lazy", "eager"])?;
        let expose = word(self.text("expose")?, "expose", &["auto", "direct", "deferred", "off"])?;
        Ok(ServerConfig {
            name: name.to_string(),
            description: self.text("description")?,
            hash: self.hash(name),
            cached: self.scope != Scope::Client,
            transport,
            times,
            start_limit: limit(self.milliseconds("startupTimeoutMs")?, Duration::from_secs(60)),
            start: if start.as_deref() == Some("eager") { Start::Eager } else { Start::Lazy },
            idle_stop: self.milliseconds("idleStopMs")?.filter(|time| !time.is_zero()),
            required: self.flag("required")?.unwrap_or_default(),
            expose: match expose.as_deref() {
                Some("direct") => Expose::Direct,
                Some("deferred") => Expose::Deferred,
                Some("off") => Expose::Off,
                _ => Expose::Auto,
            },
            tools,
            calls_at_once: if self.flag("supportsParallel")? == Some(false) { 1 } else { CALLS_AT_ONCE },
            secrets: self.flag("secrets")?.unwrap_or_default(),
            oauth: self.oauth()?,
        })
    }

    fn oauth(&self) -> Result<OAuthSettings, String> {
        let members = match self.members.get("oauth") {
            None | Some(Value::Null) => return Ok(OAuthSettings::default()),
            Some(Value::Object(members)) if self.members.contains_key("url") => members,
            Some(Value::Object(_)) => return Err("\"oauth\" requires \"url\"".into()),
            Some(_) => return Err(format!("\"oauth\" must be an object with {}", OAUTH_KEYS.join(", "))),
        };
        if let Some(unknown) = members.keys().find(|key| !OAUTH_KEYS.contains(&key.as_str())) {
            return Err(format!("\"oauth\": {unknown:?} is unknown; use {}", OAUTH_KEYS.join(", ")));
        }
        let inner = Reader { members, scope: self.scope, variables: self.variables };
        let text = |key: &str| match inner.text(key) {
            Ok(Some(text)) => inner.plain(key, &text).map(Some),
            other => other,
        };
        let read = || {
            let callback_port = match members.get("callbackPort") {
                None | Some(Value::Null) => None,
                Some(port) => {
                    let number = port.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
                    Some(number.ok_or_else(|| format!("\"callbackPort\": {port} is not a port"))?)
                }
            };
            Ok(OAuthSettings {
                client_id: text("clientId")?,
                client_secret: text("clientSecret")?,
                callback_port,
                scopes: texts(members.get("scopes"), "scopes")?,
                metadata_url: text("metadataUrl")?,
            })
        };
        read().map_err(|reason: String| format!("\"oauth\": {reason}"))
    }

    fn stdio(&self, kind: Option<&str>) -> Result<Transport, String> {
        if !matches!(kind, None | Some("stdio")) {
            let kind = kind.unwrap_or_default();
            return Err(format!("\"type\": {kind:?} cannot be used with \"command\"; omit it or use \"stdio\""));
        }
        let command = self.plain("command", &self.text("command")?.unwrap_or_default())?;
        if command.is_empty() {
            return Err("\"command\" is empty".into());
        }
        let args = texts(self.members.get("args"), "args")?;
        Ok(Transport::Stdio {
            command,
            args: args.iter().map(|arg| self.plain("args", arg)).collect::<Result<_, _>>()?,
            env: self.pairs("env")?,
            cwd: self.text("cwd")?.map(|cwd| self.plain("cwd", &cwd)).transpose()?.map(PathBuf::from),
        })
    }

    fn http(&self, kind: Option<&str>) -> Result<Transport, String> {
        if !matches!(kind, None | Some("http" | "streamable-http" | "streamableHttp" | "sse")) {
            let kind = kind.unwrap_or_default();
            return Err(format!("\"type\": {kind:?} cannot be used with \"url\"; omit it or use \"http\""));
        }
        let url = self.plain("url", &self.text("url")?.unwrap_or_default())?;
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            return Err(format!("\"url\": {url:?} is not a URL; it must begin with https:// or http://"));
        }
        Ok(Transport::Http { url, headers: self.pairs("headers")? })
    }

    /// Expands a text of a key other than `env` and `headers`.
    fn plain(&self, key: &str, text: &str) -> Result<String, String> {
        expand(text, key, self.scope, self.variables)
    }

    fn pairs(&self, key: &str) -> Result<Vec<(String, String)>, String> {
        let members = match self.members.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Object(members)) => members,
            Some(_) => return Err(format!("\"{key}\" must be an object whose values are strings")),
        };
        members
            .iter()
            .map(|(name, value)| {
                let text = match value {
                    Value::String(text) => text.clone(),
                    Value::Number(_) | Value::Bool(_) => value.to_string(),
                    _ => return Err(format!("\"{key}\": {name} must be a string")),
                };
                Ok((name.clone(), self.plain(key, &text)?))
            })
            .collect()
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("\"{key}\" must be a string")),
        }
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        match self.members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(format!("\"{key}\" must be true or false")),
        }
    }

    fn milliseconds(&self, key: &str) -> Result<Option<Duration>, String> {
        match self.members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(Duration::from_millis(number))),
                None => Err(format!("\"{key}\": {value} is not a number of milliseconds")),
            },
        }
    }

    /// Returns a hash of the server's configuration as it is written, so that values of variables are not included.
    fn hash(&self, name: &str) -> String {
        let facts = ["type", "command", "args", "env", "cwd", "url", "headers"];
        let mut digest = Sha256::new();
        digest.update(name);
        for key in facts {
            digest.update([0]);
            digest.update(self.members.get(key).map(Value::to_string).unwrap_or_default());
        }
        digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

fn texts(value: Option<&Value>, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("\"{key}\" must be a list of strings");
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => {
            list.iter().map(|text| text.as_str().map(str::to_string).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

impl ServerConfig {
    /// Returns true if the entry contains its own authorization, in which case no login is used.
    #[must_use]
    pub fn has_authorization(&self) -> bool {
        match &self.transport {
            Transport::Http { headers, .. } => {
                headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
            }
            Transport::Stdio { .. } => false,
        }
    }
}

impl ToolChoice {
    /// Returns true if the tool with this name is enabled.
    #[must_use]
    pub fn takes(&self, tool: &str) -> bool {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, tool));
        (self.include.is_empty() || fits(&self.include)) && !fits(&self.exclude)
    }

    /// Returns true if the tool changes nothing according to the user.
    #[must_use]
    pub fn is_read_only(&self, tool: &str) -> bool {
        self.read_only.iter().any(|pattern| fits(pattern, tool))
    }
}

/// Returns true if `text` matches a pattern in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns the files of a project that may configure servers, nearest first: `.sinew/mcp.json`, then each `.mcp.json`
/// up to `root`.
#[must_use]
pub fn project_files(cwd: &Path, project: &Path, root: &Path) -> Vec<PathBuf> {
    let above = cwd.ancestors().take_while(|folder| folder.starts_with(root)).map(|folder| folder.join(".mcp.json"));
    std::iter::once(project.join("mcp.json")).chain(above).collect()
}
