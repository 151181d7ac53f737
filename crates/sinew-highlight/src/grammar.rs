//! The other languages: TextMate grammars, executed by syntect.

use std::sync::LazyLock;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use crate::category::Category;
use crate::paint::Paint;
use crate::scopes::Scopes;

/// The maximum length of highlighted lines: a grammar may need time that grows with the cube of a line's length.
const LONGEST_LINE: usize = 1 << 10;

/// The limit of the sum of the squared lengths of lines beyond [`SHORT_LINE`] in one text; later lines stay plain.
const MOST_EFFORT: usize = 32 << 20;

/// Lines up to this length do not count towards the limit.
const SHORT_LINE: usize = 200;

/// The number of bytes of one text that are highlighted; the rest stays plain. A grammar processes about half a
/// megabyte per second, and the caller waits for it.
const MOST_BYTES: usize = 32 << 10;

/// The same for the grammars in [`SLOW`].
const MOST_BYTES_SLOW: usize = 8 << 10;

/// Grammars that are ten times as slow as others on unexpected text.
const SLOW: &[&str] = &["Command Help", "Idris", "OCamlyacc", "Regular Expression"];

/// The backtracking limits of a regular expression at one position, and in one search of a line.
const RETRIES: (u16, u16) = (2_000, 20_000);

/// Every grammar, loaded once; the rules of a grammar are unpacked on its first use.
static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(|| {
    // SAFETY: both calls store a number that later searches read; none of ours has begun, and other searches in this
    // process only end earlier if they would take long.
    unsafe {
        onig_sys::onig_set_retry_limit_in_match(RETRIES.0.into());
        onig_sys::onig_set_retry_limit_in_search(RETRIES.1.into());
    }
    two_face::syntax::extra_newlines()
});

/// A grammar and its state within a text.
#[derive(Clone)]
pub(crate) struct Grammar {
    parse: ParseState,
    stack: ScopeStack,
    scopes: Scopes,
    line: String,
    effort: usize,
    /// The number of bytes that may still be highlighted.
    budget: usize,
    /// The number of lines that a limit left plain.
    plain_lines: usize,
}

/// Returns every grammar for whole files.
pub(crate) fn all() -> impl Iterator<Item = &'static SyntaxReference> {
    GRAMMARS.syntaxes().iter().filter(|syntax| !syntax.hidden)
}

/// Returns the grammar with this scope, extension or name, ignoring case; `None` if no grammar has it.
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

    /// Returns the number of lines that a limit left plain.
    pub(crate) fn plain_lines(&self) -> usize {
        self.plain_lines
    }

    /// Highlights one line without its line end.
    pub(crate) fn line(&mut self, text: &[u8], paint: &mut Paint<'_>) {
        let Some(text) = std::str::from_utf8(text).ok().filter(|text| self.admits(text.len())) else {
            self.plain_lines += 1;
            return paint.piece(text, Category::Plain);
        };
        // The grammars expect lines to end with their newline.
        self.line.clear();
        self.line.push_str(text);
        self.line.push('\n');
        // A line that fails to parse stays plain; the next one continues from the state before it.
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

    /// Returns true if a line of this length is within every limit, and counts it.
    fn admits(&mut self, length: usize) -> bool {
        if length > LONGEST_LINE {
            return false;
        }
        // Once the budget is used up, shorter lines stay plain too: the grammar would continue in an inconsistent
        // state.
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
