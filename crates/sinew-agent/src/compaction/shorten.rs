//! Removes the middle of large tool results if a context is too large and has nothing old to summarize.

use sinew_llm::message::AgentMessage;

use super::estimate::tokens;

/// The minimum number of tokens that a result keeps.
const LEAST: u64 = 256;
/// The approximate number of tokens of the note that replaces the middle.
const NOTE: u64 = 32;
/// The approximate number of bytes per token.
const BYTES: u64 = 4;

/// Tool results that are sent without their middle from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortenedResults {
    /// The ids of their calls.
    pub tool_call_ids: Vec<String>,
    /// The number of bytes that each of them keeps.
    pub kept_bytes: u64,
    /// The number of tokens saved.
    pub tokens: u64,
}

/// Returns the results that must be shortened for `messages` to have at most `budget` tokens, and their new size.
/// Together they keep at most half of their size, because the estimate was too low. Returns `None` if no result is
/// large.
#[must_use]
pub fn shorten(messages: &[AgentMessage], budget: u64) -> Option<ShortenedResults> {
    let all: u64 = messages.iter().map(tokens).sum();
    let results = messages.iter().filter_map(|message| match message {
        AgentMessage::ToolResult(result) => Some((tokens(message), result.tool_call_id.as_str())),
        _ => None,
    });
    let results: Vec<(u64, &str)> = results.collect();
    let size: u64 = results.iter().map(|(size, _)| size).sum();
    let room = budget.saturating_sub(all - size).min(size / 2);
    let kept = share(results.iter().map(|(size, _)| *size).collect(), room).max(LEAST);
    let large: Vec<_> = results.into_iter().filter(|(size, _)| *size > kept + NOTE).collect();
    let saved = large.iter().map(|(size, _)| size - kept - NOTE).sum();
    let tool_call_ids: Vec<String> = large.into_iter().map(|(_, id)| id.to_string()).collect();
    (!tool_call_ids.is_empty()).then_some(ShortenedResults { tool_call_ids, kept_bytes: kept * BYTES, tokens: saved })
}

/// Returns the size to which the largest of `sizes` must shrink so that their sum is at most `room`.
fn share(mut sizes: Vec<u64>, mut room: u64) -> u64 {
    sizes.sort_unstable();
    for (at, size) in sizes.iter().enumerate() {
        let share = room / (sizes.len() - at) as u64;
        if *size > share {
            return share;
        }
        room -= size;
    }
    u64::MAX / BYTES - NOTE
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::share;

    proptest! {
        #[test]
        fn shares_fit_into_the_budget(sizes in prop::collection::vec(0..1_000_u64, 0..9), room in 0..5_000_u64) {
            let kept = share(sizes.clone(), room);
            let sum: u64 = sizes.iter().map(|size| *size.min(&kept)).sum();
            let all: u64 = sizes.iter().sum();
            prop_assert!(sum <= room || all <= room);
            prop_assert!(sum + sizes.len() as u64 >= room.min(all), "{sum}");
        }
    }
}
