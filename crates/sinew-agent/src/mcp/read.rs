//! Resources of servers for the tool `read`: `mcp://<server>/<address>`.

use std::sync::Arc;

use serde_json::{Value, json};
use sinew_mcp::model::{Resource, ResourceBody};
use sinew_mcp::{Content, ToolResult};
use sinew_tools::semantics::Semantics;
use sinew_tools::tool::{Boxed, Call, Concurrency, Tool, ToolError, ToolFlags, ToolOutput};

use super::result::{self, Limits};
use super::tools::{SessionShared, cancelled};

/// The tool `read` of a session with servers. It has the same definition as the built-in one.
pub(super) struct ReadTool {
    pub(super) files: Arc<dyn Tool>,
    pub(super) shared: Arc<SessionShared>,
}

impl Tool for ReadTool {
    fn name(&self) -> &str {
        self.files.name()
    }

    fn label(&self) -> &str {
        self.files.label()
    }

    fn description(&self) -> &str {
        self.files.description()
    }

    fn parameters(&self) -> Value {
        self.files.parameters()
    }

    fn guidelines(&self) -> Vec<String> {
        self.files.guidelines()
    }

    fn concurrency(&self) -> Concurrency {
        self.files.concurrency()
    }

    fn flags(&self) -> ToolFlags {
        self.files.flags()
    }

    fn semantics(&self) -> Semantics {
        self.files.semantics()
    }

    fn intent(&self, partial: &Value) -> Option<String> {
        self.files.intent(partial)
    }

    fn can_reject_early(&self) -> bool {
        self.files.can_reject_early()
    }

    fn reject_early(&self, whole: &Value) -> Option<String> {
        self.files.reject_early(whole)
    }

    fn prepare(&self, arguments: Value) -> Value {
        self.files.prepare(arguments)
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        let path = call.arguments["path"].as_str().unwrap_or_default();
        let Some((server, uri)) = path.strip_prefix("mcp://").and_then(|rest| rest.split_once('/')) else {
            return self.files.execute(call);
        };
        let (server, uri) = (server.to_string(), uri.to_string());
        Box::pin(async move {
            tokio::select! {
                biased;
                output = self.read(&server, &uri, &call) => output,
                () = cancelled(&call.cancel) => Err(ToolError::Aborted),
            }
        })
    }
}

impl ReadTool {
    async fn read(&self, server: &str, uri: &str, call: &Call) -> Result<ToolOutput, ToolError> {
        let manager = &self.shared.manager;
        let found = manager.server(server).filter(|_| self.shared.may_use(server)).ok_or_else(|| {
            let names: Vec<String> = manager.names().into_iter().filter(|name| self.shared.may_use(name)).collect();
            let names = names.join(", ");
            ToolError::Failed(format!("There is no MCP server \"{server}\". Servers: {names}."))
        })?;
        let contents = found.read(manager.shared(), uri).await.map_err(ToolError::Failed)?;
        let number = |key: &str| call.arguments[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let (first, most) = (number("offset").unwrap_or(1).max(1), number("limit").unwrap_or(usize::MAX));
        let content = contents.into_iter().map(|resource| content(resource, first, most)).collect();
        let answer = ToolResult { content, ..ToolResult::default() };
        let limits = self.shared.limits(&call.cancel);
        result::output(answer, server, &limits, json!({"server": server, "uri": uri}))
    }
}

/// Converts a resource to a part of a result; of a text, only the requested lines.
fn content(resource: Resource, first: usize, most: usize) -> Content {
    match resource.body {
        ResourceBody::Text(text) if first == 1 && most == usize::MAX => Content::Text(text),
        ResourceBody::Text(text) => Content::Text(text.split_inclusive('\n').skip(first - 1).take(most).collect()),
        ResourceBody::Blob(data) if resource.mime.starts_with("image/") => Content::Image { data, mime: resource.mime },
        body => Content::Resource(Resource { body, ..resource }),
    }
}

impl SessionShared {
    pub(super) fn limits<'a>(&'a self, cancel: &'a sinew::base::CancelToken) -> Limits<'a> {
        Limits { artifacts: &self.artifacts, resize: self.resize, cancel }
    }
}
