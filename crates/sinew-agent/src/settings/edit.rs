//! Changes one key in the text of a settings file and leaves the rest as it stands: comments, order, white space.

use std::ops::Range;

use serde_json::Value;

/// The text with `path` set to `value`. Objects on the way are made where they are missing; what stands in their
/// place and is no object is replaced.
///
/// # Errors
/// The text is no JSON object with comments.
pub(super) fn set(text: &str, path: &str, value: &Value) -> Result<String, String> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(format!("{:#}\n", wrapped(value, path.split('.'))));
    }
    let mut scan = Scan { text, at: text.len() - text.trim_start_matches('\u{feff}').len() };
    scan.blank();
    let mut words = path.split('.').peekable();
    let mut depth = 1;
    loop {
        let Some(word) = words.next() else { return Err("an empty path".into()) };
        let object = scan.object()?;
        let Some(found) = object.members.iter().rev().find(|(name, _)| name == word) else {
            return Ok(insert(text, &object, word, &wrapped(value, words), depth));
        };
        let range = found.1.clone();
        if words.peek().is_some() && text[range.clone()].starts_with('{') {
            scan.at = range.start;
            depth += 1;
            continue;
        }
        let value = wrapped(value, words);
        return Ok(format!("{}{}{}", &text[..range.start], indented(&value, depth), &text[range.end..]));
    }
}

/// The value below the words that are left of its path.
fn wrapped<'a>(value: &Value, words: impl Iterator<Item = &'a str>) -> Value {
    let words: Vec<&str> = words.collect();
    let around = |value, word: &&str| Value::Object([((*word).to_string(), value)].into_iter().collect());
    words.iter().rev().fold(value.clone(), around)
}

fn insert(text: &str, object: &Object, name: &str, value: &Value, depth: usize) -> String {
    let line = format!("\n{}{}: {}", "  ".repeat(depth), Value::from(name), indented(value, depth));
    let (before, behind) = match object.last {
        // Behind the last member; a comma may stand there already.
        Some(end) => match object.comma {
            Some(comma) => (text[..comma].to_string() + &line, &text[comma..]),
            None => (format!("{},{line}", &text[..end]), &text[end..]),
        },
        None => (text[..object.open].to_string() + &line, &text[object.open..]),
    };
    // A brace on the same line goes on a line of its own.
    let rest = behind.trim_start_matches([' ', '\t']);
    match rest.starts_with('}') {
        true => format!("{before}\n{}{rest}", "  ".repeat(depth - 1)),
        false => before + behind,
    }
}

fn indented(value: &Value, depth: usize) -> String {
    format!("{value:#}").replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

/// Where the parts of an object stand.
struct Object {
    /// Behind its `{`.
    open: usize,
    members: Vec<(String, Range<usize>)>,
    /// Behind the last member.
    last: Option<usize>,
    /// Behind the comma of the last member, where it has one.
    comma: Option<usize>,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn wrong<T>(&self) -> Result<T, String> {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        Err(format!("line {line}: not JSON"))
    }

    /// Skips white space and comments.
    fn blank(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let length = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += length;
        }
    }

    /// Stands at a `{`; ends behind its `}`.
    fn object(&mut self) -> Result<Object, String> {
        if self.peek() != Some(b'{') {
            return self.wrong();
        }
        self.at += 1;
        let mut object = Object { open: self.at, members: Vec::new(), last: None, comma: None };
        loop {
            self.blank();
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(object);
                }
                Some(b'"') => {}
                _ => return self.wrong(),
            }
            let name = self.string()?;
            self.blank();
            if self.peek() != Some(b':') {
                return self.wrong();
            }
            self.at += 1;
            self.blank();
            let begun = self.at;
            self.value()?;
            object.members.push((name, begun..self.at));
            object.last = Some(self.at);
            object.comma = None;
            self.blank();
            if self.peek() == Some(b',') {
                self.at += 1;
                object.comma = Some(self.at);
            } else if self.peek() != Some(b'}') {
                return self.wrong();
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let begun = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return self.wrong(),
            }
        }
        self.at += 1;
        serde_json::from_str(&self.text[begun..self.at]).or_else(|_| self.wrong())
    }

    /// Skips a value; brackets are counted, so that depth costs nothing.
    fn value(&mut self) -> Result<(), String> {
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{' | b'[') => {
                    open += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                Some(b'/') => self.blank(),
                Some(b',' | b':') if open > 0 => self.at += 1,
                Some(b',' | b':' | b'}' | b']') | None => return self.wrong(),
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                Some(_) => {
                    while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
                        self.at += 1;
                    }
                    if self.peek().is_some_and(|byte| !byte.is_ascii()) {
                        return self.wrong();
                    }
                }
            }
            if open == 0 {
                return Ok(());
            }
            self.blank();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use sinew_llm::models::plain_json;

    use super::*;

    #[track_caller]
    fn check(text: &str, path: &str, value: Value, expect: &str) {
        assert_eq!(set(text, path, &value).as_deref(), Ok(expect), "{text} {path}");
    }

    #[test]
    fn one_key_changes_and_the_rest_stays() {
        check("", "a.b", json!(1), "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
        check("{}\n", "a", json!(1), "{\n  \"a\": 1\n}\n");
        check("{ \"a\" : 1 , \"b\":2 }", "a", json!("x"), "{ \"a\" : \"x\" , \"b\":2 }");
        check("{\n  \"a\": 1 // one\n}\n", "b", json!(2), "{\n  \"a\": 1,\n  \"b\": 2 // one\n}\n");
        check("{\n  \"a\": 1, // one\n}\n", "b", json!(2), "{\n  \"a\": 1,\n  \"b\": 2 // one\n}\n");
        check("{\"a\":1}", "b.c", json!(true), "{\"a\":1,\n  \"b\": {\n    \"c\": true\n  }\n}");
        check(
            "// head\n{\n  \"r\": {\n    /* x */ \"n\": [1, {\"n\": 2}],\n    \"e\": false\n  }\n}\n",
            "r.n",
            json!(5),
            "// head\n{\n  \"r\": {\n    /* x */ \"n\": 5,\n    \"e\": false\n  }\n}\n",
        );
        check(
            "{\n  \"r\": {\n    \"e\": 1\n  }\n}",
            "r.n",
            json!(5),
            "{\n  \"r\": {\n    \"e\": 1,\n    \"n\": 5\n  }\n}",
        );
        check("{\"r\": 3}", "r.n", json!(5), "{\"r\": {\n    \"n\": 5\n  }}");
        check("\u{feff}{\"a\": \"}\\\"\"}", "a", json!(1), "\u{feff}{\"a\": 1}");
        // Of two keys of one name the last one counts.
        check("{\"a\": 1, \"a\": 2}", "a", json!(3), "{\"a\": 1, \"a\": 3}");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in [
            "[]",
            "{",
            "{\"a\"}",
            "{\"a\": }",
            "{\"a\": 1",
            "{a: 1}",
            "{\"a\": é}",
            "nonsense",
            "{\"a\": \"",
            "{\"a\": 1 2}",
        ] {
            assert!(set(text, "b", &json!(1)).is_err(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Reading what was written gives the value, and everything else as before.
        #[test]
        fn the_result_reads_as_the_change(
            keys in prop::collection::vec(("[a-d]", 0..4_u8), 0..5),
            path in prop::collection::vec("[a-d]", 1..4),
            pretty in any::<bool>(),
        ) {
            let mut before = json!({});
            for (key, kind) in keys {
                before[key] = match kind { 0 => json!(1), 1 => json!({"a": {"b": "x"}}), 2 => json!([1, {"a": 2}]), _ => json!("t//x") };
            }
            let text = if pretty { format!("{before:#}") } else { before.to_string() };
            let written = set(&text, &path.join("."), &json!(7)).unwrap();
            let after: Value = serde_json::from_str(&plain_json(&written)).unwrap();
            let mut place = &mut before;
            for word in &path {
                if !place.is_object() {
                    *place = json!({});
                }
                place = &mut place[word];
            }
            *place = json!(7);
            prop_assert_eq!(after, before);
        }
    }
}
