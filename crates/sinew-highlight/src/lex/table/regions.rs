//! Comments, strings and all else that runs from one text to another, over lines and with code inside.

use memchr::{memchr, memchr3};

use super::compiled::CompiledRules;
use super::rules::{CHAR_LENGTH, INTERPOLATION_MARK, Region};
use crate::category::Category::{String, Variable};
use crate::lex::scan::{Line, begins_name};

/// Strings with code inside may nest this deep; what is deeper stays a string.
const DEEPEST: usize = 24;

/// The most bytes of a level; without a limit a line of such bytes alone would be counted at each of them.
const MOST_LEVELS: usize = 64;

/// An open region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its number in the rules.
    region: u8,
    /// Bytes of the level that its beginning had.
    level: u16,
    /// The depth of nesting.
    depth: u32,
    /// The bracket that ends the code in it; 0 outside code.
    interpolation: u8,
    /// Brackets of that kind that are open in the code.
    brackets: u32,
}

/// The open regions, outermost first.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Frames {
    stack: Vec<Frame>,
    /// Regions that were looked for to the end of this line and do not end on it, as a set of bits.
    unclosed: u64,
}

impl Frames {
    /// Returns whether the lexer is in the text of a region, not in code.
    pub(crate) fn in_text(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.interpolation == 0)
    }

    pub(crate) fn begin_line(&mut self) {
        self.unclosed = 0;
    }

    /// Closes what does not go on over the end of a line.
    pub(crate) fn end_line(&mut self, table: &CompiledRules) {
        let lost = self.stack.iter().position(|frame| !table.rules.regions[frame.region as usize].multiline);
        if let Some(lost) = lost {
            self.stack.truncate(lost);
        }
    }

    /// A bracket in code: whether it ends the code of a string.
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

    /// Begins region number `index` at the current place, if it is there, and paints as much as the line holds.
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
            // `'a, 'b'` holds no character: without an escape it is one.
            let escaped = region.escape != 0 && line.byte(from) == region.escape;
            let inside = &line.text[from..end - region.end.len()];
            if region.within == CHAR_LENGTH
                && !escaped
                && inside.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() != 1
            {
                return false;
            }
            // An empty character or expression is none.
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
        self.stack.push(Frame { region: index as u8, level, depth: 1, interpolation: 0, brackets: 0 });
        self.resume(table, line);
        true
    }

    /// Paints the text of the innermost region, up to its end, to code inside it or to the end of the line.
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
        let interpolation =
            region.interpolations.first().map_or(end[0], |interpolation| interpolation.begin.as_bytes()[0]);
        let second = if region.escape != 0 {
            region.escape
        } else if region.nests {
            region.begin.as_bytes()[0]
        } else {
            end[0]
        };
        let mut index = line.at;
        while let Some(found) = line.text.get(index..).and_then(|text| memchr3(end[0], second, interpolation, text)) {
            index += found;
            let rest = &line.text[index..];
            // `\(` of Swift begins code although a backslash escapes.
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
            if rest.starts_with(end) {
                if let Some(stop) = closing(line, region, index, frame.level) {
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

/// Returns whether code or a name begins here, inside a string.
fn begins_interpolation(text: &[u8], begin: &str, end: u8) -> bool {
    text.starts_with(begin.as_bytes()) && (end != 0 || text.get(begin.len()).is_some_and(|&byte| begins_name(byte)))
}

/// Returns the start of the inside of a region that begins here, and its level.
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

/// Returns the position behind the end mark that may lie at `at`.
fn closing(line: &Line<'_, '_, '_>, region: &Region, at: usize, level: u16) -> Option<usize> {
    let stop = at + region.end.len();
    let Some((byte, _, tail)) = region.level else { return Some(stop) };
    let level = level as usize;
    let bytes = line.text.get(stop..stop + level)?;
    let fits = bytes.iter().all(|&next| next == byte) && line.text[stop + level..].starts_with(tail.as_bytes());
    fits.then_some(stop + level + tail.len())
}

/// The end of a region that must end before `stop`; in a regular expression brackets hide it.
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
            // A set that does not end is none.
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

/// The length of the set of characters that begins here, as far as 64 bytes show it.
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
