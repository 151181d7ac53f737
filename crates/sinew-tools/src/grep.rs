//! `grep`: finds lines that match a regular expression.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::base::{CancelToken, ErrorCode};
use sinew::search::{GrepOptions, GrepResult, Mode, Row};
use sinew_session::files::{open_plain, opened_path};

use super::settings::EditMode;
use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Access, Host, HostOptions, arguments, paths, truncate};
use crate::document::Document;
use crate::notebook;
use crate::read_tracker;
use crate::semantics::{Effects, OutputView, Presentation, Semantics, Subject, ToolKind, searched};
use crate::snapshots;
use crate::tool::{Call, Concurrency, ToolError, ToolOutput};

pub(super) static SPEC: Spec = Spec {
    name: "grep",
    description: "Search file contents with a regular expression (Rust syntax). Ignored files are left out, hidden ones are \
                  searched; lines are cut to 500 columns.",
    parameters,
    guidelines: &["Use grep and find, not rg, grep, find or ls in bash."],
    concurrency: Concurrency::Shared,
    flags: PLAIN,
    semantics: Semantics {
        kind: ToolKind::Search,
        effects: Effects { reads_files: true, lists_files: true, ..Effects::NONE },
        headline: "pattern",
        subjects,
        presentation: Presentation { verb: "Searches", output: OutputView::Row { plural: "searches" } },
        foreign_names: &["Grep"],
        ..Semantics::UNKNOWN
    },
    offered: always,
    reject_early: None,
    preview: None,
    run: Run::Blocking(run),
};

/// The default number of rows.
const LIMIT: u32 = 100;
/// The maximum number of characters per line.
const COLUMNS: u32 = 500;
/// The time limit of a search.
const TIME: Duration = Duration::from_secs(30);

/// Returns the paths to search. One text may contain several.
fn subjects(arguments: &Value) -> Vec<Subject> {
    let mut found = searched(arguments, "glob");
    if let Some(Value::String(list)) = arguments.get("path") {
        let parts = list.split([',', ' ', '\n']).map(str::trim).filter(|part| !part.is_empty() && part != list);
        found.extend(parts.map(|part| Subject::OtherPath(part.to_string())));
    }
    found
}

fn parameters(_: &HostOptions) -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                "description": "files and folders",
            },
            "glob": {"type": "string", "description": "e.g. *.ts"},
            "type": {"type": "string", "description": "e.g. rust"},
            "ignoreCase": {"type": "boolean"},
            "literal": {"type": "boolean"},
            "multiline": {"type": "boolean"},
            "context": {"type": "integer", "minimum": 0, "maximum": 100},
            "limit": {"type": "integer", "minimum": 1, "description": "default: 100"},
            "offset": {"type": "integer", "minimum": 0},
            "mode": {"enum": ["content", "files", "count"]},
        },
        "required": ["pattern"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    pattern: String,
    path: Option<Paths>,
    glob: Option<String>,
    r#type: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    multiline: bool,
    context: Option<u32>,
    limit: Option<u32>,
    #[serde(default)]
    offset: u32,
    #[serde(default)]
    mode: OutputMode,
}

/// One text may contain several paths.
#[derive(Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum OutputMode {
    #[default]
    Content,
    Files,
    Count,
}

fn run(host: &Host, call: &Call) -> Outcome {
    let arguments: Arguments = arguments::parse(call)?;
    if arguments.pattern.is_empty() {
        return Err(ToolError::Failed("Pattern must not be empty".into()));
    }
    let (roots, missing) = roots(host, call, arguments.path.as_ref())?;
    let access = host.access(SPEC.name, SPEC.semantics.effects, Some(&call.id), &call.cwd);
    for (root, _) in roots.iter().filter(|_| access.is_limited()) {
        let opened = std::fs::File::open(root).map_err(|error| error.to_string());
        opened.and_then(|opened| access.check_opened(&opened, root)).map_err(ToolError::Failed)?;
    }
    let accept = access.accept();
    let limit = arguments.limit.unwrap_or(LIMIT);
    let cancel = call.cancel.clone().with_timeout(TIME);
    let mut page = Page::new(arguments.mode, access);
    let (mut skip, mut left) = (arguments.offset, limit);
    let mut literal = false;
    let fair = arguments.mode == OutputMode::Content && roots.len() == 1 && roots[0].0.is_dir();
    for (root, name) in &roots {
        let mut options = options(host, &arguments, root, literal);
        options.accept.clone_from(&accept);
        options.max_count = Some(left);
        options.offset = if fair { 0 } else { skip };
        let mut result = search(host, &options, &cancel);
        if let Err(error) = &result
            && error.code() == ErrorCode::InvalidArgument
            && !literal
            && unbalanced(&arguments.pattern)
        {
            literal = true;
            options.literal = true;
            result = search(host, &options, &cancel);
        }
        let result = match result {
            Err(error) if error.code() == ErrorCode::TimedOut => {
                let seconds = TIME.as_secs();
                let text = format!("The search took longer than {seconds} s. Search a smaller folder, or use a glob.");
                return Err(ToolError::Failed(text));
            }
            other => other?,
        };
        if fair && (result.limit_reached || skip > 0) {
            page.in_turns(host, &options, (skip as usize, limit as usize), call, &cancel)?;
            break;
        }
        let rows = result.rows().count();
        page.add(host, &result, root, name, call);
        left -= u32::try_from(rows).unwrap_or(u32::MAX).min(left);
        if rows > 0 || result.limit_reached {
            skip = 0;
        } else if skip > 0 && roots.len() > 1 {
            // All rows of this root were skipped; the number is determined with a search without an offset.
            let all = search(host, &GrepOptions { offset: 0, max_count: Some(skip), ..options }, &cancel)?;
            skip -= u32::try_from(all.rows().count()).unwrap_or(u32::MAX).min(skip);
        }
        page.limited |= result.limit_reached;
        if left == 0 {
            page.limited |= roots.last().is_some_and(|last| last.0 != *root);
            break;
        }
    }
    Ok(page.output(arguments.offset, missing, literal))
}

fn search(host: &Host, options: &GrepOptions, cancel: &CancelToken) -> sinew::base::Result<GrepResult> {
    host.options.searches.grep(options, cancel)
}

fn options(host: &Host, arguments: &Arguments, root: &std::path::Path, literal: bool) -> GrepOptions {
    GrepOptions {
        glob: arguments.glob.clone().map(Into::into),
        file_type: arguments.r#type.clone(),
        literal: arguments.literal || literal,
        ignore_case: arguments.ignore_case,
        multiline: arguments.multiline || arguments.pattern.contains("\\n") || arguments.pattern.contains('\n'),
        context: arguments.context,
        max_columns: Some(COLUMNS),
        global_excludes: host.options.searches.sinew().global_excludes.clone(),
        mode: match arguments.mode {
            OutputMode::Content => Mode::Content,
            OutputMode::Files => Mode::FilesWithMatches,
            OutputMode::Count => Mode::Count,
        },
        ..GrepOptions::new(arguments.pattern.clone(), root)
    }
}

/// A path to search, and its displayed name.
type Root = (PathBuf, String);

/// Returns the files and directories to search, and the names of missing ones. A text that is not an existing path may
/// contain several paths, separated by commas or blanks.
fn roots(host: &Host, call: &Call, given: Option<&Paths>) -> Result<(Vec<Root>, Vec<String>), ToolError> {
    let root = |text: &str| -> Result<Option<Root>, ToolError> {
        let path = paths::resolve(host, call, text)?;
        Ok(path.exists().then(|| (path.clone(), paths::shown(&call.cwd, &path))))
    };
    let parts: Vec<&str> = match given {
        None => vec!["."],
        Some(Paths::Many(list)) => list.iter().map(String::as_str).collect(),
        Some(Paths::One(text)) => match root(text)? {
            Some(root) => return Ok((vec![root], Vec::new())),
            None => text.split([',', ' ', '\n']).map(str::trim).filter(|part| !part.is_empty()).collect(),
        },
    };
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for part in &parts {
        match root(part)? {
            Some(root) => found.push(root),
            None => missing.push((*part).to_string()),
        }
    }
    if found.is_empty() {
        return Err(ToolError::Failed(format!("Path not found: {}", parts.join(", "))));
    }
    Ok((found, missing))
}

/// Returns true if a bracket is unbalanced: the pattern was then meant as literal text.
fn unbalanced(pattern: &str) -> bool {
    [(b'(', b')'), (b'{', b'}')].iter().any(|(open, close)| {
        let count = |wanted: u8| pattern.bytes().filter(|byte| *byte == wanted).count();
        count(*open) != count(*close)
    })
}

/// Distributes the first `total` matches among the files in rounds of one match per file.
fn shares(counts: &[usize], total: usize) -> Vec<usize> {
    let mut shares = vec![0; counts.len()];
    let mut left = total;
    let mut open: Vec<usize> = (0..counts.len()).collect();
    loop {
        open.retain(|file| shares[*file] < counts[*file]);
        // The number of rounds in which every file still has matches.
        let rounds = open.iter().map(|file| counts[*file] - shares[*file]).min().unwrap_or(0);
        let rounds = rounds.min(left.checked_div(open.len()).unwrap_or(0));
        if rounds == 0 {
            open.iter().take(left).for_each(|file| shares[*file] += 1);
            return shares;
        }
        open.iter().for_each(|file| shares[*file] += rounds);
        left -= rounds * open.len();
    }
}

/// The result for the model.
struct Page {
    mode: OutputMode,
    text: String,
    matches: usize,
    files: usize,
    limited: bool,
    cut_lines: bool,
    skipped: [u32; 3],
    warnings: Vec<String>,
    /// The file whose block is being written.
    open: Option<ShownFile>,
    /// The number of lines of the text.
    lines: usize,
    access: Access,
}

/// A file and the lines of it that the model sees.
struct ShownFile {
    path: PathBuf,
    content: Vec<u8>,
    shown: Vec<(usize, String)>,
}

impl ShownFile {
    /// Larger files are not read again to remember single lines.
    const LARGEST: u64 = 4 << 20;

    fn file(path: &std::path::Path, access: &Access) -> Option<ShownFile> {
        let file = open_plain(path).ok()?;
        let small = file.metadata().ok()?.len() <= ShownFile::LARGEST;
        access.check_opened(&file, path).ok().filter(|()| small)?;
        let path = opened_path(&file, path).ok()?;
        let mut content = Vec::new();
        file.take(ShownFile::LARGEST).read_to_end(&mut content).ok()?;
        Some(ShownFile { path, content, shown: Vec::new() })
    }
}

impl Page {
    fn new(mode: OutputMode, access: Access) -> Page {
        let (text, warnings) = (String::new(), Vec::new());
        Page {
            mode,
            text,
            matches: 0,
            files: 0,
            limited: false,
            cut_lines: false,
            skipped: [0; 3],
            warnings,
            open: None,
            lines: 0,
            access,
        }
    }

    fn add(&mut self, host: &Host, result: &GrepResult, root: &std::path::Path, name: &str, call: &Call) {
        let mut last_file: Option<String> = None;
        let mut last_line = 0;
        let tagged = host.options.settings.edit.mode == EditMode::Hashline;
        for row in result.rows() {
            let path = if root.is_file() {
                name.to_string()
            } else if name == "." {
                paths::one_line(row.path.to_string())
            } else {
                paths::shown(&call.cwd, &root.join(row.path))
            };
            self.matches += row.match_count.unwrap_or(1) as usize;
            match self.mode {
                OutputMode::Files => self.text.push_str(&format!("{path}\n")),
                OutputMode::Count => self.text.push_str(&format!("{path}:{}\n", row.match_count.unwrap_or(0))),
                OutputMode::Content => {
                    let new_file = last_file.as_deref() != Some(row.path);
                    let first = row.before.first().map_or(row.line_number, |line| line.line_number);
                    if new_file {
                        self.text.push_str(if self.text.is_empty() { "" } else { "\n" });
                        self.remember(host);
                        let file = if root.is_file() { root.to_path_buf() } else { root.join(row.path) };
                        self.open = ShownFile::file(&file, &self.access);
                        // The lines of a notebook's JSON are not those that an edit by lines changes.
                        match self.open.as_ref().filter(|open| tagged && !notebook::is_name(&open.path)) {
                            Some(open) => {
                                self.text.push_str(&format!("@{path}#{}\n", snapshots::tag(&open.content)));
                            }
                            None => self.text.push_str(&format!("{path}\n")),
                        }
                    } else if first > last_line + 1 && self.has_context(&row) {
                        self.text.push_str("--\n");
                    }
                    last_line = self.row(&row);
                }
            }
            if last_file.as_deref() != Some(row.path) {
                self.files += 1;
                last_file = Some(row.path.to_string());
            }
        }
        self.remember(host);
        self.note(result);
    }

    /// Adds the matches `from .. from + count` below a directory, counted in rounds of one match per file.
    fn in_turns(
        &mut self,
        host: &Host,
        options: &GrepOptions,
        (from, count): (usize, usize),
        call: &Call,
        cancel: &CancelToken,
    ) -> Result<(), ToolError> {
        let to = from.saturating_add(count);
        // The n-th match in rounds is in one of the first n files, so later files are not needed.
        let files = Some(u32::try_from(to).unwrap_or(u32::MAX));
        let counted = GrepOptions { mode: Mode::Count, offset: 0, max_count: files, context: None, ..options.clone() };
        let counted = search(host, &counted, cancel)?;
        self.note(&counted);
        let rows: Vec<(PathBuf, usize)> =
            counted.rows().map(|row| (options.path.join(row.path), row.match_count.unwrap_or(0) as usize)).collect();
        let counts: Vec<usize> = rows.iter().map(|(_, count)| *count).collect();
        let (first, last) = (shares(&counts, from), shares(&counts, to));
        for ((path, _), (from, to)) in rows.iter().zip(first.iter().zip(&last)).filter(|(_, (from, to))| from < to) {
            let part = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            let (offset, max_count) = (part(*from), Some(part(to - from)));
            let one =
                GrepOptions { offset, max_count, glob: None, file_type: None, path: path.clone(), ..options.clone() };
            let name = paths::shown(&call.cwd, path);
            match search(host, &one, cancel) {
                Ok(result) => self.add(host, &result, path, &name, call),
                Err(error) if cancel.is_cancelled() => return Err(error.into()),
                // The file was deleted since it was counted, or its name is not UTF-8; the other files are still shown.
                Err(_) => self.warnings.push(format!("{name}: its matches cannot be shown. Use bash for this file")),
            }
        }
        self.limited = counted.limit_reached || last.iter().sum::<usize>() < counts.iter().sum();
        Ok(())
    }

    fn note(&mut self, result: &GrepResult) {
        let skipped = result.skipped;
        for (sum, more) in self.skipped.iter_mut().zip([skipped.binary, skipped.too_large, skipped.unreadable]) {
            *sum += more;
        }
        self.warnings.extend(result.warnings.iter().take(5).cloned());
    }

    /// Records a line that will be written, unless it will be cut off.
    fn shows(&mut self, number: u32, line: &str) {
        self.lines += 1;
        // A file header or a gap needs a line of its own.
        let fits =
            self.text.len() + line.len() + 16 <= truncate::BYTES && self.lines + self.files < truncate::LINES / 2;
        if let (true, Some(open)) = (fits, &mut self.open) {
            open.shown.push((number as usize, line.to_string()));
        }
    }

    /// Finishes the block of a file.
    fn remember(&mut self, host: &Host) {
        let Some(open) = self.open.take() else { return };
        host.seen.found(&open.path, &open.content, open.shown.iter().map(|(number, line)| (*number, line.as_str())));
        if host.options.settings.edit.mode == EditMode::Replace {
            return;
        }
        let document = Document::open(&open.path, &open.content);
        let lines: Vec<&[u8]> = read_tracker::lines(document.text()).collect();
        let same = |(number, text): &&(usize, String)| lines.get(number - 1) == Some(&text.as_bytes());
        let shown: Vec<_> = open.shown.iter().filter(same).map(|(number, _)| number - 1..*number).collect();
        host.snapshots.showed(&open.path, &open.content, &shown);
    }

    fn has_context(&self, row: &Row<'_>) -> bool {
        !row.before.is_empty() || !row.after.is_empty() || self.text.ends_with("-\n")
    }

    /// Adds a match with its context and returns the number of the last line.
    fn row(&mut self, row: &Row<'_>) -> u32 {
        for line in &row.before {
            self.shows(line.line_number, line.line);
            self.text.push_str(&format!("{}-{}\n", line.line_number, line.line));
        }
        let mut last = row.line_number;
        for (number, line) in (row.line_number..).zip(row.line.split('\n')) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            self.shows(number, line);
            self.text.push_str(&format!("{number}:{line}\n"));
            last = number;
        }
        self.cut_lines |= row.truncated;
        for line in &row.after {
            self.shows(line.line_number, line.line);
            self.text.push_str(&format!("{}-{}\n", line.line_number, line.line));
            last = line.line_number;
        }
        last
    }

    fn output(self, offset: u32, missing: Vec<String>, literal: bool) -> ToolOutput {
        let mut notes = Vec::new();
        let rows = self.matches;
        if literal {
            notes.push(
                "The pattern is not a regular expression (unbalanced bracket), so it was searched as text.".to_string(),
            );
        }
        if self.limited {
            let (shown, next) = if self.mode == OutputMode::Content {
                (rows, offset as usize + rows)
            } else {
                (self.files, offset as usize + self.files)
            };
            let what = if self.mode == OutputMode::Content { "matches" } else { "files" };
            notes.push(format!("{shown} {what} shown. Use offset={next} for more, or refine the pattern."));
        }
        if self.cut_lines {
            notes.push("Some lines cut to 500 columns. Use read for the whole line.".to_string());
        }
        let [binary, large, unreadable] = self.skipped;
        let skipped: Vec<String> = [(binary, "binary"), (large, "too large"), (unreadable, "unreadable")]
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{count} {why}"))
            .collect();
        if !skipped.is_empty() {
            notes.push(format!("Files not searched: {}.", skipped.join(", ")));
        }
        if !missing.is_empty() {
            notes.push(format!("Not found: {}.", missing.join(", ")));
        }
        notes.extend(self.warnings);
        let cut = truncate::head(&self.text, truncate::LINES, truncate::BYTES);
        let mut details = json!({
            "matchCount": self.matches,
            "fileCount": self.files,
            "limitReached": self.limited,
            "linesTruncated": self.cut_lines,
        });
        if !missing.is_empty() {
            details["missingPaths"] = json!(missing);
        }
        if cut.by.is_some() {
            details["meta"] = json!({"truncation": cut.meta("head", 1, None)});
            notes.push(format!("Showing lines 1-{} of {}. Refine the pattern.", cut.lines, cut.total_lines));
        }
        let mut text = if self.files == 0 { "No matches found".to_string() } else { cut.text.to_string() };
        for note in notes {
            text.push_str(&format!("\n[{note}]"));
        }
        ToolOutput::text(text).with_details(details)
    }
}
