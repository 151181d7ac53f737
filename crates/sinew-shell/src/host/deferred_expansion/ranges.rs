//! Expands ranges of zero-padded numbers: `{08..10}` becomes `{08,09,10}`.

/// The maximum length of an expanded range; a longer one loses its zeros.
const LONGEST: i64 = 10_000;

/// Returns true if a text may contain such a range.
pub(super) fn mentioned(text: &str) -> bool {
    ["{0", "{-0", "..0", "..-0"].iter().any(|mark| text.contains(mark))
}

/// Returns a word with unquoted ranges expanded.
pub(super) fn written_out(word: &str) -> String {
    let mut done = String::with_capacity(word.len());
    let mut rest = word;
    let mut quoted = None;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match (first, quoted) {
            ('\\', None | Some('"')) => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            ('\'' | '"', None) => quoted = Some(first),
            ('\'' | '"', Some(mark)) if mark == first => quoted = None,
            // An expansion is copied unchanged, including its content.
            ('$', None) if rest[1..].starts_with('{') => length = expansion(rest),
            ('{', None) => {
                if let Some((inner, after)) = rest[1..].split_once('}')
                    && let Some(numbers) = list(inner)
                {
                    // Braces around a single element are literal.
                    match &numbers[..] {
                        [number] => done.push_str(number),
                        _ => done.push_str(&format!("{{{}}}", numbers.join(","))),
                    }
                    rest = after;
                    continue;
                }
            }
            _ => {}
        }
        done.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    done
}

/// Returns the numbers of `FROM..TO` or `FROM..TO..STEP` if one of the bounds has leading zeros; `None` otherwise.
fn list(range: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = range.split("..").collect();
    let (from, to, step) = match parts[..] {
        [from, to] => (from, to, "1"),
        [from, to, step] => (from, to, step),
        _ => return None,
    };
    let zeros = |text: &str| {
        let digits = text.trim_start_matches('-');
        digits.len() > 1 && digits.starts_with('0')
    };
    if !zeros(from) && !zeros(to) {
        return None;
    }
    let width = from.len().max(to.len());
    let (first, last): (i64, i64) = (from.parse().ok()?, to.parse().ok()?);
    let step = i64::try_from(step.parse::<i64>().ok()?.unsigned_abs().max(1)).ok()?;
    if last.abs_diff(first) / step.unsigned_abs() >= LONGEST.unsigned_abs() {
        return None;
    }
    let mut numbers = Vec::new();
    let mut at = first;
    while if first <= last { at <= last } else { at >= last } {
        numbers.push(format!("{at:0width$}"));
        at = at.checked_add(if first <= last { step } else { -step })?;
    }
    Some(numbers)
}

/// Returns the length of the `${…}` at the start of a text.
fn expansion(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}
