//! Compares the results of the façade for this repository with those of git and ripgrep.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use sinew::Sinew;
use sinew::base::CancelToken;
use sinew::search::{FindOptions, GlobOptions, GrepOptions, Mode, fuzzy_find, glob, grep};
use sinew::walk::FileType;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Runs a program in the repository and returns its standard output.
#[track_caller]
fn output(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(root()).output();
    let output =
        output.unwrap_or_else(|cause| panic!("failed to start {program}: {cause}; install it, `npm test` does"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_files_are_those_that_git_lists() {
    let sinew = Sinew::new();
    let options = GlobOptions { file_type: Some(FileType::File), hidden: true, ..GlobOptions::new(root(), "**/*.rs") };
    let found = glob(&options, &sinew.cache, &sinew.pool, &CancelToken::never()).unwrap();
    let found: Vec<String> = found.matches().map(|entry| entry.path.into_owned()).collect();
    // Skips files in git's list that have been removed.
    let listed = output("git", &["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"]);
    let mut listed: Vec<String> =
        listed.lines().filter(|path| root().join(path).is_file()).map(str::to_string).collect();
    listed.sort();
    listed.dedup();
    assert_eq!(found, listed);
}

#[test]
fn the_counts_are_those_of_ripgrep() {
    let sinew = Sinew::new();
    let options = GrepOptions { mode: Mode::Count, glob: Some("*.rs".into()), ..GrepOptions::new(r"\bfn \w+", root()) };
    let result = grep(&options, &sinew.cache, &sinew.pool, &CancelToken::never(), None).unwrap();
    let ours: BTreeMap<String, u32> =
        result.rows().map(|row| (row.path.to_string(), row.match_count.unwrap_or_default())).collect();
    let program = std::env::var("SINEW_RG").unwrap_or_else(|_| "rg".into());
    let theirs = output(&program, &["--count", "--hidden", "--glob", "*.rs", "--glob", "!.git", r"\bfn \w+"]);
    let theirs: BTreeMap<String, u32> = theirs
        .lines()
        .filter_map(|line| line.rsplit_once(':'))
        .map(|(path, count)| (path.to_string(), count.parse().unwrap()))
        .collect();
    assert_eq!(ours, theirs);
}

#[test]
fn a_file_is_found_by_a_few_letters() {
    let sinew = Sinew::new();
    let options = FindOptions::new(root(), "itrepo");
    let found = fuzzy_find(&options, &sinew.cache, &sinew.pool, &CancelToken::never()).unwrap();
    assert_eq!(found.matches[0].path, "tests/it/repository.rs");
}
