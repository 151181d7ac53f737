//! Searches a text in a file, with the tolerance that models need.

use memchr::memmem;

use super::view::{Stage, View, indent};
use crate::unicode_form::respelled;

/// Positions in a file and their replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacements {
    pub(super) stage: Stage,
    /// Sorted and not overlapping, each with its replacement, with `\n` line ends.
    pub(super) places: Vec<(usize, usize, String)>,
}

/// Returns the positions of `old` in `file`, found by the first stage that has any; `None` if no stage does. Runs in
/// time linear in both. `all` requests all positions and disables the stage that ignores indentation.
pub(super) fn find(file: &[u8], old: &str, new: &str, fuzzy: bool, all: bool) -> Option<Replacements> {
    let stages = [Stage::Exact, Stage::TrailingSpace, Stage::Typography];
    let stages = if fuzzy { &stages[..] } else { &stages[..1] };
    for &stage in stages {
        let view = View::new(file, stage);
        let wanted = View::new(old.as_bytes(), stage).bytes;
        if wanted.iter().all(u8::is_ascii_whitespace) && stage != Stage::Exact {
            continue;
        }
        let mut starts: Vec<usize> = memmem::find_iter(&view.bytes, &wanted).collect();
        // A text that overlaps itself, such as `x\nx` in `x\nx\nx`, occurs twice.
        if let (false, [only]) = (all, starts.as_slice())
            && let Some(next) = memmem::find(&view.bytes[only + 1..], &wanted)
        {
            starts.push(only + 1 + next);
        }
        let places: Vec<_> = starts
            .into_iter()
            .filter_map(|at| view.source(at, at + wanted.len()))
            .map(|(from, to)| (from, to, new.to_string()))
            .collect();
        if !places.is_empty() {
            return Some(Replacements { stage, places });
        }
    }
    (fuzzy && !all).then(|| shifted(file, old, new)).flatten()
}

/// Returns the positions of `old` in `file` in any Unicode form. In the replacements, characters that stay keep the
/// form that they have in the file.
pub(super) fn find_composed(file: &[u8], old: &str, new: &str) -> Vec<(usize, usize, String)> {
    let (view, wanted) = (View::composed(file), View::composed(old.as_bytes()).bytes);
    let place = |at: usize| {
        let (from, to) = view.source(at, at + wanted.len())?;
        let there = std::str::from_utf8(&file[from..to]).ok()?;
        // Marks in another order can have the same length, so the ends of the match may be inside them.
        let is_same = View::composed(there.as_bytes()).bytes == wanted;
        is_same.then(|| (from, to, respelled(&there.replace("\r\n", "\n"), new)))
    };
    memmem::find_iter(&view.bytes, &wanted).filter_map(place).collect()
}

/// The number of candidates of the last stage that are compared. A text with more candidates is not unique enough.
const CANDIDATES: usize = 1_000;

/// Finds complete lines with a different indentation.
fn shifted(file: &[u8], old: &str, new: &str) -> Option<Replacements> {
    let view = View::new(file, Stage::Indentation);
    let wanted = View::new(old.trim_end_matches('\n').as_bytes(), Stage::Indentation).bytes;
    if wanted.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let ended = old.ends_with('\n');
    let mut places = Vec::new();
    let finder = memmem::Finder::new(&wanted);
    let (mut next, mut tried) = (0, 0);
    while let Some(found) = finder.find(&view.bytes[next..]) {
        let at = next + found;
        // The next one may overlap this one.
        next = at + 1;
        tried += 1;
        if tried > CANDIDATES {
            return None;
        }
        let end = at + wanted.len();
        let at_start = at == 0 || view.bytes[at - 1] == b'\n';
        let at_end = end == view.bytes.len() || view.bytes[end] == b'\n';
        if !at_start || !at_end {
            continue;
        }
        let Some((from, to)) = view.source(at, end) else { continue };
        // Extends the range to complete lines.
        let from = file[..from].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line_end = memchr::memchr(b'\n', &file[to..]).map_or(file.len(), |at| to + at);
        let to = match ended && line_end < file.len() {
            true => line_end + 1,
            false => file[..line_end].strip_suffix(b"\r").map_or(line_end, <[u8]>::len).max(to),
        };
        if let Some(shift) = shift(&file[from..to], old.as_bytes()) {
            places.push((from, to, apply(&shift, new)));
        }
    }
    (!places.is_empty()).then_some(Replacements { stage: Stage::Indentation, places })
}

/// The indentation to add to each line, or to remove from it.
enum Shift {
    Add(String),
    Take(String),
}

/// Returns the difference in indentation if it is the same for all lines that are not blank; `None` otherwise.
fn shift(there: &[u8], wanted: &[u8]) -> Option<Shift> {
    let mut common: Option<(bool, Vec<u8>)> = None;
    for (there, wanted) in there.split(|byte| *byte == b'\n').zip(wanted.split(|byte| *byte == b'\n')) {
        if wanted.trim_ascii().is_empty() {
            continue;
        }
        let (there, wanted) = (&there[..indent(there)], &wanted[..indent(wanted)]);
        let difference = match (there.strip_suffix(wanted), wanted.strip_suffix(there)) {
            (Some(more), _) => (true, more.to_vec()),
            (None, Some(less)) => (false, less.to_vec()),
            (None, None) => return None,
        };
        match &common {
            Some(common) if common.1 != difference.1 || (common.0 != difference.0 && !common.1.is_empty()) => {
                return None;
            }
            Some(_) => {}
            None => common = Some(difference),
        }
    }
    let (add, blanks) = common?;
    let blanks = String::from_utf8(blanks).ok()?;
    Some(if add { Shift::Add(blanks) } else { Shift::Take(blanks) })
}

fn apply(shift: &Shift, text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| match shift {
            Shift::Add(_) if line.trim().is_empty() => line.to_string(),
            Shift::Add(blanks) => format!("{blanks}{line}"),
            Shift::Take(blanks) => line.strip_prefix(blanks.as_str()).unwrap_or(line).to_string(),
        })
        .collect()
}

/// Returns the lines most similar to `wanted`, at most ten, with the number of the first; `None` if none are similar.
/// Runs in linear time: pairs of adjacent bytes are counted in a sliding window.
pub(super) fn closest(file: &[u8], wanted: &str) -> Option<(usize, String)> {
    const MOST: usize = 10;
    const LONGEST: usize = 4_000;
    let lines: Vec<&[u8]> = super::super::read_tracker::lines(file).collect();
    let height = wanted.trim_matches('\n').lines().count().clamp(1, MOST).min(lines.len());
    let wanted: String = wanted.trim_matches('\n').lines().take(MOST).collect::<Vec<_>>().join("\n");
    let pairs = |line: &[u8]| -> Vec<usize> {
        let line = line.trim_ascii();
        let line = &line[..line.len().min(LONGEST)];
        line.windows(2).map(|pair| usize::from(pair[0]) << 8 | usize::from(pair[1])).collect()
    };
    let mut sought = vec![0_i32; 1 << 16];
    let mut size = 0;
    for pair in wanted.lines().flat_map(|line| pairs(line.as_bytes())) {
        sought[pair] += 1;
        size += 1;
    }
    let mut here = vec![0_i32; 1 << 16];
    let (mut shared, mut held) = (0_usize, 0_usize);
    let mut best: Option<(f64, usize)> = None;
    for index in 0..lines.len() {
        for pair in pairs(lines[index]) {
            here[pair] += 1;
            shared += usize::from(here[pair] <= sought[pair]);
            held += 1;
        }
        if let Some(gone) = index.checked_sub(height) {
            for pair in pairs(lines[gone]) {
                shared -= usize::from(here[pair] <= sought[pair]);
                here[pair] -= 1;
                held -= 1;
            }
        }
        if index + 1 >= height && size + held > 0 {
            #[allow(clippy::cast_precision_loss, reason = "a ratio that is only compared with 0.6")]
            let likeness = 2.0 * shared as f64 / (size + held) as f64;
            if likeness >= 0.6 && best.is_none_or(|(other, _)| likeness > other) {
                best = Some((likeness, index + 1 - height));
            }
        }
    }
    let (_, first) = best?;
    let text: Vec<String> = lines[first..first + height]
        .iter()
        .enumerate()
        .map(|(index, line)| {
            let line = String::from_utf8_lossy(&line[..line.len().min(500)]);
            format!("{}:{line}", first + index + 1)
        })
        .collect();
    Some((first + 1, text.join("\n")))
}
