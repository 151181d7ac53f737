//! The life of one tool call: look up, repair, validate, hooks, run, report.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::Value;
use sinew::base::CancelHandle;
use sinew_llm::message::ToolCall;
use sinew_tools::tool::{Call, Tool, ToolError, ToolOutput, Updates, panic_text};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::run::CallPath;
use crate::event::Event;
use crate::extension::{Context, Verdict};
use crate::hook_call;
use sinew_tools::schema::validate;

/// The time that a tool has to end after it is cancelled; longer than the shell needs to end its processes.
const END_WITHIN: Duration = Duration::from_secs(3);
/// The minimum time between two updates of a call.
const UPDATE_EVERY: Duration = Duration::from_millis(100);
/// The number of characters of invalid arguments that an error shows.
const SHOWN: usize = 1_000;

/// A call that may run, or the result with which it is refused.
pub(super) enum PreparedCall {
    Ready { tool: Arc<dyn Tool>, call: ToolCall },
    Refused(ToolOutput),
}

/// Looks up the tool, repairs and validates the arguments, and asks the hooks.
pub(super) async fn prepare(path: &CallPath<'_>, call: &ToolCall) -> PreparedCall {
    let refused = |text: String| PreparedCall::Refused(ToolOutput::error(text));
    let tools = (path.tools)();
    let Some(tool) = tools.look_up(&call.name) else { return refused(tools.missing(&call.name)) };
    if let Some(reason) = &call.invalid_arguments {
        return refused(format!("Invalid JSON in tool arguments: {reason}"));
    }
    let mut call = call.clone();
    let given = call.arguments;
    let mended = catch_unwind(AssertUnwindSafe(|| {
        let arguments = tool.prepare(given);
        (misfit(&*tool, &arguments), arguments)
    }));
    match mended {
        Ok((None, arguments)) => call.arguments = arguments,
        Ok((Some(text), _)) => return refused(text),
        Err(panic) => return refused(format!("Tool {} crashed: {}", tool.name(), panic_text(panic.as_ref()))),
    }
    let context = path.context();
    for extension in path.extensions {
        let hook = async { extension.before_tool_call(&call, &context).await };
        let asked = async {
            if extension.asks_person() {
                hook_call::ask_person(path.cancel, hook).await
            } else {
                hook_call::ask(path.cancel, hook).await
            }
        };
        let verdict = tokio::select! {
            verdict = asked => verdict,
            () = path.cancel.cancelled() => return refused("Operation aborted".into()),
        };
        match verdict.flatten() {
            Ok(Verdict::Allow) => {}
            Ok(Verdict::Block(reason)) => return refused(reason),
            Ok(Verdict::Replace(arguments)) => {
                call.arguments = arguments;
                if let Some(text) = misfit(&*tool, &call.arguments) {
                    return refused(text);
                }
            }
            Err(error) => return refused(format!("Hook {} failed: {error}", extension.name())),
        }
    }
    PreparedCall::Ready { tool, call }
}

/// Returns the message for the model if the arguments do not match the schema.
fn misfit(tool: &dyn Tool, arguments: &Value) -> Option<String> {
    let faults = validate(&tool.parameters(), arguments);
    if faults.is_empty() {
        return None;
    }
    let received = arguments.to_string();
    let shown: String = received.chars().take(SHOWN).collect();
    let lines: Vec<String> = faults.iter().map(|fault| format!("  {fault}")).collect();
    Some(format!("Validation failed for tool \"{}\":\n{}\n\nReceived: {shown}", tool.name(), lines.join("\n")))
}

/// Runs a prepared call. `cancel` ends it, unless the tool must not be interrupted.
pub(super) async fn execute(
    path: &CallPath<'_>,
    tool: &Arc<dyn Tool>,
    call: &ToolCall,
    cancel: &CancellationToken,
) -> ToolOutput {
    let name = tool.name().to_string();
    if cancel.is_cancelled() {
        return ToolOutput::error("Operation aborted");
    }
    let (cancel_handle, flag) = CancelHandle::new();
    let (progress, updates) = Progress::new();
    let job = Call {
        id: call.id.clone(),
        arguments: call.arguments.clone(),
        cwd: path.context.cwd.clone(),
        session: path.context.session.clone(),
        cancel: flag,
        updates,
    };
    let work = AssertUnwindSafe(async { tool.execute(job).await }).catch_unwind();
    tokio::pin!(work);
    let mut told: Option<Instant> = None;
    let mut last: Option<Instant> = None;
    let result = loop {
        let due = last.map_or_else(Instant::now, |last| last + UPDATE_EVERY);
        tokio::select! {
            biased;
            result = &mut work => break result,
            () = cancel.cancelled(), if told.is_none() && !tool.flags().non_abortable => {
                told = Some(Instant::now());
                cancel_handle.cancel();
            }
            () = tokio::time::sleep_until(told.unwrap_or_else(Instant::now) + END_WITHIN), if told.is_some() => {
                break Ok(Err(ToolError::Aborted));
            }
            () = progress.arrived(due) => {
                last = Some(Instant::now());
                if let Some(partial) = progress.take() {
                    path.emit(Event::ToolExecutionUpdate {
                        tool_call_id: call.id.clone(),
                        tool_name: name.clone(),
                        args: call.arguments.clone(),
                        partial_result: partial.into(),
                    }).await;
                }
            }
        }
    };
    match result {
        Ok(Ok(output)) => output,
        Ok(Err(ToolError::Failed(text))) => ToolOutput::error(text),
        Ok(Err(ToolError::Aborted)) => ToolOutput::error("Operation aborted"),
        Err(panic) => ToolOutput::error(format!("Tool {name} crashed: {}", panic_text(panic.as_ref()))),
    }
}

/// Lets the hooks change the result of a call. If a hook fails, the result stays as it was and the failure is reported.
pub(super) async fn finish(path: &CallPath<'_>, call: &ToolCall, mut output: ToolOutput) -> ToolOutput {
    let context: Context = path.context();
    for extension in path.extensions {
        let given = output.clone();
        match hook_call::ask(path.cancel, async { extension.after_tool_call(call, given, &context).await })
            .await
            .flatten()
        {
            Ok(changed) => output = changed,
            Err(error) => {
                let (extension_path, event) = (extension.name().into_owned(), "tool_result".to_string());
                path.emit(Event::ExtensionError { extension_path, event, error }).await;
            }
        }
    }
    output
}

/// The newest unread update of a call; a newer update replaces it.
struct Progress {
    newest: Arc<Mutex<Option<ToolOutput>>>,
    arrived: Arc<tokio::sync::Notify>,
}

impl Progress {
    fn new() -> (Progress, Updates) {
        let newest: Arc<Mutex<Option<ToolOutput>>> = Arc::default();
        let arrived = Arc::new(tokio::sync::Notify::new());
        let (slot, bell) = (Arc::clone(&newest), Arc::clone(&arrived));
        let updates = Updates::new(move |output| {
            *slot.lock() = Some(output);
            bell.notify_one();
        });
        (Progress { newest, arrived }, updates)
    }

    /// Resolves when there is an update and `due` has passed. Cancel-safe.
    async fn arrived(&self, due: Instant) {
        while self.newest.lock().is_none() {
            self.arrived.notified().await;
        }
        tokio::time::sleep_until(due).await;
    }

    fn take(&self) -> Option<ToolOutput> {
        self.newest.lock().take()
    }
}
