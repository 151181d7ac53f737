//! Hooks that are programs: `hooks.json`.
//!
//! Each entry is a separate [`Extension`], so that the hooks of one event run one after another, in the order of the
//! file. A hook reads one JSON object, `{event, sessionId, sessionFile?, cwd, …}`, and may answer with one.
//!
//! - Exit code 0: the answer is used.
//! - Exit code 2: the hook blocks; its stderr is the reason.
//! - Anything else is a failure: another exit code, a signal, a timeout, invalid JSON, fields that the event does not
//!   have.
//!
//! A failure blocks a tool call, unless the entry says `"onFailure": "allow"`; for other events it is reported. Values
//! that are hidden from models are hidden from hooks too ([`Hook::hiding`]).
//!
//! | event | additional fields | answer |
//! |---|---|---|
//! | `tool_call` | `toolCallId, toolName, args` | `{block, reason, args}` |
//! | `tool_result` | the same, and `content, details, isError` | `{content, details, isError}` |
//! | `context` | `messages` | `{messages}` |
//! | a point of [`hook_points`] | the point's data | the fields in its table; exit code 2: `cancel` or `handled` |
//! | others | the fields of the event | – |

mod file;
mod process;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew_llm::message::{AgentMessage, Block, ToolCall};
use sinew_session::secrets::Secrets;
use sinew_tools::child::Variables;
use sinew_tools::tool::{Boxed, ToolOutput};

use crate::event::Event;
use crate::extension::{Context, Extension, Point, Verdict};
use crate::hook_points;
use crate::undo::RunningHook;
pub use file::{Origin, read};
use process::{ProcessOutput, Program};

/// A program that runs on an event.
#[derive(Debug, Clone)]
pub struct Hook {
    /// The name in messages: the file and the command.
    name: String,
    event: String,
    /// The names of the tools that it applies to; empty for all tools.
    tools: Vec<String>,
    /// A pattern that the arguments, as JSON, must match.
    arguments: Option<Regex>,
    program: Program,
    /// Whether a call runs although the hook failed.
    allows: bool,
    /// Why the entry is invalid. An invalid hook for `tool_call` blocks, because it was meant to guard calls.
    fault: Option<String>,
    environment: Arc<Variables>,
    /// The values that are hidden from the program.
    secrets: Option<Arc<Secrets>>,
}

/// The default time limit of a hook, which `timeoutMs` in its entry replaces.
const LIMIT: Duration = Duration::from_secs(30);

/// The point whose payload was masked already.
const PAYLOAD: &str = "before_provider_request";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CallAnswer {
    #[serde(default)]
    block: bool,
    reason: Option<String>,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResultAnswer {
    content: Option<Vec<Block>>,
    details: Option<Value>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextAnswer {
    messages: Option<Vec<AgentMessage>>,
}

/// The output of a hook.
enum HookOutput {
    Nothing,
    Answer(Value),
    Block(String),
}

impl Hook {
    /// Hides values from the program as they are hidden from models: its input contains their placeholders, and
    /// placeholders in the `args` of its answer are replaced by the values.
    #[must_use]
    pub fn hiding(self, secrets: Arc<Secrets>) -> Hook {
        Hook { secrets: Some(secrets), ..self }
    }

    fn is_for(&self, event: &str, call: Option<(&str, &Value)>) -> bool {
        if self.event != event {
            return false;
        }
        let Some((tool, arguments)) = call else { return self.tools.is_empty() && self.arguments.is_none() };
        let tools = self.tools.is_empty() || self.tools.iter().any(|name| name == tool || name == "*");
        // An invalid entry may have been meant for this call, so its pattern is not checked.
        tools
            && (self.fault.is_some()
                || self.arguments.as_ref().is_none_or(|regex| regex.is_match(&arguments.to_string())))
    }

    async fn ask(&self, fields: Value, context: &Context) -> Result<HookOutput, String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let mut input = json!({"event": self.event, "sessionId": context.session});
        if let Some(file) = &context.file {
            input["sessionFile"] = json!(file.to_string_lossy());
        }
        input["cwd"] = json!(context.cwd.to_string_lossy());
        if let (Value::Object(input), Value::Object(fields)) = (&mut input, fields) {
            input.extend(fields.into_iter().filter(|(key, _)| key != "type"));
        }
        // This payload is exactly what the provider receives, and was masked already.
        if let Some(secrets) = self.secrets.as_ref().filter(|_| self.event != PAYLOAD) {
            secrets.hide_json(&mut input);
        }
        let mut environment = Variables::clone(&self.environment);
        environment.push(("SINEW_HOOK_EVENT".into(), self.event.clone().into()));
        let recorded = match &context.recorder {
            Some(recorder) => Some(RunningHook::begin(recorder).await),
            None => None,
        };
        let ran = process::run(&self.program, &context.cwd, environment, input.to_string().into_bytes()).await;
        if let Some(recorded) = recorded {
            recorded.end().await;
        }
        let ProcessOutput { code, stdout, stderr } = ran?;
        let stderr = String::from_utf8_lossy(&stderr);
        match code {
            Some(0) => {}
            Some(2) if stderr.trim().is_empty() => {
                return Ok(HookOutput::Block(format!("Blocked by hook {}", self.name)));
            }
            Some(2) => return Ok(HookOutput::Block(stderr.trim().to_string())),
            other => {
                let how = other.map_or_else(|| "a signal".to_string(), |code| format!("exit code {code}"));
                let last = stderr.trim().lines().last().unwrap_or_default();
                let why = if last.is_empty() { String::new() } else { format!(": {last}") };
                return Err(format!("it ended with {how}{why}"));
            }
        }
        if stdout.iter().all(u8::is_ascii_whitespace) {
            return Ok(HookOutput::Nothing);
        }
        match serde_json::from_slice(&sinew::base::replace_lone_surrogates(&stdout)) {
            Ok(answer @ Value::Object(_)) => Ok(HookOutput::Answer(answer)),
            Ok(_) => Err("its answer is JSON, but not an object".into()),
            Err(error) => Err(format!("its answer is not valid JSON: {error}")),
        }
    }
}

fn answer<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("its answer cannot be used: {error}"))
}

fn of_call(call: &ToolCall) -> Value {
    json!({"toolCallId": call.id, "toolName": call.name, "args": call.arguments})
}

impl Extension for Hook {
    fn name(&self) -> Cow<'static, str> {
        self.name.clone().into()
    }

    fn before_tool_call<'a>(&'a self, call: &'a ToolCall, context: &'a Context) -> Boxed<'a, Result<Verdict, String>> {
        Box::pin(async move {
            if !self.is_for("tool_call", Some((&call.name, &call.arguments))) {
                return Ok(Verdict::Allow);
            }
            let verdict = self.ask(of_call(call), context).await.and_then(|said| match said {
                HookOutput::Nothing => Ok(Verdict::Allow),
                HookOutput::Block(reason) => Ok(Verdict::Block(reason)),
                HookOutput::Answer(value) => {
                    let CallAnswer { block, reason, args } = answer(value)?;
                    Ok(match args {
                        _ if block => {
                            Verdict::Block(reason.unwrap_or_else(|| format!("Blocked by hook {}", self.name)))
                        }
                        Some(mut args) => {
                            if let Some(secrets) = &self.secrets {
                                secrets.show_json(&mut args);
                            }
                            Verdict::Replace(args)
                        }
                        None => Verdict::Allow,
                    })
                }
            });
            if self.allows { Ok(verdict.unwrap_or(Verdict::Allow)) } else { verdict }
        })
    }

    fn after_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        output: ToolOutput,
        context: &'a Context,
    ) -> Boxed<'a, Result<ToolOutput, String>> {
        Box::pin(async move {
            if !self.is_for("tool_result", Some((&call.name, &call.arguments))) {
                return Ok(output);
            }
            let mut fields = of_call(call);
            fields["content"] = json!(output.content);
            fields["details"] = json!(output.details);
            fields["isError"] = json!(output.is_error);
            match self.ask(fields, context).await? {
                HookOutput::Nothing => Ok(output),
                // The call has already run, so only its result can be withheld.
                HookOutput::Block(reason) => Ok(ToolOutput::error(reason)),
                HookOutput::Answer(value) => {
                    let ResultAnswer { content, details, is_error } = answer(value)?;
                    Ok(ToolOutput {
                        content: content.unwrap_or(output.content),
                        details: details.or(output.details),
                        is_error: is_error.unwrap_or(output.is_error),
                        ends_run: output.ends_run,
                    })
                }
            }
        })
    }

    fn transform_context<'a>(
        &'a self,
        messages: &'a [AgentMessage],
        context: &'a Context,
    ) -> Boxed<'a, Result<Option<Vec<AgentMessage>>, String>> {
        Box::pin(async move {
            if !self.is_for("context", None) {
                return Ok(None);
            }
            match self.ask(json!({"messages": messages}), context).await? {
                HookOutput::Nothing => Ok(None),
                HookOutput::Block(reason) => Err(reason),
                HookOutput::Answer(value) => Ok(answer::<ContextAnswer>(value)?.messages),
            }
        })
    }

    fn is_at(&self, point: &str) -> bool {
        self.is_for(point, None)
    }

    fn on_point<'a>(
        &'a self,
        point: &'a Point,
        context: &'a Context,
    ) -> Boxed<'a, Result<Option<Map<String, Value>>, String>> {
        Box::pin(async move {
            match self.ask(Value::Object(point.fields.clone()), context).await? {
                HookOutput::Nothing => Ok(None),
                HookOutput::Answer(value) => Ok(value.as_object().cloned()),
                HookOutput::Block(reason) => match hook_points::refusal(point.name) {
                    Some(field) => Ok(Some(Map::from_iter([
                        (field.to_string(), Value::Bool(true)),
                        ("reason".to_string(), Value::String(reason)),
                    ]))),
                    None => Err(reason),
                },
            }
        })
    }

    fn on_event<'a>(&'a self, event: &'a Event, context: &'a Context) -> Boxed<'a, Result<(), String>> {
        Box::pin(async move {
            // One event per delta would start too many programs.
            if matches!(event, Event::MessageUpdate { .. }) || event.name() != self.event {
                return Ok(());
            }
            let Value::Object(fields) = serde_json::to_value(event).map_err(|error| error.to_string())? else {
                return Ok(());
            };
            let arguments = fields.get("args").unwrap_or(&Value::Null);
            let call = fields.get("toolName").and_then(Value::as_str).map(|tool| (tool, arguments));
            if !self.is_for(&self.event, call) {
                return Ok(());
            }
            match self.ask(Value::Object(fields), context).await? {
                HookOutput::Block(reason) => Err(reason),
                HookOutput::Nothing | HookOutput::Answer(_) => Ok(()),
            }
        })
    }
}

/// Resolves a relative command against the folder of the hooks file; for a project, only if it exists there.
fn command(folder: &Path, command: &str, origin: Origin) -> std::path::PathBuf {
    let beside = folder.join(command);
    let relative = command.contains('/') && !Path::new(command).is_absolute();
    match origin {
        _ if !relative => command.into(),
        // A project must not replace the user's program by its own.
        Origin::User => beside,
        Origin::Project if beside.exists() => beside,
        Origin::Project => command.into(),
    }
}
