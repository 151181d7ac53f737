//! The parser of unified diffs. It accepts what `git apply` accepts, and rejects what git would ignore silently.

use sinew_base::{Error, ErrorCode, Result, lossy};

use crate::file_name::FileName;
use crate::git_header::{self, GitHeader, is_binary_notice, is_dev_null, name_of, trimmed};
use crate::hunk::{self, Hunk, LineKind, Reader};
use crate::lines::damaged;
use crate::patch::{Edit, FilePatch, Operation};

/// Parses all files of a diff.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<FilePatch<'_>>> {
    let mut reader = Reader::new(text);
    let mut files = Vec::new();
    while let Some(line) = reader.peek() {
        if line.starts_with(b"diff --git ") {
            files.push(git(&mut reader)?);
        } else if line.starts_with(b"--- ") && reader.ahead(1).starts_with(b"+++ ") {
            files.push(traditional(&mut reader)?);
        } else {
            check_skipped(line, reader.number())?;
            reader.skip();
        }
    }
    if files.is_empty() {
        let message = "the text contains no patch: neither a unified diff nor a first line `*** Begin Patch`";
        return Err(Error::new(ErrorCode::InvalidData, message));
    }
    Ok(files)
}

/// Checks a skipped line: text around diffs is allowed, but not the change of a file.
fn check_skipped(line: &[u8], number: usize) -> Result<()> {
    let line = trimmed(line);
    let reason = match line {
        _ if line.starts_with(b"@@ -") => "a hunk without the lines `--- …` and `+++ …` before it",
        _ if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") => {
            "a combined diff; only diffs between two versions can be applied"
        }
        _ if line.starts_with(b"***************") => "a context diff; only unified diffs can be applied",
        _ if is_binary_notice(line) => {
            return Err(damaged(number, format!("{}: binary files cannot be patched", lossy(line))));
        }
        _ => return Ok(()),
    };
    Err(damaged(number, reason))
}

/// Parses a file that begins with `diff --git`.
fn git<'t>(reader: &mut Reader<'t>) -> Result<FilePatch<'t>> {
    let line = reader.number();
    let header = git_header::parse(reader)?;
    let display = header.display();
    if header.binary {
        return Err(damaged(reader.number(), format!("{display}: binary patches cannot be applied")));
    }
    let at = reader.number();
    let hunks = hunk::hunks(reader, &display)?;
    let (old_null, new_null) = (is_null(header.old_name.as_ref()), is_null(header.new_name.as_ref()));
    let moved = header.moved_from.is_some() || header.moved_to.is_some();
    let operation = match () {
        () if header.creates || old_null => Operation::Create,
        () if header.deletes || new_null => Operation::Delete,
        () if moved && header.copies => Operation::Copy,
        () if moved => Operation::Rename,
        () => Operation::Update,
    };
    let mode_changes = header.old_mode.is_some() && header.new_mode.is_some();
    if hunks.is_empty() && operation == Operation::Update && !mode_changes {
        return Err(damaged(at, format!("{display}: no hunk follows the header")));
    }
    let (path, from) = git_names(&header, operation, line)?;
    let file = FilePatch {
        operation,
        path,
        from,
        old_mode: header.old_mode,
        new_mode: header.new_mode,
        edit: Edit::Hunks(hunks),
        line,
    };
    check_sides(&file)?;
    Ok(file)
}

fn is_null(name: Option<&Vec<u8>>) -> bool {
    name.is_some_and(|name| is_dev_null(name))
}

/// Returns the names in a git diff: that of the file, and that of its source for renames and copies.
fn git_names(header: &GitHeader, operation: Operation, line: usize) -> Result<(FileName, Option<FileName>)> {
    let missing = || damaged(line, "the header does not name the file");
    if matches!(operation, Operation::Rename | Operation::Copy) {
        let from = header.moved_from.as_ref().ok_or_else(missing)?;
        let to = header.moved_to.as_ref().ok_or_else(missing)?;
        return Ok((FileName::plain(to)?, Some(FileName::plain(from)?)));
    }
    let (first, second) = header.names.as_ref().map_or((None, None), |(old, new)| (Some(old), Some(new)));
    let old = header.old_name.as_ref().filter(|name| !is_dev_null(name)).or(first);
    let new = header.new_name.as_ref().filter(|name| !is_dev_null(name)).or(second);
    let path = match (operation, old, new) {
        (Operation::Create, old, Some(new)) => FileName::prefixed(new, old.is_none_or(|old| old == new))?,
        (Operation::Delete, Some(old), new) => FileName::prefixed(old, new.is_none_or(|new| old == new))?,
        (_, Some(old), Some(new)) => {
            let path = FileName::prefixed(new, old == new)?;
            let before = FileName::prefixed(old, false)?;
            if before.path != path.path {
                let message = format!("the names {before} and {path} differ, and the header announces no rename");
                return Err(damaged(line, message));
            }
            path
        }
        _ => return Err(missing()),
    };
    Ok((path, None))
}

/// Parses a file that begins with `---` and `+++`.
fn traditional<'t>(reader: &mut Reader<'t>) -> Result<FilePatch<'t>> {
    let line = reader.number();
    let (old_line, new_line) = (trimmed(&reader.ahead(0)[4..]), trimmed(&reader.ahead(1)[4..]));
    let quotes = |number| move || damaged(number, "the quotes around the name do not end");
    let old = name_of(old_line).ok_or_else(quotes(line))?;
    let new = name_of(new_line).ok_or_else(quotes(line + 1))?;
    reader.skip();
    reader.skip();
    let (old_null, new_null) = (is_dev_null(&old), is_dev_null(&new));
    let (mut path, operation) = match (old_null, new_null) {
        // git treats the second one as a file whose prefix is the empty component before the slash.
        (true, true) => (FileName::plain(&new[1..])?, Operation::Create),
        (true, false) => (FileName::prefixed(&new, true)?, Operation::Create),
        (false, true) => (FileName::prefixed(&old, true)?, Operation::Delete),
        (false, false) => {
            // For `x.orig` and `x`, the shorter name is the file.
            let (before, after) = (FileName::prefixed(&old, old == new)?, FileName::prefixed(&new, old == new)?);
            let path = if after.path.starts_with(&before.path) { before } else { after };
            let operation = match () {
                () if is_epoch(old_line) => Operation::Create,
                () if is_epoch(new_line) => Operation::Delete,
                () => Operation::Update,
            };
            (path, operation)
        }
    };
    let hunks = hunk::hunks(reader, &path.to_string())?;
    if hunks.is_empty() {
        return Err(damaged(reader.number(), format!("{path}: no hunk follows the header")));
    }
    let creates = hunks.len() == 1 && hunks[0].old_lines().next().is_none();
    let operation = if operation == Operation::Update && creates { Operation::UpdateOrCreate } else { operation };
    if operation == Operation::UpdateOrCreate {
        path.unstripped = None;
    }
    let file =
        FilePatch { operation, path, from: None, old_mode: None, new_mode: None, edit: Edit::Hunks(hunks), line };
    check_sides(&file)?;
    Ok(file)
}

/// Checks that a new file has no old lines, and a deleted one no new lines.
fn check_sides(file: &FilePatch<'_>) -> Result<()> {
    let Edit::Hunks(hunks) = &file.edit else { return Ok(()) };
    let has = |hunk: &Hunk<'_>, kind| hunk.count(kind) + hunk.count(LineKind::Context) > 0;
    match file.operation {
        Operation::Create if hunks.iter().any(|hunk| has(hunk, LineKind::Removed)) => {
            Err(damaged(file.line, format!("{}: the diff of a new file has old lines", file.path)))
        }
        Operation::Delete if hunks.iter().any(|hunk| has(hunk, LineKind::Added)) => {
            Err(damaged(file.line, format!("{}: the diff of a deleted file leaves lines", file.path)))
        }
        _ => Ok(()),
    }
}

/// Returns true if the time after a name is the start of 1970 (UTC), which `diff -N` writes for a missing file.
fn is_epoch(line: &[u8]) -> bool {
    let text = lossy(line);
    let Some((_, time)) = text.rsplit_once('\t') else { return false };
    let mut words = time.split(' ');
    let (Some(day), Some(clock), Some(zone), None) = (words.next(), words.next(), words.next(), words.next()) else {
        return false;
    };
    let first_minute = match day {
        "1970-01-01" => 0,
        "1969-12-31" => -24 * 60,
        _ => return false,
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let zero = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit == b'0');
    let minutes = |hours: &str, minutes: &str| Some(hours.parse::<i32>().ok()? * 60 + minutes.parse::<i32>().ok()?);
    let at = match clock.split(':').collect::<Vec<_>>()[..] {
        [hour, minute, second] if zero(second) && zero(fraction) => minutes(hour, minute),
        _ => None,
    };
    let digits = zone.get(1..).unwrap_or_default().replace(':', "");
    let offset = digits.split_at_checked(2).and_then(|(hours, rest)| minutes(hours, rest));
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    matches!((at, offset), (Some(at), Some(offset)) if first_minute + at - sign * offset == 0)
}

#[cfg(test)]
mod tests {
    use super::is_epoch;

    #[test]
    fn recognizes_the_start_of_1970_in_every_time_zone() {
        let check =
            |time: &str, expect: bool| assert_eq!(is_epoch(format!("a/x\t{time}").as_bytes()), expect, "{time}");
        check("1970-01-01 00:00:00.000000000 +0000", true);
        check("1970-01-01 01:00:00 +0100", true);
        check("1969-12-31 19:00:00.0 -05:00", true);
        check("1970-01-01 00:00:01 +0000", false);
        check("1970-01-01 00:00:00.5 +0000", false);
        check("1970-01-01 00:00:00 +0100", false);
        check("2024-05-01 10:00:00 +0200", false);
        check("", false);
        assert!(!is_epoch(b"a/1970-01-01 00:00:00 +0000"));
    }
}
