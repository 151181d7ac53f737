//! Escapes characters of a text that Markdown would interpret.

/// Appends `text`, whose white space consists of single spaces, with its Markdown characters escaped. Runs in linear
/// time.
pub(super) fn text(out: &mut String, text: &str, in_link: bool, in_table: bool) {
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if !SPECIAL[byte as usize] {
            continue;
        }
        let next = bytes.get(at + 1).copied();
        let needed = match byte {
            // Between letters an underscore is never emphasis.
            b'_' => !(at > 0 && is_word(bytes[at - 1]) && next.is_some_and(is_word)),
            b'<' => next.is_none_or(|next| next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?')),
            b'&' => is_entity(&bytes[at + 1..]),
            b']' => in_link,
            b'|' => in_table,
            // `~~` is strikethrough in GitHub's Markdown, and `~~~` begins a fence.
            b'~' => next == Some(b'~') || at > 0 && bytes[at - 1] == b'~',
            b'\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
            _ => true,
        };
        if needed {
            out.push_str(&text[from..at]);
            out.push('\\');
            from = at;
        }
    }
    out.push_str(&text[from..]);
}

const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let special = b"\\`*_[]<&|~";
    let mut at = 0;
    while at < special.len() {
        table[special[at] as usize] = true;
        at += 1;
    }
    table
};

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// Returns true if the text after an ampersand makes it a character reference.
fn is_entity(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"#").unwrap_or(rest);
    // The longest name has 31 letters.
    let name = rest.iter().take(32).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    name > 0 && rest.get(name) == Some(&b';')
}

/// Returns the position of the backslash that prevents a line from being parsed as a heading, a list item, a quote or a
/// rule. `None` if it is parsed as text anyway.
pub(super) fn line_start(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let ends = |at: usize| matches!(bytes.get(at), None | Some(b' ' | b'\n'));
    match bytes.first()? {
        b'>' => Some(0),
        b'#' => {
            let count = bytes.iter().take_while(|&&byte| byte == b'#').count();
            (count <= 6 && ends(count)).then_some(0)
        }
        b'+' => ends(1).then_some(0),
        b'-' => (ends(1) || bytes[1] == b'-').then_some(0),
        b'=' => (ends(1) || bytes[1] == b'=').then_some(0),
        b'0'..=b'9' => {
            let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (count <= 9 && matches!(bytes.get(count), Some(b'.' | b')')) && ends(count + 1)).then_some(count)
        }
        _ => None,
    }
}

/// Escapes the destination of a link, without the surrounding brackets. Runs in linear time.
pub(super) fn destination(address: &str) -> String {
    let address = shortened(address.trim_matches(|c: char| c.is_ascii_whitespace()));
    if address.is_empty() {
        return String::new();
    }
    let bytes = address.as_bytes();
    if !bytes.iter().any(|byte| NOT_PLAIN[usize::from(*byte)]) {
        return address.into_owned();
    }
    let balanced = is_balanced(&address);
    let bracketed = address.contains([' ', '\t']) || address.starts_with('<');
    let mut out = String::with_capacity(address.len() + 2);
    if bracketed {
        out.push('<');
    }
    // Everything before this offset is written.
    let mut from = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if !NOT_PLAIN[usize::from(byte)] {
            continue;
        }
        let escaped = match byte {
            b'\t' | b' ' => false,
            0..=0x1f | 0x7f => {
                out.push_str(&address[from..at]);
                from = at + 1;
                if !matches!(byte, b'\n' | b'\r' | 0xc) {
                    out += &format!("%{byte:02X}");
                }
                false
            }
            b'\\' => bytes.get(at + 1).is_none_or(u8::is_ascii_punctuation),
            b'&' => is_entity(&bytes[at + 1..]),
            b'(' | b')' => !bracketed && !balanced,
            _ => bracketed,
        };
        if escaped {
            out.push_str(&address[from..at]);
            out.push('\\');
            from = at;
        }
    }
    out.push_str(&address[from..]);
    if bracketed {
        out.push('>');
    }
    out
}

/// Bytes of an address that may need escaping.
const NOT_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte <= 0x20 || matches!(byte as u8, 0x7f | b'\\' | b'&' | b'(' | b')' | b'<' | b'>');
        byte += 1;
    }
    table
};

/// Cuts a `data:` address after its type, because the image data follows.
fn shortened(address: &str) -> std::borrow::Cow<'_, str> {
    let is_data = address.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    match address.find(',') {
        Some(comma) if is_data && address.len() > comma + 1 => {
            // The type is short, but a page may contain anything before the comma.
            let head = &address[..address.floor_char_boundary(comma.min(64))];
            format!("{head},...").into()
        }
        None if is_data => address[..address.floor_char_boundary(64)].into(),
        _ => address.into(),
    }
}

fn is_balanced(address: &str) -> bool {
    let mut depth = 0;
    for byte in address.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return false,
            b')' => depth -= 1,
            _ => {}
        }
        // CommonMark supports 32 levels.
        if depth > 30 {
            return false;
        }
    }
    depth == 0
}

/// Returns the title of a link in quotes, with a leading space. Empty without a title.
pub(super) fn title(title: Option<&str>) -> String {
    let Some(title) = title.filter(|title| !title.trim().is_empty()) else {
        return String::new();
    };
    let mut out = " \"".to_string();
    // A blank line would end the link.
    for (number, line) in title.trim().lines().filter(|line| !line.trim().is_empty()).enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let bytes = line.as_bytes();
        for (at, c) in line.char_indices() {
            let escaped = match c {
                '"' => true,
                '\\' => bytes.get(at + 1).is_none_or(u8::is_ascii_punctuation),
                '&' => is_entity(&bytes[at + 1..]),
                _ => false,
            };
            if escaped {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out.push('"');
    out
}

/// Writes a code span with as many backticks as needed.
pub(super) fn code_span(out: &mut String, code: &str, in_table: bool) {
    let ticks = unused_run(code);
    let fence = "`".repeat(ticks);
    let spaces = code.bytes().all(|byte| byte == b' ');
    let padded =
        code.starts_with('`') || code.ends_with('`') || !spaces && code.starts_with(' ') && code.ends_with(' ');
    let pad = if padded { " " } else { "" };
    let code = if in_table { code.replace('|', "\\|").into() } else { std::borrow::Cow::Borrowed(code) };
    for part in [&*fence, pad, &*code, pad, &*fence] {
        out.push_str(part);
    }
}

/// Returns a run of backticks that is longer than any in `text`.
fn unused_run(text: &str) -> usize {
    let longest = text.as_bytes().chunk_by(|a, b| a == b).filter(|run| run[0] == b'`').map(<[u8]>::len).max();
    longest.unwrap_or(0) + 1
}

/// Returns the fence of a code block: at least three characters.
pub(super) fn fence(code: &str) -> String {
    "`".repeat(unused_run(code).max(3))
}
