//! SQL in several dialects.

use std::sync::LazyLock;

use super::scan::{Line, begins_name, is_name};
use super::words::{Then, Words};
use crate::category::Category::{Comment, Function, Keyword, Number, Operator, Plain, Punctuation, String, Type};

/// The state of the lexer between lines.
#[derive(Clone, Default)]
pub(crate) struct Sql {
    /// MySQL: a backslash escapes in strings, and `#` begins a comment.
    mysql: bool,
    comment: bool,
    /// The quote of the open string, and whether a backslash escapes in it.
    quote: Option<(u8, bool)>,
    /// The end of the open string of Oracle: `]'`.
    delimiter: Option<[u8; 2]>,
    /// The tag of the open body of PostgreSQL, `$$` or `$name$`. It is a string, but usually contains code, which is
    /// highlighted; whatever is open in it ends with it.
    body: Option<Box<[u8]>>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    Words::folded(&[
        (Keyword, Then::Function, "database function index procedure schema table trigger view"),
        (Keyword, Then::Variable, "exists if not"),
        (
            Keyword,
            Then::Any,
            "add after all alter analyze and any as asc authorization auto_increment autoincrement backup before begin between both by call cascade case cast \
             check close cluster collate column comment commit concurrently conflict constraint copy create cross cube current cursor cycle \
             database declare default deferrable deferred delete delimiter desc describe distinct do domain drop each else elseif end engine enum escape \
             except exception exec execute exists explain extension fetch filter first following for foreign from full function \
             generated global grant group grouping handler having if ignore ilike immediate immutable in index inherits initially inner inout \
             insert instead intersect interval into is isolation join key language last lateral leading leave left level like limit \
             local lock loop match materialized merge minus natural next no not nothing notnull null nulls of offset on only open operator option or order out \
             outer over owner partial partition plpgsql precision preceding prepare primary privileges procedure public range raise read recursive \
             references refresh reindex rename repeatable replace restrict return returning returns revoke right role rollback rollup row rows savepoint \
             schema security select sequence serializable session set show similar some stable start statement strict table tablespace temp \
             temporary then ties to trailing transaction trigger true false truncate type unbounded union unique unlock unlogged until update use user \
             using vacuum values view virtual volatile when where while window with within without work",
        ),
        (
            Type,
            Then::Any,
            "bigint bigserial binary bit blob bool boolean bytea char character clob date datetime datetime2 decimal double float float4 \
             float8 geometry inet int int2 int4 int8 integer json jsonb long longblob longtext mediumblob mediumint mediumtext money \
             nchar ntext number numeric nvarchar oid real regclass serial smalldatetime smallint smallserial text time timestamp timestamptz \
             timetz tinyblob tinyint tinytext uniqueidentifier unsigned uuid varbinary varchar varchar2 varying xml year",
        ),
        (
            Function,
            Then::Any,
            "abs avg ceil ceiling coalesce concat count current_date current_time current_timestamp dense_rank first_value floor getdate greatest ifnull \
             isnull lag last_value lcase lead least len length lower ltrim max min mod now nullif nvl position power rand rank round \
             row_number rtrim sqrt substr substring sum sysdate trim ucase upper",
        ),
    ])
});

impl Sql {
    pub(crate) fn mysql() -> Sql {
        Sql { mysql: true, ..Sql::default() }
    }

    pub(crate) fn line(&mut self, line: &mut Line<'_, '_, '_>) {
        if self.comment {
            self.block(line);
        }
        if let Some((quote, escapes)) = self.quote {
            self.string(line, quote, escapes);
        }
        if let Some(delimiter) = self.delimiter {
            self.delimited(line, delimiter);
        }
        let mut creates = false;
        loop {
            line.blanks();
            let at = line.at;
            let byte = line.first();
            let next = line.byte(at + 1);
            match byte {
                0 if line.is_done() => return,
                b'-' if next == b'-' && (!self.mysql || line.byte(at + 2) <= b' ') => return line.rest(Comment),
                // Elsewhere it is an operator or begins the name of a table.
                b'#' if self.mysql || at == line.after_blanks(0) && next <= b' ' => return line.rest(Comment),
                b'#' if begins_name(next) => line.take(line.name_end(at + 1), Plain),
                b'/' if next == b'*' => {
                    line.take(at + 2, Comment);
                    self.block(line);
                }
                b'\'' | b'"' | b'`' => {
                    line.take(at + 1, String);
                    self.string(line, byte, self.mysql && byte != b'`');
                }
                // PostgreSQL's strings with escapes.
                b'e' | b'E' if next == b'\'' => {
                    line.take(at + 2, String);
                    self.string(line, next, true);
                }
                b'q' | b'Q' if next == b'\'' && !self.mysql && line.byte(at + 2) > b' ' => {
                    let close = match line.byte(at + 2) {
                        b'[' => b']',
                        b'(' => b')',
                        b'{' => b'}',
                        b'<' => b'>',
                        other => other,
                    };
                    line.take(at + 3, String);
                    self.delimited(line, [close, b'\'']);
                }
                b'$' if !self.mysql && self.tag(line) => {}
                b'0'..=b'9' => line.take(line.number_end(at, false), Number),
                b'(' | b')' | b',' | b';' | b'.' | b'[' | b']' => line.take(at + 1, Punctuation),
                b'+' | b'-' | b'*' | b'/' | b'%' | b'=' | b'<' | b'>' | b'!' | b'|' | b'&' | b'^' | b'~' | b':'
                | b'#' => line.take(at + 1, Operator),
                b'@' | b'$' if begins_name(next) => line.take(line.name_end(at + 1), Plain),
                _ if begins_name(byte) => {
                    let end = line.name_end(at);
                    let text = &line.text[at..end];
                    let column = at > 0 && line.byte(at - 1) == b'.';
                    let word = WORDS.get(text).filter(|_| !column);
                    let category = match word {
                        Some(word) if word.category == Function && line.byte(end) != b'(' && !text.contains(&b'_') => {
                            Plain
                        }
                        Some(word) => word.category,
                        None if creates => Function,
                        None => Plain,
                    };
                    creates = match word {
                        Some(word) if word.then == Then::Variable => creates,
                        Some(word) => word.then == Then::Function,
                        None => false,
                    };
                    line.take(end, category);
                }
                _ => line.take(at + 1, Plain),
            }
        }
    }

    fn block(&mut self, line: &mut Line<'_, '_, '_>) {
        let end = line.find(b"*/", line.at).map(|end| end + 2);
        let stop = self.body_end(line, end);
        self.comment = end.is_none() && stop.is_none();
        line.take(stop.or(end).unwrap_or(line.text.len()), Comment);
    }

    /// Highlights the rest of a string; a doubled quote ends and reopens it, which looks the same.
    fn string(&mut self, line: &mut Line<'_, '_, '_>, quote: u8, escapes: bool) {
        let end =
            if escapes { line.quote_end(quote, line.at) } else { line.find(&[quote], line.at).map(|end| end + 1) };
        let stop = self.body_end(line, end);
        self.quote = if end.is_none() && stop.is_none() { Some((quote, escapes)) } else { None };
        line.take(stop.or(end).unwrap_or(line.text.len()), String);
    }

    /// Highlights the rest of `q'[…]'`.
    fn delimited(&mut self, line: &mut Line<'_, '_, '_>, delimiter: [u8; 2]) {
        let end = line.find(&delimiter, line.at).map(|end| end + 2);
        self.delimiter = if end.is_none() { Some(delimiter) } else { None };
        line.take(end.unwrap_or(line.text.len()), String);
    }

    /// Returns the position of the tag that ends the open body, if that is before `end`.
    fn body_end(&self, line: &Line<'_, '_, '_>, end: Option<usize>) -> Option<usize> {
        line.find_before(self.body.as_deref()?, line.at, end.unwrap_or(line.text.len()))
    }

    /// Highlights the tag that begins or ends a body; returns false if there is none here.
    fn tag(&mut self, line: &mut Line<'_, '_, '_>) -> bool {
        let at = line.at;
        if let Some(tag) = &self.body {
            let ends = line.starts_with(tag);
            if ends {
                line.take(at + tag.len(), String);
                self.body = None;
            }
            return ends;
        }
        let end = if begins_name(line.byte(at + 1)) { line.name_end(at + 1) } else { at + 1 };
        if line.byte(end) != b'$' || at > 0 && is_name(line.byte(at - 1)) {
            return false;
        }
        self.body = Some(line.text[at..=end].into());
        line.take(end + 1, String);
        true
    }
}
