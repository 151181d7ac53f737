//! Lengths in UTF-8 characters: `${#name}`, and substrings with offsets from the end.
//!
//! The interpreter counts bytes. So `${#name}` is replaced by an element of the array [`ARRAY`], which is computed
//! whenever it is read: element N is the length of the Nth name that [`rewritten`] has found. Parameters without a name
//! (`${#1}`, `${#list[2]}`) are replaced by a substitution that calls the builtin [`COUNT`].

use std::collections::BTreeMap;
use std::io::Write;

use brush_core::{CommandArg, Error, ExecutionContext, ExecutionResult, ShellState, ShellValue, ShellVariable, env};
use parking_lot::Mutex;

use super::super::interpreter::{BrushExtensions, Shell};
use super::visit::Context;

/// The array of lengths.
const ARRAY: &str = "__sinew_length";

/// The builtin that prints the length of its last argument. With `-0` its status is 0, otherwise the previous one.
pub(in crate::host) const COUNT: &str = "__sinew_count";

/// The names whose lengths the array contains, by index. Static, because one process runs one shell.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Returns true if a text may contain something to rewrite.
pub(super) fn mentioned(text: &str) -> bool {
    text.contains("${#") || (text.contains("${") && text.contains(':') && text.contains('-'))
}

/// Defines the array in the shell if a word uses it.
pub(super) fn install(shell: &mut Shell) {
    if NAMES.lock().is_empty() || shell.env_var(ARRAY).is_some() {
        return;
    }
    let value = ShellValue::Dynamic { getter: lengths, setter: |_| () };
    // This only fails for a read-only variable.
    let _ = shell.set_env_global(ARRAY, ShellVariable::new(value));
}

/// Runs the builtin [`COUNT`].
pub(in crate::host) fn count(
    context: &ExecutionContext<'_, BrushExtensions>,
    args: &[CommandArg],
) -> Result<ExecutionResult, Error> {
    let status = match args.get(1).map(CommandArg::to_string).as_deref() {
        Some("-0") => 0,
        _ => context.shell.last_exit_status(),
    };
    let text = args.last().map(CommandArg::to_string).unwrap_or_default();
    write!(context.stdout(), "{}", text.chars().count())?;
    Ok(ExecutionResult::new(status))
}

/// Returns a word whose lengths are counted in characters.
pub(super) fn rewritten(word: &str, context: Context) -> String {
    if !mentioned(word) {
        return word.to_string();
    }
    Rewriter { context, done: String::with_capacity(word.len()) }.text(word)
}

struct Rewriter {
    context: Context,
    done: String,
}

impl Rewriter {
    fn text(mut self, text: &str) -> String {
        // For each open substitution: whether it is in double quotes, and its open parentheses.
        let mut open: Vec<(bool, usize)> = Vec::new();
        let (mut quoted, mut depth) = (self.context == Context::Document, 0);
        let letters = |open: &[(bool, usize)]| self.context == Context::Document && open.is_empty();
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            let rest = &text[at..];
            let mut length = first.len_utf8();
            match first {
                '\\' => length += rest[1..].chars().next().map_or(0, char::len_utf8),
                '"' if !letters(&open) => quoted = !quoted,
                '\'' if !quoted => length = rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
                '$' if rest.starts_with("$(") => {
                    open.push((quoted, depth));
                    (quoted, depth) = (false, 1);
                    length = 2;
                }
                '(' if !open.is_empty() => depth += 1,
                ')' if !open.is_empty() => {
                    depth -= 1;
                    if depth == 0
                        && let Some(outer) = open.pop()
                    {
                        (quoted, depth) = outer;
                    }
                }
                '$' if rest.starts_with("${") => {
                    if let Some(end) = closing(&rest[2..]) {
                        // A substitution has its own status.
                        let context = if open.is_empty() { self.context } else { Context::Word };
                        if let Some(parameter) = parameter(&rest[2..2 + end], context) {
                            self.done.push_str(&parameter);
                            at += end + 3;
                            continue;
                        }
                        length = 2;
                    }
                }
                _ => {}
            }
            self.done.push_str(&rest[..length]);
            at += length;
        }
        self.done
    }
}

/// Returns the replacement of `${inner}` if it counts bytes; `None` otherwise.
fn parameter(inner: &str, context: Context) -> Option<String> {
    if let Some(of) = inner.strip_prefix('#') {
        let name = &of[..name_length(of)];
        if !name.is_empty() && name == of {
            return Some(length_of(name));
        }
        let subscript = of[name.len()..].strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let element = !name.is_empty() && subscript.is_some_and(|index| !matches!(index, "@" | "*"));
        let positional = !of.is_empty() && of != "0" && of.bytes().all(|byte| byte.is_ascii_digit());
        if !element && !positional {
            return None;
        }
        let flag = if context == Context::Assigned { "-0" } else { "--" };
        let default = if element { "-" } else { "" };
        // Its trace would go to standard error.
        return Some(format!("$({COUNT} {flag} \"${{{of}{default}}}\" 2>/dev/null)"));
    }
    let name = &inner[..name_length(inner)];
    let part = inner[name.len()..].strip_prefix(':').filter(|part| !part.starts_with(['-', '=', '?', '+']))?;
    if name.is_empty() {
        return None;
    }
    let (offset, length) = slice(part);
    let from_end = |text: &str| text.trim_start_matches([' ', '(']).starts_with('-');
    let twice = |text: &str| !["++", "--", "="].iter().any(|operator| text.contains(operator));
    let ends_early = length.is_some_and(from_end);
    if !(from_end(offset) || ends_early) || !twice(offset) {
        return None;
    }
    let whole = length_of(name);
    let offset = rewritten(offset, context);
    let start = match from_end(&offset) {
        true => format!("(({offset})<0?(({offset})+{whole}<0?{whole}:({offset})+{whole}):({offset}))"),
        false => offset.clone(),
    };
    let Some(length) = length else { return Some(format!("${{{name}: {start}}}")) };
    let length = rewritten(length, context);
    Some(match ends_early {
        true => {
            format!("${{{name}: {start}:(({offset})<0?-({offset})+({length}):{whole}-({offset})+({length}))}}")
        }
        false => format!("${{{name}: {start}:{length}}}"),
    })
}

/// Returns the offset and the length of a substring: the texts before and after its first own colon.
fn slice(part: &str) -> (&str, Option<&str>) {
    let mut depth = 0;
    for (at, letter) in part.char_indices() {
        match letter {
            '(' | '{' | '[' | '?' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            ':' if depth <= 0 => return (&part[..at], Some(&part[at + 1..])),
            ':' => depth -= 1,
            _ => {}
        }
    }
    (part, None)
}

/// Returns an expansion that yields the length of a variable.
fn length_of(name: &str) -> String {
    let mut names = NAMES.lock();
    let index = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_string());
        names.len() - 1
    });
    format!("${{{ARRAY}[{index}]}}")
}

/// Returns the lengths of all names. An unset name has the length 0, or none if that should be an error.
fn lengths(shell: &dyn ShellState) -> ShellValue {
    let names = NAMES.lock().clone();
    let strict = shell.options().treat_unset_variables_as_error;
    let length = |name: &String| {
        let mut name = name.clone();
        for _ in 0..=super::CHAIN {
            let (_, variable) = shell.env().get(&name)?;
            match variable.value() {
                // A reference to an element has the length 0 in bash, because no variable has its name.
                ShellValue::String(target) if variable.is_treated_as_nameref() => name.clone_from(target),
                ShellValue::Dynamic { getter, .. } => return text_length(&getter(shell)),
                value => return text_length(value),
            }
        }
        None
    };
    let known = names.iter().zip(0u64..).filter_map(|(name, index)| {
        let length = length(name).or(if strict { None } else { Some(0) })?;
        Some((index, length.to_string()))
    });
    ShellValue::IndexedArray(known.collect::<BTreeMap<u64, String>>())
}

fn text_length(value: &ShellValue) -> Option<usize> {
    let text = match value {
        ShellValue::String(text) => Some(text),
        ShellValue::IndexedArray(items) => items.get(&0),
        ShellValue::AssociativeArray(items) => items.get("0"),
        ShellValue::Unset(_) | ShellValue::Dynamic { .. } => None,
    };
    text.map(|text| text.chars().count())
}

/// Returns the position of the closing brace in `text`, whose opening brace precedes it; `None` if there is none.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut quoted = false;
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        match first {
            '\\' => at += rest[1..].chars().next().map_or(0, char::len_utf8),
            '"' => quoted = !quoted,
            '$' if rest.starts_with("${") => {
                depth += 1;
                at += 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        at += first.len_utf8();
    }
    None
}

/// Returns the length of the variable name at the start of a text.
fn name_length(text: &str) -> usize {
    let end = text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    if env::valid_variable_name(&text[..end]) { end } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expect: &str) {
        assert_eq!(rewritten(word, Context::Word), expect.replace("LENGTH", &length_of("s")), "{word}");
    }

    #[test]
    fn replaces_lengths_wherever_the_interpreter_expands_them() {
        check("a${#s}b", "aLENGTHb");
        check("\"${#s}'${#s}'\"'${#s}'", "\"LENGTH'LENGTH'\"'${#s}'");
        check("$(echo '${#s}' \"${#s}\")${#s}", "$(echo '${#s}' \"LENGTH\")LENGTH");
        check("${x:-${#s}} ${#s[@]} ${#} ${#s#a} \\${#s}", "${x:-LENGTH} ${#s[@]} ${#} ${#s#a} \\${#s}");
        check("${#", "${#");
    }

    #[test]
    fn keeps_substrings_with_offsets_from_the_start() {
        for word in ["${s:1:2}", "${s:-x}", "${s:?x-y}", "${s:i++:-1}", "${a[1]: -1}", "${@: -1}"] {
            check(word, word);
        }
    }
}
