//! `find`: finds files and directories by name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::search::GlobOptions;
use sinew::walk::FileType;

use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Host, HostOptions, arguments, paths, truncate};
use crate::semantics::{Effects, OutputView, Presentation, Semantics, ToolKind, searched};
use crate::tool::{Call, Concurrency, ToolError, ToolOutput};

pub(super) static SPEC: Spec = Spec {
    name: "find",
    description: "Find files and folders by glob, newest first: *.ts at any depth, src/*.ts in src only.",
    parameters,
    guidelines: &[],
    concurrency: Concurrency::Shared,
    flags: PLAIN,
    semantics: Semantics {
        kind: ToolKind::Search,
        effects: Effects { lists_files: true, ..Effects::NONE },
        headline: "pattern",
        subjects: |arguments| searched(arguments, "pattern"),
        presentation: Presentation { verb: "Searches", output: OutputView::Row { plural: "searches" } },
        aliases: &["glob"],
        foreign_names: &["Glob"],
        ..Semantics::UNKNOWN
    },
    offered: always,
    reject_early: None,
    preview: None,
    run: Run::Blocking(run),
};

/// The default number of entries.
const LIMIT: usize = 200;
/// The default time limit of a search in seconds.
const SECONDS: f64 = 5.0;

fn parameters(_: &HostOptions) -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "default: ."},
            "limit": {"type": "integer", "description": "default: 200, at most 1000"},
            "type": {"enum": ["file", "dir", "any"]},
            "hidden": {"type": "boolean", "description": "default: true"},
            "gitignore": {"type": "boolean", "description": "default: true"},
            "sort": {"enum": ["mtime", "path"]},
            "timeout": {"type": "number", "description": "seconds, default: 5"},
        },
        "required": ["pattern"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    limit: Option<i64>,
    r#type: Option<String>,
    hidden: Option<bool>,
    gitignore: Option<bool>,
    sort: Option<String>,
    timeout: Option<f64>,
}

fn run(host: &Host, call: &Call) -> Outcome {
    let arguments: Arguments = arguments::parse(call)?;
    let given = arguments.path.as_deref().unwrap_or(".");
    let root = paths::resolve(host, call, given)?;
    if arguments.pattern.trim().is_empty() {
        return Err(ToolError::Failed("Pattern must not be empty".into()));
    }
    if root.parent().is_none() {
        return Err(ToolError::Failed("Cannot search /: choose a folder below it.".into()));
    }
    let (root, pattern) = named_path(host, call, root, &arguments.pattern)?;
    let facts = std::fs::metadata(&root).map_err(|_| ToolError::Failed(format!("Path not found: {given}")))?;
    let access = host.access(SPEC.name, SPEC.semantics.effects, Some(&call.id), &call.cwd);
    let real =
        if access.is_limited() { std::fs::canonicalize(&root).unwrap_or_else(|_| root.clone()) } else { root.clone() };
    access.check(&real, None).map_err(ToolError::Failed)?;
    if facts.is_file() {
        return Ok(ToolOutput::text(paths::shown(&call.cwd, &root)));
    }
    let seconds = arguments.timeout.filter(|seconds| seconds.is_finite()).unwrap_or(SECONDS).clamp(0.5, 60.0);
    let limit = arguments.limit.map_or(LIMIT, |limit| usize::try_from(limit.clamp(1, 1_000)).unwrap_or(LIMIT));
    let options = GlobOptions {
        file_type: match arguments.r#type.as_deref() {
            Some("file") => Some(FileType::File),
            Some("dir") => Some(FileType::Dir),
            _ => None,
        },
        hidden: arguments.hidden.unwrap_or(true),
        gitignore: arguments.gitignore.unwrap_or(true),
        // A background job may change files at any time.
        cache: !host.jobs.are_running(),
        max_results: Some(limit),
        sort_by_mtime: arguments.sort.as_deref() != Some("path"),
        global_excludes: host.options.searches.sinew().global_excludes.clone(),
        ..GlobOptions::new(&root, pattern)
    };
    let cancel = call.cancel.clone().with_timeout(Duration::from_secs_f64(seconds));
    let (found, partial) = host.options.searches.glob_so_far(&options, &cancel)?;
    // The directory may have been replaced since it was checked.
    let real = found.scan.root();
    access.check(real, None).map_err(ToolError::Failed)?;
    let mut hidden = 0;
    let mut names = Vec::new();
    for hit in found.matches() {
        let path = root.join(&*hit.path);
        if access.is_limited() && access.check(&real.join(&*hit.path), None).is_err() {
            hidden += 1;
            continue;
        }
        let name = paths::shown(&call.cwd, &path);
        names.push(if hit.file_type == FileType::Dir { name + "/" } else { name });
    }
    let total = found.total_matches.saturating_sub(hidden);
    Ok(page(names.into_iter(), total, limit, &found.warnings, partial.then_some(seconds)))
}

/// Formats the result for the model from `names`, which are `total` without the limit. `late` is the number of seconds
/// after which the search timed out.
fn page(
    names: impl Iterator<Item = String>,
    total: usize,
    limit: usize,
    warnings: &[String],
    late: Option<f64>,
) -> ToolOutput {
    let mut text = String::new();
    names.for_each(|name| {
        text.push_str(&name);
        text.push('\n');
    });
    if text.is_empty() {
        text.push_str("No files found matching pattern");
    }
    let cut = truncate::head(&text, usize::MAX, truncate::BYTES);
    let mut output = cut.text.to_string();
    if cut.by.is_some() || total > limit {
        output.push_str(&format!("\n[{} of {total} shown. Refine the pattern.]", cut.lines));
    }
    for warning in warnings.iter().take(5) {
        output.push_str(&format!("\n[{warning}]"));
    }
    let mut details = serde_json::Map::new();
    if let Some(seconds) = late {
        output.push_str(&format!("\n[Timed out after {seconds}s; results are partial.]"));
        details.insert("timedOut".into(), true.into());
    }
    if cut.by.is_some() {
        details.insert("meta".into(), json!({"truncation": cut.meta("head", 1, None)}));
    } else if total > limit {
        details.insert("resultLimitReached".into(), limit.into());
        details.insert("total".into(), total.into());
    }
    let output = ToolOutput::text(output);
    if details.is_empty() { output } else { output.with_details(details.into()) }
}

/// Converts a pattern that is the path of a directory or file: it matches everything below it, or the file itself.
fn named_path(host: &Host, call: &Call, root: PathBuf, pattern: &str) -> Result<(PathBuf, String), ToolError> {
    let in_root = root.join(pattern.trim_start_matches("./"));
    let absolute = pattern.starts_with('/') || pattern.starts_with('~');
    let path = if absolute { paths::resolve(host, call, pattern)? } else { in_root };
    let plain = !pattern.contains(['*', '?', '[', '{']) && path.parent().is_some();
    // A name without a slash matches at any depth.
    if plain && pattern.contains('/') && (path.is_dir() || path.is_file()) {
        return Ok((path, "**/*".into()));
    }
    if plain && path.is_dir() {
        return Ok((path, "**/*".into()));
    }
    if absolute || pattern.split('/').any(|part| part == "..") {
        return below(host, call, &root, pattern);
    }
    Ok((root, pattern.to_string()))
}

/// Resolves a pattern that leaves the directory: returns the directory that it leads to, and the rest of the pattern.
fn below(host: &Host, call: &Call, root: &Path, pattern: &str) -> Result<(PathBuf, String), ToolError> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let plain = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{'])).count();
    let (folder, rest) = parts.split_at(plain.min(parts.len() - 1));
    let folder = paths::resolve_from(host, root, &(folder.join("/") + "/"));
    if folder.parent().is_none() {
        return Err(ToolError::Failed("Cannot search /: choose a folder below it.".into()));
    }
    if !folder.is_dir() {
        return Err(ToolError::Failed(format!("Path not found: {}", paths::shown(&call.cwd, &folder))));
    }
    // A name without a slash would match at any depth.
    let rest = if rest.len() == 1 { format!("./{}", rest[0]) } else { rest.join("/") };
    Ok((folder, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], total: usize, late: Option<f64>, text: &str, details: Value) {
        let output = page(names.iter().map(ToString::to_string), total, 2, &[], late);
        assert_eq!(sinew_llm::message::text_of(&output.content), text);
        assert_eq!(output.details.unwrap_or_default(), details);
    }

    #[test]
    fn partial_matches_are_shown_after_a_timeout() {
        check(&["a", "b/"], 2, None, "a\nb/", Value::Null);
        check(&["a"], 1, Some(5.0), "a\n[Timed out after 5s; results are partial.]", json!({"timedOut": true}));
        let text = "No files found matching pattern\n[Timed out after 0.5s; results are partial.]";
        check(&[], 0, Some(0.5), text, json!({"timedOut": true}));
        let text = "a\nb\n[2 of 9 shown. Refine the pattern.]\n[Timed out after 5s; results are partial.]";
        let details = json!({"timedOut": true, "resultLimitReached": 2, "total": 9});
        check(&["a", "b"], 9, Some(5.0), text, details);
    }
}
