//! The tools `fuzzy_find` and `html_to_markdown`. The agent has `@` mentions and `fetch` instead.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew::base::CancelToken;
use sinew::search::FindOptions;
use sinew_mcp::BoxFuture;
use sinew_mcp::server::{ServedCall, ServedOutput, ServedTool};
use sinew_tools::Searches;

use super::roots::Roots;

/// The maximum number of names in a result.
const MOST: usize = 100;

type Work = dyn Fn(Map<String, Value>, &CancelToken) -> Result<ServedOutput, String> + Send + Sync;

struct Finder {
    name: &'static str,
    description: &'static str,
    input: Value,
    output: Option<Value>,
    work: Arc<Work>,
}

impl ServedTool for Finder {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn input_schema(&self) -> Value {
        self.input.clone()
    }

    fn output_schema(&self) -> Option<Value> {
        self.output.clone()
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedOutput> {
        let work = Arc::clone(&self.work);
        Box::pin(async move {
            let ServedCall { arguments, cancel, .. } = call;
            let done = tokio::task::spawn_blocking(move || work(arguments, &cancel)).await;
            match done {
                Ok(output) => output.unwrap_or_else(ServedOutput::error),
                Err(failure) => match failure.try_into_panic() {
                    // The server converts the panic to an error.
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => ServedOutput::error("The call was cancelled."),
                },
            }
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindArguments {
    query: String,
    path: Option<String>,
    limit: Option<usize>,
}

/// Returns the tool that finds files by the letters of their path.
pub(super) fn fuzzy_find(searches: Arc<Searches>, roots: Roots) -> Arc<dyn ServedTool> {
    let input = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "letters of the path, words in any order"},
            "path": {"type": "string", "description": "the folder; default: the first root"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST},
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "paths": {"type": "array", "items": {"type": "string"}},
            "total": {"type": "integer", "description": "how many there are"},
        },
        "required": ["paths", "total"],
    });
    let work = move |arguments: Map<String, Value>, cancel: &CancelToken| {
        let FindArguments { query, path, limit } =
            serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())?;
        let named = path.as_deref().unwrap_or(".");
        let folder = roots.first().join(Path::new(named));
        let real = folder.canonicalize().map_err(|error| format!("Cannot open {named}: {error}"))?;
        roots.check(&real)?;
        let options = FindOptions { max_results: limit.unwrap_or(20).min(MOST), ..FindOptions::new(&real, query) };
        let found = searches.fuzzy_find(&options, cancel).map_err(|error| error.message().to_string())?;
        // The directory may have been replaced since it was checked.
        roots.check(&found.root)?;
        let total = found.total_matches;
        let paths: Vec<String> = found
            .matches
            .into_iter()
            .map(|entry| if entry.is_directory { format!("{}/", entry.path) } else { entry.path })
            .collect();
        let mut text = if paths.is_empty() { "No files found".to_string() } else { paths.join("\n") };
        if total > paths.len() {
            text.push_str(&format!("\n[{} of {total}: use limit, or a longer query]", paths.len()));
        }
        Ok(ServedOutput { text, structured: Some(json!({"paths": paths, "total": total})), ..ServedOutput::default() })
    };
    Arc::new(Finder {
        name: "fuzzy_find",
        description: "Find files and folders whose path has the letters of a query, best first. Ignored files are left out.",
        input,
        output: Some(output),
        work: Arc::new(work),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HtmlArguments {
    html: String,
    #[serde(default)]
    clean: bool,
}

/// Returns the tool that converts HTML to Markdown.
pub(super) fn html_to_markdown() -> Arc<dyn ServedTool> {
    let input = json!({
        "type": "object",
        "properties": {
            "html": {"type": "string"},
            "clean": {"type": "boolean", "description": "leave out navigation, forms and the like"},
        },
        "required": ["html"],
        "additionalProperties": false,
    });
    let work = |arguments: Map<String, Value>, cancel: &CancelToken| {
        let HtmlArguments { html, clean } =
            serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())?;
        let options = sinew::html::Options { clean_content: clean, ..Default::default() };
        let text =
            sinew::html::html_to_markdown(&html, &options, cancel).map_err(|error| error.message().to_string())?;
        Ok(ServedOutput { text, ..ServedOutput::default() })
    };
    Arc::new(Finder {
        name: "html_to_markdown",
        description: "Turn HTML into Markdown.",
        input,
        output: None,
        work: Arc::new(work),
    })
}
