//! Checks that comments contain no idioms that a reader has to decode, and that tests are named for their behavior instead
//! of the number of an item in a specification.

/// Idioms, and the plain words for them.
const IDIOMS: [(&str, &str); 12] = [
    ("tells of", "describes, reports"),
    ("goes on", "continues"),
    ("stands in", "is in"),
    ("stands at", "is at"),
    ("lies in", "is in"),
    ("lies below", "is below"),
    ("anew", "again"),
    ("taken back", "removed, undone"),
    ("looked at", "checked, read"),
    ("is to be", "must be"),
    ("at rest", "idle"),
    ("by itself alone", "alone"),
];

/// Adds a fault for each idiom in a comment and each numbered test.
pub(super) fn check(files: &[(String, String)], faults: &mut Vec<String>) {
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            let place = format!("{path}:{}", number + 1);
            if let Some((idiom, plain)) = IDIOMS.iter().find(|(idiom, _)| has_words(comment(line), idiom)) {
                faults.push(format!("{place} says {idiom:?}: write plain English, such as {plain}"));
            }
            if is_numbered_test(line) {
                faults.push(format!("{place} names a test for a number: name it for the behavior"));
            }
        }
    }
}

/// Returns the text of a line that is a comment; empty for code.
fn comment(line: &str) -> &str {
    line.trim_start().strip_prefix("//").unwrap_or_default()
}

/// Returns true if `text` contains `words` between word boundaries.
fn has_words(text: &str, words: &str) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(words).any(|(at, _)| {
        !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + words.len()..].chars().next())
    })
}

/// Returns true for the head of a function whose name ends with three digits or contains `item_` and a digit.
fn is_numbered_test(line: &str) -> bool {
    let Some(name) = line.trim_start().trim_start_matches("async ").strip_prefix("fn ") else { return false };
    let name = name.split('(').next().unwrap_or_default();
    let ends_with_number = name.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == 3 && end.starts_with('0') && end.bytes().all(|byte| byte.is_ascii_digit())
    });
    let item = name.split("item_").nth(1).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    ends_with_number || item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(line: &str, expect: bool) {
        let mut faults = Vec::new();
        check(&[("a.rs".into(), line.into())], &mut faults);
        assert_eq!(!faults.is_empty(), expect, "{line}: {faults:?}");
    }

    #[test]
    fn idioms_are_found_in_comments_only() {
        finds("    /// It stands in front.", true);
        finds("// The run goes on", true);
        finds("//! Everything begins anew.", true);
        finds("/// `~` stands for the home directory.", false);
        finds("/// It applies in all modes, and bygoes on.", false);
        finds("let text = \"goes on\";", false);
    }

    #[test]
    fn numbered_tests_are_found() {
        finds(&format!("fn item_{}_holds() {{", 13), true);
        finds("    async fn rules_hold_037() {", true);
        finds("fn keeps_utf_16() {", false);
        finds("fn reads_100_files() {", false);
        finds("fn writes_item_names() {", false);
    }
}
