//! Permission rules for tool calls: the setting `permissions`.
//!
//! Example: `{"deny": ["write(/etc/**)"], "ask": ["bash(*)"], "allow": ["bash(git status*)"]}`. A rule is the name of a
//! tool (`*` matches any text), optionally followed by a pattern in brackets: a path for tools that use one, a command
//! for `bash`, a URL for `fetch`, and the arguments as JSON for all other tools. Without brackets, the rule matches
//! every call of the tool.
//!
//! A call that matches a deny rule does not run. A call that matches an ask rule needs the user's approval, unless a
//! more specific allow rule also matches it. Every other call runs.
//!
//! **Paths.** `*` and `?` match within a name, `**` across folders. Relative patterns start in the session's folder; in
//! deny and ask rules, a name without a folder matches at any depth. When a call starts, its path is compared as
//! written and with links resolved. Before a tool uses a file that it opened, the actual path of the file is compared
//! again (`opened.rs`). A search is compared by the path where it starts; files below it that a deny rule matches are
//! omitted from the result. A rule for `read` or `write` also restricts every other tool that reads or writes files
//! (`sinew_tools::restricting_names`).
//!
//! **Commands.** Every simple command of the line is compared, without quotes, variable assignments and redirections.
//! This includes commands in pipelines, lists, loops, functions, substitutions and here-documents, and those that
//! programs such as `sudo`, `env`, `xargs`, `bash -c` and `eval` run (`runners.rs` lists them). A program is compared
//! by its name and by its path, and `git -C . push` also as `git push`. The variables and the folder of the call are
//! considered, and the state that earlier calls left in the shell. If a line cannot be read reliably, or an expansion
//! could make a command match, a deny rule refuses it and an ask rule asks. The tables list what is known; anything
//! else is unsure.
//!
//! **Limits.** Rules check calls, not what a program does after it has started: a script, a makefile, a program under
//! another name. The files of deny rules become entries of the session's sandbox ([`Rules::denied_files`]), which the
//! kernel enforces for programs too.

mod addresses;
mod code;
mod commands;
mod escapes;
mod files;
mod git;
mod inner;
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
mod stream;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;
mod variables;
mod views;
mod words;

pub use spelling::server_tool;

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
use sinew_tools::{Approval, Ask, Requester, RuleScope};
use tokio::sync::Notify;

pub use files::{DeniedFiles, Verdict};
use line::ShellState;
pub use own_files::OwnFiles;
pub use rules::Rules;
use rules::{Answer, Rule, SessionView, Subject};
use sinew_tools::PathCheck;
pub use views::Views;

/// The session in which a call is judged.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'a> {
    /// The id of the session.
    pub session: &'a str,
    /// The working directory.
    pub cwd: &'a Path,
    /// Whether a user can be asked.
    pub has_ui: bool,
    /// The subagent that makes the call; `None` for the session itself.
    pub requester: Option<&'a Arc<Requester>>,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The call may run.
    Allow,
    /// The call must not run; the text is the reason that the model reads.
    Block(String),
}

/// The rules, and the user's answers since they were read.
pub struct Permissions {
    rules: Rules,
    home: Option<PathBuf>,
    ask: Option<Arc<dyn Ask>>,
    /// The protected files of Sinew.
    own: Option<Arc<OwnFiles>>,
    /// The copies of directories in which subagents work.
    views: Arc<Views>,
    /// The ids of calls that the user was asked about and approved.
    allowed: Mutex<VecDeque<String>>,
    /// Calls that the user approved for the session: session, tool and arguments.
    granted: Mutex<Vec<(String, String, Value)>>,
    /// Rules that the user added, each with its session; `None` applies to all sessions.
    added: Mutex<Vec<(Option<String>, Rule)>>,
    /// Notified when a rule is added, so that waiting calls check again whether they may run.
    changed: Notify,
    /// The shell states of the sessions, derived from the lines that ran in them.
    shells: Mutex<HashMap<String, ShellState>>,
}

/// The maximum number of remembered calls; the oldest is dropped first.
const REMEMBERED: usize = 256;

impl Permissions {
    /// Creates the permissions. `home` replaces `~`. Without `ask`, calls that need the user's approval are denied.
    #[must_use]
    pub fn new(rules: Rules, home: Option<PathBuf>, ask: Option<Arc<dyn Ask>>) -> Permissions {
        Permissions {
            rules,
            home,
            ask,
            own: None,
            views: Arc::default(),
            allowed: Mutex::default(),
            granted: Mutex::default(),
            added: Mutex::default(),
            changed: Notify::new(),
            shells: Mutex::default(),
        }
    }

    /// Protects Sinew's own files from the model's tools.
    #[must_use]
    pub fn protecting(self, own: Arc<OwnFiles>) -> Permissions {
        Permissions { own: Some(own), ..self }
    }

    /// Judges calls in these copies of directories as if they were made in the directories, too.
    #[must_use]
    pub fn with_views(self, views: Arc<Views>) -> Permissions {
        Permissions { views, ..self }
    }

    /// Returns the rules of a session: those from the start, and those that the user added.
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
        let rules = self.in_force(site.session);
        let mut shell = self.shell(site.session);
        let mut strictest = rules.answer(call, self.view(site, &shell));
        let (mut call, mut cwd) = (Cow::Borrowed(call), site.cwd.to_path_buf());
        for view in self.views.around(site.cwd) {
            (call, cwd) = (Cow::Owned(view.original_call(&call)), view.original(&cwd));
            shell = shell.moved(|folder| view.original(folder));
            let answer = rules.answer(&call, self.view(CallSite { cwd: &cwd, ..site }, &shell));
            if answer.strictness() > strictest.strictness() {
                strictest = answer;
            }
        }
        strictest
    }

    fn view<'a>(&'a self, site: CallSite<'a>, shell: &'a ShellState) -> SessionView<'a> {
        SessionView { cwd: site.cwd, home: self.home.as_deref(), shell }
    }

    /// Returns the shell state of a session.
    fn shell(&self, session: &str) -> ShellState {
        self.shells.lock().get(session).cloned().unwrap_or_default()
    }

    /// Records how a call that runs changes the shell of its session.
    fn note_shell(&self, call: &ToolCall, site: CallSite<'_>) {
        let alone = |name: &str| call.arguments.get(name).and_then(Value::as_bool) == Some(true);
        // A background job runs in a copy of the shell.
        let runs_line = sinew_tools::semantics_of(&call.name).kind == ToolKind::Execute;
        if !runs_line || self.rules.is_empty() || alone("background") {
            return;
        }
        let shell = self.shell(site.session);
        if let Subject::Line(line) = Subject::of(call, self.view(site, &shell)) {
            self.shells.lock().insert(site.session.to_string(), line.after().clone());
        }
    }

    /// Decides about a call, and asks the user if a rule requires it.
    async fn decide(&self, call: &ToolCall, site: CallSite<'_>) -> Result<Decision> {
        let denied = |rule: String| Ok(Decision::Block(format!("Denied by permission rule: {rule}")));
        let rule = match self.answer(call, site) {
            Answer::Runs => {
                // The user added a rule for this call, so the files that it opens are approved too.
                let shell = self.shell(site.session);
                if self.rules.answer(call, self.view(site, &shell)) != Answer::Runs {
                    self.remember(call);
                }
                return Ok(Decision::Allow);
            }
            Answer::Denied(rule) => return denied(rule),
            Answer::Unsure(rule, reason) => {
                return denied(format!(
                    "{rule}. The command cannot be analyzed reliably ({reason}). Write it in a simpler form, one command per call."
                ));
            }
            Answer::Asks(rule) => rule,
        };
        let Some(ask) = self.ask.as_ref().filter(|_| site.has_ui) else {
            return denied(format!(
                "{rule}, which asks first, but no user is available. The user can allow the call with --allow."
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
                return Ok(Decision::Block(format!("The user refused this call (permission rule {rule}).")));
            }
            Approval::No(Some(text)) => return Ok(Decision::Block(format!("The user refused this call: {text}"))),
        }
        self.remember(call);
        Ok(Decision::Allow)
    }

    /// Asks the user, unless a rule that is added meanwhile allows the call.
    async fn asked(&self, ask: &dyn Ask, call: &ToolCall, site: CallSite<'_>, rule: String) -> Approval {
        let _open = site.requester.map(|requester| requester.begin_question());
        let mut request = suggest::request(&self.rules, call, self.view(site, &self.shell(site.session)), rule);
        request.requester = site.requester.cloned();
        let mut answered = ask.approve(&request);
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before the check, so that no added rule is missed.
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
    /// Returns true if a user can be asked about a call.
    #[must_use]
    pub fn asks_person(&self) -> bool {
        self.ask.is_some()
    }

    /// Returns the check of the files that `tool` opens in a call, or that the user attaches (`call` is `None`); `None`
    /// if no rule could refuse one.
    #[must_use]
    pub fn path_check(&self, tool: &str, call: Option<&str>, cwd: &Path) -> Option<Arc<dyn PathCheck>> {
        let asked = |call: &str| self.allowed.lock().iter().any(|id| id == call);
        // Attached files and calls that the user was asked about need no further approval.
        let may_ask = call.is_some_and(|call| !asked(call));
        let check_at = |cwd: &Path| opened::check(&self.rules, tool, may_ask, cwd, self.home.as_deref());
        let mut check = check_at(cwd);
        let mut at = cwd.to_path_buf();
        let mut originals = Vec::new();
        for view in self.views.around(cwd) {
            at = view.original(&at);
            originals.extend(check_at(&at).map(|check| (view, check)));
        }
        if !originals.is_empty() {
            check = Some(Arc::new(views::ViewCheck { own: check, originals }));
        }
        match &self.own {
            Some(own) if call.is_some() => {
                Some(own_files::check(own, &self.rules, tool, cwd, self.home.as_deref(), check))
            }
            _ => check,
        }
    }

    /// Returns the check of the addresses that a server redirects a call of `tool` to; `None` if no rule could refuse
    /// one.
    #[must_use]
    pub fn address_check(&self, tool: &str, call: &str) -> Option<AddressCheck> {
        let may_ask = !self.allowed.lock().iter().any(|id| id == call);
        opened::address_check(&self.rules, tool, may_ask)
    }

    /// Decides about a call before it runs, and asks the user if a rule requires it.
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
    /// Returns true if the user approved this exact call for the rest of the session. A call with other arguments asks
    /// again, because the user has not seen it.
    fn is_granted(&self, session: &str, call: &ToolCall) -> bool {
        let granted = self.granted.lock();
        granted
            .iter()
            .any(|(here, tool, arguments)| here == session && *tool == call.name && *arguments == call.arguments)
    }
}
