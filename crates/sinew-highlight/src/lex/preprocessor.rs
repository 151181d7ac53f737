//! Preprocessor lines of C and of languages with the same syntax.

use crate::category::Category::{Function, Keyword, String, Variable};
use crate::lex::scan::Line;

/// Highlights a directive whose `#` is at `start`: its name, and the names after `include` and `define`. Returns its
/// name; the rest of the line is left to the language.
pub(crate) fn directive<'a>(line: &mut Line<'a, '_, '_>, start: usize) -> &'a [u8] {
    line.blanks();
    let word = line.after_blanks(start + 1);
    let end = line.name_end(word);
    let name = &line.text[word.min(end)..end];
    line.take(end, Keyword);
    line.blanks();
    match name {
        b"include" | b"import" | b"include_next" if line.first() == b'<' => {
            let end = line.find(b">", line.at).map_or(line.text.len(), |end| end + 1);
            line.take(end, String);
        }
        b"define" => {
            let end = line.name_end(line.at);
            line.take(end, if line.byte(end) == b'(' { Function } else { Variable });
        }
        _ => {}
    }
    name
}
