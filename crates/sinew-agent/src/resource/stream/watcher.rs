//! Checks the answers of one run against the rules.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use sinew::walk::{GlobSet, GlobSyntax};
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, Block, Content, CustomMessage, StopReason};

use super::scope::Scope;
use super::window::{Window, paths_of};
use super::{StreamRule, StreamRules};
use crate::core::{Correction, StreamMonitor};

/// The maximum number of answers of one run that are stopped; further rules are injected later.
const INTERRUPTS: u32 = 3;

/// Checks the answers of one run against the rules.
pub struct Watcher<'a> {
    rules: &'a StreamRules,
    now: &'a (dyn Fn() -> i64 + Send + Sync),
    turn: Mutex<Turn>,
}

/// The matches of one turn.
#[derive(Default)]
struct Turn {
    parts: HashMap<usize, Part>,
    /// The matched rules and their blocks; a rule matches at most once in a turn.
    found: Vec<RuleMatch>,
    interrupts: u32,
}

struct RuleMatch {
    rule: usize,
    block: usize,
    tool: bool,
    stops: bool,
}

/// A block of the answer.
struct Part {
    kind: Kind,
    window: Window,
    /// Rules that matched, but need the path of the call, which is not known yet.
    held: Vec<usize>,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Tool(String),
}

impl<'a> Watcher<'a> {
    pub(super) fn new(rules: &'a StreamRules, now: &'a (dyn Fn() -> i64 + Send + Sync)) -> Watcher<'a> {
        Watcher { rules, now, turn: Mutex::default() }
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock()
    }

    /// Checks a block and returns the names of the rules for which the request must end. `ended` says that the block is
    /// complete; `whole` contains the paths of a complete call.
    fn look(&self, turn: &mut Turn, block: usize, ended: bool, whole: Option<&[String]>) -> Option<Vec<String>> {
        let Turn { parts, found, interrupts } = turn;
        let part = parts.get_mut(&block)?;
        let tool = matches!(part.kind, Kind::Tool(_));
        let mut names = Vec::new();
        for (index, rule) in self.rules.rules.iter().enumerate() {
            if found.iter().any(|found| found.rule == index) || !concerns(rule, &part.kind) {
                continue;
            }
            let was_found = part.held.contains(&index)
                || (rule.conditions.iter().any(|condition| part.window.finds(condition, ended))
                    && self.rules.may_tell(rule));
            if !was_found {
                continue;
            }
            if let Kind::Tool(name) = &part.kind {
                let so_far = if whole.is_none() { part.window.paths() } else { None };
                match covers(rule, name, whole.or(so_far.as_deref())) {
                    Some(true) => {}
                    Some(false) => continue,
                    None if whole.is_some() => continue,
                    None => {
                        if !part.held.contains(&index) {
                            part.held.push(index);
                        }
                        continue;
                    }
                }
            }
            let stops = rule.interrupt.stops(tool) && *interrupts < INTERRUPTS;
            found.push(RuleMatch { rule: index, block, tool, stops });
            if stops {
                names.push(rule.name.clone());
            }
        }
        part.window.looked();
        (!names.is_empty()).then_some(names)
    }

    fn injection(&self, rules: &[usize], tag: &str) -> AgentMessage {
        let texts: Vec<String> = rules.iter().map(|index| framed(&self.rules.rules[*index], tag)).collect();
        AgentMessage::Custom(CustomMessage {
            custom_type: "ttsr-injection".into(),
            content: Content::Text(texts.join("\n")),
            display: false,
            details: None,
            attribution: None,
            timestamp: (self.now)(),
        })
    }

    fn names(&self, rules: &[usize]) -> Vec<String> {
        rules.iter().map(|index| self.rules.rules[*index].name.clone()).collect()
    }
}

impl StreamMonitor for Watcher<'_> {
    fn turn_start(&self) {
        let mut turn = self.turn();
        turn.parts.clear();
        turn.found.clear();
    }

    fn see(&self, event: &StreamEvent) -> Option<Vec<String>> {
        let mut turn = self.turn();
        let turn = &mut *turn;
        let part = |kind: Kind| Part { window: Window::new(matches!(kind, Kind::Tool(_))), kind, held: Vec::new() };
        match event {
            StreamEvent::TextStart { content_index } => {
                turn.parts.insert(*content_index, part(Kind::Text));
            }
            StreamEvent::ThinkingStart { content_index } => {
                turn.parts.insert(*content_index, part(Kind::Thinking));
            }
            StreamEvent::ToolCallStart { content_index, name, .. } => {
                turn.parts.insert(*content_index, part(Kind::Tool(name.clone())));
            }
            StreamEvent::TextDelta { content_index, delta }
            | StreamEvent::ThinkingDelta { content_index, delta }
            | StreamEvent::ToolCallDelta { content_index, delta } => {
                let part = turn.parts.get_mut(content_index)?;
                part.window.push(delta);
                if part.window.is_due() {
                    return self.look(turn, *content_index, false, None);
                }
            }
            StreamEvent::TextEnd { content_index, .. } | StreamEvent::ThinkingEnd { content_index, .. } => {
                let found = self.look(turn, *content_index, true, None);
                turn.parts.remove(content_index);
                return found;
            }
            StreamEvent::ToolCallEnd { content_index, tool_call } => {
                let part = turn.parts.get_mut(content_index)?;
                // Some servers send the arguments in one piece, with the end.
                if part.window.is_empty() {
                    part.window.push(&tool_call.arguments.to_string());
                }
                let found = self.look(turn, *content_index, true, Some(&paths_of(&tool_call.arguments)));
                turn.parts.remove(content_index);
                return found;
            }
            StreamEvent::Start | StreamEvent::Done { .. } | StreamEvent::Error { .. } => {}
        }
        None
    }

    fn catch_up(&self) -> Option<Vec<String>> {
        let mut turn = self.turn();
        let behind: Vec<usize> =
            turn.parts.iter().filter(|(_, part)| part.window.is_behind()).map(|(block, _)| *block).collect();
        behind.into_iter().find_map(|block| self.look(&mut turn, block, false, None))
    }

    fn settle(&self, answer: &AssistantMessage, interrupted: bool) -> Correction {
        let mut turn = self.turn();
        let found = std::mem::take(&mut turn.found);
        if interrupted {
            turn.interrupts += 1;
            let rules: Vec<usize> = found.iter().filter(|found| found.stops).map(|found| found.rule).collect();
            rules.iter().for_each(|index| self.rules.tell(*index));
            return Correction {
                discard: !self.rules.settings.keep,
                injected: self.names(&rules),
                messages: vec![self.injection(&rules, "system-interrupt")],
                reminders: HashMap::new(),
            };
        }
        if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
            return Correction::default();
        }
        self.rules.told().turns += 1;
        let mut later = Vec::new();
        let mut reminders: HashMap<String, String> = HashMap::new();
        for RuleMatch { rule, block, tool, .. } in &found {
            self.rules.tell(*rule);
            // Calls of an answer that was cut off have no result of their own.
            let whole = answer.stop_reason != StopReason::Length;
            match answer.content.get(*block).and_then(Block::as_tool_call).filter(|_| *tool && whole) {
                Some(call) => {
                    let text = reminders.entry(call.id.clone()).or_default();
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&framed(&self.rules.rules[*rule], "system-reminder"));
                }
                None => later.push(*rule),
            }
        }
        let rules: Vec<usize> = found.iter().map(|found| found.rule).collect();
        let messages = if later.is_empty() { Vec::new() } else { vec![self.injection(&later, "system-reminder")] };
        Correction { discard: false, injected: self.names(&rules), messages, reminders }
    }
}

/// Returns whether a rule applies to a block of this kind.
fn concerns(rule: &StreamRule, kind: &Kind) -> bool {
    rule.scopes.iter().any(|scope| match (scope, kind) {
        (Scope::Text, Kind::Text) | (Scope::Thinking, Kind::Thinking) => true,
        (Scope::Tool { name, .. }, Kind::Tool(tool)) => name.as_ref().is_none_or(|name| name == tool),
        _ => false,
    })
}

/// Returns whether a rule applies to a file of a call; `None` if this depends on paths that are not known yet.
fn covers(rule: &StreamRule, tool: &str, paths: Option<&[String]>) -> Option<bool> {
    let any = |set: &GlobSet| paths.map(|paths| paths.iter().any(|path| is_match(set, path)));
    if !rule.globs.is_empty() && !rule.globs.iter().any(|set| any(set) == Some(true)) {
        return paths.map(|_| false);
    }
    let mut open = false;
    for scope in &rule.scopes {
        let Scope::Tool { name, glob } = scope else { continue };
        if name.as_ref().is_some_and(|name| name != tool) {
            continue;
        }
        let Some(glob) = glob else { return Some(true) };
        let Ok(set) = GlobSet::new(glob, GlobSyntax::default()) else { continue };
        match any(&set) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => open = true,
        }
    }
    if open { None } else { Some(false) }
}

fn is_match(set: &GlobSet, path: &str) -> bool {
    let path = path.strip_prefix('@').unwrap_or(path);
    let path = path.strip_prefix("./").unwrap_or(path).trim_start_matches('/');
    set.is_match(path.as_bytes(), false)
}

fn framed(rule: &StreamRule, tag: &str) -> String {
    let path = super::super::escape::escaped(&rule.path.to_string_lossy());
    format!("<{tag} reason=\"rule_violation\" rule=\"{}\" path=\"{path}\">\n{}\n</{tag}>", rule.name, rule.body)
}
