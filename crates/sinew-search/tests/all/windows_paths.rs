//! Tests Windows paths in the forms that users write: drives, other case, verbatim prefixes, devices, long paths and
//! junctions.

use std::path::Path;

use serde_json::Value;
use sinew_base::{CancelToken, Result};
use sinew_pool::Pool;
use sinew_search::{FindOptions, GlobOptions, GrepOptions, fuzzy_find, glob, grep};
use sinew_walk::{ScanCache, ScanOptions};

const TABLE: &str = include_str!("windows_paths.json");

struct Tree {
    folder: tempfile::TempDir,
    table: Value,
}

impl Tree {
    fn new() -> Tree {
        let folder = tempfile::Builder::new().prefix("Tree").tempdir().unwrap();
        std::fs::create_dir(folder.path().join("Sub")).unwrap();
        for (name, text) in [("a.txt", "one\r\ntwo\r\n"), ("Sub/B.log", "two one\r\n"), ("Sub/c.txt", "one\n")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Tree { folder, table: serde_json::from_str(TABLE).unwrap() }
    }

    fn root(&self) -> String {
        self.folder.path().to_str().unwrap().to_string()
    }

    /// Replaces the placeholders of the table by the paths of this tree.
    fn filled(&self, text: &Value) -> String {
        let root = self.root();
        let other =
            |char: char| if char.is_ascii_lowercase() { char.to_ascii_uppercase() } else { char.to_ascii_lowercase() };
        text.as_str()
            .unwrap()
            .replace("{r}", &root.chars().map(other).collect::<String>())
            .replace("{/}", &root.replace('\\', "/"))
            .replace("{D}", &root[..2])
            .replace("{R}", &root)
    }

    fn rows(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.table[name].as_array().unwrap().iter()
    }
}

fn globbed(path: &str, pattern: &str) -> Result<Vec<String>> {
    let options = GlobOptions::new(path, pattern);
    let found = glob(&options, &ScanCache::default(), &Pool::new("test", 2), &CancelToken::never())?;
    Ok(found.matches().map(|hit| hit.path.into_owned()).collect())
}

fn grepped(path: &str) -> Result<Vec<String>> {
    let options = GrepOptions::new("one$", path);
    let found = grep(&options, &ScanCache::default(), &Pool::new("test", 2), &CancelToken::never(), None)?;
    Ok(found.rows().map(|row| format!("{}:{}:{}", row.path, row.line_number, row.line)).collect())
}

fn scanned(path: &str) -> Result<Vec<String>> {
    let found = sinew_walk::scan(&ScanOptions::new(path), &Pool::new("test", 2), &CancelToken::never())?;
    Ok(found.iter().map(|entry| entry.path().into_owned()).collect())
}

fn found(path: &str) -> Result<Vec<String>> {
    let options = FindOptions::new(path, "b.log");
    let found = fuzzy_find(&options, &ScanCache::default(), &Pool::new("test", 2), &CancelToken::never())?;
    Ok(found.matches.into_iter().map(|hit| hit.path).collect())
}

type Search = (&'static str, fn(&str) -> Result<Vec<String>>);
const SEARCHES: [Search; 4] =
    [("glob", |path| globbed(path, "**/*.txt")), ("grep", grepped), ("scan", scanned), ("find", found)];

#[test]
fn accepts_every_spelling_of_a_directory() {
    let tree = Tree::new();
    for root in tree.rows("roots") {
        let path = tree.filled(root);
        for (name, search) in SEARCHES {
            assert_eq!(Value::from(search(&path).unwrap()), tree.table["finds"][name], "{name} {path}");
        }
    }
}

#[test]
fn accepts_every_spelling_of_a_file() {
    let tree = Tree::new();
    for row in tree.rows("files") {
        let path = tree.filled(&row[0]);
        let name = path.replace('\\', "/");
        assert_eq!(grepped(&path).unwrap(), [format!("{name}:1:one")], "{path}");
        assert_eq!(globbed(&path, "*.[tT]*").unwrap(), [name], "{path}");
    }
}

#[test]
fn errors_contain_the_path_that_is_not_a_directory() {
    let tree = Tree::new();
    for row in tree.rows("fails") {
        let path = tree.filled(row);
        for (name, search) in SEARCHES {
            let error = search(&path).expect_err(&format!("{name} {path}"));
            // Some messages escape backslashes.
            let plain = |text: &str| text.split('\\').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
            assert!(plain(error.message()).contains(&plain(&path)), "{name} {path}: {error}");
        }
    }
}

#[test]
fn accepts_every_spelling_of_the_directory_in_a_pattern() {
    let tree = Tree::new();
    for row in tree.rows("patterns") {
        let pattern = tree.filled(&row[0]);
        match (globbed(&tree.root(), &pattern), &row[1]) {
            (Ok(paths), expect) => assert_eq!(Value::from(paths), *expect, "{pattern}"),
            (Err(error), expect) => assert!(error.message().contains(&tree.filled(expect)), "{pattern}: {error}"),
        }
    }
}

#[test]
fn searches_paths_longer_than_260_characters() {
    let tree = Tree::new();
    let deep = ["a folder of twenty-six chars"; 12].join("\\");
    let long = format!(r"\\?\{}\{deep}", tree.root());
    std::fs::create_dir_all(&long).unwrap();
    std::fs::write(Path::new(&long).join("deep.txt"), "one\r\n").unwrap();
    let name = format!("{}/deep.txt", deep.replace('\\', "/"));
    assert!(globbed(&tree.root(), "deep.txt").unwrap() == [name.clone()]);
    assert!(grepped(&tree.root()).unwrap().contains(&format!("{name}:1:one")));
    // wine cannot read the metadata of a directory with a long path.
    if std::env::var_os("WINEPREFIX").is_none() {
        assert_eq!(scanned(&format!("{}\\{deep}", tree.root())).unwrap(), ["deep.txt"]);
    }
}

/// Skipped on wine, which cannot create junctions.
#[test]
fn follows_a_junction_once_and_only_on_request() {
    if std::env::var_os("WINEPREFIX").is_some() {
        return;
    }
    let tree = Tree::new();
    let link = format!("{}\\Sub\\up", tree.root());
    let made = std::process::Command::new("cmd").args(["/c", "mklink", "/J", &link, &tree.root()]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    assert_eq!(globbed(&tree.root(), "**/*.txt").unwrap(), ["Sub/c.txt", "a.txt"]);
    let options = GlobOptions { follow_links: true, ..GlobOptions::new(tree.root(), "**/*.txt") };
    let result = glob(&options, &ScanCache::default(), &Pool::new("test", 2), &CancelToken::never()).unwrap();
    assert_eq!(result.matches().map(|hit| hit.path.into_owned()).collect::<Vec<_>>(), ["Sub/c.txt", "a.txt"]);
    assert_eq!(Value::from(grepped(&tree.root()).unwrap()), tree.table["finds"]["grep"]);
}
