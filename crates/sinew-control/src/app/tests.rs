use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use sinew_tools::tool::{Boxed, Call, Tool, ToolError, ToolOutput};

use super::tools::tool_names;
use super::*;
use crate::config::{Environment, KeyFiles, Paths};
use crate::settings::Values;

/// A tool that reports which extension provides it.
struct NamedTool(&'static str);

impl Tool for NamedTool {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        "Brought by an extension."
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn execute(&self, _call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::text("brought")) })
    }
}

struct Brings;

impl Extension for Brings {
    fn name(&self) -> Cow<'static, str> {
        "brings".into()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![Arc::new(NamedTool("mine")), Arc::new(NamedTool("read"))]
    }
}

/// Returns the inputs of a program with these arguments and settings in a trusted project.
pub(crate) fn startup(cwd: &Path, line: &[&str], values: Values) -> Startup {
    let cwd = cwd.to_path_buf();
    let paths = Paths { home: cwd.join("home"), agent: cwd.join("home/agent"), project: cwd.join(".sinew"), cwd };
    Startup {
        args: crate::args::parse(line.iter().map(OsString::from)).unwrap(),
        environment: Environment::read(),
        files: KeyFiles::read(&paths),
        paths,
        settings: values.typed(),
        values,
        layers: Vec::new(),
        faults: Vec::new(),
        trusted: true,
        trust_is_confirmed: true,
        trust_is_open: false,
        trust_variables: Vec::new(),
        schema: None,
        client_servers: None,
        sinew: None,
    }
}

/// Returns the tools that are offered to the model if an extension provides `mine` and another `read`: the name, and
/// whether the extension provides it.
async fn offered(flags: &[&str], excluded: &[&str]) -> Vec<(String, bool)> {
    let mut values = Values::default();
    values.set("excludeTools", json!(excluded));
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    std::fs::write(cwd.join("script.jsonl"), "").unwrap();
    let line = [&["-p", "--script", "script.jsonl", "--no-session"], flags].concat();
    let started = App::start(startup(&cwd, &line, values), None, &mut Vec::new()).await;
    let (mut app, open) = started.unwrap_or_else(|failure| panic!("{}", failure.message));
    app.extensions.push(Arc::new(Brings));
    let tools = app.toolset(&open.host, None).unwrap_or_else(|failure| panic!("{}", failure.message));
    let listed = |tool: &Arc<dyn Tool>| (tool.name().to_string(), tool.description() == "Brought by an extension.");
    tools.all().iter().map(listed).collect()
}

#[tokio::test]
async fn tools_of_extensions_follow_the_built_in_ones() {
    let mine = |name: &str, brought: bool| (name.to_string(), brought);
    let all = offered(&[], &[]).await;
    assert_eq!((all.first(), all.last()), (Some(&mine("read", false)), Some(&mine("mine", true))));
    assert_eq!(all.iter().filter(|(name, _)| name == "read").count(), 1, "{all:?}");
    assert_eq!(offered(&["--no-builtin-tools"], &[]).await, [mine("mine", true), mine("read", true)]);
    assert_eq!(offered(&["--no-tools"], &[]).await, []);
    assert_eq!(offered(&["--no-builtin-tools"], &["read"]).await, [mine("mine", true)]);
    // Flags and settings may refer to tools of extensions.
    assert!(tool_names(&[Arc::new(Brings)]).contains(&"mine".to_string()));
}
