//! Compiled rules: words in a hash table, bytes in classes.

use std::sync::LazyLock;

use super::rules::{Anchor, Calls, Rules, is_in};
use crate::category::Category::{self, Operator, Plain, Punctuation};
use crate::lex::scan::{Line, begins_name, is_name};
use crate::lex::words::Words;

/// A language whose rules are compiled on first use.
pub(crate) type Language = LazyLock<CompiledRules>;

/// The class of the first byte of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Name,
    Digit,
    Symbol(Category),
}

/// Compiled rules.
pub(crate) struct CompiledRules {
    pub(crate) rules: Rules,
    pub(crate) words: Words,
    /// The class of each byte that begins a token.
    pub(crate) class: [Class; 256],
    /// Bytes that may begin a comment, a region or another token that cannot be recognised from its first byte.
    pub(crate) special: [bool; 256],
    /// Bytes that may occur in a name.
    pub(crate) letters: [bool; 256],
    /// Bytes after which a statement begins.
    pub(crate) statement_ends: [bool; 256],
    /// True if any rule depends on the start of a line.
    pub(crate) has_line_rules: bool,
}

impl CompiledRules {
    pub(crate) fn new(rules: Rules) -> Self {
        let words = if rules.fold { Words::folded(rules.words) } else { Words::new(rules.words) };
        let mut class = [Class::Symbol(Plain); 256];
        let mut letters = [false; 256];
        let mut statement_ends = [false; 256];
        for byte in 0..=255u8 {
            let index = byte as usize;
            letters[index] = is_name(byte) || is_in(rules.letters, byte);
            statement_ends[index] = is_in(rules.statement_ends, byte);
            class[index] = if byte.is_ascii_digit() {
                Class::Digit
            } else if begins_name(byte) || is_in(rules.begins, byte) {
                Class::Name
            } else if is_in(rules.operators, byte) {
                Class::Symbol(Operator)
            } else if is_in(rules.punctuation, byte) {
                Class::Symbol(Punctuation)
            } else {
                Class::Symbol(Plain)
            };
        }
        let mut special = [false; 256];
        let begins = (rules.comments.iter().map(|(begin, _)| *begin))
            .chain(rules.regions.iter().map(|region| region.begin))
            .chain(rules.delimited.iter().map(|row| row.begin))
            .chain(rules.heredocs.iter().copied())
            .chain(rules.sigils.iter().map(|sigil| sigil.mark))
            .chain(rules.number_prefixes.iter().copied())
            .chain(if rules.signed { ["-", "+"].as_slice() } else { &[] }.iter().copied())
            .chain(if rules.tagged_strings { ["{"].as_slice() } else { &[] }.iter().copied())
            .chain([".", "\\"]);
        for begin in begins {
            special[begin.as_bytes()[0] as usize] = true;
        }
        let has_line_rules = rules.preprocessor || !rules.lines.is_empty();
        Self { rules, words, class, special, letters, statement_ends, has_line_rules }
    }

    /// Returns the end of the name that begins at `from`.
    #[inline]
    pub(crate) fn name_end(&self, line: &Line<'_, '_, '_>, from: usize) -> usize {
        let mut end = from;
        while line.text.get(end).is_some_and(|&byte| self.letters[byte as usize]) {
            end += 1;
        }
        if end > from && is_in(self.rules.tails, line.byte(end)) && !matches!(line.byte(end + 1), b'=' | b':') {
            end += 1;
        }
        end
    }

    /// Returns true if a marker is valid at the current position.
    pub(crate) fn is_place(
        &self,
        line: &Line<'_, '_, '_>,
        place: Anchor,
        before: PreviousToken,
        indent: usize,
    ) -> bool {
        let at = line.at;
        let last = if at == 0 { b' ' } else { line.byte(at - 1) };
        match place {
            Anchor::Any => true,
            Anchor::Column0 => at == 0,
            Anchor::LineStart => indent == at,
            Anchor::AfterBlank => matches!(last, b' ' | b'\t'),
            Anchor::NotAfterValue => {
                !(self.letters[last as usize] || matches!(last, b')' | b']' | b'}' | b'\'' | b'"' | b'.'))
                    || before == PreviousToken::Keyword
            }
            Anchor::Operand => {
                let next = line.byte(at + 1);
                before != PreviousToken::Value
                    || before == PreviousToken::Value
                        && last == b' '
                        && !matches!(next, b' ' | b'\t' | b'=' | 0)
                        && self.rules.calls != Calls::None
                        && at >= 2
                        && self.letters[line.byte(at - 2) as usize]
                        && !line.byte(at - 2).is_ascii_digit()
            }
            Anchor::Statement => before == PreviousToken::Start,
        }
    }
}

/// The previous token, as far as the next one depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreviousToken {
    /// A statement begins.
    Start,
    Other,
    /// An opening round bracket.
    Open,
    Dot,
    Keyword,
    Value,
}
