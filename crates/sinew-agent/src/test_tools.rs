//! Tools for the tests of the loop and of the agent.

use std::sync::Arc;

use serde_json::{Value, json};
pub(crate) use sinew_testkit::scripted::{ScriptedProvider, calls, failed, text, user};
use sinew_tools::tool::{Boxed, Call, Concurrency, Tool, ToolError, ToolFlags, ToolOutput};

/// A tool that calls a function.
pub(crate) struct TestTool<F> {
    pub(crate) name: &'static str,
    pub(crate) concurrency: Concurrency,
    pub(crate) flags: ToolFlags,
    pub(crate) body: F,
}

impl<F> Tool for TestTool<F>
where
    F: Fn(Call) -> Boxed<'static, Result<ToolOutput, ToolError>> + Send + Sync,
{
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "for tests"
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "additionalProperties": false, "properties": {"say": {"type": "string"}}})
    }

    fn concurrency(&self) -> Concurrency {
        self.concurrency
    }

    fn flags(&self) -> ToolFlags {
        self.flags
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        (self.body)(call)
    }
}

pub(crate) fn tool<F>(name: &'static str, body: F) -> Arc<dyn Tool>
where
    F: Fn(Call) -> Boxed<'static, Result<ToolOutput, ToolError>> + Send + Sync + 'static,
{
    Arc::new(TestTool { name, concurrency: Concurrency::Shared, flags: ToolFlags::default(), body })
}
