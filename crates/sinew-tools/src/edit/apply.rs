//! Applies edits to a text: each replaces a text in the file by another.

use std::path::Path;

use serde::Deserialize;

use super::find::{Replacements, closest, find, find_composed};
use super::view::Stage;
use crate::document::Document;
use crate::text_form::with_line_ends;
use crate::unicode_form::UnicodeForm;

/// One edit.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Change {
    pub(super) old_text: String,
    pub(super) new_text: String,
    #[serde(default)]
    pub(super) replace_all: bool,
}

/// The content of a file after the edits.
#[derive(Debug)]
pub(super) struct EditedFile {
    /// The text before the edits as a read shows it, without line numbers.
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
    /// The new bytes of the file.
    pub(super) bytes: Vec<u8>,
    pub(super) stages: Vec<Stage>,
    /// The number of replaced occurrences.
    pub(super) occurrences: usize,
    pub(super) notes: Vec<String>,
}

/// The reason why a file cannot be edited.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NotFound(String),
    Ambiguous(String),
    /// Another reason, which does not depend on the content.
    Impossible(String),
}

impl Fault {
    /// Returns the text for the model.
    pub(super) fn into_text(self) -> String {
        match self {
            Fault::NotFound(text) | Fault::Ambiguous(text) | Fault::Impossible(text) => text,
        }
    }
}

/// Replacements: from, to and the new text, in order.
type Places = Vec<(usize, usize, String)>;

/// Applies all edits to the file `path` with the content `bytes`, or none. The edits refer to the text as a read shows
/// it: decoded, and the cells of a notebook instead of its JSON.
pub(super) fn apply(
    (name, path): (&str, &Path),
    bytes: &[u8],
    edits: &[Change],
    fuzzy: bool,
) -> Result<EditedFile, Fault> {
    let document = Document::open(path, bytes);
    if let Some(fault) = document.fault() {
        return Err(Fault::Impossible(format!("Cannot edit {name}: {fault}. Use bash.")));
    }
    let is_end = edits.iter().any(|edit| edit.old_text.is_empty());
    if let Some(notebook) = document.notebook() {
        if is_end {
            let text = format!("Cannot append to {name}: oldText must be a text of a cell. Use bash to add a cell.");
            return Err(Fault::Impossible(text));
        }
        match replaced(name, document.text(), edits, fuzzy) {
            Ok((mut edited, places)) => {
                let bytes = document.with_places(notebook, &places);
                edited.bytes = bytes.map_err(|text| Fault::Impossible(format!("{name}: {text}")))?;
                return Ok(edited);
            }
            // The text may be in the JSON.
            Err(Fault::NotFound(text)) => {
                return replaced(name, document.source(), edits, fuzzy)
                    .map(|(edited, _)| EditedFile { bytes: document.with_source(&edited.new), ..edited })
                    .map_err(|_| Fault::NotFound(text));
            }
            Err(other) => return Err(other),
        }
    }
    let old = document.source();
    let (edited, _) = if is_end { put_at_end(name, old, edits)? } else { replaced(name, old, edits, fuzzy)? };
    Ok(EditedFile { bytes: document.with_source(&edited.new), ..edited })
}

/// Handles an empty old text: the new text is appended to an existing file, or creates one.
fn put_at_end(name: &str, file: &[u8], edits: &[Change]) -> Result<(EditedFile, Places), Fault> {
    let [edit] = edits else {
        return Err(Fault::Impossible(format!("An empty oldText must be the only edit of {name}.")));
    };
    let end = file.len();
    let new = with_line_ends(&edit.new_text.replace("\r\n", "\n"), file, (end, end));
    Ok(put(file, vec![(end, end, new)], vec![Stage::Exact], Vec::new()))
}

/// Applies all edits to `file`, or none.
pub(super) fn replaced(name: &str, file: &[u8], edits: &[Change], fuzzy: bool) -> Result<(EditedFile, Places), Fault> {
    let bom = if file.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let (mut notes, mut stages, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (index, edit) in edits.iter().enumerate() {
        let which = if edits.len() > 1 { format!("edits[{index}]: ") } else { String::new() };
        let clean = |text: &str| text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let (old, new) = (clean(&edit.old_text), clean(&edit.new_text));
        let found = find_edit(&file[bom..], &old, &new, edit.replace_all, fuzzy, &mut notes);
        let Some(Replacements { stage, places: found }) = found else {
            let mut text =
                format!("{which}Could not find the text in {name}. It must match exactly, including white space.");
            if let Some((_, region)) = closest(&file[bom..], &old) {
                text.push_str(&format!("\nThe closest lines are:\n{region}"));
            }
            return Err(Fault::NotFound(text));
        };
        if found.len() > 1 && !edit.replace_all {
            return Err(Fault::Ambiguous(format!(
                "{which}Found {} occurrences of the text in {name}. Add surrounding lines to make it unique, or set \
                 replaceAll to true.",
                found.len()
            )));
        }
        if stage != Stage::Exact {
            notes.push(format!("{which}matched with {}", stage.name()));
        }
        stages.push(stage);
        for (from, to, new) in found {
            let (from, to) = (from + bom, to + bom);
            warn(file, from, to, &new, &mut notes);
            let new = with_line_ends(&new, file, (from, to));
            places.push((from, to, index, new));
        }
    }
    places.sort_by_key(|(from, to, index, _)| (*from, *to, *index));
    for pair in places.windows(2) {
        if pair[1].0 < pair[0].1 {
            let (one, other) = (pair[0].2.min(pair[1].2), pair[0].2.max(pair[1].2));
            return Err(Fault::Impossible(format!("edits[{one}] and edits[{other}] overlap in {name}. Merge them.")));
        }
    }
    notes.dedup();
    notes.truncate(20);
    let places = places.into_iter().map(|(from, to, _, new)| (from, to, new)).collect();
    Ok(put(file, places, stages, notes))
}

/// Inserts the new texts. The caller encodes the result.
fn put(file: &[u8], places: Places, stages: Vec<Stage>, notes: Vec<String>) -> (EditedFile, Places) {
    let mut content = Vec::with_capacity(file.len());
    let mut at = 0;
    for (from, to, new) in &places {
        content.extend_from_slice(&file[at..*from]);
        content.extend_from_slice(new.as_bytes());
        at = *to;
    }
    content.extend_from_slice(&file[at..]);
    let occurrences = places.len();
    (EditedFile { old: file.to_vec(), bytes: Vec::new(), new: content, stages, occurrences, notes }, places)
}

fn find_edit(
    file: &[u8],
    old: &str,
    new: &str,
    all: bool,
    fuzzy: bool,
    notes: &mut Vec<String>,
) -> Option<Replacements> {
    if let Some(found) = find(file, old, new, false, all) {
        if all && !old.is_ascii() {
            notes.extend(unmatched_twins(file, old, &found));
        }
        return Some(found);
    }
    // The same characters in composed or decomposed form, as in the file.
    let twins = if old.is_ascii() { Vec::new() } else { find_composed(file, old, new) };
    if let Some((from, to, _)) = twins.first() {
        let form = match UnicodeForm::of(&String::from_utf8_lossy(&file[*from..*to])) {
            UnicodeForm::Composed => Some("NFC"),
            UnicodeForm::Decomposed => Some("NFD"),
            UnicodeForm::Mixed => None,
        };
        notes.push(match form {
            Some(form) => {
                format!("the file uses Unicode form {form} for these characters; the new text was converted to it")
            }
            None => "the file mixes the Unicode forms NFC and NFD here; unchanged characters keep their form".into(),
        });
        return Some(Replacements { stage: Stage::Exact, places: twins });
    }
    if let Some(bare) = without_numbers(old)
        && let Some(found) = find(file, &bare, &without_numbers(new).unwrap_or_else(|| new.to_string()), fuzzy, all)
    {
        notes.push("line numbers were removed from the texts".into());
        return Some(found);
    }
    if fuzzy { find(file, old, new, true, all) } else { None }
}

/// Returns a note that lists the lines with `old` in another Unicode form, which are not replaced; `None` if no line has
/// it.
fn unmatched_twins(file: &[u8], old: &str, found: &Replacements) -> Option<String> {
    let is_found = |from: usize| found.places.iter().any(|(start, ..)| *start == from);
    let lines: Vec<String> = find_composed(file, old, old)
        .iter()
        .filter(|(from, ..)| !is_found(*from))
        .take(10)
        .map(|(from, ..)| (memchr::memchr_iter(b'\n', &file[..*from]).count() + 1).to_string())
        .collect();
    let (what, verb) = if lines.len() == 1 { ("line", "has") } else { ("lines", "have") };
    let lines = (!lines.is_empty()).then(|| lines.join(", "))?;
    Some(format!("{what} {lines} {verb} the text in another Unicode form (NFC or NFD), which was not replaced"))
}

/// Returns the text without the line prefixes `<n>:`; `None` unless every line has one.
fn without_numbers(text: &str) -> Option<String> {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim_start();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        out.push_str(rest);
    }
    (!out.is_empty()).then_some(out)
}

/// Adds notes about probable mistakes.
fn warn(file: &[u8], from: usize, to: usize, new: &str, notes: &mut Vec<String>) {
    let old = &file[from..to];
    for [open, close] in [b"{}", b"[]", b"()"] {
        let balance = |text: &[u8]| {
            let count = |wanted: u8| i64::try_from(memchr::memchr_iter(wanted, text).count()).unwrap_or(i64::MAX);
            count(*open) - count(*close)
        };
        if balance(old) != balance(new.as_bytes()) {
            notes.push(format!("Warning: the edit changes the balance of {}{}", char::from(*open), char::from(*close)));
        }
    }
    let rest = &file[to..];
    let rest =
        rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).unwrap_or(if new.ends_with('\n') { rest } else { b"" });
    let next = crate::read_tracker::lines(rest).next().unwrap_or_default();
    if !next.trim_ascii().is_empty() && new.lines().last().is_some_and(|last| last.as_bytes() == next) {
        notes.push("Warning: the last line of the replacement equals the line after it".into());
    }
}
