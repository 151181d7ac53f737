//! Completion: what the text before the cursor asks for, and the popup that offers it.

use std::path::{Path, PathBuf};

use sinew::base::CancelToken;
use sinew::search::FindOptions;
use sinew_agent::resource::mention;
use sinew_tools::Searches;
use sinew_tui::List;

/// Rows of the popup.
pub(super) const ROWS: usize = 8;
/// Entries of a search that are kept.
const MOST: usize = 50;

/// The kind of completion that a text asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The name of a slash command; the text behind the slash.
    Command(String),
    /// A value for a slash command.
    Argument { command: String, query: String },
    /// A file or folder to mention.
    Mention(String),
}

/// A request for completions: what is wanted, and the byte from which the answer replaces the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) wanted: Wanted,
    pub(super) from: usize,
}

/// Something to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) name: String,
    /// A line about it.
    pub(super) help: String,
    /// The text that replaces what is written.
    pub(super) insert: String,
}

/// Candidates for one text.
pub(super) struct Popup {
    /// The text before the cursor that they are for.
    text: String,
    from: usize,
    candidates: Vec<Candidate>,
    list: List,
}

/// Reads what the text before the cursor asks for.
pub(super) fn request(before: &str) -> Option<Request> {
    if let Some(rest) = before.strip_prefix('/') {
        if let Some((command, query)) = rest.split_once(' ') {
            let wanted = Wanted::Argument { command: command.into(), query: query.into() };
            return (!query.contains('\n')).then_some(Request { wanted, from: before.len() - query.len() });
        }
        // A path has more of them.
        let is_name = !rest.contains(|letter: char| letter == '/' || letter.is_whitespace());
        return is_name.then(|| Request { wanted: Wanted::Command(rest.into()), from: 0 });
    }
    let at = open_mention(before)?;
    let query = before[at + 1..].strip_prefix('"').unwrap_or(&before[at + 1..]);
    Some(Request { wanted: Wanted::Mention(query.into()), from: at })
}

/// The byte of the `@` that the cursor is behind, in the same word; between quotes words may have blanks.
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

/// The word before the cursor as a path to complete: the byte where it begins, the folder as it is written, and the
/// beginning of the name.
pub(super) fn path_word(before: &str) -> (usize, &str, &str) {
    let from = before.rfind(|letter: char| letter.is_whitespace() || "\"'=(:".contains(letter));
    let from = from.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let word = &before[from..];
    let cut = word.rfind('/').map_or(0, |at| at + 1);
    (from, &word[..cut], &word[cut..])
}

/// The entries of a folder whose names begin as is written; reads the folder.
pub(super) fn paths(cwd: &Path, home: Option<&Path>, folder: &str, name: &str) -> Vec<Candidate> {
    let place: PathBuf = match (folder.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(folder),
    };
    // A folder that cannot be read has nothing to offer.
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let mut found: Vec<Candidate> = entries
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let fits = file.starts_with(name) && (name.starts_with('.') || !file.starts_with('.'));
            // What a link leads to counts.
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

/// The files and folders that fit a mention, best first.
pub(super) fn files(searches: &Searches, cwd: &Path, query: &str) -> Vec<Candidate> {
    let options = FindOptions { cache: true, max_results: MOST, ..FindOptions::new(cwd, query) };
    // A folder that cannot be searched has nothing to offer.
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
    /// Offers candidates for a text; none where there is nothing to offer. `filter` picks among them by their names, where
    /// they are not picked already.
    pub(super) fn new(text: &str, from: usize, candidates: Vec<Candidate>, filter: Option<&str>) -> Option<Popup> {
        let entries = candidates.iter().map(|candidate| (candidate.name.clone(), candidate.help.clone())).collect();
        let mut list = List::new(entries);
        if let Some(filter) = filter {
            list.set_filter(filter);
            // Who has written a name whole means it.
            if let Some(exact) = candidates.iter().position(|candidate| candidate.name == filter) {
                list.choose(exact);
            }
        }
        (!list.is_empty()).then(|| Popup { text: text.into(), from, candidates, list })
    }

    /// Tells whether the candidates are for the text that is there now.
    pub(super) fn is_for(&self, before: &str) -> bool {
        self.text == before
    }

    pub(super) fn step(&mut self, by: isize) {
        self.list.step(by);
    }

    /// The byte from which the chosen candidate replaces the text, and what it puts there; none for a text that is not
    /// the one that it was made for.
    pub(super) fn take(&self, before: &str) -> Option<(usize, &str)> {
        let chosen = self.list.chosen().filter(|_| self.is_for(before))?;
        Some((self.from, &self.candidates[chosen].insert))
    }

    /// Tells whether taking the chosen candidate would change more than a blank behind the text.
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
    fn check(before: &str, expect: Option<(Wanted, usize)>) {
        let expect = expect.map(|(wanted, from)| Request { wanted, from });
        assert_eq!(request(before), expect, "{before:?}");
    }

    #[test]
    fn the_text_says_what_is_wanted() {
        let mention = |query: &str| Wanted::Mention(query.into());
        check("/", Some((Wanted::Command(String::new()), 0)));
        check("/mod", Some((Wanted::Command("mod".into()), 0)));
        check("/model op", Some((Wanted::Argument { command: "model".into(), query: "op".into() }, 7)));
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
    fn what_is_written_whole_is_marked_and_adds_nothing() {
        let names = ["model", "move", "mode"];
        let candidates =
            names.map(|name| Candidate { name: name.into(), help: "".into(), insert: format!("/{name} ") });
        let popup = |text: &str| Popup::new(text, 0, candidates.to_vec(), Some(&text[1..]));
        assert!(!popup("/mode").unwrap().adds("/mode"));
        assert!(popup("/mod").unwrap().adds("/mod"));
        assert!(popup("/zzz").is_none());
    }

    #[test]
    fn paths_begin_as_they_are_written() {
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
