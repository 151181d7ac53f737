//! Writes text to a file in chunks, with secrets hidden.

use std::io::Write;
use std::sync::Arc;

use super::Secrets;

/// The number of bytes collected before they are searched, because a value may be split anywhere.
const HELD: usize = 64 << 10;
/// The maximum length of a match.
const MOST: usize = 1 << 20;

/// Writes text with [`Secrets`] hidden. Buffers about the last 64 KB until [`HidingWriter::finish`]; runs in linear
/// time.
pub(crate) struct HidingWriter<W> {
    out: W,
    secrets: Arc<Secrets>,
    held: String,
    /// The number of buffered bytes at which they are searched.
    due: usize,
}

impl<W: Write> HidingWriter<W> {
    pub(crate) fn new(out: W, secrets: Arc<Secrets>) -> HidingWriter<W> {
        HidingWriter { out, secrets, held: String::new(), due: 2 * HELD }
    }

    /// Adds a chunk, which may be split between any two characters.
    pub(crate) fn push(&mut self, text: &str) -> std::io::Result<()> {
        self.held.push_str(text);
        if self.held.len() < self.due {
            return Ok(());
        }
        let (hidden, end) = self.secrets.hidden_start(&self.held);
        if end == 0 && self.held.len() > MOST {
            return self.release();
        }
        self.held.drain(..end);
        // If little was written, the next search is only worthwhile with twice as much.
        self.due = (2 * self.held.len()).max(2 * HELD);
        self.out.write_all(hidden.as_bytes())
    }

    /// Writes the buffered rest.
    pub(crate) fn finish(&mut self) -> std::io::Result<()> {
        self.release()?;
        self.out.flush()
    }

    fn release(&mut self) -> std::io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.out.write_all(self.secrets.hidden(&held).unwrap_or(held).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the content of a file after `text` was written in chunks of `size` bytes.
    fn written(secrets: &Arc<Secrets>, text: &str, size: usize) -> String {
        let mut file = Vec::new();
        let mut written = HidingWriter::new(&mut file, Arc::clone(secrets));
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
            written.push(piece).unwrap();
            rest = later;
        }
        written.finish().unwrap();
        String::from_utf8(file).unwrap()
    }

    #[test]
    fn values_are_hidden_wherever_writes_split_them() {
        let entries = r#"[{"type": "regex", "content": "cust-[0-9]+"}]"#;
        let secrets = Secrets::new(Box::new(|| [7; 32]), super::super::read(entries, "s.json").unwrap());
        secrets.add("value-é-of-a-key");
        let secrets = Arc::new(secrets);
        let line = |number: usize| format!("{number} value-é-of-a-key and cust-1234567{number}\n");
        let text: String = (0..6_000).map(line).collect();
        let whole = secrets.hidden(&text).unwrap();
        for size in [1_000, 4_096, 70_000, 1_000_000] {
            assert!(written(&secrets, &text, size) == whole, "{size}");
        }
        assert!(!whole.contains("value-é") && !whole.contains("cust-"));
    }

    #[test]
    fn an_endless_match_is_written_in_parts() {
        let entries = r#"[{"type": "regex", "content": "[a-z]+"}]"#;
        let secrets = Arc::new(Secrets::new(Box::new(|| [7; 32]), super::super::read(entries, "s.json").unwrap()));
        let out = written(&secrets, &"x".repeat(3 << 20), 10_000);
        assert!(out.len() < 1_000 && !out.contains('x'), "{} bytes", out.len());
    }

    #[test]
    fn without_values_the_output_is_unchanged() {
        let secrets = Arc::new(Secrets::new(Box::new(|| [7; 32]), Vec::new()));
        let text = "line é\n".repeat(40_000);
        assert!(written(&secrets, &text, 777) == text);
    }
}
