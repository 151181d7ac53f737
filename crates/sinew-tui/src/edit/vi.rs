//! The keys of vi: commands of the normal and visual modes, based on the editor's undo and kills.

use super::motion::{Unit, class, snap};
use super::objects::{self, Span};
use super::places::{
    class_at, first_letter, line_end, line_start, next, previous, repeated, skip, word, word_back, word_end,
};
use super::{EditAction, Editor, LastCommand};

/// The mode of the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ViMode {
    /// Keys insert text.
    #[default]
    Insert,
    /// Keys are commands.
    Normal,
    /// Motions change the selection.
    Visual,
}

/// A pressed key, as vi distinguishes keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViPress<'a> {
    /// Ends a mode, or cancels an incomplete command.
    Escape,
    /// Deletes the last key of a command; without a command, moves to the left.
    Backspace,
    /// Redoes the last undone change.
    Redo,
    /// Any other key, with the text that it types; empty if it types nothing.
    Text(&'a str),
}

/// The result of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ViKey {
    /// The key was a command, or a part of one.
    Taken,
    /// The keys are not a command.
    Unknown(String),
    /// The caller must handle the key.
    Passed,
}

/// The keys of vi for an [`Editor`].
///
/// In insert mode, it handles only Esc; the caller handles the keys of the editor. A key runs in time linear in the
/// line of the cursor, except for commands that affect more.
#[derive(Debug, Default)]
pub struct Vi {
    mode: ViMode,
    /// The keys of an incomplete command.
    keys: String,
    /// The last searched character, and the kind of search.
    find: Option<(char, String)>,
    /// The other end of the selection, and whether whole lines are selected.
    anchor: usize,
    by_lines: bool,
    /// The lines last cut or copied, which are pasted as lines; `None` if they were not lines.
    lines: Option<String>,
    /// The current command or last change, and the text typed after it.
    change: Option<Command>,
    typed: String,
}

/// A command: `d` with a target, ` ` for a motion alone, or a letter without a target.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Command {
    count: Option<usize>,
    verb: char,
    target: String,
}

/// The part of the text that a target covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MotionKind {
    Exclusive,
    Inclusive,
    Lines,
}

/// Abbreviations of other commands.
const SHORT: &[(char, &str)] =
    &[('x', "dl"), ('X', "dh"), ('s', "cl"), ('D', "d$"), ('C', "c$"), ('S', "cc"), ('Y', "yy")];
/// Motions of one letter, and what they cover.
const MOTIONS: &[(&str, MotionKind)] = &[
    ("h", MotionKind::Exclusive),
    ("l", MotionKind::Exclusive),
    (" ", MotionKind::Exclusive),
    ("w", MotionKind::Exclusive),
    ("b", MotionKind::Exclusive),
    ("e", MotionKind::Inclusive),
    ("0", MotionKind::Exclusive),
    ("^", MotionKind::Exclusive),
    ("$", MotionKind::Exclusive),
    (";", MotionKind::Inclusive),
    (",", MotionKind::Inclusive),
    ("j", MotionKind::Lines),
    ("k", MotionKind::Lines),
    ("G", MotionKind::Lines),
    ("gg", MotionKind::Lines),
    // The line itself, for a doubled operator.
    ("_", MotionKind::Lines),
];
/// The maximum count; larger ones are typing errors.
const MOST: usize = 10_000;

/// The keys so far.
enum ParseState {
    Open,
    Wrong,
    Whole(Command),
}

/// Returns the count at the beginning of keys, and the rest.
fn split_count(keys: &str) -> (Option<usize>, &str) {
    let digits = keys.len() - keys.trim_start_matches(|key: char| key.is_ascii_digit()).len();
    match digits {
        0 => (None, keys),
        _ if keys.starts_with('0') => (None, keys),
        _ => (Some(keys[..digits].parse().unwrap_or(MOST).min(MOST)), &keys[digits..]),
    }
}

fn parse(keys: &str, is_visual: bool) -> ParseState {
    let (first, rest) = split_count(keys);
    let Some(verb) = rest.chars().next() else { return ParseState::Open };
    let after = &rest[verb.len_utf8()..];
    let whole = |count, verb, target: &str| ParseState::Whole(Command { count, verb, target: target.into() });
    match verb {
        'd' | 'c' | 'y' | 'x' | 's' if is_visual => whole(first, verb, ""),
        'd' | 'c' | 'y' => {
            let (second, target) = split_count(after);
            let count = first.or(second).map(|_| (first.unwrap_or(1) * second.unwrap_or(1)).min(MOST));
            match is_target(target, true) {
                _ if target.starts_with(verb) => whole(count, verb, "_"),
                Some(true) => whole(count, verb, target),
                Some(false) => ParseState::Open,
                None => ParseState::Wrong,
            }
        }
        'r' if after.is_empty() => ParseState::Open,
        'r' if !is_visual => whole(first, verb, after),
        'v' | 'V' | 'u' | '.' => whole(first, verb, ""),
        'i' | 'a' | 'I' | 'A' | 'o' | 'O' | 'p' | 'P' if !is_visual => whole(first, verb, ""),
        _ => match SHORT.iter().find(|(short, _)| *short == verb && !is_visual) {
            Some((_, long)) => parse(&keys.replace(verb, long), is_visual),
            None => match is_target(rest, is_visual) {
                Some(true) => whole(first, ' ', rest),
                Some(false) => ParseState::Open,
                None => ParseState::Wrong,
            },
        },
    }
}

/// Returns true if keys are a complete target, false if they begin one, and `None` otherwise.
fn is_target(keys: &str, has_objects: bool) -> Option<bool> {
    let mut letters = keys.chars();
    let count = keys.chars().count();
    match letters.next() {
        None | Some('g') if count < 2 => Some(false),
        Some('f' | 't' | 'F' | 'T') => Some(count > 1),
        Some('i' | 'a') if has_objects && count < 2 => Some(false),
        Some('i' | 'a') if has_objects => letters.next().filter(|name| objects::is_known(*name)).map(|_| true),
        _ => MOTIONS.iter().any(|(name, _)| *name == keys && keys != "_").then_some(true),
    }
}

/// Moves the cursor from the end of a line onto its last character.
fn onto_letter(editor: &mut Editor) {
    let (text, at) = (&editor.text, editor.cursor);
    if at == line_end(text, at) && at > line_start(text, at) {
        editor.cursor = previous(text, at);
    }
}

impl Vi {
    /// Returns the mode.
    #[must_use]
    pub fn mode(&self) -> ViMode {
        self.mode
    }

    /// Returns the keys of an incomplete command.
    #[must_use]
    pub fn keys(&self) -> &str {
        &self.keys
    }

    /// Returns the selected bytes of the editor's text; `None` without a selection.
    #[must_use]
    pub fn selection(&self, editor: &Editor) -> Option<(usize, usize)> {
        (self.mode == ViMode::Visual).then(|| {
            let span = self.selected(editor);
            (span.from, span.to)
        })
    }

    /// Resets to insert mode, for a new text.
    pub fn restart(&mut self, editor: &mut Editor) {
        self.keys.clear();
        self.mode = ViMode::Insert;
        self.change = None;
        editor.undo.release();
    }

    /// Handles a key.
    pub fn key(&mut self, editor: &mut Editor, press: ViPress<'_>) -> ViKey {
        if self.mode == ViMode::Insert {
            match press {
                ViPress::Escape => self.end_insert(editor),
                ViPress::Backspace => drop(self.typed.pop()),
                ViPress::Redo => {}
                ViPress::Text(text) => self.typed.push_str(text),
            }
            return if press == ViPress::Escape { ViKey::Taken } else { ViKey::Passed };
        }
        let held = self.keys.clone();
        match press {
            ViPress::Escape => {
                let is_open = !self.keys.is_empty() || self.mode == ViMode::Visual;
                self.keys.clear();
                self.mode = ViMode::Normal;
                return if is_open { ViKey::Taken } else { ViKey::Passed };
            }
            ViPress::Redo => {
                let (count, _) = split_count(&held);
                (0..count.unwrap_or(1)).for_each(|_| _ = editor.redo_one());
                self.keys.clear();
            }
            ViPress::Backspace if self.keys.pop().is_none() => drop(self.run(editor, "h".into())),
            ViPress::Backspace => {}
            // A character outside of a command may have a meaning for the caller.
            ViPress::Text(text) if text.is_empty() || text.chars().any(char::is_control) => {
                self.keys.clear();
                return ViKey::Passed;
            }
            ViPress::Text(text) => return self.run(editor, held + text),
        }
        self.rest(editor);
        ViKey::Taken
    }

    /// Executes keys if they are a complete command.
    fn run(&mut self, editor: &mut Editor, keys: String) -> ViKey {
        self.keys.clear();
        match parse(&keys, self.mode == ViMode::Visual) {
            ParseState::Open => self.keys = keys,
            ParseState::Wrong => return ViKey::Unknown(keys),
            ParseState::Whole(command) => {
                editor.last = LastCommand::Other;
                editor.undo.hold();
                let is_change = self.carry_out(editor, &command);
                if self.mode != ViMode::Insert {
                    editor.undo.release();
                    self.rest(editor);
                }
                if is_change {
                    self.change = Some(command);
                }
            }
        }
        ViKey::Taken
    }

    /// Leaves the insert mode, and repeats the typed text according to the count.
    fn end_insert(&mut self, editor: &mut Editor) {
        self.mode = ViMode::Normal;
        if let Some(Command { count: Some(count), verb, .. }) = &self.change
            && !self.typed.is_empty()
            && matches!(verb, 'i' | 'a' | 'I' | 'A' | 'o' | 'O')
        {
            let again = if matches!(verb, 'o' | 'O') { format!("\n{}", self.typed) } else { self.typed.clone() };
            let at = editor.cursor;
            editor.replace(at, at, &again.repeat(count - 1), false);
        }
        editor.undo.release();
        editor.last = LastCommand::Other;
        if editor.cursor > line_start(&editor.text, editor.cursor) {
            editor.cursor = previous(&editor.text, editor.cursor);
        }
    }

    /// Moves the cursor onto a character after a movement by other means.
    pub fn rest(&self, editor: &mut Editor) {
        // A selection may extend over the end of its line.
        if self.mode == ViMode::Normal {
            onto_letter(editor);
        }
    }

    /// Executes a command; returns true if `.` can repeat it.
    fn carry_out(&mut self, editor: &mut Editor, command: &Command) -> bool {
        let count = command.count.unwrap_or(1);
        let at = editor.cursor;
        match command.verb {
            ' ' => self.go(editor, command),
            'u' => (0..count).for_each(|_| _ = editor.undo_one()),
            '.' => self.repeat(editor, command.count),
            'v' | 'V' => {
                let by_lines = command.verb == 'V';
                let ends = self.mode == ViMode::Visual && self.by_lines == by_lines;
                if self.mode != ViMode::Visual {
                    self.anchor = at;
                }
                (self.mode, self.by_lines) = (if ends { ViMode::Normal } else { ViMode::Visual }, by_lines);
            }
            'r' => {
                let to = repeated(count, at, |at| next(&editor.text, at).min(line_end(&editor.text, at)));
                if editor.text[at..to].chars().count() >= count {
                    editor.replace(at, to, &command.target.repeat(count), false);
                    editor.cursor = previous(&editor.text, editor.cursor);
                }
            }
            'p' | 'P' => self.put(editor, count, command.verb == 'p'),
            verb @ ('d' | 'c' | 'y' | 'x' | 's') => {
                let span = match self.mode {
                    ViMode::Visual => Some(self.selected(editor)),
                    // If only blanks of the lines remain, whole lines are affected.
                    _ => self.span(editor, command).map(|span| Span {
                        lines: span.lines || verb == 'd' && is_all_of_lines(&editor.text, span),
                        ..span
                    }),
                };
                self.mode = ViMode::Normal;
                let Some(span) = span else { return false };
                self.operate(editor, verb, span);
            }
            verb => {
                let text = &editor.text;
                let (start, end) = (line_start(text, at), line_end(text, at));
                editor.cursor = match verb {
                    'a' if at < end => next(text, at),
                    'A' | 'o' => end,
                    'I' => first_letter(text, at),
                    'O' => start,
                    _ => at,
                };
                if matches!(verb, 'o' | 'O') {
                    let at = editor.cursor;
                    editor.replace(at, at, "\n", false);
                    editor.cursor = if verb == 'o' { at + 1 } else { at };
                }
                self.insert();
            }
        }
        !matches!(command.verb, '.' | 'u' | ' ' | 'y' | 'v' | 'V')
    }

    fn insert(&mut self) {
        self.mode = ViMode::Insert;
        self.typed.clear();
    }

    /// Moves the cursor, or selects an object in the visual mode.
    fn go(&mut self, editor: &mut Editor, command: &Command) {
        let step = match command.target.as_str() {
            "j" => Some(EditAction::Down),
            "k" => Some(EditAction::Up),
            _ => None,
        };
        if let Some(step) = step {
            // By rows, and at the edge through the history.
            (0..command.count.unwrap_or(1)).for_each(|_| _ = editor.act(step));
        } else if let Some(span) = objects::find(&editor.text, editor.cursor, &command.target) {
            let last = if span.lines { span.to } else { previous(&editor.text, span.to) };
            (self.anchor, editor.cursor) = (span.from, last.max(span.from));
            self.by_lines |= span.lines;
        } else if let Some((to, _)) = self.motion(editor, command) {
            editor.cursor = to;
            editor.sticky = (command.target == "$").then_some(usize::MAX);
        }
    }

    /// Returns the target position of a motion, and what an operator covers up to there.
    fn motion(&mut self, editor: &Editor, Command { count, verb, target }: &Command) -> Option<(usize, MotionKind)> {
        let (text, at, times) = (&editor.text, editor.cursor, count.unwrap_or(1));
        let (start, end, is_free) = (line_start(text, at), line_end(text, at), *verb == ' ');
        let reach = MOTIONS.iter().find(|(name, _)| name == target).map_or(MotionKind::Inclusive, |(_, reach)| *reach);
        let line = |number: usize| {
            let begin = text.match_indices('\n').map(|(at, _)| at + 1).take(number.saturating_sub(1)).last();
            first_letter(text, begin.unwrap_or(0))
        };
        let to = match target.as_str() {
            "h" => repeated(times, at, |at| previous(text, at).max(start)),
            "l" | " " => repeated(times, at, |at| next(text, at).min(end)),
            "0" => start,
            "^" => first_letter(text, at),
            "$" if times > 1 && end == text.len() => return None,
            "$" => repeated(times - 1, end, |at| line_end(text, (at + 1).min(text.len()))),
            "b" => Some(repeated(times, at, |at| word_back(text, at))).filter(|to| is_free || *to < at)?,
            "e" => repeated(times, at, |at| word_end(text, at)),
            "w" if *verb == 'c' && class_at(text, at) != 0 => {
                // The end of this word first, since the cursor may already be there.
                let kind = class_at(text, at);
                let here = previous(text, snap(text, skip(text, at, |_, c| class(c, Unit::Word) == kind), true));
                return Some((repeated(times - 1, here, |at| word_end(text, at)), MotionKind::Inclusive));
            }
            "w" => word(text, repeated(times - 1, at, |at| word(text, at, false)), !is_free),
            "G" => line(count.unwrap_or(usize::MAX)),
            "gg" => line(times),
            "_" if times == 1 => at,
            // As many lines as there are, but at least one more.
            "_" => text[at..].match_indices('\n').take(times - 1).last().map(|(end, _)| at + end + 1)?,
            "j" => text[at..].match_indices('\n').take(times).last().map(|(end, _)| at + end + 1)?,
            "k" => {
                let end = text[..at].rmatch_indices('\n').take(times).last()?.0;
                let column = text[start..at].chars().count();
                let above = line_start(text, end);
                text[above..end].char_indices().nth(column).map_or(end, |(offset, _)| above + offset)
            }
            _ => {
                let (how, what, again) = match (target.as_str(), self.find.clone()) {
                    (";" | ",", None) => return None,
                    (";", Some((how, what))) => (how, what, true),
                    (",", Some((how, what))) => (
                        if how.is_lowercase() { how.to_ascii_uppercase() } else { how.to_ascii_lowercase() },
                        what,
                        true,
                    ),
                    (target, _) => {
                        // A missing object has no other meaning.
                        let how = target.chars().next().filter(|how| "ftFT".contains(*how))?;
                        self.find = Some((how, target[1..].to_owned()));
                        (how, target[1..].to_owned(), false)
                    }
                };
                // Searches beyond the character directly after the cursor.
                let beyond = again && matches!(how, 't' | 'T');
                if how.is_lowercase() {
                    let from = repeated(1 + usize::from(beyond), at, |at| next(text, at).min(end));
                    let (found, _) = text[from..end].match_indices(what.as_str()).nth(times - 1)?;
                    let found = from + found;
                    return Some((if how == 't' { previous(text, found) } else { found }, MotionKind::Inclusive));
                }
                let until = repeated(usize::from(beyond), at, |at| previous(text, at).max(start));
                let (found, _) = text[start..until].rmatch_indices(what.as_str()).nth(times - 1)?;
                let found = start + found;
                return Some((if how == 'T' { next(text, found) } else { found }, MotionKind::Exclusive));
            }
        };
        Some((to, reach))
    }

    /// Returns the text that an operator affects.
    fn span(&mut self, editor: &Editor, command: &Command) -> Option<Span> {
        let (text, at) = (&editor.text, editor.cursor);
        if let Some(span) = objects::find(text, at, &command.target) {
            return Some(span);
        }
        if is_target(&command.target, true) != Some(true) && command.target != "_" {
            return None;
        }
        let (to, reach) = self.motion(editor, command)?;
        let (from, to) = (at.min(to), at.max(to));
        Some(match reach {
            MotionKind::Lines => Span { from, to: line_end(text, to), lines: true },
            MotionKind::Inclusive => Span { from, to: next(text, to).min(line_end(text, to)), lines: false },
            // Up to the beginning of a line means up to the end of the previous one.
            MotionKind::Exclusive if to > line_end(text, from) && line_start(text, to) == to => {
                Span { from, to: to - 1, lines: text[line_start(text, from)..from].trim_start().is_empty() }
            }
            MotionKind::Exclusive => Span { from, to, lines: false },
        })
    }

    fn selected(&self, editor: &Editor) -> Span {
        let (text, at) = (&editor.text, editor.cursor);
        let anchor = self.anchor.min(text.len());
        let (from, to) = (anchor.min(at), anchor.max(at));
        match self.by_lines {
            true => Span { from: line_start(text, from), to: line_end(text, to), lines: true },
            false => Span { from, to: next(text, to), lines: false },
        }
    }

    /// Cuts, changes or copies a part of the text.
    fn operate(&mut self, editor: &mut Editor, verb: char, Span { mut from, mut to, lines }: Span) {
        editor.sticky = None;
        let is_copy = verb == 'y';
        let is_change = matches!(verb, 'c' | 's');
        let text = &editor.text;
        let begin = from;
        if lines {
            (from, to) = (line_start(text, from), line_end(text, to));
        }
        let mut cut = text[from..to].to_owned();
        if lines {
            cut.push('\n');
        }
        if !cut.is_empty() && (is_copy || !text.is_empty()) {
            editor.kills.add(&cut, false, false);
            self.lines = lines.then_some(cut);
        }
        if is_copy {
            editor.cursor = begin;
            return;
        }
        if lines && !is_change {
            // Includes the line end after it, or else the one before.
            match to < text.len() {
                true => to += 1,
                false => from = from.saturating_sub(1),
            }
        }
        editor.replace(from, to, "", false);
        editor.cursor = match lines && !is_change {
            true => first_letter(&editor.text, from),
            false => from,
        };
        if is_change {
            self.insert();
        }
    }

    /// Pastes the last cut or copied text after the cursor, or before it; whole lines below or above.
    fn put(&self, editor: &mut Editor, count: usize, is_behind: bool) {
        let Some(kill) = editor.kills.newest() else { return };
        let is_lines = self.lines.as_deref() == Some(kill);
        let put = kill.repeat(count);
        let (text, at) = (&editor.text, editor.cursor);
        let (start, end) = (line_start(text, at), line_end(text, at));
        let (place, put) = match (is_lines, is_behind) {
            (true, true) => (end, format!("\n{}", &put[..put.len() - 1])),
            (true, false) => (start, put),
            (false, true) if at < end => (next(text, at), put),
            (false, _) => (at, put),
        };
        editor.replace(place, place, &put, false);
        editor.cursor = match is_lines {
            true => first_letter(&editor.text, place + usize::from(is_behind)),
            false if put.contains('\n') => place,
            false => previous(&editor.text, place + put.len()),
        };
    }

    /// Repeats the last change.
    fn repeat(&mut self, editor: &mut Editor, count: Option<usize>) {
        let Some(mut change) = self.change.clone() else { return };
        change.count = count.or(change.count);
        let typed = self.typed.clone();
        self.carry_out(editor, &change);
        if self.mode == ViMode::Insert {
            let at = editor.cursor;
            editor.replace(at, at, &typed, false);
            self.typed = typed;
            self.change = Some(change);
            self.end_insert(editor);
        }
    }
}

/// Returns true if only blanks remain of the lines of a multi-line part.
fn is_all_of_lines(text: &str, Span { from, to, .. }: Span) -> bool {
    text[from..to].contains('\n')
        && text[line_start(text, from)..from].trim_start().is_empty()
        && text[to..line_end(text, to)].trim_start().is_empty()
}
