//! Parsing of rules, the subject of a call that they are compared with, and their result.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sinew::base::{Error, Result};
use sinew_llm::message::ToolCall;
use sinew_tools::semantics;

use super::line::{Line, LineContext, ShellState};
use super::paths::Depth;
use super::pattern::{Fit, Pattern};
use super::{addresses, paths, spelling};

/// Parsed rules.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub(super) deny: Vec<Rule>,
    pub(super) ask: Vec<Rule>,
    pub(super) allow: Vec<Rule>,
    /// These override every ask rule.
    pub(super) granted: Vec<Rule>,
}

/// One rule.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// The text as the user wrote it.
    pub(super) text: String,
    pub(super) tool: Pattern,
    /// The pattern in the brackets; `None` matches every call.
    pub(super) inner: Option<String>,
}

/// The result of the rules for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Runs,
    Asks(String),
    Denied(String),
    /// A deny rule may match; the second text says why this is unsure.
    Unsure(String, String),
}

impl Answer {
    /// Returns 0 for a call that runs, and more the less may happen.
    pub(super) fn strictness(&self) -> u8 {
        match self {
            Answer::Runs => 0,
            Answer::Asks(_) => 1,
            Answer::Unsure(..) => 2,
            Answer::Denied(_) => 3,
        }
    }
}

impl Rules {
    /// Parses the setting. Returns warnings about the parts that are invalid and therefore protect nothing.
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
            // `null` counts as a missing key.
            if list.is_null() {
                continue;
            }
            let Some(list) = list.as_array() else {
                warnings.push(format!("permissions.{key}: expected a list of rules, got {list}"));
                continue;
            };
            for rule in list {
                match rule.as_str().and_then(|text| Rule::given(text).ok()) {
                    Some(rule) => place.push(rule),
                    None => warnings.push(format!("permissions.{key}: {rule}: {NO_RULE}")),
                }
            }
        }
        (rules, warnings)
    }

    /// Adds a deny rule from the command line.
    ///
    /// # Errors
    /// Returns an error if `rule` does not parse.
    pub fn deny(&mut self, rule: &str) -> Result<()> {
        self.deny.push(Rule::given(rule)?);
        Ok(())
    }

    /// Adds an allow rule from the command line: the user is not asked about matching calls. Deny rules still apply.
    ///
    /// # Errors
    /// Returns an error if `rule` does not parse.
    pub fn grant(&mut self, rule: &str) -> Result<()> {
        self.granted.push(Rule::given(rule)?);
        Ok(())
    }

    /// Returns the rules that name a tool outside `known`, each with the name of the tool.
    #[must_use]
    pub fn unknown_tools(&self, known: &[&str]) -> Vec<(String, String)> {
        let all = [&self.deny, &self.ask, &self.allow, &self.granted].into_iter().flatten();
        let unknown = all.filter(|rule| !known.iter().any(|name| rule.tool.fits(name)));
        unknown.map(|rule| (rule.text.clone(), rule.tool_name())).collect()
    }

    /// Returns true if no rule could stop a call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deny.is_empty() && self.ask.is_empty()
    }

    pub(super) fn answer(&self, call: &ToolCall, view: SessionView<'_>) -> Answer {
        let of_tool = |rules: &[Rule]| rules.iter().any(|rule| rule.holds_tool(&call.name));
        if !of_tool(&self.deny) && !of_tool(&self.ask) {
            return Answer::Runs;
        }
        self.judge(call, &Subject::of(call, view))
    }

    pub(super) fn judge(&self, call: &ToolCall, subject: &Subject) -> Answer {
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
                    let reason = line.unknown().unwrap_or("an expansion or an argument could make it match");
                    Answer::Unsure(rule.text.clone(), reason.to_string())
                }
                Subject::Paths { .. } | Subject::Address { .. } | Subject::Text(_) => Answer::Asks(rule.text.clone()),
            };
        }
        if self.granted.iter().any(|rule| rule.covers(call, subject)) {
            return Answer::Runs;
        }
        let Some(rule) = self.ask.iter().find(|rule| rule.fit(call, subject) != Fit::No) else { return Answer::Runs };
        // The allow rule must be more specific than every matching ask rule.
        let said = self.ask.iter().filter(|rule| rule.fit(call, subject) != Fit::No).map(Rule::said).max();
        let outdone = self.allow.iter().any(|rule| Some(rule.said()) > said && rule.covers(call, subject));
        if outdone { Answer::Runs } else { Answer::Asks(rule.text.clone()) }
    }
}

/// The session in which a call is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionView<'a> {
    pub(super) cwd: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) shell: &'a ShellState,
}

/// The subject of a call.
pub(super) enum Subject {
    /// Paths, each as written and with links resolved.
    Paths {
        written: Vec<PathBuf>,
        real: Vec<PathBuf>,
        cwd: PathBuf,
        home: Option<PathBuf>,
    },
    Line(Box<Line>),
    /// An address as written, and in equivalent spellings.
    Address {
        url: String,
        spellings: Vec<String>,
    },
    Text(String),
}

impl Subject {
    pub(super) fn of(call: &ToolCall, view: SessionView<'_>) -> Subject {
        let SessionView { cwd, home, shell } = view;
        let mut named = Vec::new();
        for subject in (sinew_tools::semantics_of(&call.name).subjects)(&call.arguments) {
            match subject {
                semantics::Subject::Command { command, cwd: folder, env } => {
                    let folder = folder.and_then(|folder| sinew_tools::spelled(home, cwd, &folder).into_iter().next());
                    let around = LineContext { cwd, folder: folder.as_deref(), env: &env, shell };
                    return Subject::Line(Box::new(Line::read(&command, around)));
                }
                semantics::Subject::Url(url) => {
                    return Subject::Address { spellings: addresses::spellings(&url), url };
                }
                semantics::Subject::Path { path, .. } | semantics::Subject::OtherPath(path) => named.push(path),
            }
        }
        if named.is_empty() {
            return Subject::Text(call.arguments.to_string());
        }
        let written: Vec<PathBuf> = named.iter().flat_map(|text| sinew_tools::spelled(home, cwd, text)).collect();
        let real = written.iter().map(|path| paths::real(path)).collect();
        Subject::Paths { written, real, cwd: cwd.to_path_buf(), home: home.map(Path::to_path_buf) }
    }
}

/// The error for an invalid rule.
pub(super) const NO_RULE: &str = "not a rule; write a tool, or a tool and a pattern in brackets: write(/etc/**)";

impl Rule {
    pub(super) fn read(text: &str) -> Option<Rule> {
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

    pub(super) fn given(text: &str) -> Result<Rule> {
        let rule = Rule::read(&spelling::native(text)).ok_or_else(|| Error::invalid(format!("{text}: {NO_RULE}")))?;
        Ok(Rule { text: text.trim().to_string(), ..rule })
    }

    pub(super) fn tool_name(&self) -> String {
        let native = spelling::native(&self.text);
        native.split('(').next().unwrap_or_default().trim().to_string()
    }

    /// Returns the number of literal characters of the rule.
    pub(super) fn said(&self) -> usize {
        self.tool.literals() + self.inner.as_ref().map_or(0, |inner| Pattern::text(inner).literals())
    }

    /// Returns whether the rule applies to a tool, or to an effect of it.
    pub(super) fn holds_tool(&self, tool: &str) -> bool {
        let effects = sinew_tools::semantics_of(tool).effects;
        self.tool.fits(tool) || sinew_tools::restricting_names(effects).into_iter().any(|name| self.tool.fits(name))
    }

    /// Returns whether the rule allows the effect of a tool.
    pub(super) fn allows_tool(&self, tool: &str) -> bool {
        let effects = sinew_tools::semantics_of(tool).effects;
        self.tool.fits(tool) || sinew_tools::allowing_name(effects).is_some_and(|name| self.tool.fits(name))
    }

    pub(super) fn fit(&self, call: &ToolCall, subject: &Subject) -> Fit {
        if !self.holds_tool(&call.name) {
            return Fit::No;
        }
        let Some(inner) = &self.inner else { return Fit::Yes };
        if let Some(fit) = self.domain_fit(subject) {
            return fit;
        }
        match subject {
            Subject::Line(line) if line.has_parts(inner) => Fit::Yes,
            Subject::Line(line) => line.fit(&Pattern::text(inner)),
            Subject::Address { spellings, .. } => {
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

    /// Returns how the rule matches the host of an address; `None` if the rule names no host, or the call has no
    /// address.
    fn domain_fit(&self, subject: &Subject) -> Option<Fit> {
        let Subject::Address { url, .. } = subject else { return None };
        spelling::domain_fit(self.inner.as_deref()?, url)
    }

    /// Returns whether the rule matches all parts of a call, so that it may run.
    pub(super) fn covers(&self, call: &ToolCall, subject: &Subject) -> bool {
        if !self.allows_tool(&call.name) {
            return false;
        }
        let Some(inner) = &self.inner else { return true };
        if let Some(fit) = self.domain_fit(subject) {
            return fit == Fit::Yes;
        }
        match subject {
            Subject::Line(line) => line.covered(&Pattern::text(inner)),
            Subject::Address { spellings, .. } => {
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
