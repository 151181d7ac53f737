//! `ls`: lists a directory.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_session::files::size_text;

use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Access, Host, HostOptions, arguments, paths, truncate};
use crate::semantics::{Effects, OutputView, Presentation, Semantics, ToolKind, searched};
use crate::tool::{Call, Concurrency, ToolError, ToolOutput};

pub(super) static SPEC: Spec = Spec {
    name: "ls",
    description: "List a folder: names sorted, / after folders, @ after links, sizes of files.",
    parameters,
    guidelines: &[],
    concurrency: Concurrency::Shared,
    flags: PLAIN,
    semantics: Semantics {
        kind: ToolKind::Read,
        effects: Effects { lists_files: true, ..Effects::NONE },
        headline: "path",
        subjects: |arguments| searched(arguments, ""),
        presentation: Presentation { verb: "Lists", output: OutputView::Row { plural: "folders" } },
        foreign_names: &["LS"],
        ..Semantics::UNKNOWN
    },
    offered: always,
    reject_early: None,
    preview: None,
    run: Run::Blocking(run),
};

/// The default number of entries.
const LIMIT: usize = 500;

fn parameters(_: &HostOptions) -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "default: ."},
            "limit": {"type": "integer", "minimum": 1, "description": "default: 500"},
        },
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    path: Option<String>,
    limit: Option<usize>,
}

fn run(host: &Host, call: &Call) -> Outcome {
    let Arguments { path, limit } = arguments::parse(call)?;
    let given = path.as_deref().unwrap_or(".");
    let access = host.access(SPEC.name, SPEC.semantics.effects, Some(&call.id), &call.cwd);
    list(&paths::resolve(host, call, given)?, given, limit.unwrap_or(LIMIT), call, &access)
}

/// Lists at most `limit` entries of the directory `path`, which the model called `given`.
///
/// # Errors
/// Returns an error if a check rejects the directory, or if it cannot be read.
pub fn list(path: &Path, given: &str, limit: usize, call: &Call, access: &Access) -> Result<ToolOutput, ToolError> {
    let failed = |what: String| ToolError::Failed(what);
    let opened = access.is_limited().then(|| fs::File::open(path)).and_then(Result::ok);
    if let Some(opened) = &opened {
        access.check_opened(opened, path).map_err(failed)?;
    }
    // If the system has such a path, the listing uses the directory that was checked.
    let (named, path) = (path, opened.as_ref().and_then(by_descriptor));
    let path = path.as_deref().unwrap_or(named);
    let facts = match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_symlink() => fs::metadata(path).unwrap_or(facts),
        Ok(facts) => facts,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(failed(format!("Path not found: {given}")));
        }
        Err(error) => return Err(failed(format!("Cannot read {given}: {error}"))),
    };
    if !facts.is_dir() {
        return Ok(ToolOutput::text(line(&paths::shown(&call.cwd, named), &facts)));
    }
    let folder = fs::read_dir(path).map_err(|error| failed(format!("Cannot read {given}: {error}")))?;
    let mut names: Vec<(String, std::ffi::OsString)> = Vec::new();
    for (index, entry) in folder.enumerate() {
        if index % 1_024 == 0 && call.cancel.is_cancelled() {
            return Err(ToolError::Aborted);
        }
        let name = entry.map_err(|error| failed(format!("Cannot read {given}: {error}")))?.file_name();
        names.push((name.to_string_lossy().to_lowercase(), name));
    }
    if names.is_empty() {
        return Ok(ToolOutput::text("(empty directory)"));
    }
    names.sort();
    let total = names.len();
    let mut text = String::new();
    let mut shown = 0;
    for (_, name) in names.into_iter().take(limit) {
        let line = match fs::symlink_metadata(path.join(&name)) {
            Ok(facts) => line(&name.to_string_lossy(), &facts),
            // The entry was deleted after the directory was read.
            Err(_) => name.to_string_lossy().into_owned(),
        };
        if text.len() + line.len() > truncate::BYTES {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        shown += 1;
    }
    if shown < total {
        text.push_str(&format!("[{shown} of {total} entries shown.]"));
        return Ok(ToolOutput::text(text).with_details(json!({"entryLimitReached": shown, "total": total})));
    }
    text.pop();
    Ok(ToolOutput::text(text))
}

/// Returns a path to an open file or directory that stays valid if the original path changes; `None` if the system has
/// no such path.
fn by_descriptor(file: &fs::File) -> Option<std::path::PathBuf> {
    #[cfg(target_os = "linux")]
    {
        let path = format!("/proc/self/fd/{}/.", std::os::fd::AsRawFd::as_raw_fd(file));
        Path::new(&path).exists().then(|| path.into())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        None
    }
}

fn line(name: &str, facts: &fs::Metadata) -> String {
    // A name may contain line ends or escape sequences; the list needs one line per entry.
    let name = paths::one_line(name.to_string());
    if facts.is_dir() {
        format!("{name}/")
    } else if facts.is_symlink() {
        format!("{name}@")
    } else if facts.is_file() {
        format!("{name} ({})", size_text(facts.len()))
    } else {
        name
    }
}
