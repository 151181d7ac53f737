//! The encoding, byte order mark and line ends of a text file, which tools keep when they change the text.

use std::borrow::Cow;

use sinew::base::utf16_file_text;

/// The number of bytes that show whether a file is binary.
const HEAD: usize = 8 * 1024;

/// The encoding and line ends of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextForm {
    encoding: Encoding,
    /// True if it begins with a byte order mark.
    has_mark: bool,
    /// False if the bytes are not valid in the encoding.
    is_valid: bool,
    is_binary: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    /// There is at most one line.
    None,
    Lf,
    Crlf,
    Mixed,
}

impl LineEnds {
    fn of(text: &[u8]) -> LineEnds {
        let lines = memchr::memchr_iter(b'\n', text).count();
        match memchr::memmem::find_iter(text, b"\r\n").count() {
            _ if lines == 0 => LineEnds::None,
            0 => LineEnds::Lf,
            windows if windows == lines => LineEnds::Crlf,
            _ => LineEnds::Mixed,
        }
    }
}

impl TextForm {
    /// Detects the form of `content`. Without a byte order mark it is UTF-8.
    pub(super) fn of(content: &[u8]) -> TextForm {
        let (encoding, has_mark) = match content {
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, true),
            [0xff, 0xfe, ..] => (Encoding::Utf16Le, true),
            [0xfe, 0xff, ..] => (Encoding::Utf16Be, true),
            _ => (Encoding::Utf8, false),
        };
        let form = TextForm { encoding, has_mark, is_valid: true, is_binary: false };
        let text = form.decode(content);
        let is_valid = match encoding {
            Encoding::Utf8 => std::str::from_utf8(&text).is_ok(),
            // An odd trailing byte or an unpaired surrogate would be lost.
            Encoding::Utf16Le | Encoding::Utf16Be => form.encode(&text) == content,
        };
        // This includes UTF-32, of which one mark begins like that of UTF-16, and UTF-16 without a mark.
        let is_binary = form.decode(&content[..content.len().min(HEAD)]).contains(&0);
        TextForm { is_valid, is_binary, ..form }
    }

    /// Returns true if the file is UTF-16.
    pub(super) fn is_utf16(self) -> bool {
        self.encoding != Encoding::Utf8
    }

    /// Returns true if the start of the file contains a NUL character.
    pub(super) fn is_binary(self) -> bool {
        self.is_binary
    }

    /// Returns the reason why the text cannot be changed; `None` if it can.
    pub(super) fn fault(self) -> Option<&'static str> {
        match self {
            TextForm { is_binary: true, .. } => Some("it is binary"),
            form if form.is_utf16() && !form.is_valid => Some("it begins like UTF-16, but is not valid UTF-16"),
            _ => None,
        }
    }

    /// Converts to UTF-8 without the byte order mark.
    pub(super) fn decode(self, content: &[u8]) -> Cow<'_, [u8]> {
        match utf16_file_text(content).filter(|_| self.is_utf16()) {
            Some(text) => Cow::Owned(text.into_bytes()),
            None => Cow::Borrowed(&content[if self.has_mark { 3 } else { 0 }..]),
        }
    }

    /// Encodes `text`, in the form that [`TextForm::decode`] returns, as the bytes of the file.
    pub(super) fn encode(self, text: &[u8]) -> Vec<u8> {
        let bytes = match self.encoding {
            Encoding::Utf8 if self.has_mark => return [&b"\xef\xbb\xbf"[..], text].concat(),
            Encoding::Utf8 => return text.to_vec(),
            Encoding::Utf16Le => u16::to_le_bytes,
            Encoding::Utf16Be => u16::to_be_bytes,
        };
        let text = String::from_utf8_lossy(text);
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    /// Encodes `text`, with which a model replaces the file `old` of this form. Models write no byte order mark and
    /// `\n`, unless the text has others. Returns the bytes, and a note about the form that they keep or change.
    pub(super) fn adopt(self, old: &[u8], text: &str) -> (Vec<u8>, Option<String>) {
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        if self.is_binary || !self.is_valid {
            let what = match self {
                TextForm { is_binary: true, .. } => "binary",
                form if form.is_utf16() => "not valid UTF-16",
                _ => "not valid UTF-8",
            };
            return (utf8(text), Some(format!("[The old content was {what}; the file is UTF-8 now.]")));
        }
        let old = self.decode(old);
        let ends = LineEnds::of(&old);
        let plain = || bare.replace("\r\n", "\n");
        let lines = match ends {
            LineEnds::Crlf => Cow::Owned(plain().replace('\n', "\r\n")),
            LineEnds::Mixed => Cow::Owned(with_line_ends(&plain(), &old, (0, old.len()))),
            LineEnds::Lf | LineEnds::None => Cow::Borrowed(bare),
        };
        let bytes = match self.encoding {
            Encoding::Utf8 if bare.len() < text.len() => utf8(&format!("\u{feff}{lines}")),
            _ => self.encode(lines.as_bytes()),
        };
        (bytes, self.note(ends, LineEnds::of(lines.as_bytes())))
    }

    /// Describes which parts of the form a new text keeps or changes, if they differ from what a model writes by default;
    /// `None` otherwise. `old` and `new` are the line ends before and after.
    fn note(self, old: LineEnds, new: LineEnds) -> Option<String> {
        let encoding = match (self.encoding, self.has_mark) {
            (Encoding::Utf8, true) => Some("byte order mark"),
            (Encoding::Utf8, false) => None,
            (Encoding::Utf16Le, _) => Some("encoding UTF-16 LE"),
            (Encoding::Utf16Be, _) => Some("encoding UTF-16 BE"),
        };
        let kept_ends = (old == LineEnds::Crlf).then_some("CRLF line ends");
        let kept: Vec<&str> = encoding.into_iter().chain(kept_ends).collect();
        let kept = (!kept.is_empty()).then(|| format!("[The file keeps its {}.]", kept.join(" and ")));
        let changed = match (old, new) {
            (LineEnds::Mixed, _) => {
                Some("[The file keeps its mixed line ends: each unchanged line at its start and end keeps its own.]")
            }
            (LineEnds::Lf, LineEnds::Crlf) => Some("[The line ends changed from LF to CRLF.]"),
            (LineEnds::Lf, LineEnds::Mixed) => Some("[The line ends changed from LF to both LF and CRLF.]"),
            _ => None,
        };
        let notes: Vec<String> = kept.into_iter().chain(changed.map(String::from)).collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    }
}

fn utf8(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// Returns `new`, the replacement of `file[from..to]`, with the line ends of the file. A line that the old text
/// contains keeps its line end; any other line gets that of the previous line.
pub(super) fn with_line_ends(new: &str, file: &[u8], (from, to): (usize, usize)) -> String {
    if memchr::memmem::find(file, b"\r\n").is_none() {
        return new.to_string();
    }
    let old: Vec<&[u8]> = file[from..to].split_inclusive(|byte| *byte == b'\n').collect();
    let lines: Vec<&str> = new.split_inclusive('\n').collect();
    let same = |old: &[u8], new: &str| old.ends_with(b"\n") && new.ends_with('\n') && bare(old) == bare(new.as_bytes());
    let first = old.iter().zip(&lines).take_while(|(old, new)| same(old, new)).count();
    let most = old.len().min(lines.len()) - first;
    let last = old.iter().rev().zip(lines.iter().rev()).take(most).take_while(|(old, new)| same(old, new)).count();
    let mut end = end_before(file, from).unwrap_or_else(|| end_after(file, from));
    let mut out = String::with_capacity(new.len());
    for (at, line) in lines.iter().enumerate() {
        let Some(text) = line.strip_suffix('\n') else {
            out.push_str(line);
            continue;
        };
        if at < first {
            end = line_end(old[at]);
        } else if at >= lines.len() - last {
            end = line_end(old[at + old.len() - lines.len()]);
        } else if at == 0
            && from < to
            && let Some(first) = old.first().filter(|first| first.ends_with(b"\n"))
        {
            // The replaced line is closer than the previous one.
            end = line_end(first);
        }
        out.push_str(text);
        out.push_str(end);
    }
    out
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn line_end(line: &[u8]) -> &'static str {
    if line.ends_with(b"\r\n") { "\r\n" } else { "\n" }
}

fn end_before(file: &[u8], at: usize) -> Option<&'static str> {
    let line = memchr::memrchr(b'\n', &file[..at])?;
    Some(line_end(&file[..=line]))
}

fn end_after(file: &[u8], at: usize) -> &'static str {
    memchr::memchr(b'\n', &file[at..]).map_or("\n", |line| line_end(&file[..=at + line]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEGACY: &str = "[The old content was not valid UTF-8; the file is UTF-8 now.]";

    #[track_caller]
    fn check_adopted(old: &[u8], new: &str, expect: &[u8], note: Option<&str>) {
        let (bytes, said) = TextForm::of(old).adopt(old, new);
        assert_eq!((bytes.as_slice(), said.as_deref()), (expect, note));
    }

    #[test]
    fn a_new_text_adopts_the_encoding_and_line_endings_of_the_old() {
        check_adopted(b"a\nb\n", "c\n", b"c\n", None);
        check_adopted(b"a\r\nb\r\n", "c\nd", b"c\r\nd", Some("[The file keeps its CRLF line ends.]"));
        check_adopted(b"a\r\nb\r\n", "c\r\nd\n", b"c\r\nd\r\n", Some("[The file keeps its CRLF line ends.]"));
        let mixed = "[The file keeps its mixed line ends: each unchanged line at its start and end keeps its own.]";
        check_adopted(b"a\r\nb\nc\n", "a\nx\nc\n", b"a\r\nx\r\nc\n", Some(mixed));
        check_adopted(b"a\n", "a\r\n", b"a\r\n", Some("[The line ends changed from LF to CRLF.]"));
        check_adopted(b"\xe4\n", "\u{e4}\n", "\u{e4}\n".as_bytes(), Some(LEGACY));
        check_adopted(b"\xef\xbb\xbfa", "c\n", b"\xef\xbb\xbfc\n", Some("[The file keeps its byte order mark.]"));
        check_adopted(b"\xef\xbb\xbfa", "\u{feff}c", b"\xef\xbb\xbfc", Some("[The file keeps its byte order mark.]"));
        check_adopted(b"a", "\u{feff}c", b"\xef\xbb\xbfc", None);
        let wide = b"\xff\xfea\0\r\0\n\0";
        let note = Some("[The file keeps its encoding UTF-16 LE and CRLF line ends.]");
        check_adopted(wide, "\u{e4}\n", b"\xff\xfe\xe4\0\r\0\n\0", note);
        check_adopted(b"\xfe\xff\0a", "b", b"\xfe\xff\0b", Some("[The file keeps its encoding UTF-16 BE.]"));
        check_adopted(b"", "c\n", b"c\n", None);
    }

    #[track_caller]
    fn check_ends(file: &str, old: &str, new: &str, expect: &str) {
        let from = file.find(old).unwrap();
        let replaced = with_line_ends(new, file.as_bytes(), (from, from + old.len()));
        assert_eq!(file.replacen(old, &replaced, 1), expect, "{file:?}");
    }

    #[test]
    fn an_edit_uses_the_line_endings_of_its_neighbors() {
        check_ends("a\nb\n", "a\n", "x\ny\n", "x\ny\nb\n");
        check_ends("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n");
        // A file with both kinds of line ends.
        check_ends("a\r\nb\nc\r\nd\n", "b", "x\ny", "a\r\nx\r\ny\nc\r\nd\n");
        check_ends("a\r\nb\nc\r\nd\n", "b\nc\r\n", "b\nx\nc\n", "a\r\nb\nx\nc\r\nd\n");
        check_ends("a\r\nb\nc\r\nd\n", "c\r\nd\n", "c\ny\n", "a\r\nb\nc\r\ny\r\n");
        check_ends("a\nb\r\n", "a\nb", "a\nx\nb", "a\nx\nb\r\n");
    }

    proptest! {
        #[test]
        fn unchanged_lines_keep_their_endings(lines in prop::collection::vec(("[ab]", any::<bool>()), 1..8), at in 0..8usize) {
            let text = |lines: &[(String, bool)]| -> String {
                lines.iter().map(|(line, crlf)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" })).collect()
            };
            let file = text(&lines);
            let at = at % lines.len();
            // The line is replaced by itself, with all surrounding lines in the old and the new text.
            let new: String = lines.iter().enumerate().map(|(n, (line, _))| if n == at { "x\n".into() } else { format!("{line}\n") }).collect();
            let mut expect = lines.clone();
            expect[at].0 = "x".into();
            let replaced = with_line_ends(&new, file.as_bytes(), (0, file.len()));
            let same = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
            prop_assert_eq!(same(&replaced), same(&text(&expect)));
            for (n, (got, wanted)) in replaced.split_inclusive('\n').zip(text(&expect).split_inclusive('\n')).enumerate() {
                prop_assert!(n == at || got == wanted, "{:?} {:?}", got, wanted);
            }
        }

        #[test]
        fn any_bytes_decode_and_encode(content in prop::collection::vec(any::<u8>(), 0..40), mark in 0..4usize) {
            let mark: &[u8] = [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf", b""][mark];
            let content = [mark, &content].concat();
            let form = TextForm::of(&content);
            let again = form.encode(&form.decode(&content));
            prop_assert!(again == content || form.fault().is_some());
        }
    }
}
