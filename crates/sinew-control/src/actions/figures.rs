//! Formats the texts of `/session`, `/usage` and `/context`.

use sinew::sandbox::Promise;
use sinew_agent::agent::PrefixSize;
use sinew_agent::compaction::{text_tokens, tokens};
use sinew_agent::mcp::{ServerTokens, ServersTokens};
use sinew_llm::message::AgentMessage;
use sinew_tools::Confinement;

use super::mode::SessionMode;
use super::state::Stats;
use super::{Control, ControlError};

/// Lists the identity of a session.
pub(super) fn session(stats: &Stats, mode: SessionMode) -> String {
    let Stats { session, title, model, counts, .. } = stats;
    let file = session.file.as_ref().map(|path| path.display().to_string());
    let mut rows = vec![
        ("session", session.id.clone()),
        ("file", file.unwrap_or_else(|| "none: the session is only in memory".into())),
        ("title", title.clone().unwrap_or_default()),
        ("model", model.clone()),
        ("messages", counts.total_messages.to_string()),
    ];
    if mode == SessionMode::Plan {
        rows.push(("mode", "plan".into()));
    }
    table(rows)
}

/// Lists the tokens and the cost of all requests.
pub(super) fn usage(stats: &Stats) -> String {
    let counts = &stats.counts;
    let used = counts.tokens;
    table(vec![
        ("requests", counts.assistant_messages.to_string()),
        ("tools", format!("{} calls", counts.tool_calls)),
        ("tokens", format!("{} in, {} out", used.input, used.output)),
        ("cache", format!("{} tokens read, {} written", used.cache_read, used.cache_write)),
        ("cost", format!("${:.4}", counts.cost)),
    ])
}

/// Describes the contents of the model's context window, and what the sandbox guarantees.
///
/// # Errors
/// Returns an error if the session file can no longer be read.
pub(super) fn context(control: &Control) -> Result<String, ControlError> {
    let open = control.session();
    let stats = control.stats()?;
    let PrefixSize { system, tools } = open.agent.prefix_size();
    let (system, tools) = (text_tokens(system), text_tokens(tools));
    let offered = open.agent.tools();
    let (mut files, mut messages) = (0, 0);
    let conversation = open.agent.conversation()?;
    for message in &conversation {
        let is_file = match message {
            AgentMessage::FileMention(_) => true,
            AgentMessage::ToolResult(result) => {
                let effects = offered.find(&result.tool_name).map(|tool| tool.semantics().effects);
                effects.is_some_and(|effects| effects.reads_files && !effects.writes_files)
            }
            _ => false,
        };
        *(if is_file { &mut files } else { &mut messages }) += tokens(message);
    }
    let mut parts = [("system", system), ("tools", tools), ("files", files), ("messages", messages)];
    let mut rows = Vec::new();
    if let Some(usage) = stats.context {
        let is_counted = conversation
            .iter()
            .any(|message| matches!(message, AgentMessage::Assistant(answer) if answer.usage.total_tokens > 0));
        if is_counted {
            scale(&mut parts, usage.tokens);
        }
        let used = parts.iter().map(|(_, tokens)| tokens).sum::<u64>();
        rows.push(("context", format!("about {used} of {} tokens", usage.context_window)));
        rows.push(("free", format!("about {} tokens", usage.context_window.saturating_sub(used))));
    }
    rows.extend(parts.map(|(name, count)| (name, format!("about {count} tokens"))));
    if let Some(ServersTokens { search, servers }) = &stats.servers {
        rows.push(("servers", format!("about {search} tokens in the prefix for tool search")));
        rows.extend(servers.iter().map(|ServerTokens { server, front, loaded, saved }| {
            ("", format!("{server}: about {front} in the prefix, {loaded} loaded, {saved} saved"))
        }));
    }
    rows.extend(open.host.confinement().iter().flat_map(|confinement| promises(confinement)));
    Ok(table(rows))
}

/// Scales estimated parts so that their sum is the number that the provider counted.
fn scale<const N: usize>(parts: &mut [(&'static str, u64); N], counted: u64) {
    let estimated = parts.iter().map(|(_, tokens)| tokens).sum::<u64>();
    let mut rest = counted;
    for (_, tokens) in parts.iter_mut() {
        let scaled = u128::from(*tokens) * u128::from(counted) / u128::from(estimated.max(1));
        *tokens = u64::try_from(scaled).unwrap_or(u64::MAX).min(rest);
        rest -= *tokens;
    }
    // The last part receives what rounding has left.
    if let Some((_, tokens)) = parts.last_mut() {
        *tokens += rest;
    }
}

/// Returns the guarantees of a sandbox, one per row.
fn promises(confinement: &Confinement) -> Vec<(&'static str, String)> {
    let mode = confinement.mode_name();
    let sandbox = match confinement.sandbox() {
        Ok(sandbox) => sandbox,
        Err(error) => return vec![("sandbox", format!("{mode}: {}", error.message()))],
    };
    let state = |promise: Promise| format!("{} {}", promise.as_str(), sandbox.status().of(promise).held.as_str());
    vec![("sandbox", format!("{mode}: {}", Promise::ALL.map(state).join(", ")))]
}

fn table(rows: Vec<(&'static str, String)>) -> String {
    list(rows.into_iter().map(|(name, text)| (name.to_string(), text)), "")
}

/// Formats names and texts in two columns; returns `none` if there are no rows.
pub(super) fn list(rows: impl Iterator<Item = (String, String)>, none: &str) -> String {
    let lines: Vec<String> = rows.map(|(name, text)| format!("{name:14} {text}").trim_end().to_string()).collect();
    if lines.is_empty() { none.into() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_parts_add_up_to_the_counted_tokens() {
        for (parts, counted) in [
            ([100, 200, 0, 300], 1_000),
            ([3, 3, 3, 1], 7),
            ([0, 0, 0, 0], 9),
            ([1, 1, 1, 1], 0),
            ([u64::MAX / 4; 4], u64::MAX),
        ] {
            let mut scaled = parts.map(|tokens| ("part", tokens));
            scale(&mut scaled, counted);
            assert_eq!(scaled.iter().map(|(_, tokens)| tokens).sum::<u64>(), counted, "{parts:?}");
        }
        let mut parts = [("a", 100), ("b", 300)];
        scale(&mut parts, 800);
        assert_eq!(parts, [("a", 200), ("b", 600)]);
    }
}
