//! Builds questions about calls: the rules that would allow a call, and the errors in a rule that the user wrote.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use sinew_llm::message::ToolCall;
use sinew_tools::semantics::ToolKind;
use sinew_tools::{ApprovalRequest, RuleScope};

use super::rules::{Answer, NO_RULE, Rule, Rules, SessionView, Subject};

/// Builds the question about a call that matches the ask rule `rule`.
pub(super) fn request(rules: &Rules, call: &ToolCall, view: SessionView<'_>, rule: String) -> ApprovalRequest {
    let SessionView { cwd, home, shell } = view;
    let subject = Subject::of(call, view);
    let unsure = match &subject {
        Subject::Line(line) => line.unknown().map(str::to_string),
        Subject::Paths { .. } | Subject::Address { .. } | Subject::Text(_) => None,
    };
    let mut patterns: Vec<String> = Vec::new();
    for text in candidates(call) {
        let covers = Rule::read(&text).is_some_and(|rule| rule.covers(call, &subject));
        if covers && !patterns.contains(&text) {
            patterns.push(text);
        }
    }
    let (rules, checked, shell) = (rules.clone(), call.clone(), shell.clone());
    let (folder, home) = (cwd.to_path_buf(), home.map(Path::to_path_buf));
    let check = move |text: &str, scope| {
        let view = SessionView { cwd: &folder, home: home.as_deref(), shell: &shell };
        check(&rules, &checked, view, text, scope)
    };
    ApprovalRequest {
        call: call.id.clone(),
        tool: call.name.clone(),
        arguments: call.arguments.clone(),
        cwd: cwd.to_path_buf(),
        rule,
        unsure,
        patterns,
        check: Arc::new(check),
        requester: None,
    }
}

/// Returns why a rule would not allow a call, now or, if it is saved, after the next start.
fn check(rules: &Rules, call: &ToolCall, view: SessionView<'_>, text: &str, scope: RuleScope) -> Result<(), String> {
    let rule = Rule::given(text).map_err(|_| NO_RULE.to_string())?;
    if !rule.covers(call, &Subject::of(call, view)) {
        return Err("this rule does not match the call".into());
    }
    if scope == RuleScope::Always {
        let mut later = rules.clone();
        later.allow.push(rule);
        if later.answer(call, view) != Answer::Runs {
            return Err(
                "it is not more specific than the rule that asks, which would ask again: include more of the call"
                    .into(),
            );
        }
    }
    Ok(())
}

/// Returns candidate rules for a call, the narrowest first. Texts with special characters of rules are skipped, because
/// such a rule would match more than the call.
fn candidates(call: &ToolCall) -> Vec<String> {
    let argument = |name: &str| call.arguments.get(name).and_then(Value::as_str).filter(|text| is_plain(text));
    let name = &call.name;
    let mut texts = Vec::new();
    if let Some(command) = argument("command") {
        let words: Vec<&str> = command.split_whitespace().collect();
        texts.push(format!("{name}({})", words.join(" ")));
        if let [program, verb, _, ..] = words[..]
            && verb.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
            && !verb.starts_with('-')
        {
            texts.push(format!("{name}({program} {verb} *)"));
        }
    } else if let Some(path) = argument("path") {
        texts.push(format!("{name}({path})"));
        if let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| !folder.is_empty()) {
            texts.push(format!("{name}({folder}/**)"));
        }
    } else if let Some(url) = argument("url") {
        texts.push(format!("{name}({url})"));
        let host = url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('/')?.0)));
        texts.extend(host.map(|(scheme, host)| format!("{name}({scheme}://{host}/*)")));
    } else if sinew_tools::semantics_of(name).kind != ToolKind::Execute {
        texts.push(name.clone());
    }
    texts
}

fn is_plain(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(['*', '?', '\n', '\r', '\0'])
}
