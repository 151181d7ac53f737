//! Runs the tool calls of one answer: which ones run in parallel, and the order of their results.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sinew_llm::message::{AgentMessage, ToolCall, ToolResultMessage};
use sinew_tools::tool::{Concurrency, ToolOutput};
use tokio_util::sync::CancellationToken;

use super::call::{self, PreparedCall};
use super::run::{CallPath, Interrupt, Run, ToolExecution};
use super::stream_monitor::Correction;
use crate::event::Event;

/// The maximum number of calls that run in parallel.
const AT_ONCE: usize = 8;

/// One call of the batch.
struct Job<'a> {
    call: &'a ToolCall,
    prepared: PreparedCall,
}

/// The cancellation tokens of the calls of an answer.
struct Batch {
    /// Ends the running calls.
    running: CancellationToken,
    /// Skips the calls that have not started.
    waiting: CancellationToken,
}

/// Runs the calls of an answer and returns their results in the order of the calls, already stored and reported. The
/// flag is true if one of the calls ends the run.
///
/// Steering that arrives meanwhile skips the calls that have not started. Running calls continue, or are cancelled if
/// the settings say so. Effects of finished calls are not undone. `correction` can insert a text before the result of a
/// call.
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
            // Preparation follows the previous wave, because its calls may have changed what the checks see, for
            // example the target of a link.
            let mut jobs = Vec::with_capacity(wave.len());
            for call in wave {
                let prepared = if batch.waiting.is_cancelled() {
                    PreparedCall::Refused(skipped(&path))
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

/// Returns whether a call may run in parallel with others. A call of an unknown tool is refused, so it never conflicts.
fn is_shared(run: &Run<'_>, call: &ToolCall) -> bool {
    (run.tools)().look_up(&call.name).is_none_or(|tool| tool.concurrency() == Concurrency::Shared)
}

/// Runs jobs in parallel. Their starts are reported in the order of the calls, before any of them runs.
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

/// Runs one call that is not part of a model's answer.
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
        PreparedCall::Refused(output) => output,
        PreparedCall::Ready { tool, call } => {
            let cancel = if tool.flags().ignores_steering { path.cancel } else { &batch.running };
            let output = call::execute(path, &tool, &call, cancel).await;
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

/// Returns the result of a call that never started.
fn skipped(path: &CallPath<'_>) -> ToolOutput {
    ToolOutput::error(if path.cancel.is_cancelled() {
        "Operation aborted"
    } else {
        "Skipped due to queued user message."
    })
}
