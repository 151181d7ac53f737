//! The parser of the Begin Patch form.

use sinew_base::{Error, ErrorCode, Result, lossy};

use crate::chunks::{Chunk, ChunkLine};
use crate::file_name::FileName;
use crate::hunk::LineKind;
use crate::lines::{damaged, lines_of};
use crate::patch::{Edit, FilePatch, Operation};

const BEGIN: &[u8] = b"*** Begin Patch";
const END: &[u8] = b"*** End Patch";

/// The lines between `*** Begin Patch` and `*** End Patch`, without line ends.
pub(crate) struct Body<'t> {
    lines: Vec<&'t [u8]>,
    at: usize,
    /// The number of lines of the patch before these.
    before: usize,
}

impl<'t> Body<'t> {
    fn peek(&self) -> Option<&'t [u8]> {
        self.lines.get(self.at).copied()
    }

    fn number(&self) -> usize {
        self.before + self.at + 1
    }
}

/// Returns the body of a patch of this form; `None` for a text of another form.
pub(crate) fn body(text: &[u8]) -> Result<Option<Body<'_>>> {
    let all: Vec<&[u8]> = lines_of(text).map(|line| line.strip_suffix(b"\n").unwrap_or(line)).collect();
    let all: Vec<&[u8]> = all.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    let Some(first) = all.iter().position(|line| !line.trim_ascii().is_empty()) else { return Ok(None) };
    let last = all.iter().rposition(|line| !line.trim_ascii().is_empty()).unwrap_or(first);
    let heredoc =
        matches!(all[first].trim_ascii(), b"<<EOF" | b"<<'EOF'" | b"<<\"EOF\"") && all[last].ends_with(b"EOF");
    let (first, last) = if heredoc && last > first + 1 { (first + 1, last - 1) } else { (first, last) };
    if all[first].trim_ascii() != BEGIN {
        let is_diff = all.iter().any(|line| line.starts_with(b"diff --git ") || line.starts_with(b"--- "));
        if !is_diff && all.iter().any(|line| line.trim_ascii() == BEGIN) {
            return Err(damaged(first + 1, "the first line must be `*** Begin Patch`"));
        }
        return Ok(None);
    }
    if all[last].trim_ascii() != END || last == first {
        return Err(damaged(last + 1, "the last line must be `*** End Patch`; the patch may be cut off"));
    }
    Ok(Some(Body { lines: all[first + 1..last].to_vec(), at: 0, before: first + 1 }))
}

/// Parses the files of a body. A path may be absolute if it is below one of `roots`.
pub(crate) fn parse<'t>(body: &Body<'t>, roots: &[Vec<u8>]) -> Result<Vec<FilePatch<'t>>> {
    let mut body = Body { lines: body.lines.clone(), at: 0, before: body.before };
    let mut files = Vec::new();
    while let Some(line) = body.peek() {
        if line.trim_ascii().is_empty() {
            body.at += 1;
            continue;
        }
        files.push(file(&mut body, line.trim_ascii(), roots)?);
    }
    if files.is_empty() {
        return Err(Error::new(ErrorCode::InvalidData, "the patch changes no file"));
    }
    Ok(files)
}

fn file<'t>(body: &mut Body<'t>, header: &'t [u8], roots: &[Vec<u8>]) -> Result<FilePatch<'t>> {
    let line = body.number();
    let name = |keyword: &str| header.strip_prefix(keyword.as_bytes()).map(|rest| path_of(rest, keyword, line, roots));
    let patch =
        |operation, path, edit| FilePatch { operation, path, from: None, old_mode: None, new_mode: None, edit, line };
    if let Some(path) = name("*** Add File:") {
        body.at += 1;
        return Ok(patch(Operation::Create, path?, Edit::Content(content(body))));
    }
    if let Some(path) = name("*** Delete File:") {
        body.at += 1;
        return Ok(patch(Operation::Delete, path?, Edit::Chunks(Vec::new())));
    }
    let Some(path) = name("*** Update File:") else {
        let message = "expected `*** Add File: `, `*** Delete File: ` or `*** Update File: `";
        return Err(damaged(line, format!("{message}, found {}", crate::nearest::shown(header))));
    };
    let path = path?;
    body.at += 1;
    let moved = body.peek().and_then(|line| line.trim_ascii().strip_prefix(b"*** Move to:"));
    let target = moved.map(|rest| path_of(rest, "*** Move to:", body.number(), roots)).transpose()?;
    body.at += usize::from(target.is_some());
    let chunks = chunks(body, &path)?;
    if chunks.is_empty() && target.is_none() {
        return Err(damaged(line, format!("{path}: the update has no lines")));
    }
    match target.filter(|target| target.path != path.path) {
        Some(target) => Ok(FilePatch { from: Some(path), ..patch(Operation::Rename, target, Edit::Chunks(chunks)) }),
        None => Ok(patch(Operation::Update, path, Edit::Chunks(chunks))),
    }
}

fn path_of(rest: &[u8], keyword: &str, line: usize, roots: &[Vec<u8>]) -> Result<FileName> {
    let raw = rest.trim_ascii();
    if raw.is_empty() {
        return Err(damaged(line, format!("no path follows `{keyword}`")));
    }
    let below = |root: &Vec<u8>| raw.strip_prefix(&root[..])?.strip_prefix(b"/");
    FileName::plain(roots.iter().find_map(below).unwrap_or(raw))
}

/// Returns the lines of a new file, which all begin with `+`.
fn content(body: &mut Body<'_>) -> Vec<u8> {
    let mut content = Vec::new();
    while let Some(text) = body.peek().and_then(|line| line.strip_prefix(b"+")) {
        content.extend_from_slice(text);
        content.push(b'\n');
        body.at += 1;
    }
    content
}

fn chunks<'t>(body: &mut Body<'t>, path: &FileName) -> Result<Vec<Chunk<'t>>> {
    let mut chunks = Vec::new();
    while let Some(line) = body.peek() {
        let between = !chunks.is_empty() && line.trim_ascii().is_empty();
        if between {
            body.at += 1;
        } else if line.starts_with(b"***") || is_header(line) && line.starts_with(b"  ***") && chunks.is_empty() {
            break;
        } else {
            chunks.push(chunk(body, path, chunks.is_empty())?);
        }
    }
    Ok(chunks)
}

/// Returns true for the header of a file, which may be indented where no chunk can continue.
fn is_header(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    [&b"*** Add File:"[..], b"*** Delete File:", b"*** Update File:"].iter().any(|header| line.starts_with(header))
}

fn chunk<'t>(body: &mut Body<'t>, path: &FileName, is_first: bool) -> Result<Chunk<'t>> {
    let line = body.number();
    let mut chunk = Chunk { line, anchors: Vec::new(), lines: Vec::new(), at_end: false };
    let mut headers = 0;
    while let Some(anchor) = body.peek().and_then(anchor_of) {
        chunk.anchors.extend(anchor);
        (headers, body.at) = (headers + 1, body.at + 1);
    }
    if headers == 0 && !is_first {
        let found = crate::nearest::shown(body.peek().unwrap_or_default());
        return Err(damaged(line, format!("{path}: expected a chunk that begins with `@@`, found {found}")));
    }
    while let Some(text) = body.peek() {
        let (kind, text) = match text.first() {
            _ if text == b"*** End of File" => {
                chunk.at_end = true;
                body.at += 1;
                break;
            }
            Some(b'*') if text.starts_with(b"***") => break,
            None => (LineKind::Context, text),
            Some(b' ') => (LineKind::Context, &text[1..]),
            Some(b'-') => (LineKind::Removed, &text[1..]),
            Some(b'+') => (LineKind::Added, &text[1..]),
            _ if chunk.lines.is_empty() || anchor_of(text).is_none() => {
                let found = lossy(text);
                let message = format!("{path}: a line of a chunk begins with a blank, `+` or `-`, not '{found}'");
                return Err(damaged(body.number(), message));
            }
            _ => break,
        };
        chunk.lines.push(ChunkLine { kind, text });
        body.at += 1;
    }
    if chunk.lines.is_empty() {
        return Err(damaged(line, format!("{path}: the chunk has no lines")));
    }
    Ok(chunk)
}

/// Returns the text after `@@`: `Some(None)` for a bare `@@`, `None` for another line.
fn anchor_of(line: &[u8]) -> Option<Option<&[u8]>> {
    if line.trim_ascii_end() == b"@@" {
        return Some(None);
    }
    line.strip_prefix(b"@@ ").map(Some)
}

#[cfg(test)]
mod tests {
    use crate::{Edit, Operation, Patch};

    #[test]
    fn parses_the_files_of_a_patch() {
        let text = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n@@ f\n-x\n+y\n*** End Patch";
        let patch = Patch::parse(text.as_bytes()).unwrap();
        let names: Vec<_> = patch.files.iter().map(|file| (file.operation, file.path.to_string(), file.line)).collect();
        let expect = [
            (Operation::Create, "a".into(), 2),
            (Operation::Delete, "b".into(), 4),
            (Operation::Rename, "d".into(), 5),
        ];
        assert_eq!(names, expect);
        assert!(matches!(&patch.files[2].edit, Edit::Chunks(chunks) if chunks[0].anchors == [b"f"]));
    }

    #[test]
    fn rejects_a_damaged_patch_with_the_line() {
        let check = |body: &str, expect: &str| {
            let text = format!("*** Begin Patch\n{body}*** End Patch\n");
            let error = Patch::parse(text.as_bytes()).unwrap_err();
            assert!(error.message().contains(expect), "{body:?}: {error}");
        };
        check("", "changes no file");
        check("*** Frobnicate File: x\n", "line 2 of the patch: expected `*** Add File: `");
        check("*** Add File: \n+x\n", "line 2 of the patch: no path follows `*** Add File:`");
        check("*** Update File: f\n", "line 2 of the patch: f: the update has no lines");
        check("*** Update File: f\n@@\n", "line 3 of the patch: f: the chunk has no lines");
        check("*** Update File: f\n@@\n-a\nb\n", "line 5 of the patch: f: a line of a chunk begins with");
        check("*** Update File: ../f\n@@\n-a\n", "../f: the path contains `..`");
        let cut = Patch::parse(b"*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n").unwrap_err();
        assert!(cut.message().contains("*** End Patch"), "{cut}");
    }
}
