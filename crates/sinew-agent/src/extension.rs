//! The one way to add to an agent: built-in tools come through it as those of users do.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use sinew_llm::fetch::AddressCheck;
use sinew_llm::message::{AgentMessage, ToolCall};
use sinew_tools::tool::{Boxed, Tool, ToolOutput};
use sinew_tools::{PathCheck, PathPolicy};
use tokio_util::sync::CancellationToken;

use crate::event::Event;

/// The verdict of an extension on a call before it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It must not; the model reads why.
    Block(String),
    /// It runs with these arguments, which are checked again.
    Replace(Value),
}

/// The facts of the session that extensions get.
#[derive(Debug, Clone)]
pub struct Context {
    /// The folder in which the session works.
    pub cwd: PathBuf,
    /// The id of the session.
    pub session: String,
    /// The file of the session, where it has one.
    pub file: Option<PathBuf>,
    /// Somebody can be asked.
    pub has_ui: bool,
    /// Set when the run is to end.
    pub cancel: CancellationToken,
}

/// A point and what it carries.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its name.
    pub name: &'static str,
    /// Its fields.
    pub fields: Map<String, Value>,
}

impl Point {
    /// A point with the fields of `payload`, an object; those that are null are left out.
    pub(crate) fn new(name: &'static str, payload: Value) -> Point {
        let fields = match payload {
            Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
        };
        Point { name, fields }
    }
}

/// Hooks and tools under one name. Every hook has a default that changes nothing.
pub trait Extension: Send + Sync {
    /// Names the extension in messages.
    fn name(&self) -> Cow<'static, str>;

    /// The tools that it adds.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// The commands that it adds: `/<name> arguments`.
    fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }

    /// Asked before each call, in load order; the first that blocks wins. A hook that fails blocks.
    fn before_tool_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        _context: &'a Context,
    ) -> Boxed<'a, Result<Verdict, String>> {
        Box::pin(async { Ok(Verdict::Allow) })
    }

    /// Returns whether [`Extension::before_tool_call`] may wait for a person: then no time limit holds for it.
    fn asks_person(&self) -> bool {
        false
    }

    /// Its check of the files that a tool opens; None: no check. Asked once per call; `call` is its id, none where
    /// the user attaches files. `tools` are the names by which a rule may mean the access.
    fn path_check(&self, _tool: &str, _call: Option<&str>, _cwd: &Path) -> Option<Arc<dyn PathCheck>> {
        None
    }

    /// Its check of the addresses to which a server leads the call of a tool; None: no check.
    fn address_check(&self, _tool: &str, _call: &str) -> Option<AddressCheck> {
        None
    }

    /// May change what a call gave; each sees the last one's. A hook that fails leaves it as it was.
    fn after_tool_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        output: ToolOutput,
        _context: &'a Context,
    ) -> Boxed<'a, Result<ToolOutput, String>> {
        Box::pin(async { Ok(output) })
    }

    /// May change what the model sees, before each request; None leaves it. The session keeps what it has. A hook
    /// that fails leaves it too, and is reported.
    fn transform_context<'a>(
        &'a self,
        _messages: &'a [AgentMessage],
        _context: &'a Context,
    ) -> Boxed<'a, Result<Option<Vec<AgentMessage>>, String>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns whether [`Extension::on_point`] is to be asked at the point of this name. Default: at none.
    fn is_at(&self, _point: &str) -> bool {
        false
    }

    /// Asked at a point between events, in load order, where its answer counts; None leaves everything as it is. A
    /// failure is reported and leaves it too. `points` lists the points and what their answers may say.
    fn on_point<'a>(
        &'a self,
        _point: &'a Point,
        _context: &'a Context,
    ) -> Boxed<'a, Result<Option<Map<String, Value>>, String>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns whether [`Event::MessageUpdate`] has to hold the answer so far when [`Extension::on_event`] gets it.
    /// Default: false, since that is a copy of the answer for each piece of it.
    fn wants_snapshots(&self) -> bool {
        false
    }

    /// Told of every event. A failure is reported.
    fn on_event<'a>(&'a self, _event: &'a Event, _context: &'a Context) -> Boxed<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

/// The extensions as the tools ask them about the files that they open.
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

/// A command that the user writes as `/<name> arguments`.
#[derive(Clone)]
pub struct SlashCommand {
    /// Without the slash.
    pub name: String,
    /// One line for lists.
    pub description: String,
    /// Runs it.
    pub handler: Arc<dyn CommandHandler>,
}

/// Runs a command.
pub trait CommandHandler: Send + Sync {
    /// Does it. A failure is shown to the user and counts as done.
    fn execute<'a>(&'a self, arguments: &'a str, context: &'a Context) -> Boxed<'a, Result<CommandResult, String>>;

    /// Arguments that begin with `prefix`, for the editor.
    fn completions(&self, _prefix: &str) -> Vec<String> {
        Vec::new()
    }
}

/// The action that a command leaves to its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandResult {
    /// Nothing.
    None,
    /// Show this.
    Info(String),
    /// Say this to the model.
    Prompt(String),
    /// Another model answers now: its key.
    ModelChanged(String),
    /// Leave.
    Quit,
}
