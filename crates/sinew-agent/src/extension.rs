//! The interface of extensions, through which built-in tools and user tools are added.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use sinew_llm::fetch::AddressCheck;
use sinew_llm::message::{AgentMessage, ToolCall};
use sinew_tools::tool::{Boxed, Tool, ToolOutput};
use sinew_tools::{PathCheck, PathPolicy, Requester};
use tokio_util::sync::CancellationToken;

use crate::event::Event;
use crate::undo::TurnRecorder;

/// The decision of an extension about a call before it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call must not run; the text is the reason that the model reads.
    Block(String),
    /// The call runs with these arguments, which are validated again.
    Replace(Value),
}

/// The facts of the session that extensions receive.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The id of the session.
    pub session: String,
    /// The file of the session; `None` if it is not saved.
    pub file: Option<PathBuf>,
    /// Whether a user can be asked.
    pub has_ui: bool,
    /// The subagent that the session belongs to; `None` for a session of the user.
    pub requester: Option<Arc<Requester>>,
    /// Records the files that programs of extensions change; `None` if undo is off.
    pub recorder: Option<Arc<TurnRecorder>>,
    /// Cancelled when the run is to end.
    pub cancel: CancellationToken,
}

/// An extension point and its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its name.
    pub name: &'static str,
    /// The fields, as `hook_points` lists them.
    pub fields: Map<String, Value>,
}

impl Point {
    /// Creates a point with the fields of `payload`, which must be an object. Fields that are null are omitted.
    pub(crate) fn new(name: &'static str, payload: Value) -> Point {
        let fields = match payload {
            Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
        };
        Point { name, fields }
    }
}

/// A named set of hooks and tools. The default of every hook changes nothing.
pub trait Extension: Send + Sync {
    /// Returns the name of the extension, used in messages.
    fn name(&self) -> Cow<'static, str>;

    /// Returns the tools that it adds.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// Returns the commands that it adds: `/<name> arguments`.
    fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }

    /// Decides about a call before it runs. The extensions are asked in load order until one blocks the call. A hook
    /// that fails blocks the call.
    fn before_tool_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        _context: &'a Context,
    ) -> Boxed<'a, Result<Verdict, String>> {
        Box::pin(async { Ok(Verdict::Allow) })
    }

    /// Returns whether [`Extension::before_tool_call`] may wait for a user, in which case it has no time limit.
    fn asks_person(&self) -> bool {
        false
    }

    /// Returns the check for the files that a tool opens; `None` disables the check. Called once per call. `call` is
    /// the id of the call, or `None` if the user attaches files.
    fn path_check(&self, _tool: &str, _call: Option<&str>, _cwd: &Path) -> Option<Arc<dyn PathCheck>> {
        None
    }

    /// Returns the check for the addresses that the call of a tool is redirected to; `None` disables the check.
    fn address_check(&self, _tool: &str, _call: &str) -> Option<AddressCheck> {
        None
    }

    /// Can change the result of a call. Each extension receives the result of the previous one. If the hook fails, the
    /// result stays as it was.
    fn after_tool_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        output: ToolOutput,
        _context: &'a Context,
    ) -> Boxed<'a, Result<ToolOutput, String>> {
        Box::pin(async { Ok(output) })
    }

    /// Can change the messages that the model sees, before each request; `None` leaves them unchanged. The session
    /// itself is not changed. If the hook fails, the messages stay unchanged and the failure is reported.
    fn transform_context<'a>(
        &'a self,
        _messages: &'a [AgentMessage],
        _context: &'a Context,
    ) -> Boxed<'a, Result<Option<Vec<AgentMessage>>, String>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns whether [`Extension::on_point`] is called at the point `_point`. Default: false.
    fn is_at(&self, _point: &str) -> bool {
        false
    }

    /// Called at an extension point, in load order. `None` changes nothing. A failure also changes nothing, and is
    /// reported. The module `hook_points` lists the points and the fields of their answers.
    fn on_point<'a>(
        &'a self,
        _point: &'a Point,
        _context: &'a Context,
    ) -> Boxed<'a, Result<Option<Map<String, Value>>, String>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns whether [`Extension::on_event`] needs the answer so far in [`Event::MessageUpdate`]. Default: false,
    /// because this copies the answer with each update.
    fn wants_snapshots(&self) -> bool {
        false
    }

    /// Called with every event. A failure is reported.
    fn on_event<'a>(&'a self, _event: &'a Event, _context: &'a Context) -> Boxed<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

/// Returns the extensions as policies that tools consult before they open a file.
#[must_use]
pub fn path_policies(extensions: &[Arc<dyn Extension>]) -> Vec<Arc<dyn PathPolicy>> {
    extensions.iter().map(|extension| Arc::new(ByExtension(Arc::clone(extension))) as Arc<dyn PathPolicy>).collect()
}

struct ByExtension(Arc<dyn Extension>);

impl PathPolicy for ByExtension {
    fn path_check(&self, tool: &str, call: Option<&str>, cwd: &Path) -> Option<Arc<dyn PathCheck>> {
        self.0.path_check(tool, call, cwd)
    }

    fn address_check(&self, tool: &str, call: &str) -> Option<AddressCheck> {
        self.0.address_check(tool, call)
    }
}

/// A command that the user runs as `/<name> arguments`.
#[derive(Clone)]
pub struct SlashCommand {
    /// The name, without the slash.
    pub name: String,
    /// A one-line description for lists.
    pub description: String,
    /// Runs it.
    pub handler: Arc<dyn CommandHandler>,
}

/// The implementation of a command.
pub trait CommandHandler: Send + Sync {
    /// Runs the command. A failure is shown to the user, and the command counts as handled.
    fn execute<'a>(&'a self, arguments: &'a str, context: &'a Context) -> Boxed<'a, Result<CommandResult, String>>;

    /// Returns arguments that begin with `prefix`, for completion in the editor.
    fn completions(&self, _prefix: &str) -> Vec<String> {
        Vec::new()
    }
}

/// The action that the caller takes after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandResult {
    /// Nothing.
    None,
    /// Show this text.
    Info(String),
    /// Send this prompt to the model.
    Prompt(String),
    /// The model was changed to the one with this key.
    ModelChanged(String),
    /// Quit the program.
    Quit,
}
