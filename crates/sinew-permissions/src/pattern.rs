//! Matches the patterns of rules against texts with unknown parts.

use std::borrow::Cow;
use std::path::Path;

/// The result of matching a rule against a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    No,
    /// Matches for some value of the unknown parts.
    Maybe,
    Yes,
}

/// Represents an unknown part of a text, which is only known when the command runs: any characters.
pub(super) const ANY: char = '\0';

/// A pattern: literal characters and wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Literal(char),
    /// One character other than `/`.
    One,
    /// Any number of characters other than `/`.
    Name,
    /// Any number of characters.
    Any,
    /// Makes the following [`Part::Folders`] optional.
    MaybeFolders,
    /// Any characters up to and including a `/`.
    Folders,
}

/// Returns a path or a pattern in the form for comparisons. On Windows this means `/` as separator, lower case, and no
/// prefix of verbatim paths, which opened files have.
pub(super) fn path_text(text: &str) -> Cow<'_, str> {
    if !cfg!(windows) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('\\', "/").to_lowercase();
    let share = text.strip_prefix("//?/unc/").map(|rest| format!("//{rest}"));
    Cow::Owned(share.unwrap_or_else(|| text.trim_start_matches("//?/").to_string()))
}

impl Pattern {
    /// Parses a pattern for commands and other texts: `*` matches any text, everything else is literal.
    pub(super) fn text(pattern: &str) -> Pattern {
        let part = |letter| if letter == '*' { Part::Any } else { Part::Literal(letter) };
        Pattern { parts: pattern.chars().map(part).collect() }
    }

    /// Parses a pattern for paths: `*` and `?` match within a name, `**` across folders; `a/**` also matches `a`.
    pub(super) fn path(pattern: &str) -> Pattern {
        let mut parts = Vec::new();
        let pattern = path_text(pattern);
        let mut letters = pattern.chars().peekable();
        while let Some(letter) = letters.next() {
            let part = match letter {
                '*' if letters.next_if_eq(&'*').is_some() => {
                    // `**/a` also matches `a`, but not `ba`.
                    if letters.next_if_eq(&'/').is_some() {
                        parts.push(Part::MaybeFolders);
                        Part::Folders
                    } else {
                        Part::Any
                    }
                }
                '*' => Part::Name,
                '?' => Part::One,
                other => Part::Literal(other),
            };
            parts.push(part);
        }
        Pattern { parts }
    }

    /// Returns whether `text` matches for all values of its unknown parts.
    pub(super) fn fits(&self, text: &str) -> bool {
        self.run(text, false)
    }

    /// Returns whether a path matches.
    pub(super) fn fits_path(&self, path: &Path) -> bool {
        self.fits(&path_text(&path.to_string_lossy()))
    }

    /// Returns whether `text` matches for some values of its unknown parts.
    pub(super) fn may_fit(&self, text: &str) -> bool {
        self.run(text, true)
    }

    /// Returns whether a text contains the words of the pattern in order, so that a program which runs its arguments
    /// could run a matching command.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        let literal = |part: &Part| if let Part::Literal(letter) = part { *letter } else { '*' };
        let plain: String = self.parts.iter().map(literal).collect();
        let wanted = plain.split(|letter| !is_word(letter) && letter != '*');
        let mut wanted = wanted.filter(|word| word.contains(char::is_alphanumeric)).peekable();
        if wanted.peek().is_none() {
            return false;
        }
        for word in text.split(|letter| !is_word(letter)) {
            // A word that is completely unknown is not treated as a match.
            if let Some(next) = wanted.peek()
                && word.contains(char::is_alphanumeric)
                && spellings_of(word, next.starts_with('-')).any(|word| Pattern::text(next).may_fit(word))
            {
                wanted.next();
            }
        }
        wanted.peek().is_none()
    }

    /// Returns whether the pattern has each of these words itself, as often as they are given.
    pub(super) fn names_all(&self, words: &[String]) -> bool {
        let literal = |part: &Part| if let Part::Literal(letter) = part { *letter } else { '*' };
        let plain: String = self.parts.iter().map(literal).collect();
        let mut own: Vec<&str> = plain.split_whitespace().collect();
        words.iter().all(|word| {
            let found = own.iter().position(|own| own == word || own.strip_suffix('*') == Some(word.as_str()));
            found.map(|at| own.swap_remove(at)).is_some()
        })
    }

    /// Returns the number of literal characters of the pattern.
    pub(super) fn literals(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Literal(_))).count()
    }

    /// Matches with one row of pattern positions per character, so the time is linear in the text for every pattern.
    fn run(&self, text: &str, may: bool) -> bool {
        let count = self.parts.len();
        let mut now = vec![false; count + 1];
        now[0] = true;
        self.skip(&mut now);
        for letter in text.chars() {
            let mut next = vec![false; count + 1];
            if letter == ANY {
                for (at, _) in now.iter().enumerate().filter(|(_, reached)| **reached) {
                    if may {
                        // An unknown part may match everything up to any position of the pattern.
                        next[at..].fill(true);
                        break;
                    }
                    next[at] |= matches!(self.parts.get(at), Some(Part::Any | Part::Folders));
                }
            } else {
                for (at, _) in now.iter().enumerate().filter(|(_, reached)| **reached) {
                    match self.parts.get(at) {
                        Some(Part::Literal(wanted)) => next[at + 1] |= *wanted == letter,
                        Some(Part::One) => next[at + 1] |= letter != '/',
                        Some(Part::Name) => next[at] |= letter != '/',
                        Some(Part::Any) => next[at] = true,
                        Some(Part::Folders) => {
                            next[at] = true;
                            next[at + 1] |= letter == '/';
                        }
                        Some(Part::MaybeFolders) | None => {}
                    }
                }
            }
            self.skip(&mut next);
            now = next;
        }
        now[count]
    }

    /// Wildcards may match the empty text.
    fn skip(&self, reached: &mut [bool]) {
        for (at, part) in self.parts.iter().enumerate() {
            if reached[at] && matches!(part, Part::Name | Part::Any | Part::MaybeFolders) {
                reached[at + 1] = true;
                if *part == Part::MaybeFolders {
                    reached[at + 2] = true;
                }
            }
        }
    }
}

/// Returns whether a list contains a name, directly, by its beginning (`LC_*`) or by its end (`*_PORT`).
pub(super) fn is_listed(name: &str, list: &str) -> bool {
    list.split(' ').filter(|entry| !entry.is_empty()).any(|entry| {
        match (entry.strip_prefix('*'), entry.strip_suffix('*')) {
            (Some(end), _) => name.ends_with(end),
            (_, Some(begin)) => name.starts_with(begin),
            _ => name == entry,
        }
    })
}

/// Returns whether a character is part of a word, which includes [`ANY`].
fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ANY)
}

/// Returns the texts that an argument may stand for: the names of long options are ignored, and `-Xname` may be an
/// option with an attached value. `whole` says that the searched word is itself an option.
fn spellings_of(word: &str, whole: bool) -> impl Iterator<Item = &str> {
    let word = word.trim_end_matches('.');
    let (first, second) = match word.strip_prefix('-') {
        None => (Some(word), None),
        Some(_) if whole => (Some(word), None),
        Some(rest) if rest.starts_with('-') => (None, None),
        Some(rest) => (Some(rest), rest.char_indices().nth(1).map(|(at, _)| &rest[at..])),
    };
    [first, second].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn text(pattern: &str, text: &str, fits: bool, may: bool) {
        let pattern = Pattern::text(pattern);
        assert_eq!((pattern.fits(text), pattern.may_fit(text)), (fits, may), "{text:?}");
    }

    #[test]
    #[cfg(windows)]
    fn windows_paths_match_in_every_spelling() {
        for (pattern, path, expect) in [
            (r"C:\Secret\**", r"\\?\C:\secret\a\b", true),
            (r"C:\w\src/**", r"c:/W/src/a", true),
            (r"**\.env", r"\\?\C:\p\.ENV", true),
            (r"C:\a\*", r"C:\a\b\c", false),
            (r"\\server\share\**", r"\\?\UNC\Server\share\a", true),
        ] {
            assert_eq!(Pattern::path(pattern).fits_path(Path::new(path)), expect, "{pattern} {path}");
        }
    }

    #[test]
    fn patterns_match_the_whole_text() {
        text("git push*", "git push", true, true);
        text("git push*", "git push --force", true, true);
        text("git push*", "git pull", false, false);
        text("git push*", "xgit push", false, false);
        text("*", "", true, true);
        text("git*push*", "git -C x push y", true, true);
        text("a?b", "a?b", true, true);
        text("a?b", "axb", false, false);
    }

    #[test]
    fn unknown_parts_may_match() {
        text("git push*", "git \0", false, true);
        text("git push*", "\0", false, true);
        text("git push*", "git push \0", true, true);
        text("git push*", "g\0 push", false, true);
        text("git push*", "ls \0", false, false);
        text("rm*", "\0 push", false, true);
        text("git status", "git status\0", false, true);
    }

    #[test]
    fn denied_commands_are_named_by_their_words() {
        for (pattern, text, expect) in [
            ("canary*", "-o ProxyCommand=canary x", true),
            ("canary*", "/opt/canary2", true),
            ("canary*", "-ecanary", true),
            ("canary", "canaries", false),
            ("git push*", "git", false),
            ("git push*", "--run 'git push'", true),
            ("git push*", "push git", false),
            ("git push*", "git-lfs push", false),
            ("git push --force*", "--run git push --force", true),
            ("rm *", "--rm x", false),
            ("rm *", "rm-dist", false),
            ("rm *", "-c rm.", true),
            ("canary*", "\0", false),
            ("rm -rf *", "--exec rm -rf x", true),
            ("rm *", "format", false),
            ("*secret*", "a secretive b", true),
            ("* *", "a b", false),
            ("apt-get*", "apt-get install", true),
        ] {
            assert_eq!(Pattern::text(pattern).is_named_in(text), expect, "{pattern} {text}");
        }
    }

    #[test]
    fn path_patterns_match_by_components() {
        for (pattern, path, expect) in [
            ("/etc/**", "/etc/a/b", true),
            ("/etc/**", "/etcetera", false),
            ("/etc/*", "/etc/a", true),
            ("/etc/*", "/etc/a/b", false),
            ("**/.env", "/p/.env", true),
            ("**/.env", "/.env", true),
            ("**/.env", "/p/a.env", false),
            ("**/.env*", "/p/q/.env.local", true),
            ("**/.env*", "/p/.env/x", false),
            ("/p/**/x", "/p/x", true),
            ("/p/**/x", "/p/a/b/x", true),
            ("/p/?.rs", "/p/a.rs", true),
            ("/p/?.rs", "/p//.rs", false),
        ] {
            assert_eq!(Pattern::path(pattern).fits(path), expect, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_do_not_slow_matching_down() {
        let pattern = Pattern::text(&"*a".repeat(200));
        assert!(!pattern.fits(&"b".repeat(100_000)));
        assert!(pattern.may_fit(&"\0".repeat(10_000)));
    }
}
