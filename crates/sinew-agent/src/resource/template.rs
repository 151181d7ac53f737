//! Commands in files and prompt templates: texts with placeholders for arguments.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::options::ResourceOptions;
use super::source::{Origin, Reader, Yaml, has_extension};

/// The number of characters of the first line that replace a missing description.
const FIRST: usize = 60;

/// A text that `/<name> arguments` inserts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The name after the slash. The name of a command in a folder begins with the folder and `:`.
    pub name: String,
    /// A one-line description for lists.
    pub description: String,
    /// A hint about its arguments, for lists.
    pub hint: Option<String>,
    /// The model that it requests.
    pub model: Option<String>,
    /// The thinking level that it requests.
    pub thinking: Option<String>,
    /// The text.
    pub body: String,
    /// Its file.
    pub path: PathBuf,
    /// Its owner.
    pub origin: Origin,
    /// Whether it is a command; otherwise it is a prompt template.
    pub command: bool,
}

impl Template {
    /// Returns its text with these arguments. If it has no placeholder, the arguments are appended.
    #[must_use]
    pub fn prompt(&self, typed: &str) -> String {
        let (text, is_used) = substitute(&self.body, typed);
        match is_used || typed.trim().is_empty() {
            true => text,
            false => format!("{}\n\n{}", text.trim_end(), typed.trim()),
        }
    }
}

/// Splits arguments at whitespace. Whitespace between single or double quotes is part of an argument if the quotes
/// enclose all of it; other quotes are text, so that an apostrophe stays: `it's`. There are no escapes.
#[must_use]
pub fn arguments(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_end = |after: &str| after.is_empty() || after.starts_with(char::is_whitespace);
        let quoted = ['"', '\''].contains(&first).then(|| {
            let ends = rest[1..].match_indices(first).map(|(at, _)| at + 1);
            ends.filter(|end| is_end(&rest[end + 1..])).min()
        });
        let (word, after) = match quoted.flatten() {
            Some(end) => (&rest[1..end], &rest[end + 1..]),
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word.to_string());
        rest = after.trim_start();
    }
    words
}

/// Splits paths at whitespace. Single and double quotes preserve whitespace anywhere in a path; there are no escapes.
/// Returns `None` if a quote is not closed.
#[must_use]
pub fn closed_arguments(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Replaces `$1`…`$9`, `${1}`, `$@`, `${@:2}` (from the second on) and `${@:2:3}` (three of them) by arguments, and
/// `$ARGUMENTS` or `${ARGUMENTS}` by the typed text with its quotes and line breaks. Placeholders inside an argument are not replaced.
/// Returns the text, and whether it has a placeholder.
///
/// A missing argument is empty. A `$` and a digit may also be an amount of money, and stays:
///
/// - if more digits follow, also after a point or a comma: `$10`, `$5.00`, `$1,000`;
/// - if this argument is missing and the text does not contain every lower number: `$5` without `$1` to `$4`.
#[must_use]
pub fn substitute(text: &str, typed: &str) -> (String, bool) {
    let arguments = arguments(typed);
    let taken = positions(text).max(arguments.len());
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_used = false;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_name = |behind: &&str| !behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let as_typed = rest.strip_prefix(AS_TYPED).filter(is_name).or_else(|| rest.strip_prefix(IN_BRACES));
        if let Some(behind) = as_typed {
            out.push_str(typed.trim());
            (rest, is_used) = (behind, true);
            continue;
        }
        let is_digit = rest[1..].starts_with(|c: char| c.is_ascii_digit());
        match place(&rest[1..]).filter(|(_, from, _)| !is_digit || *from < taken) {
            Some((length, from, count)) => {
                is_used = true;
                let last = from.saturating_add(count).min(arguments.len());
                out.push_str(&arguments.get(from..last).unwrap_or_default().join(" "));
                rest = &rest[1 + length..];
            }
            None => {
                out.push('$');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    (out, is_used)
}

/// Returns the largest number for which a text contains all placeholders from `$1` (or `${1}`) on.
fn positions(text: &str) -> usize {
    let places = text.split('$').skip(1).filter_map(place);
    let found: HashSet<usize> = places.filter(|(_, _, count)| *count == 1).map(|(_, from, _)| from).collect();
    (0..).take_while(|position| found.contains(position)).count()
}

/// The placeholder for the arguments as they were typed.
const AS_TYPED: &str = "$ARGUMENTS";
const IN_BRACES: &str = "${ARGUMENTS}";

/// Parses a placeholder after a `$`: its length, the index of the first argument, and the number of arguments.
fn place(text: &str) -> Option<(usize, usize, usize)> {
    if text.starts_with('@') {
        return Some((1, 0, usize::MAX));
    }
    if let Some(digit) = text.chars().next().and_then(|c| c.to_digit(10)) {
        let behind = text[1..].strip_prefix(['.', ',']).unwrap_or(&text[1..]);
        let is_amount = digit == 0 || behind.starts_with(|c: char| c.is_ascii_digit());
        return (!is_amount).then(|| (1, digit as usize - 1, 1));
    }
    let inner = &text.strip_prefix('{')?[..text.find('}')? - 1];
    let length = inner.len() + 2;
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<usize>().ok())?;
    let Some(slice) = inner.strip_prefix("@:") else {
        let index = number(inner)?.checked_sub(1)?;
        return Some((length, index, 1));
    };
    match slice.split_once(':') {
        Some((from, count)) => Some((length, number(from)?.saturating_sub(1), number(count)?)),
        None => Some((length, number(slice)?.saturating_sub(1), usize::MAX)),
    }
}

/// Loads commands first, then templates. If two have the same name, the first is used.
pub(super) fn load(options: &ResourceOptions, reader: &mut Reader) -> Vec<Template> {
    let folders = &options.folders;
    let mut all: Vec<Template> = Vec::new();
    for path in &options.named_templates {
        let named = if path.is_dir() { files(path, reader) } else { vec![path.clone()] };
        add_prompts(&mut all, named, Origin::Flag, reader);
    }
    for (root, origin) in [(&folders.project, Origin::Project), (&folders.agent, Origin::User)] {
        let commands = root.join("commands");
        for path in reader.tree(&commands, &is_template) {
            let name = path.strip_prefix(&commands).unwrap_or(&path).with_extension("");
            let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
            add(&mut all, &path, parts.join(":"), origin, true, reader);
        }
        if options.templates {
            let prompts = files(&root.join("prompts"), reader);
            add_prompts(&mut all, prompts, origin, reader);
        }
    }
    all
}

fn add_prompts(all: &mut Vec<Template>, paths: Vec<PathBuf>, origin: Origin, reader: &mut Reader) {
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        add(all, &path, name, origin, false, reader);
    }
}

/// A broken link counts, so that it is reported.
fn is_template(path: &Path) -> bool {
    has_extension(path, &["md"]) && !path.is_dir()
}

fn files(folder: &Path, reader: &mut Reader) -> Vec<PathBuf> {
    reader.entries(folder).into_iter().filter(|path| is_template(path)).collect()
}

fn add(all: &mut Vec<Template>, path: &Path, name: String, origin: Origin, command: bool, reader: &mut Reader) {
    if name.is_empty() || name.contains(char::is_whitespace) {
        return reader.warn(path, "not used: the name of a command cannot contain spaces");
    }
    if all.iter().any(|other| other.name == name) {
        // A project's command replaces a user's command of the same name, so this is not a warning.
        return;
    }
    let Some(front) = reader.front(path, Yaml::Lenient) else { return };
    let first = || front.body.lines().map(str::trim).find(|line| !line.is_empty()).map(shortened);
    all.push(Template {
        description: front.text("description").or_else(first).unwrap_or_default(),
        hint: front.text("argument-hint"),
        model: front.text("model"),
        thinking: front.text("thinking"),
        name,
        body: front.body,
        path: path.to_path_buf(),
        origin,
        command,
    });
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(FIRST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_string(),
    }
}
