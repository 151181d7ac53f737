//! The rules of the user about calls: `permissions` in the settings.
//!
//! `{"deny": ["write(/etc/**)"], "ask": ["bash(*)"], "allow": ["bash(git status*)"]}`. A rule is the name of a tool
//! (`*` is any text) and, in brackets, what of its call: a path for tools that take one, a command for `bash`, a URL
//! for `fetch`, the arguments as JSON for all others. Without brackets it is every call of the tool.
//!
//! A call that fits a rule of `deny` does not run. One that fits a rule of `ask` needs the user's word, unless a rule
//! of `allow` that says more fits it as well. Everything else runs.
//!
//! **Paths.** `*` and `?` stay within a name, `**` does not; relative ones begin in the session's folder. A call fits
//! by the path as it is written and by where its links lead, when it starts; and the tools show again what they opened,
//! by its own path, before they use it (`opened.rs`). `grep`, `find` and `ls` fit by the path they begin at; a file below
//! it that a rule of `deny` keeps from `grep` or `read` is left out of a search, and one of `find` out of its list.
//!
//! **Commands.** Every simple command of the line is looked at, without its quotes, variables before it and
//! redirections: those of pipelines, lists, loops, functions, substitutions and here-documents, and those that
//! `sudo`, `env`, `xargs`, `bash -c`, `eval` and their like run (`runners.rs` lists them). The program fits by its name
//! and by its path, `git -C . push` also as `git push`. A line that cannot be read for sure, or where an expansion
//! could make a command fit, is refused by a rule of `deny`, and asks by one of `ask`.
//!
//! **What does not hold.** Rules see calls, not what a started program does: a script, `make`, a makefile's recipe. A
//! rule for `write` says nothing of what `bash` writes. It is a fence for a model that means well, and no sandbox.

mod line;
mod opened;
mod own_files;
mod paths;
mod pattern;
mod runners;
mod sed;
mod spelling;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use sinew_llm::message::ToolCall;
use sinew_tools::tool::Boxed;
use sinew_tools::{Approval, Ask, RuleScope};
use tokio::sync::Notify;

use crate::extension::{Context, Extension, Verdict};
use line::Line;
pub use own_files::OwnFiles;
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
    Unsure(String, &'static str),
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
    /// Reads the value of the setting, and names what of it cannot be used: then the rules guard less than they were meant
    /// to.
    #[must_use]
    pub fn read(value: &Value) -> (Rules, Vec<String>) {
        let mut warnings = Vec::new();
        let mut rules = Rules::default();
        if !value.is_null() && !value.is_object() {
            warnings.push(format!("permissions: expected an object with the lists deny, ask and allow, got {value}"));
        }
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
            // As if it was not there.
            if list.is_null() {
                continue;
            }
            let Some(list) = list.as_array() else {
                warnings.push(format!("permissions.{key}: expected a list of rules, got {list}"));
                continue;
            };
            for rule in list {
                match rule.as_str().map_or_else(|| Err(NO_RULE.into()), Rule::given) {
                    Ok(rule) => place.push(rule),
                    Err(reason) => warnings.push(format!("permissions.{key}: {rule}: {reason}")),
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

    /// Returns the rules for tools that are none of `known`, each with the name of the tool.
    #[must_use]
    pub fn unknown_tools(&self, known: &[&str]) -> Vec<(String, String)> {
        let all = [&self.deny, &self.ask, &self.allow, &self.granted].into_iter().flatten();
        let unknown = all.filter(|rule| !known.iter().any(|name| rule.tool.fits(name)));
        unknown.map(|rule| (rule.text.clone(), rule.tool_name())).collect()
    }

    /// Returns whether there is no rule that could stop a call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deny.is_empty() && self.ask.is_empty()
    }

    fn answer(&self, call: &ToolCall, cwd: &Path, home: Option<&Path>) -> Answer {
        let of_tool = |rules: &[Rule]| rules.iter().any(|rule| rule.tool.fits(&call.name));
        if !of_tool(&self.deny) && !of_tool(&self.ask) {
            return Answer::Runs;
        }
        let subject = Subject::of(call, cwd, home);
        let mut asked: Option<&Rule> = None;
        for rule in &self.deny {
            match rule.fit(call, &subject) {
                Fit::Yes => return Answer::Denied(rule.text.clone()),
                Fit::Maybe => asked = asked.or(Some(rule)),
                Fit::No => {}
            }
        }
        if let Some(rule) = asked {
            return match &subject {
                Subject::Line(line) => {
                    Answer::Unsure(rule.text.clone(), line.unknown().unwrap_or("an expansion could make it fit"))
                }
                Subject::Paths { .. } | Subject::Text(_) => Answer::Asks(rule.text.clone()),
            };
        }
        if self.granted.iter().any(|rule| rule.covers(call, &subject)) {
            return Answer::Runs;
        }
        let Some(rule) = self.ask.iter().find(|rule| rule.fit(call, &subject) != Fit::No) else { return Answer::Runs };
        // Every rule that asks must be outdone.
        let said = self.ask.iter().filter(|rule| rule.fit(call, &subject) != Fit::No).map(Rule::said).max();
        let outdone = self.allow.iter().any(|rule| Some(rule.said()) > said && rule.covers(call, &subject));
        if outdone { Answer::Runs } else { Answer::Asks(rule.text.clone()) }
    }
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
    Line(Line),
    Text(String),
}

impl Subject {
    fn of(call: &ToolCall, cwd: &Path, home: Option<&Path>) -> Subject {
        let argument = |name: &str| call.arguments.get(name).and_then(Value::as_str);
        if call.name == "bash" {
            return Subject::Line(Line::read(argument("command").unwrap_or_default()));
        }
        if let Some(url) = argument("url").filter(|_| call.name == "fetch") {
            return Subject::Text(url.into());
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

/// The reason why a text is not a rule.
const NO_RULE: &str = "not a rule; write a tool, or a tool and a pattern in brackets: write(/etc/**)";

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
        let rule = Rule::read(&spelling::native(text)).ok_or(NO_RULE)?;
        Ok(Rule { text: text.trim().to_string(), ..rule })
    }

    fn tool_name(&self) -> String {
        let native = spelling::native(&self.text);
        native.split('(').next().unwrap_or_default().trim().to_string()
    }

    /// The number of literal characters of the rule.
    fn said(&self) -> usize {
        self.tool.literals() + self.inner.as_ref().map_or(0, |inner| Pattern::text(inner).literals())
    }

    fn fit(&self, call: &ToolCall, subject: &Subject) -> Fit {
        if !self.tool.fits(&call.name) {
            return Fit::No;
        }
        let Some(inner) = &self.inner else { return Fit::Yes };
        if let Some(fit) = self.domain_fit(call) {
            return fit;
        }
        match subject {
            Subject::Line(line) => line.fit(&Pattern::text(inner)),
            Subject::Text(text) if Pattern::text(inner).fits(text) => Fit::Yes,
            Subject::Text(_) => Fit::No,
            Subject::Paths { written, real, cwd, home } => {
                let patterns = paths::patterns(inner, cwd, home.as_deref());
                let fits = |path: &PathBuf| patterns.iter().any(|pattern| pattern.fits_path(path));
                if written.iter().chain(real).any(fits) {
                    return Fit::Yes;
                }
                Fit::No
            }
        }
    }

    /// The fit to the host of an address, for the rules of `fetch` that name one.
    fn domain_fit(&self, call: &ToolCall) -> Option<Fit> {
        let url = call.arguments.get("url").and_then(Value::as_str);
        (call.name == "fetch").then(|| spelling::domain_fit(self, url)).flatten()
    }

    /// Returns whether the rule fits all of a call, so that it may run.
    fn covers(&self, call: &ToolCall, subject: &Subject) -> bool {
        if !self.tool.fits(&call.name) {
            return false;
        }
        let Some(inner) = &self.inner else { return true };
        if let Some(fit) = self.domain_fit(call) {
            return fit == Fit::Yes;
        }
        match subject {
            Subject::Line(line) => line.covered(&Pattern::text(inner)),
            Subject::Text(text) => Pattern::text(inner).fits(text),
            Subject::Paths { real, cwd, home, .. } => {
                let patterns = paths::patterns(inner, cwd, home.as_deref());
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
    /// Files of Sinew itself, which no tool uses.
    own: Option<Arc<OwnFiles>>,
    /// The calls that the user was asked about and let run.
    allowed: Mutex<VecDeque<String>>,
    /// The calls that the user let run again: session, tool and arguments.
    granted: Mutex<Vec<(String, String, Value)>>,
    /// Rules that the user has added, each with the session for which it counts; none: for all.
    added: Mutex<Vec<(Option<String>, Rule)>>,
    /// A rule was added: calls that wait look whether they may run.
    changed: Notify,
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
            own: None,
            allowed: Mutex::default(),
            granted: Mutex::default(),
            added: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Keeps the model's tools from the files of Sinew itself.
    #[must_use]
    pub fn protecting(self, own: Arc<OwnFiles>) -> Permissions {
        Permissions { own: Some(own), ..self }
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
        self.in_force(&context.session).answer(call, &context.cwd, self.home.as_deref())
    }

    /// Asks the user, unless a rule that he adds meanwhile lets the call run.
    async fn asked(&self, ask: &dyn Ask, call: &ToolCall, context: &Context, rule: String) -> Approval {
        let request = suggest::request(&self.rules, call, &context.cwd, self.home.as_deref(), rule);
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
        let check = opened::check(&self.rules, tools, may_ask, cwd, self.home.as_deref());
        match &self.own {
            Some(own) if call.is_some() => {
                Some(own_files::check(own, &self.rules, tools, cwd, self.home.as_deref(), check))
            }
            _ => check,
        }
    }

    fn before_tool_call<'a>(&'a self, call: &'a ToolCall, context: &'a Context) -> Boxed<'a, Result<Verdict, String>> {
        Box::pin(async move {
            let denied = |rule: String| Ok(Verdict::Block(format!("Denied by permission rule: {rule}")));
            if let Some(own) = &self.own {
                let rules = self.in_force(&context.session);
                if let Some(reason) = own.refusal(&rules, call, &context.cwd, self.home.as_deref()) {
                    return Ok(Verdict::Block(reason));
                }
            }
            let rule = match self.answer(call, context) {
                Answer::Runs => {
                    // Where a rule of the user's lets it run he needs no second word about what it opens.
                    if self.rules.answer(call, &context.cwd, self.home.as_deref()) != Answer::Runs {
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
