//! The syntax of git's configuration files.

/// One setting of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The section in lower case.
    pub(super) section: String,
    /// The quoted part of the section's header, as it is written.
    pub(super) subsection: Option<Vec<u8>>,
    /// The name in lower case.
    pub(super) key: String,
    /// `None` for a name without `=`, which means true.
    pub(super) value: Option<Vec<u8>>,
}

impl Entry {
    /// Creates the entry of a full name, such as `core.excludesFile` or `includeIf.gitdir:~/a/.path`; `None` if the
    /// name has no section.
    pub(super) fn named(name: &str, value: Option<Vec<u8>>) -> Option<Entry> {
        let (section, rest) = name.split_once('.')?;
        let (subsection, key) = match rest.rsplit_once('.') {
            Some((subsection, key)) => (Some(subsection.as_bytes().to_vec()), key),
            None => (None, rest),
        };
        Some(Entry { section: section.to_ascii_lowercase(), subsection, key: key.to_ascii_lowercase(), value })
    }

    /// Returns true for the setting `key` of `section` itself, without a subsection; both in lower case.
    pub(super) fn is(&self, section: &str, key: &str) -> bool {
        self.subsection.is_none() && self.section == section && self.key == key
    }

    /// Returns true if the value means true. Numbers other than 0 do, too.
    pub(super) fn is_true(&self) -> bool {
        self.value.as_deref().is_none_or(is_true)
    }
}

/// Returns true if a value means true.
pub(super) fn is_true(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    matches!(text.as_str(), "true" | "yes" | "on") || text.parse::<i64>().is_ok_and(|number| number != 0)
}

/// Returns the settings of a configuration file in order. Reading ends at the first error, where git would refuse the
/// whole file.
pub(super) fn entries(text: &[u8]) -> Vec<Entry> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut reader = Reader { text, at: 0 };
    let mut found = Vec::new();
    reader.read(&mut found);
    found
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Returns the next character; CRLF is read as a line feed. `None` at the end.
    fn next(&mut self) -> Option<u8> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        if byte == b'\r' && self.text.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return Some(b'\n');
        }
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Reads all entries; `None` if the file has an error.
    fn read(&mut self, found: &mut Vec<Entry>) -> Option<()> {
        let mut header: Option<(String, Option<Vec<u8>>)> = None;
        while let Some(byte) = self.peek() {
            match byte {
                b'#' | b';' => self.skip_line(),
                b'[' => {
                    self.at += 1;
                    header = Some(self.header()?);
                }
                _ if is_space(byte) => self.at += 1,
                _ if byte.is_ascii_alphabetic() => {
                    let key = self.word(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
                    self.skip_blanks();
                    let value = match self.next() {
                        None | Some(b'\n') => None,
                        Some(b'=') => Some(self.value()?),
                        Some(_) => return None,
                    };
                    let (section, subsection) = header.clone()?;
                    found.push(Entry { section, subsection, key, value });
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn skip_line(&mut self) {
        self.at = memchr::memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |end| self.at + end);
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Reads a name in lower case.
    fn word(&mut self, is_part: impl Fn(u8) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(&is_part) {
            self.at += 1;
        }
        String::from_utf8_lossy(&self.text[start..self.at]).to_ascii_lowercase()
    }

    /// Reads a section's header after its `[`.
    fn header(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        let section = self.word(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
        let next = self.next()?;
        if next == b']' {
            return Some((section, None));
        }
        if next == b'\n' || !is_space(next) {
            return None;
        }
        self.skip_blanks();
        if self.next()? != b'"' {
            return None;
        }
        let mut subsection = Vec::new();
        loop {
            match self.next()? {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.next()? {
                    b'\n' => return None,
                    byte => subsection.push(byte),
                },
                byte => subsection.push(byte),
            }
        }
        (self.next()? == b']').then_some((section, Some(subsection)))
    }

    /// Reads a value after its `=`, with quotes, escapes, comments and continued lines.
    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        // The length of the value without the blanks at its end.
        let mut kept = 0;
        let mut quoted = false;
        loop {
            let byte = self.next().unwrap_or(b'\n');
            match byte {
                b'\n' if quoted => return None,
                b'\n' => break,
                b'#' | b';' if !quoted => self.skip_line(),
                _ if !quoted && is_space(byte) => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'"' => quoted = !quoted,
                b'\\' => match self.next().unwrap_or(b'\n') {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'n' => value.push(b'\n'),
                    b'b' => value.push(0x08),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return None,
                },
                _ => value.push(byte),
            }
            if !matches!(byte, b'#' | b';') || quoted {
                kept = value.len();
            }
        }
        value.truncate(kept);
        Some(value)
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
