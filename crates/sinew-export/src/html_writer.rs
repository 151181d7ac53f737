//! The only writer of the page: markup comes from this program's own source, and everything else is escaped.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use sinew::term::sanitize;
use sinew_llm::message::{AgentMessage, Block, Content};
use sinew_session::secrets::Secrets;

/// The maximum number of characters of [`HtmlWriter::line`].
const LINE: usize = 80;

/// Writes the parts of the page.
///
/// [`HtmlWriter::tag`] only accepts static strings, so that no text of a session can become markup.
pub(super) struct HtmlWriter<'a> {
    out: String,
    secrets: Option<&'a Secrets>,
}

impl<'a> HtmlWriter<'a> {
    pub(super) fn new(secrets: Option<&'a Secrets>) -> HtmlWriter<'a> {
        HtmlWriter { out: String::new(), secrets: secrets.filter(|secrets| !secrets.is_empty()) }
    }

    /// Writes markup.
    pub(super) fn tag(&mut self, markup: &'static str) -> &mut Self {
        self.out.push_str(markup);
        self
    }

    /// Writes any text, as content or as the value of a quoted attribute.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let clean = self.clean(text);
        escape(&mut self.out, &clean);
        self
    }

    /// Writes a part of a text returned by [`HtmlWriter::clean`].
    pub(super) fn part(&mut self, clean: &str) -> &mut Self {
        escape(&mut self.out, clean);
        self
    }

    /// Writes a number with thousands separators.
    pub(super) fn count(&mut self, number: u64) -> &mut Self {
        let digits = number.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                self.out.push(',');
            }
            self.out.push(digit);
        }
        self
    }

    /// Writes `1 word` or `2 words`.
    pub(super) fn many(&mut self, number: u64, one: &'static str, more: &'static str) -> &mut Self {
        self.count(number).tag(" ").tag(if number == 1 { one } else { more })
    }

    /// Writes an amount of US dollars.
    pub(super) fn dollars(&mut self, cost: f64) -> &mut Self {
        let digits = if cost < 1.0 { 4 } else { 2 };
        self.out.push_str(&format!("${cost:.digits$}"));
        self
    }

    /// Returns `text` without escape sequences, controls and secrets. Text that is parsed or cut before it is written
    /// has to be cleaned first, so that no secret is split and missed.
    pub(super) fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = sanitize(text);
        match self.secrets.and_then(|secrets| secrets.hidden(&text)) {
            Some(hidden) => Cow::Owned(hidden),
            None => text,
        }
    }

    /// Hides secrets that span two consecutive texts of a message, because a reader sees them next to each other.
    pub(super) fn hide_between(&self, message: &mut AgentMessage) {
        let (Some(secrets), Some(blocks)) = (self.secrets, blocks(message)) else { return };
        for run in blocks.chunk_by_mut(|a, b| matches!((a, b), (Block::Text(_), Block::Text(_)))) {
            let texts = run.iter_mut().filter_map(|block| match block {
                Block::Text(text) => Some(&mut text.text),
                _ => None,
            });
            let mut texts: Vec<&mut String> = texts.collect();
            if texts.len() > 1 {
                secrets.hide_joined(&mut texts);
            }
        }
    }

    /// Returns the first words of a text on one line.
    pub(super) fn line(&self, text: &str) -> String {
        let mut out = String::new();
        let mut characters = 0;
        for word in self.clean(text).split_whitespace() {
            if characters > 0 {
                out.push(' ');
                characters += 1;
            }
            for character in word.chars() {
                if characters >= LINE {
                    out.push('…');
                    return out;
                }
                out.push(character);
                characters += 1;
            }
        }
        out
    }

    /// Returns formatted JSON. Secrets are hidden before quotes and backslashes in them are escaped.
    pub(super) fn json(&self, value: &Value) -> String {
        // A value of strings, numbers and names can always be serialised.
        serde_json::to_string_pretty(&self.clean_json(value)).unwrap_or_default()
    }

    fn clean_json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.clean(text).into(),
            Value::Array(items) => items.iter().map(|item| self.clean_json(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (self.clean(name).into_owned(), self.clean_json(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// Returns what was written since the last call.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }
}

fn blocks(message: &mut AgentMessage) -> Option<&mut Vec<Block>> {
    let content = match message {
        AgentMessage::User(user) => &mut Arc::make_mut(user).content,
        AgentMessage::Custom(custom) => &mut custom.content,
        AgentMessage::Assistant(answer) => return Some(&mut Arc::make_mut(answer).content),
        AgentMessage::ToolResult(result) => return Some(&mut Arc::make_mut(result).content),
        _ => return None,
    };
    match content {
        Content::Blocks(blocks) => Some(blocks),
        Content::Text(_) => None,
    }
}

/// Appends `text` such that it is text in any context. Remaining controls become a replacement character, and
/// bidirectional controls are named.
fn escape(out: &mut String, text: &str) {
    let mut behind = 0;
    for (at, c) in text.char_indices() {
        let stand = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\'' => "&#39;",
            '\n' | '\t' => continue,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => "\u{fffd}",
            // Noncharacters, which strict parsers report as errors.
            '\u{fdd0}'..='\u{fdef}' => "\u{fffd}",
            _ if u32::from(c) & 0xfffe == 0xfffe => "\u{fffd}",
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => "",
            _ => continue,
        };
        out.push_str(&text[behind..at]);
        if stand.is_empty() {
            out.push_str(&format!("[U+{:04X}]", u32::from(c)));
        } else {
            out.push_str(stand);
        }
        behind = at + c.len_utf8();
    }
    out.push_str(&text[behind..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(HtmlWriter::new(None).text(text).take(), expect);
    }

    #[test]
    fn text_is_escaped() {
        check("</style><script>alert(1)</script>", "&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
        check("\" onload='x' &amp;", "&quot; onload=&#39;x&#39; &amp;amp;");
        check("a\0b\u{1}cd\n\te", "abcd\n\te");
        check("\x1b[31mred\x1b[0m \x1b]0;title\x07", "red ");
        check("user\u{202e}txt.exe", "user[U+202E]txt.exe");
        check("\u{2066}x\u{2069} \u{200f}", "[U+2066]x[U+2069] \u{200f}");
    }

    #[test]
    fn parser_output_is_escaped() {
        assert_eq!(HtmlWriter::new(None).part("a\0\x1b\r<").take(), "a\u{fffd}\u{fffd}\u{fffd}&lt;");
    }

    #[test]
    fn numbers_are_formatted_for_readers() {
        let write = |number| HtmlWriter::new(None).count(number).take();
        assert_eq!([0, 999, 1_000, 1_234_567].map(write), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(HtmlWriter::new(None).many(1, "line", "lines").take(), "1 line");
        assert_eq!(HtmlWriter::new(None).dollars(0.01234).tag(" ").dollars(12.5).take(), "$0.0123 $12.50");
    }

    #[test]
    fn lines_are_shortened() {
        assert_eq!(HtmlWriter::new(None).line(" a\n\n b\tc "), "a b c");
        assert_eq!(HtmlWriter::new(None).line(&"é".repeat(200)), format!("{}…", "é".repeat(LINE)));
    }

    #[test]
    fn values_are_hidden_in_escaped_text() {
        let secrets = Secrets::new(Box::new(|| [7; 32]), Vec::new());
        secrets.add("sk-very-secret");
        secrets.add("with \"quotes\" and \\");
        let json = HtmlWriter::new(Some(&secrets))
            .json(&serde_json::json!({"with \"quotes\" and \\": ["with \"quotes\" and \\"]}));
        assert!(!json.contains("quotes"), "{json}");
        let line = HtmlWriter::new(Some(&secrets)).line(&format!("{} sk-very-secret", "x".repeat(70)));
        assert!(!line.contains("sk-"), "{line}");
        let written = HtmlWriter::new(Some(&secrets)).text("key sk-very\x1b[1m-secret!").take();
        assert!(written.starts_with("key &lt;&lt;$env:S") && written.ends_with("&gt;&gt;!"), "{written}");
    }
}
