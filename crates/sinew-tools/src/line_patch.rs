//! Parses a patch: sections of files, each a list of changes by line number.

use std::ops::Range;

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) path: String,
    /// Eight hexadecimal digits; `None` creates the file.
    pub(super) tag: Option<String>,
    pub(super) ops: Vec<Op>,
}

/// One change: the lines `at` (from 0) are replaced by `body`. An empty range is an insertion point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) at: ChangePosition,
    pub(super) body: Vec<String>,
    /// True if the change has no body.
    pub(super) deletes: bool,
}

/// The position of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChangePosition {
    /// These lines.
    Lines(Range<usize>),
    /// Before this line, or after the previous one; `named` is the line named in the patch.
    Between { at: usize, named: usize },
    /// Before the first line.
    Start,
    /// After the last line.
    End,
}

/// A patch and warnings about it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Patch {
    pub(super) sections: Vec<Section>,
    pub(super) notes: Vec<String>,
}

const OPS: &str = "Write \"replace 3..5\", \"delete 3..5\", \"insert before 3\", \"insert after 3\", \"insert start\" or \
                   \"insert end\", then each new line behind a |";

/// Parses a patch.
///
/// # Errors
/// Returns a text with the line number and the correct syntax if the patch is invalid.
pub(super) fn parse(input: &str) -> Result<Patch, String> {
    let mut patch = Patch::default();
    // True directly after a change, where a body line is allowed.
    let mut open = false;
    for (index, line) in input.lines().enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let fault = |text: String| format!("Invalid patch, line {}: {text}", index + 1);
        if let Some(text) = line.strip_prefix('|') {
            let op = patch.sections.last_mut().and_then(|section| section.ops.last_mut()).filter(|_| open);
            let Some(op) = op else {
                return Err(fault(
                    "a line with | must directly follow a replace or an insert. Write a single | for an \
                                  empty line."
                        .into(),
                ));
            };
            op.body.push(text.to_string());
            continue;
        }
        let text = line.trim();
        if text.is_empty() || text == "*** Begin Patch" || text == "*** End Patch" {
            open = false;
            continue;
        }
        if let Some(what) = foreign(text) {
            return Err(fault(format!("{what} are not supported here. {OPS}.")));
        }
        if let Some(header) = text.strip_prefix('@') {
            patch.sections.push(section(header).map_err(fault)?);
            open = false;
            continue;
        }
        let Some(section) = patch.sections.last_mut() else {
            return Err(fault(
                "a patch must begin with the header of a file, @path#tag, as the tool read shows it.".into(),
            ));
        };
        let op = op(text).map_err(fault)?;
        open = !op.deletes;
        section.ops.push(op);
    }
    check(&mut patch)?;
    Ok(patch)
}

/// Returns the paths in the headers of a patch that may be incomplete. An invalid header counts with its whole text.
pub(super) fn paths(input: &str) -> impl Iterator<Item = String> {
    let header = |line: &str| match line.starts_with('|') {
        true => None,
        false => line.trim().strip_prefix('@').map(|header| match section(header) {
            Ok(section) => section.path,
            Err(_) => header.trim().to_string(),
        }),
    };
    input.lines().filter_map(header).filter(|path| !path.is_empty()).collect::<Vec<_>>().into_iter()
}

fn check(patch: &mut Patch) -> Result<(), String> {
    if patch.sections.is_empty() {
        return Err("The patch is empty: write @path#tag and changes below it.".into());
    }
    for Section { path, ops, tag } in &mut patch.sections {
        if ops.is_empty() {
            return Err(format!("No changes for {path}. {OPS}."));
        }
        for op in ops {
            if !op.deletes && op.body.is_empty() {
                return Err(format!("A change of {path} has no new lines: write each one after a |, or use delete."));
            }
            if tag.is_none() && !matches!(op.at, ChangePosition::Start | ChangePosition::End) {
                return Err(format!("{path} is a new file (#new) without lines: use insert start."));
            }
            if without_numbers(op) {
                patch.notes.push(format!("Line numbers were removed from the new lines of {path}"));
            }
        }
    }
    Ok(())
}

/// Removes the prefix `<n>:` from a body if all lines have it and the numbers match the position, because they were
/// then copied from a read.
fn without_numbers(op: &mut Op) -> bool {
    let first = match op.at {
        ChangePosition::Lines(ref range) => range.start + 1..=range.end,
        ChangePosition::Between { at, .. } => at..=at + 1,
        ChangePosition::Start => 1..=1,
        ChangePosition::End => return false,
    };
    let numbers: Option<Vec<usize>> =
        op.body.iter().map(|line| line.split_once(':')?.0.trim_start().parse::<usize>().ok()).collect();
    let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else { return false };
    let follow = numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    if !follow || !first.contains(&numbers[0]) {
        return false;
    }
    for line in &mut op.body {
        *line = line.split_once(':').map_or_else(String::new, |(_, rest)| rest.to_string());
    }
    true
}

/// Recognises other patch formats by their markers.
fn foreign(line: &str) -> Option<&'static str> {
    if line.starts_with("@@") || line.starts_with("--- ") || line.starts_with("+++ ") {
        return Some("unified diffs");
    }
    if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark)) {
        return Some("SEARCH/REPLACE blocks");
    }
    if line.starts_with('+') || line.starts_with('-') {
        return Some("lines with + or - of a diff");
    }
    line.starts_with("*** ").then_some("patches with ***")
}

fn section(header: &str) -> Result<Section, String> {
    let wrong = || {
        format!("\"@{header}\" is not a file header: write @path#tag, with the tag that the tool read shows, or #new.")
    };
    let (path, tag) = header.rsplit_once('#').ok_or_else(wrong)?;
    let path = path.trim().to_string();
    if path.is_empty() {
        return Err(wrong());
    }
    let tag = match tag.trim() {
        "new" => None,
        tag if tag.len() == 8 && tag.bytes().all(|byte| byte.is_ascii_hexdigit()) => Some(tag.to_ascii_lowercase()),
        _ => return Err(wrong()),
    };
    Ok(Section { path, tag, ops: Vec::new() })
}

fn op(line: &str) -> Result<Op, String> {
    let wrong = || format!("\"{}\" is not a change. {OPS}.", line.chars().take(80).collect::<String>());
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = match words.as_slice() {
        ["replace" | "delete", range] => ChangePosition::Lines(range_of(range).ok_or_else(wrong)?),
        ["insert", "before", line] => {
            let named = number(line).ok_or_else(wrong)?;
            ChangePosition::Between { at: named - 1, named }
        }
        ["insert", "after", line] => {
            let named = number(line).ok_or_else(wrong)?;
            ChangePosition::Between { at: named, named }
        }
        ["insert", "start"] => ChangePosition::Start,
        ["insert", "end"] => ChangePosition::End,
        _ => return Err(wrong()),
    };
    Ok(Op { at, body: Vec::new(), deletes: words[0] == "delete" })
}

fn range_of(text: &str) -> Option<Range<usize>> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some(first - 1..last)
}

/// Parses a line number, from 1; search output may have a marker before it.
fn number(text: &str) -> Option<usize> {
    let text = text.trim_start_matches(['*', '>']);
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Larger than any file, but small enough to avoid overflows.
    text.parse().ok().filter(|number| digits && (1..=usize::MAX / 4).contains(number))
}
