//! The tool calls of one answer: which run beside which, and in which order they count.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sinew_llm::message::{AgentMessage, ToolCall, ToolResultMessage};
use sinew_tools::tool::{Concurrency, ToolOutput};
use tokio_util::sync::CancellationToken;

use super::call::{self, Prepared};
use super::run::{CallPath, Interrupt, Run, ToolExecution};
use super::stream_monitor::Correction;
use crate::event::Event;

/// Calls that run at once at most.
const AT_ONCE: usize = 8;

/// One call of the batch.
struct Job<'a> {
    call: &'a ToolCall,
    prepared: Prepared,
}

/// The tokens that end the calls of an answer.
struct Batch {
    /// Ends calls that run.
    running: CancellationToken,
    /// Skips calls that have not begun.
    waiting: CancellationToken,
}

/// Runs the calls of an answer and gives their results in source order, stored and told.
///
/// Steering that arrives meanwhile skips what has not begun; what runs goes on to its end, or is ended where the settings say
/// so. What is done stays done. Also returns whether one of them ends the run.
/// `correction` may put words in front of them.
pub(super) async fn execute(run: &Run<'_>, calls: &[ToolCall], correction: &Correction) -> (Vec<AgentMessage>, bool) {
    let batch = Batch { running: run.cancel.child_token(), waiting: run.cancel.child_token() };
    let path = run.calls();
    let settings = (run.settings)();
    let outputs = async {
        let mut outputs = Vec::with_capacity(calls.len());
        let mut rest = calls.iter().peekable();
        while let Some(first) = rest.next() {
            let mut wave = vec![first];
            if settings.execution == ToolExecution::Parallel && is_shared(run, first) {
                while let Some(next) = rest.next_if(|call| is_shared(run, call)) {
                    wave.push(next);
                }
            }
            // Checks see what the calls before have done: a link that one of them made leads elsewhere now.
            let mut jobs = Vec::with_capacity(wave.len());
            for call in wave {
                let prepared = if batch.waiting.is_cancelled() {
                    Prepared::Refused(skipped(&path))
                } else {
                    call::prepare(&path, call).await
                };
                jobs.push(Job { call, prepared });
            }
            outputs.extend(run_wave(&path, jobs, &batch).await);
        }
        outputs
    };
    let steered = async {
        run.queues.steered().await;
        batch.waiting.cancel();
        if settings.interrupt == Interrupt::Immediate {
            batch.running.cancel();
        }
        std::future::pending::<()>().await;
    };
    let outputs = tokio::select! {
        outputs = outputs => outputs,
        () = steered => unreachable!("waits for ever once it has ended the batch"),
    };
    let mut results = Vec::with_capacity(calls.len());
    let ends_run = outputs.iter().any(|output| output.ends_run);
    for (call, output) in calls.iter().zip(outputs) {
        let mut result = AgentMessage::from(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: correction.remind(&call.id, output.content),
            details: output.details,
            is_error: output.is_error,
            timestamp: run.clock.now(),
        });
        run.tell(&mut result).await;
        results.push(result);
    }
    (results, ends_run)
}

/// Returns whether a call may run beside others. One of a tool that does not exist is refused, beside any.
fn is_shared(run: &Run<'_>, call: &ToolCall) -> bool {
    (run.tools)().look_up(&call.name).is_none_or(|tool| tool.concurrency() == Concurrency::Shared)
}

/// Runs jobs side by side; their starts are told in source order, before any of them runs.
async fn run_wave(path: &CallPath<'_>, wave: Vec<Job<'_>>, batch: &Batch) -> Vec<ToolOutput> {
    for job in &wave {
        tell_start(path, job.call).await;
    }
    let mut outputs: Vec<Option<ToolOutput>> = wave.iter().map(|_| None).collect();
    let mut waiting = wave.into_iter().enumerate();
    let mut running: FuturesUnordered<_> =
        waiting.by_ref().take(AT_ONCE).map(|(index, job)| numbered(index, path, job, batch)).collect();
    while let Some((index, output)) = running.next().await {
        outputs[index] = Some(output);
        running.extend(waiting.next().map(|(index, job)| numbered(index, path, job, batch)));
    }
    outputs.into_iter().flatten().collect()
}

async fn tell_start(path: &CallPath<'_>, call: &ToolCall) {
    let intent = (path.tools)().look_up(&call.name).and_then(|tool| tool.intent(&call.arguments));
    path.emit(Event::ToolExecutionStart {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        args: call.arguments.clone(),
        intent,
    })
    .await;
}

/// Makes one call that no answer of a model holds.
pub(crate) async fn call_alone(path: &CallPath<'_>, call: &ToolCall) -> ToolOutput {
    let prepared = call::prepare(path, call).await;
    tell_start(path, call).await;
    let batch = Batch { running: path.cancel.clone(), waiting: path.cancel.clone() };
    one(path, Job { call, prepared }, &batch).await
}

async fn numbered(index: usize, path: &CallPath<'_>, job: Job<'_>, batch: &Batch) -> (usize, ToolOutput) {
    (index, one(path, job, batch).await)
}

async fn one(path: &CallPath<'_>, job: Job<'_>, batch: &Batch) -> ToolOutput {
    let output = match job.prepared {
        _ if batch.waiting.is_cancelled() => skipped(path),
        Prepared::Refused(output) => output,
        Prepared::Ready { tool, call } => {
            let output = call::execute(path, &tool, &call, &batch.running).await;
            call::finish(path, &call, output).await
        }
    };
    path.emit(Event::ToolExecutionEnd {
        tool_call_id: job.call.id.clone(),
        tool_name: job.call.name.clone(),
        result: output.clone().into(),
        is_error: output.is_error,
    })
    .await;
    output
}

/// The answer to a call that never began.
fn skipped(path: &CallPath<'_>) -> ToolOutput {
    ToolOutput::error(if path.cancel.is_cancelled() {
        "Operation aborted"
    } else {
        "Skipped due to queued user message."
    })
}
