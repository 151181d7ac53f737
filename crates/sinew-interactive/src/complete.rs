//! Completion: determines what the text before the cursor requests, and shows candidates in a popup.

use std::path::{Path, PathBuf};

use sinew::base::CancelToken;
use sinew::search::FindOptions;
use sinew_agent::resource::mention;
use sinew_tools::Searches;
use sinew_tui::List;

/// The number of rows in the popup.
pub(super) const ROWS: usize = 8;
/// The maximum number of results of a search.
const MOST: usize = 50;

/// The kind of completion that a text requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CompletionKind {
    /// The name of a slash command: the text after the slash.
    Command(String),
    /// A value for a slash command.
    Argument { command: String, query: String },
    /// A file or directory to mention.
    Mention(String),
}

/// A request for completions, and the byte offset from which the candidate replaces the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) wanted: CompletionKind,
    pub(super) from: usize,
}

/// A candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) name: String,
    /// A description in one line.
    pub(super) help: String,
    /// The text to insert.
    pub(super) insert: String,
}

/// The candidates for a text.
pub(super) struct Popup {
    /// The text before the cursor to which they apply.
    text: String,
    from: usize,
    candidates: Vec<Candidate>,
    list: List,
}

/// Determines which completion the text before the cursor requests.
pub(super) fn request(before: &str) -> Option<Request> {
    if let Some(rest) = before.strip_prefix('/') {
        if let Some((command, query)) = rest.split_once(' ') {
            let wanted = CompletionKind::Argument { command: command.into(), query: query.into() };
            return (!query.contains('\n')).then_some(Request { wanted, from: before.len() - query.len() });
        }
        // If there are more slashes, it is a path.
        let is_name = !rest.contains(|letter: char| letter == '/' || letter.is_whitespace());
        return is_name.then(|| Request { wanted: CompletionKind::Command(rest.into()), from: 0 });
    }
    let at = open_mention(before)?;
    let query = before[at + 1..].strip_prefix('"').unwrap_or(&before[at + 1..]);
    Some(Request { wanted: CompletionKind::Mention(query.into()), from: at })
}

/// Returns the offset of the `@` in the word before the cursor; a quoted word may contain blanks.
fn open_mention(before: &str) -> Option<usize> {
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let begins = |at: usize| before[..at].chars().next_back().is_none_or(char::is_whitespace);
    let at = line + before[line..].rfind('@').filter(|at| begins(line + at))?;
    let rest = &before[at + 1..];
    let open = match rest.strip_prefix('"') {
        Some(quoted) => !quoted.contains('"'),
        None => !rest.contains(char::is_whitespace),
    };
    open.then_some(at)
}

/// Splits the word before the cursor as a path: returns its offset, the directory as written, and the beginning of the
/// name.
pub(super) fn path_word(before: &str) -> (usize, &str, &str) {
    let from = before.rfind(|letter: char| letter.is_whitespace() || "\"'=(:".contains(letter));
    let from = from.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let word = &before[from..];
    let cut = word.rfind('/').map_or(0, |at| at + 1);
    (from, &word[..cut], &word[cut..])
}

/// Returns the entries of a directory whose names begin with `name`. Reads the directory.
pub(super) fn paths(cwd: &Path, home: Option<&Path>, folder: &str, name: &str) -> Vec<Candidate> {
    let place: PathBuf = match (folder.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(folder),
    };
    // A directory that cannot be read has no candidates.
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let mut found: Vec<Candidate> = entries
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let fits = file.starts_with(name) && (name.starts_with('.') || !file.starts_with('.'));
            // Links to directories count as directories.
            let slash = if fits && entry.path().is_dir() { "/" } else { "" };
            fits.then(|| Candidate {
                name: format!("{file}{slash}"),
                help: String::new(),
                insert: format!("{folder}{file}{slash}"),
            })
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.truncate(MOST);
    found
}

/// Returns the files and directories that match a mention, best first.
pub(super) fn files(searches: &Searches, cwd: &Path, query: &str) -> Vec<Candidate> {
    let options = FindOptions { cache: true, max_results: MOST, ..FindOptions::new(cwd, query) };
    // If the search fails, there are no candidates.
    let Ok(found) = searches.fuzzy_find(&options, &CancelToken::never()) else { return Vec::new() };
    let candidate = |found: sinew::search::FindMatch| {
        let path = if found.is_directory { format!("{}/", found.path.trim_end_matches('/')) } else { found.path };
        let end = if found.is_directory { "" } else { " " };
        let insert = format!("{}{end}", mention(&path));
        Candidate { name: path, help: String::new(), insert }
    };
    found.matches.into_iter().map(candidate).collect()
}

impl Popup {
    /// Creates a popup with candidates for a text; `None` if there are none. `filter` selects candidates by name, if
    /// they are not filtered yet.
    pub(super) fn new(text: &str, from: usize, candidates: Vec<Candidate>, filter: Option<&str>) -> Option<Popup> {
        let entries = candidates.iter().map(|candidate| (candidate.name.clone(), candidate.help.clone())).collect();
        let mut list = List::new(entries);
        if let Some(filter) = filter {
            list.set_filter(filter);
            // An exact match is selected first.
            if let Some(exact) = candidates.iter().position(|candidate| candidate.name == filter) {
                list.choose(exact);
            }
        }
        (!list.is_empty()).then(|| Popup { text: text.into(), from, candidates, list })
    }

    /// Returns true if the candidates apply to the current text.
    pub(super) fn is_for(&self, before: &str) -> bool {
        self.text == before
    }

    pub(super) fn step(&mut self, by: isize) {
        self.list.step(by);
    }

    /// Returns the offset from which the selected candidate replaces the text, and the replacement; `None` if the popup
    /// was created for another text.
    pub(super) fn take(&self, before: &str) -> Option<(usize, &str)> {
        let chosen = self.list.chosen().filter(|_| self.is_for(before))?;
        Some((self.from, &self.candidates[chosen].insert))
    }

    /// Returns true if accepting the selected candidate would change more than adding a blank.
    pub(super) fn adds(&self, before: &str) -> bool {
        self.take(before).is_some_and(|(from, insert)| before[from..].trim_end() != insert.trim_end())
    }

    pub(super) fn list(&self) -> &List {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, expect: Option<(CompletionKind, usize)>) {
        let expect = expect.map(|(wanted, from)| Request { wanted, from });
        assert_eq!(request(before), expect, "{before:?}");
    }

    #[test]
    fn the_text_before_the_cursor_selects_the_completion() {
        let mention = |query: &str| CompletionKind::Mention(query.into());
        check("/", Some((CompletionKind::Command(String::new()), 0)));
        check("/mod", Some((CompletionKind::Command("mod".into()), 0)));
        check("/model op", Some((CompletionKind::Argument { command: "model".into(), query: "op".into() }, 7)));
        check("/etc/host", None);
        check("a /mod", None);
        check("look at @sr", Some((mention("sr"), 8)));
        check("@", Some((mention(""), 0)));
        check("@src/a.rs and @b", Some((mention("b"), 14)));
        check("@src/a.rs and", None);
        check("me@example.org", None);
        check("@\"with bl", Some((mention("with bl"), 0)));
        check("@\"with blanks\" x", None);
        check("line\n@x", Some((mention("x"), 5)));
        check("", None);
    }

    #[test]
    fn never_applies_candidates_of_another_text() {
        let candidate = Candidate { name: "model".into(), help: String::new(), insert: "/model ".into() };
        let popup = Popup::new("/mod", 0, vec![candidate], Some("mod")).unwrap();
        assert_eq!(popup.take("/mod"), Some((0, "/model ")));
        for other in ["/mode", "/mo", "", "/mod "] {
            assert_eq!(popup.take(other), None, "{other:?}");
        }
    }

    #[test]
    fn an_exact_match_is_selected_and_adds_nothing() {
        let names = ["model", "move", "mode"];
        let candidates =
            names.map(|name| Candidate { name: name.into(), help: "".into(), insert: format!("/{name} ") });
        let popup = |text: &str| Popup::new(text, 0, candidates.to_vec(), Some(&text[1..]));
        assert!(!popup("/mode").unwrap().adds("/mode"));
        assert!(popup("/mod").unwrap().adds("/mod"));
        assert!(popup("/zzz").is_none());
    }

    #[test]
    fn paths_are_completed_by_their_beginning() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("source")).unwrap();
        for name in ["source/main.rs", "source/.hidden", "song", "other"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = |word: &str| {
            let (_, place, name) = path_word(word);
            let found = paths(folder.path(), None, place, name);
            found.into_iter().map(|candidate| candidate.insert).collect::<Vec<_>>()
        };
        assert_eq!(found("cat so"), ["song", "source/"]);
        assert_eq!(found("cat source/"), ["source/main.rs"]);
        assert_eq!(found("cat source/.h"), ["source/.hidden"]);
        assert_eq!(found("cat none/x"), Vec::<String>::new());
        assert_eq!(path_word("a \"b/c"), (3, "b/", "c"));
    }

    #[test]
    fn mentions_are_found_by_their_letters() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a folder")).unwrap();
        for name in ["a folder/main.rs", "plain.rs"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let searches = Searches::new(std::sync::Arc::new(sinew::Sinew::new()), Vec::new());
        let found = |query: &str| files(&searches, folder.path(), query).first().map(|found| found.insert.clone());
        assert_eq!(found("main").as_deref(), Some("@\"a folder/main.rs\" "));
        assert_eq!(found("pln").as_deref(), Some("@plain.rs "));
        assert_eq!(found("afol").as_deref(), Some("@\"a folder/\""));
    }
}
