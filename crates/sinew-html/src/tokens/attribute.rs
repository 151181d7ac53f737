//! The attributes that are used.

use html5ever::tendril::StrTendril;
use html5ever::{Attribute, LocalName, QualName, local_name, ns};

use super::{Detail, reference};
use crate::language;

/// The maximum number of attributes of one tag: each is compared with those before it.
const MOST: usize = 256;

/// Stores the attribute, unless it is a duplicate or not used.
pub(super) fn keep(attributes: &mut Vec<Attribute>, name: &[u8], value: &str, detail: Detail) {
    let local = match detail {
        Detail::Whole => (attributes.len() < MOST).then(|| any(name)),
        Detail::Text | Detail::Clean => known(name, value, detail == Detail::Clean),
    };
    let Some(local) = local else {
        return;
    };
    if attributes.iter().any(|attribute| attribute.name.local == local) {
        return;
    }
    attributes.push(Attribute { name: QualName::new(None, ns!(), local), value: decoded(value) });
}

fn any(name: &[u8]) -> LocalName {
    LocalName::from(String::from_utf8_lossy(name).to_ascii_lowercase().replace('\0', "\u{fffd}"))
}

fn known(name: &[u8], value: &str, clean: bool) -> Option<LocalName> {
    const LONGEST: usize = 23;
    if name.len() > LONGEST {
        return None;
    }
    let mut lower = [0; LONGEST];
    let lower = &mut lower[..name.len()];
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    Some(match &*lower {
        b"href" => local_name!("href"),
        b"src" => local_name!("src"),
        b"title" => local_name!("title"),
        b"alt" => local_name!("alt"),
        b"srcset" => local_name!("srcset"),
        b"data" => local_name!("data"),
        b"data-src"
        | b"data-original"
        | b"data-original-src"
        | b"data-lazy"
        | b"data-lazy-src"
        | b"data-srcset"
        | b"data-lang"
        | b"data-language"
        | b"data-enlighter-language" => LocalName::from(std::str::from_utf8(lower).ok()?),
        b"lang" => local_name!("lang"),
        b"value" => local_name!("value"),
        b"reversed" => local_name!("reversed"),
        b"rowspan" => local_name!("rowspan"),
        b"display" => local_name!("display"),
        b"start" => local_name!("start"),
        b"type" => local_name!("type"),
        b"checked" => local_name!("checked"),
        b"colspan" => local_name!("colspan"),
        b"align" => local_name!("align"),
        b"encoding" => local_name!("encoding"),
        b"style" if clean || value.contains("text-align") => local_name!("style"),
        b"class" if clean || is_class(value) => local_name!("class"),
        b"id" if clean => local_name!("id"),
        b"role" if clean => local_name!("role"),
        b"hidden" if clean => local_name!("hidden"),
        b"aria-hidden" if clean => local_name!("aria-hidden"),
        _ => return None,
    })
}

/// Returns true for a class that names a language, a line of code, line numbers or a part of a formula.
fn is_class(value: &str) -> bool {
    let is_word = |word: &str| {
        language::is_line(word)
            || language::is_gutter(word)
            || matches!(word, "fragment" | "math")
            || ["katex-", "mwe-math", "MathJax"].iter().any(|start| word.starts_with(start))
    };
    value.split_ascii_whitespace().any(is_word)
        || language::of_class(value)
            .or_else(|| language::of_figure(value))
            .or_else(|| language::of_code(value))
            .is_some()
}

/// Returns the value with its references decoded.
fn decoded(value: &str) -> StrTendril {
    let Some(first) = memchr::memchr2(b'&', 0, value.as_bytes()) else {
        return StrTendril::from_slice(value);
    };
    let mut out = String::with_capacity(value.len());
    let mut done = 0;
    let mut at = first;
    loop {
        let length = if value.as_bytes()[at] == 0 {
            out.push_str(&value[done..at]);
            out.push('\u{fffd}');
            Some(0)
        } else {
            reference::decode(&value[at + 1..], true).map(|(characters, length)| {
                out.push_str(&value[done..at]);
                out.push_str(characters.as_str());
                length
            })
        };
        if let Some(length) = length {
            done = at + 1 + length;
        }
        let from = done.max(at + 1);
        match memchr::memchr2(b'&', 0, &value.as_bytes()[from..]) {
            Some(found) => at = from + found,
            None => break,
        }
    }
    out.push_str(&value[done..]);
    out.into()
}
