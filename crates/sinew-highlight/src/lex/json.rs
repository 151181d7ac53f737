//! JSON, including comments.

use super::scan::{Line, begins_name};
use crate::category::Category::{Comment, Keyword, Number, Plain, Punctuation, String};

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Json {
    comment: bool,
}

impl Json {
    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if self.comment {
            self.block(line);
        }
        loop {
            line.blanks();
            let at = line.at;
            let byte = line.first();
            match byte {
                0 if line.is_done() => return,
                b'"' | b'\'' => line.take(line.quote_end(byte, at + 1).unwrap_or(line.text.len()), String),
                b'0'..=b'9' => line.take(line.number_end(at, true), Number),
                b'-' | b'+' | b'.' if line.byte(at + 1).is_ascii_digit() => {
                    line.take(line.number_end(at + 1, true), Number)
                }
                b'{' | b'}' | b'[' | b']' | b',' | b':' => line.take(at + 1, Punctuation),
                b'/' if line.byte(at + 1) == b'/' => return line.rest(Comment),
                b'/' if line.byte(at + 1) == b'*' => {
                    line.take(at + 2, Comment);
                    self.block(line);
                }
                _ if begins_name(byte) => {
                    let end = line.name_end(at);
                    let known = matches!(&line.text[at..end], b"true" | b"false" | b"null" | b"NaN" | b"Infinity");
                    line.take(end, if known { Keyword } else { Plain });
                }
                _ => line.take(at + 1, Plain),
            }
        }
    }

    fn block(&mut self, line: &mut Line<'_, '_, '_>) {
        let end = line.find(b"*/", line.at);
        self.comment = end.is_none();
        line.take(end.map_or(line.text.len(), |end| end + 2), Comment);
    }
}
