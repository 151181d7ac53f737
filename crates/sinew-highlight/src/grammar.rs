//! The long tail: TextMate grammars, run by syntect.

use std::sync::LazyLock;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use crate::category::Category;
use crate::paint::Paint;
use crate::scopes::Scopes;

/// Lines longer than this stay plain: a grammar may need time that grows with the cube of a line's length.
const LONGEST_LINE: usize = 1 << 10;

/// The squares of the lengths of lines beyond [`SHORT_LINE`] may add up to this in one text; what comes then stays plain.
const MOST_EFFORT: usize = 32 << 20;

/// Lines up to this length never count as an effort.
const SHORT_LINE: usize = 200;

/// Bytes of one text that are looked at; what comes then stays plain. A grammar reads about half a megabyte in a second, and
/// the caller waits for it.
const MOST_BYTES: usize = 32 << 10;

/// The same for the grammars of [`SLOW`].
const MOST_BYTES_SLOW: usize = 8 << 10;

/// Grammars that read ten times as slowly as the others where a text is not what they expect.
const SLOW: &[&str] = &["Command Help", "Idris", "OCamlyacc", "Regular Expression"];

/// Steps back that one regular expression may take at one place, and in one search of a line.
const RETRIES: (u16, u16) = (2_000, 20_000);

/// Every grammar, read once; the rules of a grammar are unpacked when it is first used.
static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(|| {
    // SAFETY: both calls store a number that later searches read; none of ours has begun, and what others search in this
    // process only ends earlier where it would take long.
    unsafe {
        onig_sys::onig_set_retry_limit_in_match(RETRIES.0.into());
        onig_sys::onig_set_retry_limit_in_search(RETRIES.1.into());
    }
    two_face::syntax::extra_newlines()
});

/// A grammar and where in a text it is.
#[derive(Clone)]
pub(crate) struct Grammar {
    parse: ParseState,
    stack: ScopeStack,
    scopes: Scopes,
    line: String,
    effort: usize,
    /// Bytes that may still be looked at.
    budget: usize,
    /// Lines that a limit left plain.
    plain_lines: usize,
}

/// Every grammar for whole files: its name and its extensions.
pub(crate) fn all() -> impl Iterator<Item = &'static SyntaxReference> {
    GRAMMARS.syntaxes().iter().filter(|syntax| !syntax.hidden)
}

/// The grammar with this scope, extension or name, letter case aside.
pub(crate) fn find(token: &str) -> Option<&'static SyntaxReference> {
    GRAMMARS.find_syntax_by_token(token)
}

impl Grammar {
    pub(crate) fn new(syntax: &SyntaxReference) -> Self {
        Self {
            parse: ParseState::new(syntax),
            stack: ScopeStack::new(),
            scopes: Scopes::default(),
            line: String::new(),
            effort: 0,
            budget: if SLOW.contains(&syntax.name.as_str()) { MOST_BYTES_SLOW } else { MOST_BYTES },
            plain_lines: 0,
        }
    }

    /// Lines that a limit left plain.
    pub(crate) fn plain_lines(&self) -> usize {
        self.plain_lines
    }

    /// Paints one line without its terminator.
    pub(crate) fn line(&mut self, text: &[u8], paint: &mut Paint<'_>) {
        let Some(text) = std::str::from_utf8(text).ok().filter(|text| self.admits(text.len())) else {
            self.plain_lines += 1;
            return paint.piece(text, Category::Plain);
        };
        // The grammars expect lines to end with their newline.
        self.line.clear();
        self.line.push_str(text);
        self.line.push('\n');
        // A line that fails to parse is shown plain; the next begins from the state before it.
        let before = self.parse.clone();
        let Ok(operations) = self.parse.parse_line(&self.line, &GRAMMARS) else {
            self.parse = before;
            return paint.piece(text.as_bytes(), Category::Plain);
        };
        let mut at = 0;
        for (index, operation) in operations {
            let index = index.min(text.len());
            if index > at {
                self.show(&text[at..index], paint);
                at = index;
            }
            if self.stack.apply(&operation).is_err() {
                self.stack = ScopeStack::new();
            }
        }
        self.show(&text[at..], paint);
    }

    /// Returns whether a line of this length is within every limit; counts it if it is.
    fn admits(&mut self, length: usize) -> bool {
        if length > LONGEST_LINE {
            return false;
        }
        // Once it is spent, shorter lines do not slip through: the grammar would go on in the middle of something.
        self.budget = if length < self.budget { self.budget - length - 1 } else { 0 };
        if length > SHORT_LINE {
            self.effort = MOST_EFFORT.min(self.effort + length * length);
        }
        self.budget > 0 && (length <= SHORT_LINE || self.effort < MOST_EFFORT)
    }

    fn show(&mut self, text: &str, paint: &mut Paint<'_>) {
        if text.bytes().all(|byte| byte == b' ' || byte == b'\t') {
            return paint.blank(text.as_bytes());
        }
        let category = self.scopes.category(self.stack.as_slice(), text);
        paint.piece(text.as_bytes(), category);
    }
}
