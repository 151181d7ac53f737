//! Compaction: the request for a summary, and the context that begins with it. A failure changes nothing.

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
    Cut, Files, Pruned, SUMMARY_SYSTEM, context_tokens, cut, files_of, joined, prune, request_text, serialise, tokens,
    with_files, without_files,
};
use crate::event::Event;
use crate::hook_points::{text_of, texts_of};

/// Tokens of a summary at most.
const LONGEST: u64 = 16_000;
/// Bytes of a remote server's answer that are read.
const ANSWER: usize = 1 << 20;

/// The reason for which a context is made smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Threshold,
    Overflow,
    Manual,
}

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Reason::Threshold => "threshold",
            Reason::Overflow => "overflow",
            Reason::Manual => "manual",
        }
    }
}

/// The result of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionResult {
    /// The summary; none where pruning was enough.
    pub summary: Option<String>,
    /// The first entry that stays.
    pub first_kept_entry_id: Option<String>,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Tokens of the context now, about.
    pub tokens_after: u64,
}

impl AgentSession {
    /// Sums up now. Ends a run first, unless there is nothing to sum up.
    ///
    /// # Errors
    /// There is nothing to sum up, nobody could, or the session is closed.
    pub async fn compact(&self, instructions: Option<&str>) -> Result<CompactionResult> {
        if self.is_running() {
            let window = self.model().model.context_window;
            let messages = self.session().context(&Defaults::default())?.messages;
            if cut(&messages, self.settings().compaction.limits.within(window)).is_none() {
                return Err(nothing());
            }
        }
        self.abort();
        let mut context = self.conversation.context.begin_next(Activity::Maintenance).await?;
        let cancel = self.new_token();
        let compacted = compact(self, &mut context, Reason::Manual, instructions, &cancel).await;
        drop(context);
        self.conversation.flush_pending_if_idle();
        compacted
    }
}

fn nothing() -> Error {
    Error::new(ErrorCode::InvalidState, "Nothing to compact")
}

/// Makes the context smaller, tells it, and puts what is left into `seen`.
pub(super) async fn compact(
    agent: &AgentSession,
    seen: &mut Vec<AgentMessage>,
    reason: Reason,
    instructions: Option<&str>,
    cancel: &CancellationToken,
) -> Result<CompactionResult> {
    // Who hears of the start can end it, and who hears of the end finds it over.
    let phase = agent.conversation.context.step(Move::Compact, cancel)?;
    agent.emit(Event::AutoCompactionStart { reason: reason.as_str() }).await;
    let result = work(agent, seen, reason, instructions, &phase).await;
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
        _ => format!("Auto-compaction failed: {error}"),
    });
    agent
        .emit(Event::AutoCompactionEnd {
            reason: reason.as_str(),
            will_retry: reason == Reason::Overflow && told.is_some(),
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
    instructions: Option<&str>,
    cancel: &CancellationToken,
) -> Result<CompactionResult> {
    let tokens_before = context_tokens(seen);
    let current = agent.model();
    let window = current.model.context_window;
    let limits = agent.settings().compaction.limits;
    let context = agent.session().context(&Defaults::default())?;
    let (mut messages, ids) = (context.messages, context.entry_ids);
    let mut pruned = if reason == Reason::Manual { None } else { prune(&mut messages) };
    if reason == Reason::Threshold
        && let Some(Pruned { tool_call_ids, tokens }) =
            pruned.take_if(|pruned| !limits.exceeded(tokens_before.saturating_sub(pruned.tokens), window))
    {
        agent.conversation.append(Body::Prune { tool_call_ids, tokens });
        *seen = messages;
        let tokens_after = estimated(seen);
        return Ok(CompactionResult { summary: None, first_kept_entry_id: None, tokens_before, tokens_after });
    }
    let Some(found) = cut(&messages, limits.within(window)) else {
        return Err(nothing());
    };
    let first_kept = ids[found.kept].clone();
    let fields = json!({"reason": reason.as_str(), "tokensBefore": tokens_before, "firstKeptEntryId": first_kept,
        "customInstructions": instructions});
    let (mut leaving, mut given) = (CancelDecision::default(), None);
    agent
        .ask("session_before_compact", fields, |_, mut answer| {
            given = answer.remove("compaction").filter(Value::is_object).or(given.take());
            refused(&answer, &mut leaving)
        })
        .await;
    if leaving.cancelled {
        let why = leaving.reason.unwrap_or_else(|| "an extension refused it".into());
        return Err(Error::new(ErrorCode::InvalidState, format!("Compaction cancelled: {why}")));
    }
    if let Some(given) = given {
        let kept = given.get("firstKeptEntryId").and_then(Value::as_str).unwrap_or(&first_kept);
        let Some(summary) = given.get("summary").and_then(Value::as_str).filter(|text| !text.trim().is_empty()) else {
            return Err(Error::new(ErrorCode::InvalidData, "the compaction of an extension has no summary"));
        };
        if !ids.iter().any(|id| id == kept) {
            let text = format!("the compaction of an extension keeps {kept:?}, which is not in the context");
            return Err(Error::new(ErrorCode::InvalidData, text));
        }
        let finished =
            FinishedCompaction { details: given.get("details").cloned(), preserve_data: None, from_extension: true };
        return finished.take_up(agent, seen, summary, kept, tokens_before).await;
    }
    let mut wish = SummaryRequest { instructions: instructions.map(str::to_string), ..SummaryRequest::default() };
    let mut context = Vec::new();
    let mut preserve_data = None;
    agent
        .ask("session.compacting", json!({"reason": reason.as_str()}), |_, mut answer| {
            context.extend(texts_of(&answer, "context"));
            wish.system = text_of(&answer, "prompt").or(wish.system.take());
            preserve_data = answer.remove("preserveData").or(preserve_data.take());
            ControlFlow::Continue(())
        })
        .await;
    if !context.is_empty() {
        context.splice(0..0, wish.instructions.take());
        wish.instructions = Some(context.join("\n\n"));
    }
    let summary = summarise(agent, &current, &messages, found, &wish, cancel).await?;
    let mut files = files_of(&messages[found.from..found.kept]);
    let earlier = earlier_files(agent);
    files.read.extend(earlier.read);
    files.modified.extend(earlier.modified);
    files.read.retain(|path| !files.modified.contains(path));
    let summary = with_files(&summary, &files);
    if let Some(Pruned { tool_call_ids, tokens }) = pruned {
        agent.conversation.append(Body::Prune { tool_call_ids, tokens });
    }
    let finished = FinishedCompaction { details: Some(files.to_details()), preserve_data, from_extension: false };
    finished.take_up(agent, seen, &summary, &first_kept, tokens_before).await
}

/// An estimate alone: what the provider counted was another context.
fn estimated(messages: &[AgentMessage]) -> u64 {
    messages.iter().map(tokens).sum()
}

/// A compaction that is ready to be taken up.
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
        *seen = agent.conversation.reread()?;
        let tokens_after = estimated(seen);
        let told = json!({"summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": tokens_before,
            "fromExtension": from_extension});
        agent.ask("session_compact", told, |_, _| ControlFlow::Continue(())).await;
        let (summary, first_kept_entry_id) = (Some(summary.to_string()), Some(first_kept.to_string()));
        Ok(CompactionResult { summary, first_kept_entry_id, tokens_before, tokens_after })
    }
}

/// The additions of extensions and user to the request for a summary.
#[derive(Default)]
struct SummaryRequest {
    /// Instructions beside our own.
    instructions: Option<String>,
    /// In place of our own words.
    system: Option<String>,
}

/// The files that earlier compactions of this path have listed.
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

/// The summary of what the cut takes away; a divided turn is summed up apart.
async fn summarise(
    agent: &AgentSession,
    current: &ResolvedModel,
    messages: &[AgentMessage],
    found: Cut,
    wish: &SummaryRequest,
    cancel: &CancellationToken,
) -> Result<String> {
    let purpose = Purpose::Context(wish.system.as_deref());
    let instructions = wish.instructions.as_deref();
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
        return history.ok_or_else(|| Error::new(ErrorCode::InvalidState, "Nothing to compact"));
    }
    let prefix = ask(agent, current, &messages[turn..found.kept], None, instructions, purpose, cancel).await?;
    Ok(joined(history.as_deref(), &prefix))
}

/// The kind of text that is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose<'a> {
    /// The beginning of a context; the system prompt that an extension wants for it.
    Context(Option<&'a str>),
    /// A branch that is left.
    Branch,
}

/// Asks the remote server, if there is one, and then the candidates, one after another, each again after a passing
/// failure.
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
        // The frame of the request and the answer need room too; a token has about four bytes.
        let room = resolved.model.context_window.saturating_sub(max_tokens(resolved)) * 3;
        let beside = previous.map_or(0, str::len) + instructions.map_or(0, str::len);
        let input = serialise(messages, usize::try_from(room).unwrap_or(usize::MAX).saturating_sub(beside));
        request_text(&input, previous, instructions)
    };
    let mut last = Error::new(ErrorCode::Unsupported, "no model to sum up with");
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

/// Asks, and again after a passing failure.
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
        // Also where a provider does not listen.
        () = cancel.cancelled() => return Err(ErrorInfo::aborted()),
    };
    if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
        return Ok(answer.text());
    }
    let message = answer.error_message.unwrap_or_else(|| "the request failed".into());
    Err(answer.error.unwrap_or_else(|| ErrorInfo { retryable: false, ..ErrorInfo::new(ErrorKind::Server, message) }))
}

/// Asks the server of `compaction.remoteEndpoint`.
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
            let nothing = || failed(ErrorKind::InvalidRequest, format!("{endpoint} gave no {{\"summary\": …}}"));
            return summary.map(str::to_string).ok_or_else(nothing);
        }
        429 => ErrorKind::RateLimit,
        500.. => ErrorKind::Server,
        _ => ErrorKind::InvalidRequest,
    };
    Err(failed(kind, format!("HTTP {} from {endpoint}", fetched.status)))
}
