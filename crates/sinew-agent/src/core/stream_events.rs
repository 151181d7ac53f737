//! Converts a provider's stream to events of the session. Deltas are merged for 50 ms, and a provider that hangs is cut
//! off.

use std::time::Duration;

use sinew_llm::error::ErrorInfo;
use sinew_llm::event::{EventStream, PartialAnswer, StreamEvent};
use sinew_llm::message::{AssistantMessage, StopReason};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::guard::{Guard, ended};
use super::run::Run;
use super::stream_monitor::StreamMonitor;
use crate::event::{AnswerStep, Event};

/// The time for which deltas of one kind are merged.
const MERGE: Duration = Duration::from_millis(50);
/// The time that a provider has to end its answer after cancellation.
const SETTLE: Duration = Duration::from_secs(1);

/// An answer that has ended.
pub(super) struct CompletedAnswer {
    /// The message; it includes the error if the answer failed.
    pub(super) message: AssistantMessage,
    /// Whether the monitor of the run ended it.
    pub(super) interrupted: bool,
    /// Why its last call cannot succeed; the answer was ended while that call streamed.
    pub(super) rejected: Option<String>,
    /// The tool of a call that the output limit cut off and that is therefore not part of the message.
    pub(super) cut: Option<String>,
}

/// Reads an answer to its end and emits `message_start` and `message_update`. The caller emits the end of the message
/// after storing it. `cancel` ends the request.
pub(super) async fn answer(run: &Run<'_>, mut stream: EventStream, cancel: &CancellationToken) -> CompletedAnswer {
    let mut begun = false;
    let mut interrupted = false;
    let mut waiting: Option<(StreamEvent, Instant)> = None;
    let mut give_up: Option<Instant> = None;
    let mut guard = Guard::default();
    let mut look = false;
    // The ids and tools of the calls that have started.
    let mut begun_calls: Vec<(String, String)> = Vec::new();
    let over = |message, interrupted| CompletedAnswer { message, interrupted, rejected: None, cut: None };
    loop {
        if std::mem::take(&mut look)
            && !interrupted
            && !cancel.is_cancelled()
            && let Some(text) = guard.look(run, stream.partial())
        {
            // Dropping the stream ends the request.
            let message = ended(stream.partial().snapshot());
            return CompletedAnswer { rejected: Some(text), ..over(message, interrupted) };
        }
        let flush_at = waiting.as_ref().map(|(_, since)| *since + MERGE);
        let event = tokio::select! {
            biased;
            () = cancel.cancelled(), if give_up.is_none() => {
                give_up = Some(Instant::now() + SETTLE);
                continue;
            }
            // Checked before the stream, because a provider may ignore cancellation and continue to send events.
            () = at(give_up) => {
                flush(run, stream.partial(), &mut waiting).await;
                let message = aborted(stream.partial().snapshot());
                if !begun {
                    run.emit(Event::MessageStart { message: message.clone().into() }).await;
                }
                return over(message, interrupted);
            }
            event = stream.next() => event,
            () = at(flush_at) => {
                flush(run, stream.partial(), &mut waiting).await;
                look = true;
                let found = run.monitor.filter(|_| !interrupted).and_then(StreamMonitor::catch_up);
                interrupted |= interrupt(run, cancel, found).await;
                continue;
            }
        };
        let Some(event) = event else {
            // A stream must end with a final event; if a provider breaks that rule, the content so far is its answer.
            return over(stream.partial().snapshot(), interrupted);
        };
        if !begun {
            begun = true;
            let message = stream.partial().snapshot().into();
            run.emit(Event::MessageStart { message }).await;
        }
        let found = run.monitor.filter(|_| !interrupted).and_then(|monitor| monitor.see(&event));
        if event.delta().is_some() {
            match waiting.as_mut() {
                None => waiting = Some((event, Instant::now())),
                Some((first, since)) => {
                    let since = *since;
                    if let Err(event) = first.merge(event) {
                        flush(run, stream.partial(), &mut waiting).await;
                        waiting = Some((event, Instant::now()));
                    } else if since.elapsed() >= MERGE {
                        // A provider that never pauses would starve the timer.
                        flush(run, stream.partial(), &mut waiting).await;
                        look = true;
                    }
                }
            }
            interrupted |= interrupt(run, cancel, found).await;
            continue;
        }
        flush(run, stream.partial(), &mut waiting).await;
        if let StreamEvent::ToolCallStart { id, name, .. } = &event {
            begun_calls.push((id.clone(), name.clone()));
        }
        match event {
            StreamEvent::Start => {}
            // The stream ended before the cancellation arrived; an answer that the monitor stopped still counts as
            // aborted.
            StreamEvent::Done { message, .. } if interrupted => return over(aborted(*message), true),
            StreamEvent::Done { message, .. } if message.stop_reason == StopReason::Length => {
                let whole = |id: &str| message.tool_calls().any(|call| call.id == id);
                let cut = begun_calls.into_iter().rfind(|(id, _)| !whole(id)).map(|(_, name)| name);
                return CompletedAnswer { cut, ..over(*message, interrupted) };
            }
            StreamEvent::Done { message, .. } | StreamEvent::Error { message, .. } => {
                return over(*message, interrupted);
            }
            event => update(run, stream.partial(), event).await,
        }
        interrupted |= interrupt(run, cancel, found).await;
    }
}

/// Ends the request if the monitor found violations, and emits `ttsr_triggered`. Returns whether it did.
async fn interrupt(run: &Run<'_>, cancel: &CancellationToken, found: Option<Vec<String>>) -> bool {
    let Some(rules) = found else { return false };
    cancel.cancel();
    run.emit(Event::TtsrTriggered { rules }).await;
    true
}

/// Resolves at `moment`, or never if it is `None`.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

async fn flush(run: &Run<'_>, partial: &PartialAnswer, waiting: &mut Option<(StreamEvent, Instant)>) {
    if let Some((event, _)) = waiting.take() {
        update(run, partial, event).await;
    }
}

async fn update(run: &Run<'_>, partial: &PartialAnswer, event: StreamEvent) {
    let message = run.wants_snapshots().then(|| partial.snapshot().into());
    let step = AnswerStep::new(event, partial.message());
    run.emit(Event::MessageUpdate { message, step }).await;
}

/// Returns the answer so far of a provider that does not end. Incomplete calls are removed, so that they do not run.
fn aborted(mut message: AssistantMessage) -> AssistantMessage {
    message.content.retain(|block| block.as_tool_call().is_none_or(|call| call.partial_json.is_none()));
    let error = ErrorInfo::aborted();
    message.stop_reason = StopReason::Aborted;
    message.error_message = Some(error.message.clone());
    message.error = Some(error);
    message
}
