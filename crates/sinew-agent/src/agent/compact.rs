//! Compaction: requests a summary and replaces the context by one that begins with it. A failure changes nothing.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Value, json};
use sinew::base::{Error, ErrorCode, Result};
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::fetch;
use sinew_llm::http::{HttpClient, HttpErrorKind};
use sinew_llm::message::{AgentMessage, LlmMessage, StopReason};
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::{PromptPart, Request};
use sinew_session::{Body, Defaults};
use tokio_util::sync::CancellationToken;

use super::extension_points::{CancelDecision, refused};
use super::lifecycle::{Activity, Move};
use super::models::ResolvedModel;
use super::retry::{RetryDecision, decide};
use super::session::AgentSession;
use crate::compaction::{
    Cut, Files, Limits, PrunedResults, SUMMARY_SYSTEM, ShortenedResults, context_tokens, cut, files_of, joined, prune,
    request_text, serialise, shorten, tokens, with_files, without_files,
};
use crate::event::Event;
use crate::hook_points::{text_of, texts_of};

/// The maximum number of tokens of a summary.
const LONGEST: u64 = 16_000;
/// If less than this fraction (1/4) of the history is old, a summary would not help.
const SHORT: u64 = 4;
/// The maximum number of bytes read from a remote server's answer.
const ANSWER: usize = 1 << 20;

/// The reason for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Threshold,
    Overflow,
    /// The context was still too large after a compaction.
    OverflowAgain,
    Manual,
}

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Reason::Threshold => "threshold",
            Reason::Overflow | Reason::OverflowAgain => "overflow",
            Reason::Manual => "manual",
        }
    }
}

/// The result of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionResult {
    /// The summary; `None` if pruning was enough.
    pub summary: Option<String>,
    /// The id of the first entry that is kept.
    pub first_kept_entry_id: Option<String>,
    /// The number of tokens of the context before.
    pub tokens_before: u64,
    /// The approximate number of tokens of the context now.
    pub tokens_after: u64,
}

impl AgentSession {
    /// Compacts the context now. Aborts a run first, unless there is nothing to summarize or an extension refuses.
    ///
    /// # Errors
    /// Returns an error if there is nothing to summarize, if an extension refuses, if no model could write the summary,
    /// or if the session is closed.
    pub async fn compact(&self, instructions: Option<&str>) -> Result<CompactionResult> {
        let mut request = CompactionRequest { instructions, approval: None };
        if self.is_running() {
            let window = self.model().model.context_window;
            let context = self.session().context(&Defaults::default())?;
            let Some(found) = cut(&context.messages, self.settings().compaction.limits.within(window)) else {
                return Err(nothing());
            };
            let (tokens, first_kept) = (context_tokens(&context.messages), &context.entry_ids[found.kept]);
            request.approval = Some(ask_extensions(self, Reason::Manual, tokens, first_kept, instructions).await?);
        }
        self.abort();
        let mut context = self.conversation.context.begin_next(Activity::Maintenance).await?;
        let cancel = self.new_token();
        let compacted = compact(self, &mut context, Reason::Manual, request, &cancel).await;
        drop(context);
        self.conversation.flush_pending_if_idle();
        compacted
    }
}

/// A requested compaction, and the answer of the extensions to it.
#[derive(Default)]
pub(super) struct CompactionRequest<'a> {
    /// Instructions of the user for the summary.
    instructions: Option<&'a str>,
    /// The approval of the extensions; `None` if they were not asked yet.
    approval: Option<CompactionApproval>,
}

/// The approval of the extensions.
struct CompactionApproval {
    /// The first kept entry that was sent to them.
    first_kept: String,
    /// The compaction that one of them supplied.
    supplied: Option<Value>,
}

const NOTHING: &str = "Nothing to compact";

fn nothing() -> Error {
    Error::new(ErrorCode::InvalidState, NOTHING)
}

/// Returns why a compaction that the user did not ask for failed.
pub(super) fn reason_text(error: &Error) -> String {
    match error.message() {
        NOTHING => "there is too little history to summarize".into(),
        _ => error.to_string(),
    }
}

/// Compacts the context, emits the events, and writes the new context to `seen`.
pub(super) async fn compact(
    agent: &AgentSession,
    seen: &mut Vec<AgentMessage>,
    reason: Reason,
    request: CompactionRequest<'_>,
    cancel: &CancellationToken,
) -> Result<CompactionResult> {
    // The step starts before its first event and ends before its last one: a listener can cancel it on the first, and
    // finds it over on the last.
    let phase = agent.conversation.context.step(Move::Compact, cancel)?;
    agent.emit(Event::AutoCompactionStart { reason: reason.as_str() }).await;
    let result = work(agent, seen, reason, request, &phase).await;
    let aborted = phase.is_cancelled();
    drop(phase);
    let told = result.as_ref().ok().map(|compacted| {
        serde_json::json!({
            "summary": compacted.summary,
            "firstKeptEntryId": compacted.first_kept_entry_id,
            "tokensBefore": compacted.tokens_before,
            "estimatedTokensAfter": compacted.tokens_after,
        })
    });
    let failure = result.as_ref().err().filter(|_| !aborted).map(|error| match reason {
        Reason::Manual => error.to_string(),
        _ => format!("Auto-compaction failed: {}", reason_text(error)),
    });
    agent
        .emit(Event::AutoCompactionEnd {
            reason: reason.as_str(),
            will_retry: matches!(reason, Reason::Overflow | Reason::OverflowAgain) && told.is_some(),
            result: told,
            aborted,
            error_message: failure,
        })
        .await;
    result
}

async fn work(
    agent: &AgentSession,
    seen: &mut Vec<AgentMessage>,
    reason: Reason,
    request: CompactionRequest<'_>,
    cancel: &CancellationToken,
) -> Result<CompactionResult> {
    let tokens_before = context_tokens(seen);
    let current = agent.model();
    let window = current.model.context_window;
    let limits = agent.settings().compaction.limits;
    let context = agent.session().context(&Defaults::default())?;
    let (mut messages, ids) = (context.messages, context.entry_ids);
    if (reason == Reason::Overflow && is_short(&messages, limits.within(window)) || reason == Reason::OverflowAgain)
        && let Some(result) = shorten_results(agent, seen, reason, tokens_before)?
    {
        return Ok(result);
    }
    let mut pruned = if reason == Reason::Manual { None } else { prune(&mut messages) };
    if reason == Reason::Threshold
        && let Some(PrunedResults { tool_call_ids, tokens }) =
            pruned.take_if(|pruned| !limits.exceeded(tokens_before.saturating_sub(pruned.tokens), window))
    {
        agent.conversation.append(Body::Prune { tool_call_ids, tokens, kept_bytes: None });
        *seen = messages;
        let tokens_after = estimated(seen);
        return Ok(CompactionResult { summary: None, first_kept_entry_id: None, tokens_before, tokens_after });
    }
    if reason == Reason::Threshold
        && pruned.is_none()
        && is_short(&messages, limits.within(window))
        && let Some(result) = shorten_results(agent, seen, reason, tokens_before)?
    {
        return Ok(result);
    }
    let Some(found) = cut(&messages, limits.within(window)) else {
        return Err(nothing());
    };
    let first_kept = ids[found.kept].clone();
    let CompactionRequest { instructions, approval } = request;
    let approval = match approval {
        Some(approval) => approval,
        None => ask_extensions(agent, reason, tokens_before, &first_kept, instructions).await?,
    };
    if let Some(supplied) = approval.supplied {
        // Its summary ends before the entry that was sent to it.
        let kept = supplied.get("firstKeptEntryId").and_then(Value::as_str).unwrap_or(&approval.first_kept);
        let Some(summary) = supplied.get("summary").and_then(Value::as_str).filter(|text| !text.trim().is_empty())
        else {
            return Err(Error::new(ErrorCode::InvalidData, "the compaction of an extension has no summary"));
        };
        if !ids.iter().any(|id| id == kept) {
            let text = format!("the compaction of an extension keeps {kept:?}, which is not in the context");
            return Err(Error::new(ErrorCode::InvalidData, text));
        }
        let finished =
            FinishedCompaction { details: supplied.get("details").cloned(), preserve_data: None, from_extension: true };
        return finished.take_up(agent, seen, summary, kept, tokens_before).await;
    }
    let mut request = SummaryRequest { instructions: instructions.map(str::to_string), ..SummaryRequest::default() };
    let mut context = Vec::new();
    let mut preserve_data = None;
    agent
        .ask("session.compacting", json!({"reason": reason.as_str()}), |_, mut answer| {
            context.extend(texts_of(&answer, "context"));
            request.system = text_of(&answer, "prompt").or(request.system.take());
            preserve_data = answer.remove("preserveData").or(preserve_data.take());
            ControlFlow::Continue(())
        })
        .await;
    if !context.is_empty() {
        context.splice(0..0, request.instructions.take());
        request.instructions = Some(context.join("\n\n"));
    }
    let summary = summarise(agent, &current, &messages, found, &request, cancel).await?;
    let mut files = files_of(&messages[found.from..found.kept]);
    let earlier = earlier_files(agent);
    files.read.extend(earlier.read);
    files.modified.extend(earlier.modified);
    files.read.retain(|path| !files.modified.contains(path));
    let summary = with_files(&summary, &files);
    if let Some(PrunedResults { tool_call_ids, tokens }) = pruned {
        agent.conversation.append(Body::Prune { tool_call_ids, tokens, kept_bytes: None });
    }
    let finished = FinishedCompaction { details: Some(files.to_details()), preserve_data, from_extension: false };
    finished.take_up(agent, seen, &summary, &first_kept, tokens_before).await
}

/// Asks the extensions for their approval.
///
/// # Errors
/// Returns an error if one of them refuses.
async fn ask_extensions(
    agent: &AgentSession,
    reason: Reason,
    tokens_before: u64,
    first_kept: &str,
    instructions: Option<&str>,
) -> Result<CompactionApproval> {
    let fields = json!({"reason": reason.as_str(), "tokensBefore": tokens_before, "firstKeptEntryId": first_kept,
        "customInstructions": instructions});
    let (mut leaving, mut supplied) = (CancelDecision::default(), None);
    agent
        .ask("session_before_compact", fields, |_, mut answer| {
            supplied = answer.remove("compaction").filter(Value::is_object).or(supplied.take());
            refused(&answer, &mut leaving)
        })
        .await;
    if leaving.cancelled {
        let why = leaving.reason.unwrap_or_else(|| "an extension refused it".into());
        return Err(Error::new(ErrorCode::InvalidState, format!("Compaction cancelled: {why}")));
    }
    Ok(CompactionApproval { first_kept: first_kept.to_string(), supplied })
}

/// Returns whether so little of the history is old that a summary would not help.
fn is_short(messages: &[AgentMessage], limits: Limits) -> bool {
    let old = cut(messages, limits).map_or(0, |found| estimated(&messages[found.from..found.kept]));
    old < estimated(messages) / SHORT
}

/// Removes the middle of large tool results. `None` if no result is large.
fn shorten_results(
    agent: &AgentSession,
    seen: &mut Vec<AgentMessage>,
    reason: Reason,
    tokens_before: u64,
) -> Result<Option<CompactionResult>> {
    let Some(ShortenedResults { tool_call_ids, kept_bytes, tokens }) = large_results(agent, seen, reason) else {
        return Ok(None);
    };
    agent.conversation.append(Body::Prune { tool_call_ids, tokens, kept_bytes: Some(kept_bytes) });
    *seen = agent.conversation.reread()?;
    let tokens_after = estimated(seen);
    Ok(Some(CompactionResult { summary: None, first_kept_entry_id: None, tokens_before, tokens_after }))
}

/// Returns the tool results to shorten so that the context fits into the window.
pub(super) fn large_results(agent: &AgentSession, seen: &[AgentMessage], reason: Reason) -> Option<ShortenedResults> {
    let window = agent.model().model.context_window;
    let room = window.saturating_sub(agent.settings().compaction.limits.within(window).reserve);
    // If the provider rejected the context, the estimate was too low.
    let budget = if reason == Reason::Threshold { room / 4 * 3 } else { room / 2 };
    shorten(seen, budget)
}

/// Returns an estimate of the tokens. The provider's count cannot be used, because it belongs to another context.
fn estimated(messages: &[AgentMessage]) -> u64 {
    messages.iter().map(tokens).sum()
}

/// A compaction that is ready to be applied.
struct FinishedCompaction {
    details: Option<Value>,
    preserve_data: Option<Value>,
    from_extension: bool,
}

impl FinishedCompaction {
    async fn take_up(
        self,
        agent: &AgentSession,
        seen: &mut Vec<AgentMessage>,
        summary: &str,
        first_kept: &str,
        tokens_before: u64,
    ) -> Result<CompactionResult> {
        let FinishedCompaction { details, preserve_data, from_extension } = self;
        agent.conversation.append(Body::Compaction {
            summary: summary.to_string(),
            short_summary: None,
            first_kept_entry_id: first_kept.to_string(),
            tokens_before,
            details,
            preserve_data,
            from_extension: from_extension.then_some(true),
        });
        agent.note_outside_work();
        *seen = agent.conversation.reread()?;
        let tokens_after = estimated(seen);
        let told = json!({"summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": tokens_before,
            "fromExtension": from_extension});
        agent.ask("session_compact", told, |_, _| ControlFlow::Continue(())).await;
        let (summary, first_kept_entry_id) = (Some(summary.to_string()), Some(first_kept.to_string()));
        Ok(CompactionResult { summary, first_kept_entry_id, tokens_before, tokens_after })
    }
}

/// The additions of extensions and the user to the request for a summary.
#[derive(Default)]
struct SummaryRequest {
    /// Instructions in addition to the standard ones.
    instructions: Option<String>,
    /// A prompt that replaces the standard one.
    system: Option<String>,
}

/// Returns the files that earlier compactions of this path have listed.
fn earlier_files(agent: &AgentSession) -> Files {
    let session = agent.session();
    let mut files = Files::default();
    for id in session.path_ids() {
        if let Ok(sinew_session::Entry { body: Body::Compaction { details: Some(details), .. }, .. }) =
            session.entry(id)
        {
            files.add_details(&details);
        }
    }
    files
}

/// Returns the summary of the part that is cut off. A turn that the cut divides is summarized separately.
async fn summarise(
    agent: &AgentSession,
    current: &ResolvedModel,
    messages: &[AgentMessage],
    found: Cut,
    request: &SummaryRequest,
    cancel: &CancellationToken,
) -> Result<String> {
    let purpose = Purpose::Context(request.system.as_deref());
    let instructions = request.instructions.as_deref();
    let previous = match found.from.checked_sub(1).map(|at| &messages[at]) {
        Some(AgentMessage::CompactionSummary(summary)) => Some(without_files(&summary.summary)),
        _ => None,
    };
    let turn = found.turn.unwrap_or(found.kept);
    let old = &messages[found.from..turn];
    let history = if old.is_empty() {
        previous.map(str::to_string)
    } else {
        Some(ask(agent, current, old, previous, instructions, purpose, cancel).await?)
    };
    if found.turn.is_none() {
        return history.ok_or_else(nothing);
    }
    let prefix = ask(agent, current, &messages[turn..found.kept], None, instructions, purpose, cancel).await?;
    Ok(joined(history.as_deref(), &prefix))
}

/// The kind of text that is summarized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose<'a> {
    /// The beginning of a context, with the system prompt that an extension requires for it.
    Context(Option<&'a str>),
    /// A branch that the user leaves.
    Branch,
}

/// Asks the remote server, if there is one, and then each candidate model in order. A transient failure is retried.
pub(super) async fn ask(
    agent: &AgentSession,
    current: &ResolvedModel,
    messages: &[AgentMessage],
    previous: Option<&str>,
    instructions: Option<&str>,
    purpose: Purpose<'_>,
    cancel: &CancellationToken,
) -> Result<String> {
    let system = match purpose {
        Purpose::Context(Some(system)) => system,
        Purpose::Context(None) | Purpose::Branch => SUMMARY_SYSTEM,
    };
    let settings = &agent.settings().compaction;
    let max_tokens = |resolved: &ResolvedModel| {
        (settings.limits.within(resolved.model.context_window).reserve * 4 / 5).clamp(256, LONGEST)
    };
    let text = |resolved: &ResolvedModel| {
        // Leaves space for the frame of the request and the answer; a token has about four bytes.
        let room = resolved.model.context_window.saturating_sub(max_tokens(resolved)) * 3;
        let beside = previous.map_or(0, str::len) + instructions.map_or(0, str::len);
        let input = serialise(messages, usize::try_from(room).unwrap_or(usize::MAX).saturating_sub(beside));
        request_text(&input, previous, instructions)
    };
    let mut last = Error::new(ErrorCode::Unsupported, "no model can write the summary");
    if let (Some(endpoint), Purpose::Context(_)) = (&settings.remote_endpoint, purpose) {
        let client = HttpClient::new(agent.settings().http.clone());
        let prompt = text(current);
        match once_or_more(agent, cancel, || remote(&client, endpoint, (system, &prompt), cancel)).await {
            Ok(summary) => return Ok(summary),
            Err(error) if cancel.is_cancelled() => return Err(error),
            Err(error) => last = error,
        }
    }
    let patterns = settings.model.iter().map(String::as_str).chain(["role:fast"]);
    let mut candidates: Vec<ResolvedModel> =
        patterns.filter_map(|pattern| agent.models.resolve(pattern).ok()).collect();
    candidates.push(current.clone());
    let mut keys: Vec<String> = Vec::new();
    for candidate in candidates {
        if keys.contains(&candidate.model.key()) {
            continue;
        }
        keys.push(candidate.model.key());
        let (prompt, max_tokens) = (text(&candidate), max_tokens(&candidate));
        match once_or_more(agent, cancel, || model(agent, &candidate, (system, &prompt), max_tokens, cancel)).await {
            Ok(summary) => return Ok(summary),
            Err(error) if cancel.is_cancelled() => return Err(error),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Sends a request, and retries after a transient failure.
async fn once_or_more<F: Future<Output = std::result::Result<String, ErrorInfo>>>(
    agent: &AgentSession,
    cancel: &CancellationToken,
    ask: impl Fn() -> F,
) -> Result<String> {
    let mut attempt = 0;
    loop {
        let error = match ask().await {
            Ok(summary) if summary.trim().is_empty() => {
                return Err(Error::new(ErrorCode::InvalidData, "the summary was empty"));
            }
            Ok(summary) => return Ok(summary),
            Err(error) => error,
        };
        let failed = Error::new(ErrorCode::Io, error.message.clone());
        attempt += 1;
        let RetryDecision::After { delay_ms } = decide(&agent.settings().retry, &error, attempt, agent.clock.random())
        else {
            return Err(failed);
        };
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(delay_ms)) => {}
            () = cancel.cancelled() => return Err(failed),
        }
    }
}

async fn model(
    agent: &AgentSession,
    candidate: &ResolvedModel,
    (system, prompt): (&str, &str),
    max_tokens: u64,
    cancel: &CancellationToken,
) -> std::result::Result<String, ErrorInfo> {
    let request = Request {
        model: candidate.model.clone(),
        auth: candidate.auth.clone(),
        system: vec![PromptPart::from(system)],
        messages: vec![LlmMessage::user(prompt).into()],
        thinking: ThinkingLevel::Off,
        max_tokens: Some(max_tokens),
        lane: Some("compact".into()),
        timestamp: agent.clock.now(),
        ..Request::default()
    };
    let answer = tokio::select! {
        answer = candidate.provider.stream(request, cancel.child_token()).result() => answer,
        // Needed because a provider may ignore the cancellation.
        () = cancel.cancelled() => return Err(ErrorInfo::aborted()),
    };
    if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
        return Ok(answer.text());
    }
    let message = answer.error_message.unwrap_or_else(|| "the request failed".into());
    Err(answer.error.unwrap_or_else(|| ErrorInfo { retryable: false, ..ErrorInfo::new(ErrorKind::Server, message) }))
}

/// Asks the server of the setting `compaction.remoteEndpoint`.
async fn remote(
    client: &HttpClient,
    endpoint: &str,
    (system, prompt): (&str, &str),
    cancel: &CancellationToken,
) -> std::result::Result<String, ErrorInfo> {
    let failed = |kind: ErrorKind, cause: String| ErrorInfo::new(kind, format!("compaction.remoteEndpoint: {cause}"));
    let body = serde_json::json!({"systemPrompt": system, "prompt": prompt});
    let fetched = tokio::select! {
        fetched = fetch::post(client, endpoint, &body, ANSWER) => fetched,
        () = cancel.cancelled() => return Err(ErrorInfo::aborted()),
    };
    let fetched = fetched.map_err(|error| {
        let kind = match error.kind {
            HttpErrorKind::Network | HttpErrorKind::Protocol => ErrorKind::Network,
            HttpErrorKind::Timeout => ErrorKind::Timeout,
            _ => ErrorKind::Config,
        };
        failed(kind, error.message)
    })?;
    let kind = match fetched.status {
        200..=299 => {
            let answer: serde_json::Value = serde_json::from_slice(&fetched.body).unwrap_or_default();
            let summary = answer.get("summary").and_then(serde_json::Value::as_str);
            let nothing = || failed(ErrorKind::InvalidRequest, format!("{endpoint} did not return {{\"summary\": …}}"));
            return summary.map(str::to_string).ok_or_else(nothing);
        }
        429 => ErrorKind::RateLimit,
        500.. => ErrorKind::Server,
        _ => ErrorKind::InvalidRequest,
    };
    Err(failed(kind, format!("HTTP {} from {endpoint}", fetched.status)))
}
