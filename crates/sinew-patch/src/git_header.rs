//! The lines between `diff --git` and the first hunk.

use sinew_base::Result;

use crate::hunk::Reader;
use crate::lines::damaged;
use crate::patch::FileMode;
use crate::quoted::unquote;

/// The header of a git diff. Names are unchanged and include their prefixes, except for renames and copies.
#[derive(Default)]
pub(crate) struct GitHeader {
    /// The names in the `diff --git` line, if both are equal without their prefixes.
    pub(crate) names: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) old_name: Option<Vec<u8>>,
    pub(crate) new_name: Option<Vec<u8>>,
    pub(crate) moved_from: Option<Vec<u8>>,
    pub(crate) moved_to: Option<Vec<u8>>,
    pub(crate) copies: bool,
    pub(crate) creates: bool,
    pub(crate) deletes: bool,
    pub(crate) old_mode: Option<FileMode>,
    pub(crate) new_mode: Option<FileMode>,
    /// True if `Binary files … differ` or `GIT binary patch` follows.
    pub(crate) binary: bool,
}

impl GitHeader {
    /// Returns a name for messages.
    pub(crate) fn display(&self) -> String {
        let prefixed = |name: &Vec<u8>| {
            let cut = name.iter().position(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            sinew_base::lossy(&name[cut..]).into_owned()
        };
        let plain = |name: &Vec<u8>| sinew_base::lossy(name).into_owned();
        let moved = self.moved_to.as_ref().or(self.moved_from.as_ref()).map(plain);
        let real = |name: &&Vec<u8>| !is_dev_null(name);
        let named = || [&self.new_name, &self.old_name].into_iter().flatten().find(real).map(prefixed);
        moved.or_else(named).or_else(|| self.names.as_ref().map(|(_, new)| prefixed(new))).unwrap_or_default()
    }
}

/// Parses the header at the next line, which is a `diff --git` line.
pub(crate) fn parse(reader: &mut Reader<'_>) -> Result<GitHeader> {
    let first = reader.peek().unwrap_or_default();
    let mut header = GitHeader { names: both_names(&trimmed(first)[b"diff --git ".len()..]), ..GitHeader::default() };
    reader.skip();
    while let Some(line) = reader.peek() {
        let line = trimmed(line);
        if line.starts_with(b"GIT binary patch") || is_binary_notice(line) {
            header.binary = true;
            break;
        }
        if !extended(&mut header, line, reader.number())? {
            break;
        }
        reader.skip();
    }
    Ok(header)
}

/// Parses one line of the header. Returns false if it does not belong to a header.
fn extended(header: &mut GitHeader, line: &[u8], number: usize) -> Result<bool> {
    let Some((keyword, value)) = KEYWORDS.iter().find_map(|key| Some((*key, line.strip_prefix(key.as_bytes())?)))
    else {
        return Ok(false);
    };
    let mode = || mode_of(value).map_err(|reason| damaged(number, reason));
    let name = || moved_name(value).ok_or_else(|| damaged(number, "the quotes around the name do not end"));
    match keyword {
        "--- " => {
            header.old_name =
                Some(name_of(value).ok_or_else(|| damaged(number, "the quotes around the name do not end"))?)
        }
        "+++ " => {
            header.new_name =
                Some(name_of(value).ok_or_else(|| damaged(number, "the quotes around the name do not end"))?)
        }
        "old mode " => header.old_mode = Some(mode()?),
        "new mode " => header.new_mode = Some(mode()?),
        "deleted file mode " => (header.deletes, header.old_mode) = (true, Some(mode()?)),
        "new file mode " => (header.creates, header.new_mode) = (true, Some(mode()?)),
        "copy from " => (header.copies, header.moved_from) = (true, Some(name()?)),
        "copy to " => (header.copies, header.moved_to) = (true, Some(name()?)),
        "rename from " | "rename old " => header.moved_from = Some(name()?),
        "rename to " | "rename new " => header.moved_to = Some(name()?),
        "index " => {
            if let Some(blank) = value.iter().position(|byte| *byte == b' ') {
                header.old_mode = Some(mode_of(&value[blank + 1..]).map_err(|reason| damaged(number, reason))?);
            }
        }
        _ => {}
    }
    Ok(true)
}

const KEYWORDS: [&str; 15] = [
    "--- ",
    "+++ ",
    "old mode ",
    "new mode ",
    "deleted file mode ",
    "new file mode ",
    "copy from ",
    "copy to ",
    "rename from ",
    "rename old ",
    "rename to ",
    "rename new ",
    "index ",
    "similarity index ",
    "dissimilarity index ",
];

/// Parses a file mode of git.
fn mode_of(value: &[u8]) -> std::result::Result<FileMode, String> {
    let text = sinew_base::lossy(value);
    match text.trim() {
        "120000" => Ok(FileMode::Link),
        "160000" => Err("the mode 160000 is a submodule, which a patch cannot change".to_owned()),
        mode => match u32::from_str_radix(mode, 8) {
            Ok(bits) if bits & 0o170_000 == 0o100_000 && bits & 0o100 != 0 => Ok(FileMode::Executable),
            Ok(bits) if bits & 0o170_000 == 0o100_000 => Ok(FileMode::Regular),
            _ => Err(format!("{mode:?} is not the mode of a file")),
        },
    }
}

/// Removes a Unix or Windows line end.
pub(crate) fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the name in a `---` or `+++` line, without the time that may follow a tab. `None` if its quotes are not
/// closed.
pub(crate) fn name_of(value: &[u8]) -> Option<Vec<u8>> {
    if value.starts_with(b"\"") {
        return unquote(value).map(|(name, _)| name);
    }
    Some(value.split(|byte| *byte == b'\t').next().unwrap_or_default().to_vec())
}

/// Returns the name of a rename or a copy, which extends to the end of the line.
fn moved_name(value: &[u8]) -> Option<Vec<u8>> {
    if value.starts_with(b"\"") { unquote(value).map(|(name, _)| name) } else { Some(value.to_vec()) }
}

pub(crate) fn is_dev_null(name: &[u8]) -> bool {
    name == b"/dev/null"
}

/// Returns true for `Binary files a and b differ` and `Files a and b differ`.
pub(crate) fn is_binary_notice(line: &[u8]) -> bool {
    let named = line.strip_prefix(b"Binary files ").or_else(|| line.strip_prefix(b"Files "));
    named.is_some_and(|rest| rest.ends_with(b" differ") && rest.windows(5).any(|part| part == b" and "))
}

/// Returns the two names in a `diff --git` line, which can only be separated if they are equal after their prefixes;
/// `None` otherwise.
fn both_names(rest: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if rest.starts_with(b"\"") {
        let (old, behind) = unquote(rest)?;
        let behind = behind.strip_prefix(b" ")?;
        let new = if behind.starts_with(b"\"") { unquote(behind)?.0 } else { behind.to_vec() };
        return alike(&old, &new).then_some((old, new));
    }
    let blanks = rest.iter().enumerate().filter(|(_, byte)| **byte == b' ').map(|(at, _)| at);
    for blank in blanks {
        let (old, behind) = (&rest[..blank], &rest[blank + 1..]);
        let new = if behind.starts_with(b"\"") { unquote(behind).map(|(name, _)| name) } else { Some(behind.to_vec()) };
        if let Some(new) = new.filter(|new| alike(old, new)) {
            return Some((old.to_vec(), new));
        }
    }
    None
}

/// Returns true if two names are equal without their first component.
fn alike(old: &[u8], new: &[u8]) -> bool {
    let behind = |name: &[u8]| name.iter().position(|byte| *byte == b'/').map(|slash| name[slash + 1..].to_vec());
    match (behind(old), behind(new)) {
        (Some(old), Some(new)) => old == new && !old.is_empty(),
        _ => old == new && !old.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_the_names_of_a_git_line() {
        let check = |line: &str, expect: Option<(&str, &str)>| {
            let expect = expect.map(|(old, new)| (old.as_bytes().to_vec(), new.as_bytes().to_vec()));
            assert_eq!(both_names(line.as_bytes()), expect, "{line}");
        };
        check("a/x b/x", Some(("a/x", "b/x")));
        check("a/x y b/x y", Some(("a/x y", "b/x y")));
        check("x x", Some(("x", "x")));
        check(r#""a/t\tb" "b/t\tb""#, Some(("a/t\tb", "b/t\tb")));
        check(r#"a/x "b/x""#, Some(("a/x", "b/x")));
        check("a/x b/y", None);
        check("a/ b/", None);
    }

    #[test]
    fn rejects_modes_of_other_types() {
        assert_eq!(mode_of(b"100644"), Ok(FileMode::Regular));
        assert_eq!(mode_of(b"100755"), Ok(FileMode::Executable));
        assert_eq!(mode_of(b"120000"), Ok(FileMode::Link));
        for mode in ["160000", "040000", "644", "", "x", "100644 x"] {
            assert!(mode_of(mode.as_bytes()).is_err(), "{mode}");
        }
    }
}
