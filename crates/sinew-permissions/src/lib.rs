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
//! when it starts; and the tools show again what they opened, by its own path, before they use it (`opened.rs`). A search
//! fits by the path it begins at; a file below it that a rule of `deny` excludes is left out of its result. A rule for
//! `read` or `write` also restricts every other tool that reads or writes files (`sinew_tools::restricting_names`).
//!
//! **Commands.** Every simple command that the line shows is compared, without its quotes, variables before it and
//! redirections: those of pipelines, lists, loops, functions, substitutions and here-documents, and those that
//! `sudo`, `env`, `xargs`, `bash -c`, `eval` and their like run (`runners.rs` lists them). The program fits by its name
//! and by its path, `git -C . push` also as `git push`. The variables and the folder of the call count, and so does what
//! earlier calls left in the shell. A line that cannot be read for sure, or where an expansion could make a command fit,
//! is refused by a rule of `deny`, and asks by one of `ask`. Lists say what is known, and what no list knows is not sure.
//!
//! **Limits.** Rules judge calls, and not what a program does after it has started: a script, a makefile, a program under another
//! name. The files that rules of `deny` name become entries of the session's sandbox ([`Rules::denied_files`]), which the kernel
//! enforces for programs too.

mod addresses;
mod code;
mod commands;
mod files;
mod interpreters;
mod line;
mod opened;
mod own_files;
mod paths;
mod pattern;
mod rules;
mod runners;
mod sed;
mod spelling;
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
use sinew::base::Result;
use sinew_llm::fetch::AddressCheck;
use sinew_llm::message::ToolCall;
use sinew_tools::semantics::ToolKind;
use sinew_tools::{Approval, Ask, RuleScope};
use tokio::sync::Notify;

pub use files::{DeniedFiles, Verdict};
use line::ShellState;
pub use own_files::OwnFiles;
pub use rules::Rules;
use rules::{Answer, Rule, SessionView, Subject};
use sinew_tools::PathCheck;

/// The session in which a call is judged.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'a> {
    /// The id of the session.
    pub session: &'a str,
    /// The directory in which it works.
    pub cwd: &'a Path,
    /// Somebody can be asked.
    pub has_ui: bool,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may run.
    Allow,
    /// It must not; the model reads why.
    Block(String),
}

/// The rules, and what the user has said about calls since they were read.
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
            own: None,
            allowed: Mutex::default(),
            granted: Mutex::default(),
            added: Mutex::default(),
            changed: Notify::new(),
            shells: Mutex::default(),
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

    fn answer(&self, call: &ToolCall, site: CallSite<'_>) -> Answer {
        let shell = self.shell(site.session);
        self.in_force(site.session).answer(call, self.view(site, &shell))
    }

    fn view<'a>(&'a self, site: CallSite<'a>, shell: &'a ShellState) -> SessionView<'a> {
        SessionView { cwd: site.cwd, home: self.home.as_deref(), shell }
    }

    /// The shell of a session, by the lines that ran in it.
    fn shell(&self, session: &str) -> ShellState {
        self.shells.lock().get(session).cloned().unwrap_or_default()
    }

    /// Notes what a call that runs leaves in the shell of its session.
    fn note_shell(&self, call: &ToolCall, site: CallSite<'_>) {
        let alone = |name: &str| call.arguments.get(name).and_then(Value::as_bool) == Some(true);
        // A job runs in a copy of the shell.
        let runs_line = sinew_tools::semantics_of(&call.name).kind == ToolKind::Execute;
        if !runs_line || self.rules.is_empty() || alone("background") {
            return;
        }
        let shell = self.shell(site.session);
        if let Subject::Line(line) = Subject::of(call, self.view(site, &shell)) {
            self.shells.lock().insert(site.session.to_string(), line.after().clone());
        }
    }

    /// Answers a call, and asks the user where a rule says so.
    async fn decide(&self, call: &ToolCall, site: CallSite<'_>) -> Result<Decision> {
        let denied = |rule: String| Ok(Decision::Block(format!("Denied by permission rule: {rule}")));
        let rule = match self.answer(call, site) {
            Answer::Runs => {
                // The user has added a rule for this call, so he is not asked again about the files that it opens.
                let shell = self.shell(site.session);
                if self.rules.answer(call, self.view(site, &shell)) != Answer::Runs {
                    self.remember(call);
                }
                return Ok(Decision::Allow);
            }
            Answer::Denied(rule) => return denied(rule),
            Answer::Unsure(rule, reason) => {
                return denied(format!(
                    "{rule}. The command cannot be read for sure ({reason}): write it plainly, one command at a time."
                ));
            }
            Answer::Asks(rule) => rule,
        };
        let Some(ask) = self.ask.as_ref().filter(|_| site.has_ui) else {
            return denied(format!(
                "{rule}, which asks first: nobody can answer here. The user can permit it with --allow."
            ));
        };
        let approval = match self.is_granted(site.session, call) {
            true => Approval::Once,
            false => self.asked(&**ask, call, site, rule.clone()).await,
        };
        match approval {
            Approval::Same => {
                let granted = (site.session.to_string(), call.name.clone(), call.arguments.clone());
                self.granted.lock().push(granted);
            }
            Approval::Once => {}
            Approval::Rule(text, scope) => {
                let rule = Rule::given(&text)?;
                let only = (scope == RuleScope::Session).then(|| site.session.to_string());
                self.added.lock().push((only, rule));
                self.changed.notify_waiters();
            }
            Approval::No(None) => {
                return Ok(Decision::Block(format!("The user refused this call, about which the rule {rule} asks.")));
            }
            Approval::No(Some(text)) => return Ok(Decision::Block(format!("The user refused this call: {text}"))),
        }
        self.remember(call);
        Ok(Decision::Allow)
    }

    /// Asks the user, unless a rule that he adds meanwhile lets the call run.
    async fn asked(&self, ask: &dyn Ask, call: &ToolCall, site: CallSite<'_>, rule: String) -> Approval {
        let request = suggest::request(&self.rules, call, self.view(site, &self.shell(site.session)), rule);
        let mut answered = ask.approve(&request);
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Heard from here on, so that no rule is missed.
            changed.as_mut().enable();
            if self.answer(call, site) == Answer::Runs {
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

impl Permissions {
    /// Returns true if somebody can be asked about a call.
    #[must_use]
    pub fn asks_person(&self) -> bool {
        self.ask.is_some()
    }

    /// The check of the files that `tool` opens in a call, or that the user attaches; `None` if no rule could refuse one.
    #[must_use]
    pub fn path_check(&self, tool: &str, call: Option<&str>, cwd: &Path) -> Option<Arc<dyn PathCheck>> {
        let asked = |call: &str| self.allowed.lock().iter().any(|id| id == call);
        // What the user attaches, and what he was asked about, needs no second word.
        let may_ask = call.is_some_and(|call| !asked(call));
        let check = opened::check(&self.rules, tool, may_ask, cwd, self.home.as_deref());
        match &self.own {
            Some(own) if call.is_some() => {
                Some(own_files::check(own, &self.rules, tool, cwd, self.home.as_deref(), check))
            }
            _ => check,
        }
    }

    /// The check of the addresses to which a server leads a call of `tool`; `None` if no rule could refuse one.
    #[must_use]
    pub fn address_check(&self, tool: &str, call: &str) -> Option<AddressCheck> {
        let may_ask = !self.allowed.lock().iter().any(|id| id == call);
        opened::address_check(&self.rules, tool, may_ask)
    }

    /// Decides about a call before it runs, and asks the user where a rule says so.
    ///
    /// # Errors
    /// Returns an error if the user answers with a rule that does not parse.
    pub async fn judge(&self, call: &ToolCall, site: CallSite<'_>) -> Result<Decision> {
        if let Some(own) = &self.own {
            let (rules, shell) = (self.in_force(site.session), self.shell(site.session));
            if let Some(reason) = own.refusal(&rules, call, self.view(site, &shell)) {
                return Ok(Decision::Block(reason));
            }
        }
        let decision = self.decide(call, site).await?;
        if decision == Decision::Allow {
            self.note_shell(call, site);
        }
        Ok(decision)
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
