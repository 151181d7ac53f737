//! Tokenizes HTML for html5ever's tree builder.
//!
//! The rules are those of the HTML standard; html5ever's own tokenizer is the reference in the tests. This one is
//! several times as fast, because it searches for the next relevant character instead of checking every one, shares the
//! memory of the page with its text, and skips unused content: comments, scripts, styles, and all but about twenty
//! attributes. Since a tag has no more attributes than these, comparing them with each other is cheap.

mod attribute;
mod names;
mod reference;

use std::borrow::Cow;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Doctype, Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::{Attribute, LocalName};
use names::Names;
use sinew_base::{CancelTicker, CancelToken, Result};

/// The parts of a page that are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The visible text, and the attributes that Markdown can express.
    Text,
    /// The same, and the attributes that identify secondary content.
    Clean,
    /// Everything including scripts, styles and all attributes; only comments are excluded.
    Whole,
}

/// Sends the tokens of a page to `sink`, followed by the end. Runs in linear time; checks `cancel` every 128 tags and
/// texts.
pub(crate) fn send<S: TokenSink>(page: &str, detail: Detail, sink: &S, cancel: &CancelToken) -> Result<()> {
    let page = page.strip_prefix('\u{feff}').unwrap_or(page);
    let page: Cow<'_, str> = if memchr::memchr(b'\r', page.as_bytes()).is_some() {
        page.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        page.into()
    };
    let shared = StrTendril::from_slice(&page);
    let names = Names::default();
    let mut tokens = Tokens { page: &page, bytes: page.as_bytes(), shared, at: 0, detail, names, sink };
    let mut ticker = CancelTicker::new(cancel);
    while tokens.at < tokens.bytes.len() {
        ticker.step()?;
        tokens.step();
    }
    tokens.token(Token::EOFToken);
    sink.end();
    Ok(())
}

struct Tokens<'a, S> {
    page: &'a str,
    bytes: &'a [u8],
    /// The page again as shared memory, so that text is not copied.
    shared: StrTendril,
    at: usize,
    detail: Detail,
    names: Names,
    sink: &'a S,
}

impl<S: TokenSink> Tokens<'_, S> {
    /// Sends a token other than a tag: only tags change the tokenizer's state.
    fn token(&self, token: Token) {
        let _ = self.sink.process_token(token, 1);
    }

    fn text(&self, from: usize, to: usize) {
        if from < to {
            // Pages beyond 4 GiB were rejected before.
            let text = self.shared.subtendril(from as u32, (to - from) as u32);
            self.token(Token::CharacterTokens(text));
        }
    }

    fn characters(&self, text: &str) {
        self.token(Token::CharacterTokens(StrTendril::from_slice(text)));
    }

    /// Reads the text up to the next tag, and the tag; or a part of it.
    fn step(&mut self) {
        let from = self.at;
        let mut at = from;
        loop {
            let Some(found) = memchr::memchr3(b'<', b'&', 0, &self.bytes[at..]) else {
                self.at = self.bytes.len();
                return self.text(from, self.at);
            };
            at += found;
            match self.bytes[at] {
                b'<' if self.begins_markup(at) => {
                    self.text(from, at);
                    self.at = at;
                    return self.markup();
                }
                b'<' => at += 1,
                0 => {
                    self.text(from, at);
                    self.at = at + 1;
                    self.token(Token::NullCharacterToken);
                    return;
                }
                _ => match reference::decode(&self.page[at + 1..], false) {
                    Some((characters, length)) => {
                        self.text(from, at);
                        self.at = at + 1 + length;
                        return self.characters(characters.as_str());
                    }
                    None => at += 1,
                },
            }
        }
    }

    fn begins_markup(&self, at: usize) -> bool {
        match self.bytes.get(at + 1) {
            Some(b'!' | b'?') => true,
            Some(b'/') => self.bytes.get(at + 2).is_some(),
            Some(byte) => byte.is_ascii_alphabetic(),
            None => false,
        }
    }

    /// Parses the markup that begins with `<` here.
    fn markup(&mut self) {
        let rest = &self.bytes[self.at..];
        match rest[1] {
            b'!' if rest.starts_with(b"<!--") => self.at = end_of_comment(self.bytes, self.at + 4),
            b'!' if starts_with(&rest[2..], b"doctype") => self.doctype(),
            b'!' if rest.starts_with(b"<![CDATA[")
                && self.sink.adjusted_current_node_present_but_not_in_html_namespace() =>
            {
                let from = self.at + 9;
                let end = memchr::memmem::find(&self.bytes[from..], b"]]>").map(|found| from + found);
                self.plain_text(from, end.unwrap_or(self.bytes.len()));
                self.at = end.map_or(self.bytes.len(), |end| end + 3);
            }
            b'/' if rest[2].is_ascii_alphabetic() => self.tag(TagKind::EndTag, self.at + 2),
            b'!' | b'?' | b'/' => {
                self.at = memchr::memchr(b'>', rest).map_or(self.bytes.len(), |end| self.at + end + 1);
            }
            _ => self.tag(TagKind::StartTag, self.at + 1),
        }
    }

    /// Sends text without references; NUL characters are separate tokens for the builder.
    fn plain_text(&self, from: usize, to: usize) {
        let mut at = from;
        while let Some(found) = memchr::memchr(0, &self.bytes[at..to]) {
            self.text(at, at + found);
            self.token(Token::NullCharacterToken);
            at += found + 1;
        }
        self.text(at, to);
    }

    fn doctype(&mut self) {
        let from = self.at + 9;
        let end = memchr::memchr(b'>', &self.bytes[from..]).map_or(self.bytes.len(), |end| from + end);
        let words = self.page.get(from..end).unwrap_or_default();
        self.at = (end + 1).min(self.bytes.len());
        let name = words.trim_start().split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
        // The identifiers distinguish old pages from new ones, which only decides whether a table ends a paragraph.
        let mut quoted = words.split(['"', '\'']).skip(1).step_by(2).map(StrTendril::from_slice);
        let has = |word: &[u8]| words.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
        let public_id = if has(b"public") { quoted.next() } else { None };
        let doctype = Doctype {
            name: (!name.is_empty()).then(|| StrTendril::from(name.to_ascii_lowercase())),
            public_id,
            system_id: quoted.next(),
            force_quirks: name.is_empty(),
        };
        self.token(Token::DoctypeToken(doctype));
    }

    /// Parses a tag whose name begins at `start`.
    fn tag(&mut self, kind: TagKind, start: usize) {
        let end = start + self.bytes[start..].iter().position(|b| ends_name(*b)).unwrap_or(self.bytes.len() - start);
        let name = self.names.local(&self.page[start..end]);
        let mut attributes = Vec::new();
        let mut closing = false;
        let Some(end) = self.attributes(end, kind, &mut attributes, &mut closing) else {
            // The page ends inside the tag, so it is dropped.
            self.at = self.bytes.len();
            return;
        };
        self.at = end;
        let is_formula = &*name == "script"
            && attributes.iter().any(|found| &*found.name.local == "type" && is_formula(&found.value));
        let tag =
            Tag { kind, name: name.clone(), self_closing: closing, attrs: attributes, had_duplicate_attributes: false };
        match self.sink.process_token(Token::TagToken(tag), 1) {
            TokenSinkResult::Plaintext => {
                let from = std::mem::replace(&mut self.at, self.bytes.len());
                self.raw_text(from, self.at);
            }
            TokenSinkResult::RawData(kind) => self.raw(kind, &name, is_formula),
            TokenSinkResult::Continue | TokenSinkResult::Script(_) | TokenSinkResult::EncodingIndicator(_) => {}
        }
    }

    /// Parses attributes from `at` on, to the end of the tag; `None` if the tag does not end.
    fn attributes(
        &self,
        mut at: usize,
        kind: TagKind,
        attributes: &mut Vec<Attribute>,
        closing: &mut bool,
    ) -> Option<usize> {
        loop {
            match *self.bytes.get(at)? {
                b'>' => return Some(at + 1),
                b'/' => {
                    *closing = self.bytes.get(at + 1) == Some(&b'>');
                    at += 1;
                    continue;
                }
                byte if is_space(byte) => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            let start = at;
            // A leading equals sign is part of the name.
            at += 1;
            while !matches!(*self.bytes.get(at)?, b'=' | b'/' | b'>') && !is_space(self.bytes[at]) {
                at += 1;
            }
            let name = &self.bytes[start..at];
            while is_space(*self.bytes.get(at)?) {
                at += 1;
            }
            let mut value = "";
            if self.bytes[at] == b'=' {
                at += 1;
                while is_space(*self.bytes.get(at)?) {
                    at += 1;
                }
                (value, at) = self.value(at)?;
            }
            if kind == TagKind::StartTag {
                attribute::keep(attributes, name, value, self.detail);
            }
        }
    }

    /// Returns the value that begins at `at`, and where it ends.
    fn value(&self, at: usize) -> Option<(&str, usize)> {
        match self.bytes[at] {
            quote @ (b'"' | b'\'') => {
                let end = at + 1 + memchr::memchr(quote, &self.bytes[at + 1..])?;
                Some((&self.page[at + 1..end], end + 1))
            }
            b'>' => Some(("", at)),
            _ => {
                let end = at + self.bytes[at..].iter().position(|byte| *byte == b'>' || is_space(*byte))?;
                Some((&self.page[at..end], end))
            }
        }
    }

    /// Reads the content of an element without inner tags, up to its end tag. `is_formula` is true for a script that is
    /// text to show.
    fn raw(&mut self, kind: RawKind, name: &LocalName, is_formula: bool) {
        let from = self.at;
        let end = match kind {
            RawKind::ScriptData => end_of_script(self.bytes, from),
            _ => end_of_raw(self.bytes, from, name.as_bytes()),
        };
        self.at = end;
        match &**name {
            // Their content is not used.
            "script" | "style" | "title" | "iframe" | "noembed" | "noframes"
                if self.detail != Detail::Whole && !is_formula => {}
            _ if kind == RawKind::Rcdata => self.references(from, end),
            _ => self.raw_text(from, end),
        }
    }

    fn references(&self, from: usize, end: usize) {
        let mut done = from;
        let mut at = from;
        while let Some(found) = memchr::memchr(b'&', &self.bytes[at..end]) {
            at += found;
            if let Some((characters, length)) = reference::decode(&self.page[at + 1..end], false) {
                self.raw_text(done, at);
                self.characters(characters.as_str());
                done = at + 1 + length;
                at = done;
            } else {
                at += 1;
            }
        }
        self.raw_text(done, end);
    }

    /// Sends text in which NUL becomes a replacement character.
    fn raw_text(&self, from: usize, to: usize) {
        if memchr::memchr(0, &self.bytes[from..to]).is_some() {
            self.characters(&self.page[from..to].replace('\0', "\u{fffd}"));
        } else {
            self.text(from, to);
        }
    }
}

/// Returns true for the type of a script with a formula for MathJax.
pub(crate) fn is_formula(kind: &str) -> bool {
    kind.trim_start().get(..8).is_some_and(|start| start.eq_ignore_ascii_case("math/tex"))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0c)
}

fn ends_name(byte: u8) -> bool {
    matches!(byte, b'>' | b'/') || is_space(byte)
}

fn starts_with(bytes: &[u8], lower: &[u8]) -> bool {
    bytes.get(..lower.len()).is_some_and(|start| start.eq_ignore_ascii_case(lower))
}

/// Returns the position after the end of the comment whose text begins at `from`.
fn end_of_comment(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..];
    if rest.starts_with(b">") {
        return from + 1;
    }
    if rest.starts_with(b"->") {
        return from + 2;
    }
    let mut at = from;
    while let Some(found) = memchr::memmem::find(&bytes[at..], b"--") {
        at += found;
        let mut end = at + 2;
        // All dashes of a run are checked at once.
        while bytes.get(end) == Some(&b'-') {
            end += 1;
        }
        match &bytes[end..] {
            [b'>', ..] => return end + 1,
            [b'!', b'>', ..] => return end + 2,
            _ => at = end,
        }
    }
    bytes.len()
}

/// Returns the position at which the end tag of `name` begins.
fn end_of_raw(bytes: &[u8], from: usize, name: &[u8]) -> usize {
    memchr::memmem::find_iter(&bytes[from..], b"</")
        .map(|found| from + found)
        .find(|&at| is_tag(&bytes[at + 2..], name))
        .unwrap_or(bytes.len())
}

/// Returns true if a tag of that name begins here.
fn is_tag(bytes: &[u8], name: &[u8]) -> bool {
    starts_with(bytes, name) && bytes.get(name.len()).is_some_and(|byte| ends_name(*byte))
}

/// Returns the position of the end tag of a script. A script may contain another script inside a comment.
fn end_of_script(bytes: &[u8], from: usize) -> usize {
    let (mut escaped, mut double) = (false, false);
    let mut at = from;
    while let Some(found) = memchr::memchr2(b'<', b'>', &bytes[at..]) {
        at += found;
        if bytes[at] == b'>' {
            if escaped && bytes[from..at].ends_with(b"--") {
                (escaped, double) = (false, false);
            }
        } else if bytes[at..].starts_with(b"<!--") && !escaped {
            escaped = true;
        } else if bytes[at..].starts_with(b"</") && is_tag(&bytes[at + 2..], b"script") {
            if !double {
                return at;
            }
            double = false;
        } else if escaped && !double && is_tag(&bytes[at + 1..], b"script") {
            double = true;
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests;
