//! A provider's stream as events of the session: deltas merged for 50 ms, the end forced when a provider hangs.

use std::time::Duration;

use sinew_llm::error::ErrorInfo;
use sinew_llm::event::{EventStream, Partial, StreamEvent};
use sinew_llm::message::{AssistantMessage, StopReason};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::guard::{Guard, ended};
use super::run::Run;
use super::stream_monitor::StreamMonitor;
use crate::event::{AnswerStep, Event};

/// The time that a delta waits for more of its kind.
const MERGE: Duration = Duration::from_millis(50);
/// The time that a provider has to end its answer once it was told to.
const SETTLE: Duration = Duration::from_secs(1);

/// An answer that has come to its end.
pub(super) struct Answered {
    /// It carries the error where there was one.
    pub(super) message: AssistantMessage,
    /// The monitor of the run asked for its end.
    pub(super) interrupted: bool,
    /// The reason for which its last call can only fail: it was ended while that came.
    pub(super) rejected: Option<String>,
    /// The tool of a call that the output limit cut, and that therefore is no part of the message.
    pub(super) cut: Option<String>,
}

/// Reads an answer to its end and tells it as `message_start` and `message_update`; the end of the message is told by
/// the caller, once it is stored. `cancel` ends the request.
pub(super) async fn answer(run: &Run<'_>, mut stream: EventStream, cancel: &CancellationToken) -> Answered {
    let mut begun = false;
    let mut interrupted = false;
    let mut waiting: Option<(StreamEvent, Instant)> = None;
    let mut give_up: Option<Instant> = None;
    let mut guard = Guard::default();
    let mut look = false;
    // The calls that began: id and tool.
    let mut begun_calls: Vec<(String, String)> = Vec::new();
    let over = |message, interrupted| Answered { message, interrupted, rejected: None, cut: None };
    loop {
        if std::mem::take(&mut look)
            && !interrupted
            && !cancel.is_cancelled()
            && let Some(text) = guard.look(run, stream.partial())
        {
            // Dropping the stream ends the request.
            let message = ended(stream.partial().snapshot());
            return Answered { rejected: Some(text), ..over(message, interrupted) };
        }
        let flush_at = waiting.as_ref().map(|(_, since)| *since + MERGE);
        let event = tokio::select! {
            biased;
            () = cancel.cancelled(), if give_up.is_none() => {
                give_up = Some(Instant::now() + SETTLE);
                continue;
            }
            // Before the events: a provider that goes on talking does not end either.
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
            // The stream's contract ends with a last event; a provider that breaks it has said all that there is.
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
                        // A provider that never pauses leaves the timer no turn.
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
            // It was whole before it could be ended: what the monitor stopped does not count as whole.
            StreamEvent::Done { message, .. } if interrupted => return over(aborted(*message), true),
            StreamEvent::Done { message, .. } if message.stop_reason == StopReason::Length => {
                let whole = |id: &str| message.tool_calls().any(|call| call.id == id);
                let cut = begun_calls.into_iter().rfind(|(id, _)| !whole(id)).map(|(_, name)| name);
                return Answered { cut, ..over(*message, interrupted) };
            }
            StreamEvent::Done { message, .. } | StreamEvent::Error { message, .. } => {
                return over(*message, interrupted);
            }
            event => update(run, stream.partial(), event).await,
        }
        interrupted |= interrupt(run, cancel, found).await;
    }
}

/// Ends the request where the monitor found something, and says so.
async fn interrupt(run: &Run<'_>, cancel: &CancellationToken, found: Option<Vec<String>>) -> bool {
    let Some(rules) = found else { return false };
    cancel.cancel();
    run.emit(Event::TtsrTriggered { rules }).await;
    true
}

/// Resolves at `moment`, never without one.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

async fn flush(run: &Run<'_>, partial: &Partial, waiting: &mut Option<(StreamEvent, Instant)>) {
    if let Some((event, _)) = waiting.take() {
        update(run, partial, event).await;
    }
}

async fn update(run: &Run<'_>, partial: &Partial, event: StreamEvent) {
    let message = run.wants_snapshots().then(|| partial.snapshot().into());
    let step = AnswerStep::new(event, partial.message());
    run.emit(Event::MessageUpdate { message, step }).await;
}

/// The answer so far of a provider that does not end. Calls that are still open must not run.
fn aborted(mut message: AssistantMessage) -> AssistantMessage {
    message.content.retain(|block| block.as_tool_call().is_none_or(|call| call.partial_json.is_none()));
    let error = ErrorInfo::aborted();
    message.stop_reason = StopReason::Aborted;
    message.error_message = Some(error.message.clone());
    message.error = Some(error);
    message
}
