//! Globs of policies: `*`, `?`, `[a-z]`, `{a,b}` within a name, and `**` for any number of directories.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use sinew_base::{Error, Result};

/// The maximum number of alternatives in the braces of one glob.
const MOST_ALTERNATIVES: usize = 1024;

/// A glob relative to a directory.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    /// The directory to which paths are relative.
    pub(super) base: PathBuf,
    alternatives: Vec<Vec<Vec<u8>>>,
}

/// Returns true if `text` contains a wildcard character.
pub(super) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

impl Glob {
    /// Compiles a path with wildcards. The directories before the first wildcard become the base.
    ///
    /// # Errors
    /// Returns an error if the braces have too many alternatives.
    pub(super) fn new(path: &Path) -> Result<Glob> {
        let mut base = PathBuf::new();
        let mut rest = PathBuf::new();
        for component in path.components() {
            let is_plain = !is_glob(&component.as_os_str().to_string_lossy());
            if rest.as_os_str().is_empty() && (is_plain || matches!(component, Component::RootDir)) {
                base.push(component);
            } else {
                rest.push(component);
            }
        }
        let mut alternatives = vec![Vec::new()];
        expand_braces(rest.as_os_str().as_bytes(), &mut alternatives);
        if alternatives.len() > MOST_ALTERNATIVES {
            return Err(Error::invalid(format!(
                "Sandbox.create: {path:?} has more than {MOST_ALTERNATIVES} alternatives in its braces"
            )));
        }
        let segments = |text: Vec<u8>| text.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
        Ok(Glob { base, alternatives: alternatives.into_iter().map(segments).collect() })
    }

    /// Returns true if a path relative to the base matches.
    pub(super) fn is_match(&self, path: &Path) -> bool {
        let names: Vec<&[u8]> = path.components().map(|component| component.as_os_str().as_bytes()).collect();
        self.alternatives.iter().any(|segments| segments_match(segments, &names))
    }
}

/// Replaces each text by one text per alternative of the first braces, and then expands the following braces.
fn expand_braces(text: &[u8], done: &mut Vec<Vec<u8>>) {
    let close = |open: usize| {
        let mut depth = 0;
        text[open..].iter().position(|byte| {
            depth += match byte {
                b'{' => 1,
                b'}' => -1,
                _ => 0,
            };
            depth == 0
        })
    };
    let Some((open, length)) =
        text.iter().position(|byte| *byte == b'{').and_then(|open| close(open).map(|length| (open, length)))
    else {
        done.iter_mut().for_each(|one| one.extend_from_slice(text));
        return;
    };
    let mut depth = 0;
    let parts = text[open + 1..open + length].split(|byte| {
        depth += match byte {
            b'{' => 1,
            b'}' => -1,
            _ => 0,
        };
        *byte == b',' && depth == 0
    });
    let mut next = Vec::new();
    for part in parts {
        for start in done.iter() {
            if next.len() > MOST_ALTERNATIVES {
                break;
            }
            let mut alternatives = vec![[start.as_slice(), &text[..open]].concat()];
            expand_braces(part, &mut alternatives);
            next.append(&mut alternatives);
        }
    }
    *done = next;
    expand_braces(&text[open + length + 1..], done);
}

fn segments_match(segments: &[Vec<u8>], names: &[&[u8]]) -> bool {
    match segments.split_first() {
        None => names.is_empty(),
        // A `**` at the end matches everything below the directory, but not the directory itself.
        Some((first, [])) if first == b"**" => !names.is_empty(),
        Some((first, rest)) if first == b"**" => {
            (0..=names.len()).any(|skipped| segments_match(rest, &names[skipped..]))
        }
        Some((first, rest)) => {
            names.split_first().is_some_and(|(name, after)| name_matches(first, name) && segments_match(rest, after))
        }
    }
}

/// Matches one name. If the rest does not match, the last `*` is extended by one byte, so that the time is at most the
/// product of both lengths.
fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut read, mut retry) = (0, 0, None);
    while read < name.len() {
        let step = match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at, read));
                at += 1;
                continue;
            }
            Some(b'?') => Some(1),
            Some(b'[') => class_matches(&pattern[at..], name[read]),
            Some(byte) => (*byte == name[read]).then_some(1),
            None => None,
        };
        match (step, retry) {
            (Some(length), _) => {
                at += length;
                read += 1;
            }
            (None, Some((star, start))) => {
                retry = Some((star, start + 1));
                at = star + 1;
                read = start + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Returns the length of the class at the start of `pattern` if it contains `byte`. A class that is not closed is a
/// plain `[`.
fn class_matches(pattern: &[u8], byte: u8) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = 1 + usize::from(negated);
    let Some(length) = pattern.iter().skip(start + 1).position(|byte| *byte == b']') else {
        return (byte == b'[').then_some(1);
    };
    let items = &pattern[start..start + 1 + length];
    let (mut found, mut at) = (false, 0);
    while at < items.len() {
        if items.len() > at + 2 && items[at + 1] == b'-' {
            found |= (items[at]..=items[at + 2]).contains(&byte);
            at += 3;
        } else {
            found |= items[at] == byte;
            at += 1;
        }
    }
    (found != negated).then_some(start + length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_the_expected_paths() {
        for (glob, path, expected) in [
            ("/r/**/.env", "/r/.env", true),
            ("/r/**/.env", "/r/a/b c/.env", true),
            ("/r/**/.env", "/r/a/.envrc", false),
            ("/r/**/.env*", "/r/p/.env.production.local", true),
            ("/r/**/*.{key,pem}", "/r/c/server.key", true),
            ("/r/**/*.{key,pem}", "/r/c/server.kex", false),
            ("/r/{a,b/{c,d}}/x", "/r/b/d/x", true),
            ("/r/{a,b/{c,d}}/x", "/r/b/x", false),
            ("/r/a/*", "/r/a/b", true),
            ("/r/a/*", "/r/a/b/c", false),
            ("/r/a/**", "/r/a/b/c", true),
            ("/r/[a-c]?", "/r/bx", true),
            ("/r/[!a-c]?", "/r/bx", false),
            ("/r/[", "/r/[", true),
            ("/r/a*b*c", "/r/a-b-b-c", true),
            ("/r/{a", "/r/{a", true),
        ] {
            let compiled = Glob::new(Path::new(glob)).unwrap();
            let matches = Path::new(path).strip_prefix(&compiled.base).is_ok_and(|rest| compiled.is_match(rest));
            assert_eq!(matches, expected, "{glob} {path}");
        }
    }

    #[test]
    fn too_many_alternatives_are_an_error() {
        let glob = format!("/r/{}", "{a,b}".repeat(12));
        assert!(Glob::new(Path::new(&glob)).unwrap_err().message().contains("alternatives"));
    }
}
