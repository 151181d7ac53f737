//! The six tools: `grep`, `find`, `fuzzy_find`, `read`, `ls`, `html_to_markdown`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sinew_base::CancelToken;
use sinew_mcp::server::{ProgressReporter, ServedCall, ServedOutput, ServedTool};
use sinew_mcp::{BoxFuture, Progress};
use sinew_pool::Pool;
use sinew_search::{FindOptions, GlobOptions, GrepOptions, fuzzy_find, glob, grep};
use sinew_walk::ScanCache;

/// The maximum number of rows, names and lines in one result.
const MOST: usize = 2_000;

/// The maximum size of the text in one result, in bytes.
const MOST_BYTES: usize = 50 * 1024;

/// The directories that the tools may access.
pub(crate) struct Folder {
    /// Absolute paths with symbolic links resolved.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) cache: ScanCache,
    pub(crate) pool: Pool,
}

/// The function of a tool. It runs on a thread that may block.
type Work = fn(&Folder, &Arguments, &CancelToken, &ProgressReporter) -> Result<ServedOutput, String>;

struct FolderTool {
    folder: Arc<Folder>,
    name: &'static str,
    description: &'static str,
    /// Name, type, description, and whether it is required.
    parameters: &'static [(&'static str, &'static str, &'static str, bool)],
    work: Work,
}

/// All tools, in the order in which they are listed.
pub(crate) fn all(folder: &Arc<Folder>) -> Vec<Arc<dyn ServedTool>> {
    const PATH: (&str, &str, &str, bool) = ("path", "string", "Folder or file; default: the first root", false);
    let tool = |name, description, parameters, work| -> Arc<dyn ServedTool> {
        Arc::new(FolderTool { folder: Arc::clone(folder), name, description, parameters, work })
    };
    vec![
        tool(
            "grep",
            "Searches file contents with a regular expression; ignored files are left out.",
            &[
                ("pattern", "string", "Regular expression (Rust syntax)", true),
                PATH,
                ("glob", "string", "Only files that match, for instance *.rs", false),
                ("ignoreCase", "boolean", "Upper and lower case are the same", false),
                ("literal", "boolean", "The pattern is plain text", false),
                ("context", "integer", "Lines before and after each match", false),
            ],
            run_grep,
        ),
        tool(
            "find",
            "Finds files by a glob; ignored files are left out.",
            &[("pattern", "string", "For instance **/*.rs", true), PATH],
            run_find,
        ),
        tool(
            "fuzzy_find",
            "Finds files and folders whose path has the letters of a query, best first.",
            &[("query", "string", "Letters of the path, words in any order", true), PATH],
            run_fuzzy_find,
        ),
        tool(
            "read",
            "Reads a text file with line numbers.",
            &[
                ("path", "string", "The file", true),
                ("offset", "integer", "First line, from 1", false),
                ("limit", "integer", "Lines at most", false),
            ],
            run_read,
        ),
        tool("ls", "Lists a folder.", &[PATH], run_ls),
        tool(
            "html_to_markdown",
            "Turns HTML into Markdown.",
            &[("html", "string", "The page", true), ("clean", "boolean", "Only the text of the page", false)],
            run_html,
        ),
    ]
}

impl ServedTool for FolderTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn input_schema(&self) -> Value {
        let mut properties = Map::new();
        for (name, kind, description, _) in self.parameters {
            properties.insert((*name).to_string(), json!({"type": kind, "description": description}));
        }
        let required: Vec<&str> = self.parameters.iter().filter(|entry| entry.3).map(|entry| entry.0).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedOutput> {
        let (folder, work) = (Arc::clone(&self.folder), self.work);
        let unknown = call.arguments.keys().find(|key| !self.parameters.iter().any(|entry| entry.0 == **key)).cloned();
        Box::pin(async move {
            if let Some(key) = unknown {
                return ServedOutput::error(format!("/{key} is not an argument of this tool."));
            }
            let ServedCall { arguments, cancel, progress } = call;
            let done =
                tokio::task::spawn_blocking(move || work(&folder, &Arguments(arguments), &cancel, &progress)).await;
            match done {
                Ok(Ok(output)) => output,
                Ok(Err(message)) => ServedOutput::error(message),
                Err(failure) => match failure.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => ServedOutput::error("The call was cancelled."),
                },
            }
        })
    }
}

struct Arguments(Map<String, Value>);

impl Arguments {
    fn text(&self, key: &str) -> Result<Option<&str>, String> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("/{key} must be a string.")),
        }
    }

    fn required(&self, key: &str) -> Result<&str, String> {
        self.text(key)?.ok_or_else(|| format!("/{key} is missing."))
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| format!("/{key} must be true or false.")),
        }
    }

    fn number(&self, key: &str) -> Result<Option<u32>, String> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
                number.map(Some).ok_or_else(|| format!("/{key} must be a whole number that is not negative."))
            }
        }
    }
}

impl Folder {
    /// Resolves a path from the client. Returns it only if it is below a root after symbolic links are resolved.
    fn path(&self, named: Option<&str>) -> Result<PathBuf, String> {
        let named = Path::new(named.unwrap_or("."));
        let whole = self.roots[0].join(named);
        let real = std::fs::canonicalize(&whole).map_err(|cause| format!("failed to open {named:?}: {cause}"))?;
        match self.roots.iter().any(|root| real.starts_with(root)) {
            true => Ok(real),
            false => Err(format!("Refused: {named:?} is outside of {}.", self.named_roots())),
        }
    }

    fn named_roots(&self) -> String {
        self.roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the rows and their text; a text that was cut says so.
fn listing(rows: Vec<(String, Value)>, more: bool, warnings: &[String]) -> ServedOutput {
    let mut text = String::new();
    let mut kept = Vec::new();
    let mut cut = more;
    for (line, value) in rows {
        if text.len() + line.len() >= MOST_BYTES {
            cut = true;
            break;
        }
        text.push_str(&line);
        text.push('\n');
        kept.push(value);
    }
    if kept.is_empty() {
        text.push_str("No matches.\n");
    }
    if cut {
        let _ = writeln!(text, "[cut behind {} entries: narrow the search]", kept.len());
    }
    for warning in warnings {
        let _ = writeln!(text, "[{warning}]");
    }
    ServedOutput { text, structured: Some(json!({"entries": kept, "cut": cut})), ..ServedOutput::default() }
}

fn run_grep(
    folder: &Folder,
    args: &Arguments,
    cancel: &CancelToken,
    progress: &ProgressReporter,
) -> Result<ServedOutput, String> {
    let options = GrepOptions {
        glob: args.text("glob")?.map(Into::into),
        ignore_case: args.flag("ignoreCase")?,
        literal: args.flag("literal")?,
        context: args.number("context")?,
        max_count: Some(MOST as u32),
        max_columns: Some(500),
        ..GrepOptions::new(args.required("pattern")?, folder.path(args.text("path")?)?)
    };
    let found = grep(&options, &folder.cache, &folder.pool, cancel, None).map_err(|error| error.to_string())?;
    progress.report(&Progress { progress: f64::from(found.files_searched), total: None, message: None });
    let rows = found.rows().map(|row| {
        let mut text = String::new();
        for line in &row.before {
            let _ = writeln!(text, "{}-{}-{}", row.path, line.line_number, line.line);
        }
        let _ = write!(text, "{}:{}:{}", row.path, row.line_number, row.line);
        for line in &row.after {
            let _ = write!(text, "\n{}-{}-{}", row.path, line.line_number, line.line);
        }
        (text, json!({"path": row.path, "line": row.line_number, "text": row.line}))
    });
    Ok(listing(rows.collect(), found.limit_reached, &found.warnings))
}

fn run_find(
    folder: &Folder,
    args: &Arguments,
    cancel: &CancelToken,
    _: &ProgressReporter,
) -> Result<ServedOutput, String> {
    let options = GlobOptions {
        max_results: Some(MOST),
        ..GlobOptions::new(folder.path(args.text("path")?)?, args.required("pattern")?)
    };
    let found = glob(&options, &folder.cache, &folder.pool, cancel);
    let found = found.map_err(|error| error.to_string())?;
    let rows = found.matches().map(|entry| (entry.path.to_string(), json!(entry.path))).collect();
    Ok(listing(rows, found.limit_reached, &found.warnings))
}

fn run_fuzzy_find(
    folder: &Folder,
    args: &Arguments,
    cancel: &CancelToken,
    _: &ProgressReporter,
) -> Result<ServedOutput, String> {
    let options = FindOptions::new(folder.path(args.text("path")?)?, args.required("query")?);
    let found = fuzzy_find(&options, &folder.cache, &folder.pool, cancel).map_err(|error| error.to_string())?;
    let more = found.total_matches > found.matches.len();
    let rows = found.matches.into_iter().map(|entry| {
        let path = if entry.is_directory { format!("{}/", entry.path) } else { entry.path };
        (path.clone(), json!(path))
    });
    Ok(listing(rows.collect(), more, &found.warnings))
}

fn run_read(folder: &Folder, args: &Arguments, _: &CancelToken, _: &ProgressReporter) -> Result<ServedOutput, String> {
    let path = folder.path(Some(args.required("path")?))?;
    let bytes = std::fs::read(&path).map_err(|cause| format!("failed to read {path:?}: {cause}"))?;
    let text = String::from_utf8_lossy(&bytes);
    let first = args.number("offset")?.unwrap_or(1).max(1) as usize;
    let limit = args.number("limit")?.map_or(MOST, |limit| limit as usize).min(MOST);
    let mut lines = text.lines().enumerate().skip(first - 1);
    let rows = lines.by_ref().take(limit).map(|(at, line)| (format!("{}\t{line}", at + 1), json!(line))).collect();
    Ok(listing(rows, lines.next().is_some(), &[]))
}

fn run_ls(folder: &Folder, args: &Arguments, _: &CancelToken, _: &ProgressReporter) -> Result<ServedOutput, String> {
    let path = folder.path(args.text("path")?)?;
    let entries = std::fs::read_dir(&path).map_err(|cause| format!("failed to list {path:?}: {cause}"))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            format!("{}{}", entry.file_name().to_string_lossy(), if folder { "/" } else { "" })
        })
        .collect();
    names.sort();
    let more = names.len() > MOST;
    names.truncate(MOST);
    Ok(listing(names.into_iter().map(|name| (name.clone(), json!(name))).collect(), more, &[]))
}

fn run_html(_: &Folder, args: &Arguments, cancel: &CancelToken, _: &ProgressReporter) -> Result<ServedOutput, String> {
    let options = sinew_html::Options { clean_content: args.flag("clean")?, ..Default::default() };
    let html = args.required("html")?;
    let text = sinew_html::html_to_markdown(html, &options, cancel).map_err(|error| error.to_string())?;
    Ok(ServedOutput { text, ..ServedOutput::default() })
}
