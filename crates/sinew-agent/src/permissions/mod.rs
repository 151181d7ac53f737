//! The rules of the user about calls: `permissions` in the settings.
//!
//! `{"deny": ["write(/etc/**)"], "ask": ["bash(*)"], "allow": ["bash(git status*)"]}`. A rule is the name of a tool
//! (`*` is any text) and, in brackets, what of its call: a path for tools that take one, a command for `bash`, a URL
//! for `fetch`, the arguments as JSON for all others. Without brackets it is every call of the tool.
//!
//! A call that fits a rule of `deny` does not run. One that fits a rule of `ask` needs the user's word, unless a rule
//! of `allow` that says more fits it as well. Everything else runs.
//!
//! **Paths.** `*` and `?` stay within a name, `**` does not; relative ones begin in the session's folder, and a name without a
//! folder fits at any depth where it denies or asks. A call fits by the path as it is written and by where its links lead,
//! when it starts; and the tools show again what they opened, by its own path, before they use it (`opened.rs`). `grep`,
//! `find` and `ls` fit by the path they begin at; a file below it that a rule of `deny` keeps from `grep` or `read` is left
//! out of a search, and one of `find` out of its list. A rule holds every tool that has the effect of the one that it
//! names (`HELD_WITH`).
//!
//! **Commands.** Every simple command that the line shows is compared, without its quotes, variables before it and
//! redirections: those of pipelines, lists, loops, functions, substitutions and here-documents, and those that
//! `sudo`, `env`, `xargs`, `bash -c`, `eval` and their like run (`runners.rs` lists them). The program fits by its name
//! and by its path, `git -C . push` also as `git push`. The variables and the folder of the call count, and so does what
//! earlier calls left in the shell. A line that cannot be read for sure, or where an expansion could make a command fit,
//! is refused by a rule of `deny`, and asks by one of `ask`. Lists say what is known, and what no list knows is not sure.
//!
//! **What does not hold.** Rules see calls, not what a started program does: a script, `make`, a makefile's recipe, a
//! program with another name. A rule for `write` says nothing of what `bash` writes. It is a fence for a model that means
//! well, and no sandbox.

mod addresses;
mod code;
mod commands;
mod interpreters;
mod line;
mod opened;
mod paths;
mod pattern;
mod runners;
mod sed;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;
mod variables;
mod words;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use sinew_llm::fetch::AddressCheck;
use sinew_llm::message::ToolCall;
use sinew_tools::tool::Boxed;
use sinew_tools::{Approval, Ask, RuleScope};
use tokio::sync::Notify;

use crate::extension::{Context, Extension, Verdict};
use line::{Line, ShellState, Surroundings};
use paths::Depth;
use pattern::Pattern;
use sinew_tools::PathCheck;

/// Rules, read.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    deny: Vec<Rule>,
    ask: Vec<Rule>,
    allow: Vec<Rule>,
    /// Outdo every rule of `ask`.
    granted: Vec<Rule>,
}

/// One rule.
#[derive(Debug, Clone)]
struct Rule {
    /// As the user wrote it.
    text: String,
    tool: Pattern,
    /// The pattern in the brackets; none: every call.
    inner: Option<String>,
}

/// The verdict of the rules on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Runs,
    Asks(String),
    Denied(String),
    /// A rule of `deny` may fit: the reason why it is not sure.
    Unsure(String, String),
}

/// The fit of a rule to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    No,
    /// For some value of what is not known.
    Maybe,
    Yes,
}

impl Rules {
    /// Reads the value of the setting; rules that are none are left out and named.
    #[must_use]
    pub fn read(value: &Value) -> (Rules, Vec<String>) {
        let mut warnings = Vec::new();
        let mut rules = Rules::default();
        for (key, list) in value.as_object().into_iter().flatten() {
            let place = match key.as_str() {
                "deny" => &mut rules.deny,
                "ask" => &mut rules.ask,
                "allow" => &mut rules.allow,
                _ => {
                    warnings.push(format!("permissions.{key}: unknown list; use deny, ask and allow"));
                    continue;
                }
            };
            let Some(list) = list.as_array() else {
                warnings.push(format!("permissions.{key}: expected a list of rules, got {list}"));
                continue;
            };
            for rule in list {
                match rule.as_str().and_then(Rule::read) {
                    Some(rule) => place.push(rule),
                    None => warnings.push(format!(
                        "permissions.{key}: {rule} is no rule and is left out; write a tool, or a tool and a pattern: write(/etc/**)"
                    )),
                }
            }
        }
        (rules, warnings)
    }

    /// Adds a rule of the command line that denies.
    ///
    /// # Errors
    /// `rule` is none.
    pub fn deny(&mut self, rule: &str) -> Result<(), String> {
        self.deny.push(Rule::given(rule)?);
        Ok(())
    }

    /// Adds a rule of the command line that allows: calls that fit it are asked of nobody. What a rule denies stays
    /// denied.
    ///
    /// # Errors
    /// `rule` is none.
    pub fn grant(&mut self, rule: &str) -> Result<(), String> {
        self.granted.push(Rule::given(rule)?);
        Ok(())
    }

    /// Returns whether there is no rule that could stop a call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deny.is_empty() && self.ask.is_empty()
    }

    fn answer(&self, call: &ToolCall, view: SessionView<'_>) -> Answer {
        let of_tool = |rules: &[Rule]| rules.iter().any(|rule| rule.holds_tool(&call.name));
        if !of_tool(&self.deny) && !of_tool(&self.ask) {
            return Answer::Runs;
        }
        self.judge(call, &Subject::of(call, view))
    }

    fn judge(&self, call: &ToolCall, subject: &Subject) -> Answer {
        let mut asked: Option<&Rule> = None;
        for rule in &self.deny {
            match rule.fit(call, subject) {
                Fit::Yes => return Answer::Denied(rule.text.clone()),
                Fit::Maybe => asked = asked.or(Some(rule)),
                Fit::No => {}
            }
        }
        if let Some(rule) = asked {
            return match subject {
                Subject::Line(line) => {
                    let reason = line.unknown().unwrap_or("an expansion or an argument could make it fit");
                    Answer::Unsure(rule.text.clone(), reason.to_string())
                }
                Subject::Paths { .. } | Subject::Address(_) | Subject::Text(_) => Answer::Asks(rule.text.clone()),
            };
        }
        if self.granted.iter().any(|rule| rule.covers(call, subject)) {
            return Answer::Runs;
        }
        let Some(rule) = self.ask.iter().find(|rule| rule.fit(call, subject) != Fit::No) else { return Answer::Runs };
        // Every rule that asks must be outdone.
        let said = self.ask.iter().filter(|rule| rule.fit(call, subject) != Fit::No).map(Rule::said).max();
        let outdone = self.allow.iter().any(|rule| Some(rule.said()) > said && rule.covers(call, subject));
        if outdone { Answer::Runs } else { Answer::Asks(rule.text.clone()) }
    }
}

/// The session in which a call is judged.
#[derive(Debug, Clone, Copy)]
struct SessionView<'a> {
    cwd: &'a Path,
    home: Option<&'a Path>,
    shell: &'a ShellState,
}

/// Tools whose effect another one has too: what a rule keeps from the second name, it keeps from the first. An edit shows
/// the file that it changes, so what may not be read may not be edited.
const HELD_WITH: [(&str, &[&str]); 5] = [
    ("edit", &["write", "read"]),
    ("undo_edit", &["write", "edit", "read"]),
    ("grep", &["read"]),
    ("find", &["read"]),
    ("ls", &["read"]),
];

/// Tools that do no more than another one: what is allowed to the second name is allowed to the first.
const ALLOWED_WITH: [(&str, &str); 5] =
    [("edit", "write"), ("undo_edit", "write"), ("grep", "read"), ("find", "read"), ("ls", "read")];

/// The names by which a rule may deny the effect of a tool, or ask about it.
fn held_names(tool: &str) -> impl Iterator<Item = &str> {
    let others = HELD_WITH.iter().filter(move |(name, _)| *name == tool).flat_map(|(_, others)| others.iter().copied());
    std::iter::once(tool).chain(others)
}

/// The subject of a call.
enum Subject {
    /// Paths, each as written and as links lead.
    Paths {
        written: Vec<PathBuf>,
        real: Vec<PathBuf>,
        cwd: PathBuf,
        home: Option<PathBuf>,
    },
    Line(Box<Line>),
    /// An address, in spellings that mean the same.
    Address(Vec<String>),
    Text(String),
}

impl Subject {
    fn of(call: &ToolCall, view: SessionView<'_>) -> Subject {
        let SessionView { cwd, home, shell } = view;
        let argument = |name: &str| call.arguments.get(name).and_then(Value::as_str);
        if call.name == "bash" {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
            let env = call.arguments.get("env").and_then(Value::as_object).into_iter().flatten();
            let env: Vec<(String, String)> = env.map(|(name, value)| (name.clone(), text(value))).collect();
            let folder = argument("cwd").and_then(|folder| sinew_tools::spelled(home, cwd, folder).into_iter().next());
            let around = Surroundings { cwd, folder: folder.as_deref(), env: &env, shell };
            return Subject::Line(Box::new(Line::read(argument("command").unwrap_or_default(), around)));
        }
        if let Some(url) = argument("url").filter(|_| call.name == "fetch") {
            return Subject::Address(addresses::spellings(url));
        }
        let named = paths::of_call(call);
        if named.is_empty() {
            return Subject::Text(call.arguments.to_string());
        }
        let written: Vec<PathBuf> = named.iter().flat_map(|text| sinew_tools::spelled(home, cwd, text)).collect();
        let real = written.iter().map(|path| paths::real(path)).collect();
        Subject::Paths { written, real, cwd: cwd.to_path_buf(), home: home.map(Path::to_path_buf) }
    }
}

impl Rule {
    fn read(text: &str) -> Option<Rule> {
        let text = text.trim();
        let (tool, inner) = match text.split_once('(') {
            Some((tool, inner)) => (tool.trim(), Some(inner.strip_suffix(')')?.trim().to_string())),
            None => (text, None),
        };
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.*".contains(letter);
        if tool.is_empty() || !tool.chars().all(letter) || inner.as_ref().is_some_and(String::is_empty) {
            return None;
        }
        let inner = inner.filter(|inner| inner != "*" && inner != "**");
        Some(Rule { text: text.to_string(), tool: Pattern::text(tool), inner })
    }

    fn given(text: &str) -> Result<Rule, String> {
        Rule::read(text).ok_or_else(|| "no rule; write a tool, or a tool and a pattern: write(/etc/**)".to_string())
    }

    /// The number of literal characters of the rule.
    fn said(&self) -> usize {
        self.tool.literals() + self.inner.as_ref().map_or(0, |inner| Pattern::text(inner).literals())
    }

    /// Returns whether the rule is about a tool, or about the effect of one.
    fn holds_tool(&self, tool: &str) -> bool {
        held_names(tool).any(|name| self.tool.fits(name))
    }

    /// Returns whether the rule allows the effect of a tool.
    fn allows_tool(&self, tool: &str) -> bool {
        let wider = ALLOWED_WITH.iter().any(|(name, other)| *name == tool && self.tool.fits(other));
        wider || self.tool.fits(tool)
    }

    fn fit(&self, call: &ToolCall, subject: &Subject) -> Fit {
        if !self.holds_tool(&call.name) {
            return Fit::No;
        }
        let Some(inner) = &self.inner else { return Fit::Yes };
        match subject {
            Subject::Line(line) => line.fit(&Pattern::text(inner)),
            Subject::Address(spellings) => {
                let pattern = addresses::pattern(inner);
                if spellings.iter().any(|text| pattern.fits(text)) { Fit::Yes } else { Fit::No }
            }
            Subject::Text(text) if Pattern::text(inner).fits(text) => Fit::Yes,
            Subject::Text(_) => Fit::No,
            Subject::Paths { written, real, cwd, home } => {
                let patterns = paths::patterns(inner, cwd, home.as_deref(), Depth::Any);
                let fits = |path: &PathBuf| patterns.iter().any(|pattern| pattern.fits_path(path));
                if written.iter().chain(real).any(fits) {
                    return Fit::Yes;
                }
                Fit::No
            }
        }
    }

    /// Returns whether the rule fits all of a call, so that it may run.
    fn covers(&self, call: &ToolCall, subject: &Subject) -> bool {
        if !self.allows_tool(&call.name) {
            return false;
        }
        let Some(inner) = &self.inner else { return true };
        match subject {
            Subject::Line(line) => line.covered(&Pattern::text(inner)),
            Subject::Address(spellings) => {
                let pattern = addresses::pattern(inner);
                spellings.iter().any(|text| pattern.fits(text))
            }
            Subject::Text(text) => Pattern::text(inner).fits(text),
            Subject::Paths { real, cwd, home, .. } => {
                let patterns = paths::patterns(inner, cwd, home.as_deref(), Depth::Here);
                real.iter().all(|path| patterns.iter().any(|pattern| pattern.fits_path(path)))
            }
        }
    }
}

/// The rules as a hook. It stands behind all others, so that it sees what they make of a call.
pub struct Permissions {
    rules: Rules,
    home: Option<PathBuf>,
    ask: Option<Arc<dyn Ask>>,
    /// The calls that the user was asked about and let run.
    allowed: Mutex<VecDeque<String>>,
    /// The calls that the user let run again: session, tool and arguments.
    granted: Mutex<Vec<(String, String, Value)>>,
    /// Rules that the user has added, each with the session for which it counts; none: for all.
    added: Mutex<Vec<(Option<String>, Rule)>>,
    /// A rule was added: calls that wait look whether they may run.
    changed: Notify,
    /// The shells of the sessions, by what ran in them.
    shells: Mutex<HashMap<String, ShellState>>,
}

/// Calls that are remembered; the oldest goes first.
const REMEMBERED: usize = 256;

impl Permissions {
    /// `home` is what `~` stands for; without `ask`, what needs the user's word is denied.
    #[must_use]
    pub fn new(rules: Rules, home: Option<PathBuf>, ask: Option<Arc<dyn Ask>>) -> Permissions {
        Permissions {
            rules,
            home,
            ask,
            allowed: Mutex::default(),
            granted: Mutex::default(),
            added: Mutex::default(),
            changed: Notify::new(),
            shells: Mutex::default(),
        }
    }

    /// The rules in force in a session: those of the start, and those that the user has added.
    fn in_force(&self, session: &str) -> Cow<'_, Rules> {
        let added = self.added.lock();
        let mut here = added.iter().filter(|(only, _)| only.as_deref().is_none_or(|only| only == session)).peekable();
        if here.peek().is_none() {
            return Cow::Borrowed(&self.rules);
        }
        let mut rules = self.rules.clone();
        rules.granted.extend(here.map(|(_, rule)| rule.clone()));
        Cow::Owned(rules)
    }

    fn answer(&self, call: &ToolCall, context: &Context) -> Answer {
        let shell = self.shell(&context.session);
        self.in_force(&context.session).answer(call, self.view(context, &shell))
    }

    fn view<'a>(&'a self, context: &'a Context, shell: &'a ShellState) -> SessionView<'a> {
        SessionView { cwd: &context.cwd, home: self.home.as_deref(), shell }
    }

    /// The shell of a session, by the lines that ran in it.
    fn shell(&self, session: &str) -> ShellState {
        self.shells.lock().get(session).cloned().unwrap_or_default()
    }

    /// Notes what a call that runs leaves in the shell of its session.
    fn note_shell(&self, call: &ToolCall, context: &Context) {
        let alone = |name: &str| call.arguments.get(name).and_then(Value::as_bool) == Some(true);
        // A job runs in a copy of the shell.
        if call.name != "bash" || self.rules.is_empty() || alone("background") {
            return;
        }
        let shell = self.shell(&context.session);
        if let Subject::Line(line) = Subject::of(call, self.view(context, &shell)) {
            self.shells.lock().insert(context.session.clone(), line.after().clone());
        }
    }

    /// Answers a call, and asks the user where a rule says so.
    async fn verdict(&self, call: &ToolCall, context: &Context) -> Result<Verdict, String> {
        let denied = |rule: String| Ok(Verdict::Block(format!("Denied by permission rule: {rule}")));
        let rule = match self.answer(call, context) {
            Answer::Runs => {
                // Where a rule of the user's lets it run he needs no second word about what it opens.
                let shell = self.shell(&context.session);
                if self.rules.answer(call, self.view(context, &shell)) != Answer::Runs {
                    self.remember(call);
                }
                return Ok(Verdict::Allow);
            }
            Answer::Denied(rule) => return denied(rule),
            Answer::Unsure(rule, reason) => {
                return denied(format!(
                    "{rule}. The command cannot be read for sure ({reason}): write it plainly, one command at a time."
                ));
            }
            Answer::Asks(rule) => rule,
        };
        let Some(ask) = self.ask.as_ref().filter(|_| context.has_ui) else { return denied(rule) };
        let approval = match self.is_granted(&context.session, call) {
            true => Approval::Once,
            false => self.asked(&**ask, call, context, rule.clone()).await,
        };
        match approval {
            Approval::Same => {
                let granted = (context.session.clone(), call.name.clone(), call.arguments.clone());
                self.granted.lock().push(granted);
            }
            Approval::Once => {}
            Approval::Rule(text, scope) => match Rule::given(&text) {
                Ok(rule) => {
                    let only = (scope == RuleScope::Session).then(|| context.session.clone());
                    self.added.lock().push((only, rule));
                    self.changed.notify_waiters();
                }
                Err(reason) => return Err(format!("{text}: {reason}")),
            },
            Approval::No(None) => return denied(rule),
            Approval::No(Some(text)) => return Ok(Verdict::Block(format!("The user refused this call: {text}"))),
        }
        self.remember(call);
        Ok(Verdict::Allow)
    }

    /// Asks the user, unless a rule that he adds meanwhile lets the call run.
    async fn asked(&self, ask: &dyn Ask, call: &ToolCall, context: &Context, rule: String) -> Approval {
        let request = suggest::request(&self.rules, call, self.view(context, &self.shell(&context.session)), rule);
        let mut answered = ask.approve(&request);
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Heard from here on, so that no rule is missed.
            changed.as_mut().enable();
            if self.answer(call, context) == Answer::Runs {
                return Approval::Once;
            }
            tokio::select! {
                approval = &mut answered => return approval,
                () = changed => {}
            }
        }
    }

    fn remember(&self, call: &ToolCall) {
        let mut allowed = self.allowed.lock();
        allowed.push_back(call.id.clone());
        if allowed.len() > REMEMBERED {
            allowed.pop_front();
        }
    }
}

impl Extension for Permissions {
    fn name(&self) -> Cow<'static, str> {
        "permissions".into()
    }

    fn asks_person(&self) -> bool {
        self.ask.is_some()
    }

    fn path_check(&self, tools: &[&str], call: Option<&str>, cwd: &Path) -> Option<Arc<dyn PathCheck>> {
        let asked = |call: &str| self.allowed.lock().iter().any(|id| id == call);
        // What the user attaches, and what he was asked about, needs no second word.
        let may_ask = call.is_some_and(|call| !asked(call));
        opened::check(&self.rules, tools, may_ask, cwd, self.home.as_deref())
    }

    fn address_check(&self, tool: &str, call: &str) -> Option<AddressCheck> {
        let may_ask = !self.allowed.lock().iter().any(|id| id == call);
        opened::address_check(&self.rules, tool, may_ask)
    }

    fn before_tool_call<'a>(&'a self, call: &'a ToolCall, context: &'a Context) -> Boxed<'a, Result<Verdict, String>> {
        Box::pin(async move {
            let verdict = self.verdict(call, context).await?;
            if verdict == Verdict::Allow {
                self.note_shell(call, context);
            }
            Ok(verdict)
        })
    }
}

impl Permissions {
    /// Returns true if the user let this very call run for the rest of the session. One with other arguments asks anew:
    /// what a wider rule would cover, nobody has read.
    fn is_granted(&self, session: &str, call: &ToolCall) -> bool {
        let granted = self.granted.lock();
        granted
            .iter()
            .any(|(here, tool, arguments)| here == session && *tool == call.name && *arguments == call.arguments)
    }
}
