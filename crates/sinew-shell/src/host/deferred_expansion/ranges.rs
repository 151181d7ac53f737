//! Ranges of numbers that are filled with zeros, written out: `{08..10}` as `{08,09,10}`.

/// The longest range that is written out; a longer one keeps its numbers and loses its zeros.
const LONGEST: i64 = 10_000;

/// Tells whether a text may hold such a range.
pub(super) fn mentioned(text: &str) -> bool {
    ["{0", "{-0", "..0", "..-0"].iter().any(|mark| text.contains(mark))
}

/// A word with its ranges written out, outside of quotes.
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
            // An expansion goes on as it is, with what is in it.
            ('$', None) if rest[1..].starts_with('{') => length = expansion(rest),
            ('{', None) => {
                if let Some((inner, after)) = rest[1..].split_once('}')
                    && let Some(numbers) = list(inner)
                {
                    // A list of one is none for braces.
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

/// The numbers of `FROM..TO` or `FROM..TO..STEP`, where one of the two has leading zeros.
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

/// The length of the `${…}` that a text begins with.
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
