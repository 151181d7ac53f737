//! Regions: comments, strings and other text between two delimiters, which may span lines and contain code.

use memchr::{memchr, memchr3};

use super::compiled::CompiledRules;
use super::rules::{CHAR_LENGTH, INTERPOLATION_MARK, Region};
use crate::category::Category::{String, Variable};
use crate::lex::scan::{Line, begins_name};

/// The maximum nesting of strings with code inside; deeper ones stay strings.
const DEEPEST: usize = 24;

/// The maximum length of a level; without a limit, a line of such bytes would be counted at each of them.
const MOST_LEVELS: usize = 64;

/// An open region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The number of the region in the rules.
    region: u8,
    /// The length of the level in its opening delimiter.
    level: u16,
    /// The depth of nesting.
    depth: u32,
    /// The bracket that ends the code in it; 0 outside code.
    interpolation: u8,
    /// The number of open brackets of that kind in the code.
    brackets: u32,
    /// In a string within a comment.
    quoted: bool,
}

/// The open regions, outermost first.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Frames {
    stack: Vec<Frame>,
    /// Regions that do not end on this line, as bit flags, so that they are not searched again.
    unclosed: u64,
}

impl Frames {
    /// Returns true if the lexer is in the text of a region instead of code.
    pub(crate) fn in_text(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.interpolation == 0)
    }

    pub(crate) fn begin_line(&mut self) {
        self.unclosed = 0;
    }

    /// Closes the regions that end with the line.
    pub(crate) fn end_line(&mut self, table: &CompiledRules) {
        let lost = self.stack.iter().position(|frame| !table.rules.regions[frame.region as usize].multiline);
        if let Some(lost) = lost {
            self.stack.truncate(lost);
        }
    }

    /// Handles a bracket in code; returns true if it ends the code of a string.
    pub(crate) fn bracket(&mut self, byte: u8) -> bool {
        let Some(frame) = self.stack.last_mut().filter(|frame| frame.interpolation != 0) else { return false };
        let open = if frame.interpolation == b'}' { b'{' } else { b'(' };
        if byte == open {
            frame.brackets = frame.brackets.saturating_add(1);
        } else if byte == frame.interpolation {
            if frame.brackets == 0 {
                frame.interpolation = 0;
                return true;
            }
            frame.brackets -= 1;
        }
        false
    }

    /// Begins region number `index` at the current position, if it is there, and highlights the part on this line.
    /// Returns true if it began.
    pub(crate) fn begin(&mut self, table: &CompiledRules, line: &mut Line<'_, '_, '_>, index: usize) -> bool {
        let region = &table.rules.regions[index];
        let at = line.at;
        let Some((from, level)) = opening(line, region, at) else { return false };
        if region.within > 0 {
            let bit = 1u64 << (index & 63);
            if self.unclosed & bit != 0 {
                return false;
            }
            let stop = line.text.len().min(from + region.within as usize);
            let Some(end) = closing_on_line(line, region, from, stop) else {
                if stop == line.text.len() {
                    self.unclosed |= bit;
                }
                return false;
            };
            // `'a, 'b'` contains no character literal: without an escape it has one character.
            let escaped = region.escape != 0 && line.byte(from) == region.escape;
            let inside = &line.text[from..end - region.end.len()];
            if region.within == CHAR_LENGTH
                && !escaped
                && inside.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() != 1
            {
                return false;
            }
            // An empty character literal or regular expression does not exist.
            if end == from + region.end.len() && region.escape != 0 && region.begin == region.end {
                return false;
            }
            line.take(with_flags(line, region, end), region.category);
            return true;
        }
        line.take(from, region.category);
        if region.ends_as_line {
            line.rest(region.category);
        }
        let level = level.min(u16::MAX as usize) as u16;
        self.stack.push(Frame { region: index as u8, level, depth: 1, interpolation: 0, brackets: 0, quoted: false });
        self.resume(table, line);
        true
    }

    /// Highlights the text of the innermost region, up to its end, to embedded code or to the end of the line.
    pub(crate) fn resume(&mut self, table: &CompiledRules, line: &mut Line<'_, '_, '_>) {
        let deep = self.stack.len() >= DEEPEST;
        let Some(frame) = self.stack.last_mut() else { return };
        let region = &table.rules.regions[frame.region as usize];
        if region.ends_as_line {
            if line.at == 0 && line.text.starts_with(region.end.as_bytes()) {
                self.stack.pop();
            }
            return line.rest(region.category);
        }
        let end = region.end.as_bytes();
        let other = if region.reads_strings { b'"' } else { end[0] };
        let interpolation =
            region.interpolations.first().map_or(other, |interpolation| interpolation.begin.as_bytes()[0]);
        let second = if region.escape != 0 {
            region.escape
        } else if region.nests {
            region.begin.as_bytes()[0]
        } else {
            end[0]
        };
        let mut index = line.at;
        if frame.quoted {
            let Some(close) = line.quote_end(b'"', index) else { return line.rest(region.category) };
            frame.quoted = false;
            index = close;
        }
        while let Some(found) = line.text.get(index..).and_then(|text| memchr3(end[0], second, interpolation, text)) {
            index += found;
            let rest = &line.text[index..];
            // `\(` in Swift begins code although a backslash is the escape character.
            if let Some(interpolation) = region
                .interpolations
                .iter()
                .find(|interpolation| !deep && begins_interpolation(rest, interpolation.begin, interpolation.end))
            {
                line.take(index, region.category);
                let inside = index + interpolation.begin.len();
                if interpolation.end == 0 {
                    let stop = table.name_end(line, inside);
                    line.take(stop, Variable);
                    index = line.at;
                    continue;
                }
                line.take(inside, INTERPOLATION_MARK);
                frame.interpolation = interpolation.end;
                frame.brackets = 0;
                return;
            }
            if region.escape != 0 && rest[0] == region.escape {
                index += 2;
                continue;
            }
            if region.reads_strings && rest[0] == b'"' {
                // `'"'` is a character.
                let is_char = index > line.at && line.byte(index - 1) == b'\'' && line.byte(index + 1) == b'\'';
                let close = if is_char { Some(index + 1) } else { line.quote_end(b'"', index + 1) };
                let Some(close) = close else {
                    frame.quoted = true;
                    return line.rest(region.category);
                };
                index = close;
                continue;
            }
            if rest.starts_with(end) {
                if let Some(mut stop) = closing(line, region, index, frame.level) {
                    // The last three of several quotes end a raw string.
                    while region.escape == 0 && region.end == "\"\"\"" && line.byte(stop) == b'"' {
                        stop += 1;
                    }
                    if region.doubled && line.text[stop..].starts_with(end) {
                        index = stop + end.len();
                        continue;
                    }
                    frame.depth -= 1;
                    index = stop;
                    if frame.depth == 0 {
                        line.take(with_flags(line, region, stop), region.category);
                        self.stack.pop();
                        return;
                    }
                    continue;
                }
            } else if region.nests && rest.starts_with(region.begin.as_bytes()) {
                frame.depth = frame.depth.saturating_add(1);
                index += region.begin.len();
                continue;
            }
            index += 1;
        }
        line.rest(region.category);
    }
}

/// Returns true if code or a name begins here, inside a string.
fn begins_interpolation(text: &[u8], begin: &str, end: u8) -> bool {
    text.starts_with(begin.as_bytes()) && (end != 0 || text.get(begin.len()).is_some_and(|&byte| begins_name(byte)))
}

/// Returns the start of the content of a region that begins here, and its level; `None` if no region begins here.
fn opening(line: &Line<'_, '_, '_>, region: &Region, at: usize) -> Option<(usize, usize)> {
    let from = at + region.begin.len();
    if !line.text[at..].starts_with(region.begin.as_bytes()) {
        return None;
    }
    let Some((byte, tail, _)) = region.level else { return Some((from, 0)) };
    let level = line.text[from..].iter().take(MOST_LEVELS).take_while(|&&next| next == byte).count();
    let inside = from + level;
    line.text[inside..].starts_with(tail.as_bytes()).then_some((inside + tail.len(), level))
}

/// Returns the position after the end delimiter at `at`; `None` if there is no end delimiter.
fn closing(line: &Line<'_, '_, '_>, region: &Region, at: usize, level: u16) -> Option<usize> {
    let stop = at + region.end.len();
    let Some((byte, _, tail)) = region.level else { return Some(stop) };
    let level = level as usize;
    let bytes = line.text.get(stop..stop + level)?;
    let fits = bytes.iter().all(|&next| next == byte) && line.text[stop + level..].starts_with(tail.as_bytes());
    fits.then_some(stop + level + tail.len())
}

/// Returns the end of a region that must end before `stop`; in a regular expression a character class may contain the
/// delimiter.
fn closing_on_line(line: &Line<'_, '_, '_>, region: &Region, from: usize, stop: usize) -> Option<usize> {
    let end = region.end.as_bytes();
    let escape = if region.escape == 0 { end[0] } else { region.escape };
    let mut index = from;
    loop {
        let text = line.text.get(index..stop)?;
        let found = memchr3(end[0], escape, if region.flags { b'[' } else { end[0] }, text)?;
        index += found;
        let byte = line.text[index];
        if region.escape != 0 && byte == region.escape {
            index += 2;
        } else if region.flags && byte == b'[' {
            // A class that does not end is literal.
            index += set_end(&line.text[index..stop]);
        } else if line.text[index..stop].starts_with(end) {
            index += end.len();
            if !(region.doubled && line.text[index..].starts_with(end)) {
                return Some(index);
            }
            index += end.len();
        } else {
            index += 1;
        }
    }
}

/// Returns the length of the character class that begins here, within 64 bytes.
fn set_end(text: &[u8]) -> usize {
    let text = &text[..text.len().min(64)];
    let mut index = 1;
    while let Some(found) = text.get(index..).and_then(|rest| memchr(b']', rest)) {
        index += found;
        if text[index - 1] != b'\\' {
            return index + 1;
        }
        index += 1;
    }
    1
}

fn with_flags(line: &Line<'_, '_, '_>, region: &Region, end: usize) -> usize {
    if region.flags && region.category == String { line.name_end(end) } else { end }
}
