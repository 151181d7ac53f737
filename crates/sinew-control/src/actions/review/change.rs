//! The change that is reviewed.

use std::path::Path;
use std::process::{Command, Stdio};

/// The maximum size of a change in bytes: about 100,000 tokens.
const LONGEST: usize = 400_000;

/// The tree without files, with which a repository without commits is compared.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Settings and options that keep git from running programs of the user or of the repository.
const SETTINGS: [&str; 4] = ["-c", "core.fsmonitor=false", "-c", "core.pager=cat"];
const DIFF: [&str; 4] = ["diff", "--no-ext-diff", "--no-textconv", "--no-color"];

/// A change as a diff.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    /// The name of the change for people: `the uncommitted changes`.
    pub(super) title: String,
    diff: String,
    /// Files that git does not track, which are not part of the diff.
    new_files: Vec<String>,
}

impl Change {
    /// Returns the change that a text names: empty for the uncommitted changes, a patch file, a range of commits
    /// (`main..topic`), or a branch or commit, for everything that has changed since the current branch left it.
    ///
    /// # Errors
    /// Returns the reason if the text names no change, or the change is empty or too large.
    pub(super) fn find(cwd: &Path, what: &str) -> Result<Change, String> {
        let change = match what {
            "" => uncommitted(cwd)?,
            file if cwd.join(file).is_file() => patch(cwd, file)?,
            revision if revision.starts_with('-') => return Err(format!("{revision:?} is not a branch or a file")),
            range if range.contains("..") => {
                let diff = git(cwd, &[&DIFF[..], &[range, "--"]].concat())
                    .map_err(|error| format!("{range:?} is not a range of commits or a file: {error}"))?;
                Change { title: format!("the changes of {range}"), diff, new_files: Vec::new() }
            }
            branch => since(cwd, branch)?,
        };
        if change.diff.trim().is_empty() && change.new_files.is_empty() {
            return Err(format!("nothing to review: {} are empty", change.title));
        }
        if change.diff.len() > LONGEST {
            let (size, most) = (change.diff.len() / 1000, LONGEST / 1000);
            return Err(format!(
                "{} have {size} KB, and at most {most} KB can be reviewed at once: name a range of commits (A..B) or a patch file",
                change.title
            ));
        }
        Ok(change)
    }

    /// Returns the assignment of the reviewer.
    pub(super) fn assignment(&self) -> String {
        let Change { title, diff, new_files } = self;
        let mut text = format!(
            "Review {title}. The files of the project are as they are after the change, unless the diff says otherwise. Read \
             what surrounds the change before you judge it.\n"
        );
        if !new_files.is_empty() {
            text.push_str(&format!("\nNew files, which you must read: {}\n", new_files.join(", ")));
        }
        // The fence is longer than any in the diff.
        let longest = diff.lines().map(|line| line.chars().filter(|letter| *letter == '`').count()).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        if !diff.is_empty() {
            text.push_str(&format!("\n{fence}diff\n{}\n{fence}\n", diff.trim_end()));
        }
        text
    }
}

fn uncommitted(cwd: &Path) -> Result<Change, String> {
    git(cwd, &["rev-parse", "--is-inside-work-tree"])?;
    let has_commit = git(cwd, &["rev-parse", "--verify", "--quiet", "HEAD"]).is_ok();
    let base = if has_commit { "HEAD" } else { EMPTY_TREE };
    let diff = git(cwd, &[&DIFF[..], &[base, "--"]].concat())?;
    Ok(Change { title: "the uncommitted changes".into(), diff, new_files: new_files(cwd)? })
}

fn since(cwd: &Path, branch: &str) -> Result<Change, String> {
    let commit = format!("{branch}^{{commit}}");
    git(cwd, &["rev-parse", "--verify", "--quiet", &commit])
        .map_err(|_| format!("{branch:?} is not a branch, a commit, a range of commits or a file"))?;
    let base = git(cwd, &["merge-base", branch, "HEAD"])
        .map_err(|_| format!("{branch} and the current branch have no common commit"))?;
    let diff = git(cwd, &[&DIFF[..], &[base.trim(), "--"]].concat())?;
    Ok(Change { title: format!("the changes since {branch}"), diff, new_files: new_files(cwd)? })
}

fn patch(cwd: &Path, file: &str) -> Result<Change, String> {
    let bytes = std::fs::read(cwd.join(file)).map_err(|error| format!("{file}: {error}"))?;
    let diff = String::from_utf8_lossy(&bytes).into_owned();
    let is_patch =
        ["@@ ", "*** ", "--- ", "diff --git "].iter().any(|start| diff.lines().any(|line| line.starts_with(start)));
    match is_patch {
        true => Ok(Change { title: format!("the changes in {file}"), diff, new_files: Vec::new() }),
        false => Err(format!("{file} is not a patch: it has no changed lines")),
    }
}

/// Returns the files that git neither tracks nor ignores.
fn new_files(cwd: &Path) -> Result<Vec<String>, String> {
    let listed = git(cwd, &["ls-files", "--others", "--exclude-standard", "-z"])?;
    Ok(listed.split('\0').filter(|name| !name.is_empty()).map(str::to_string).collect())
}

fn git(cwd: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.args(SETTINGS).args(arguments).current_dir(cwd).stdin(Stdio::null());
    // Reading must not take locks that a user's git waits for.
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
    let ran = command.output().map_err(|error| format!("git cannot be run: {error}"))?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
        false => {
            let text = String::from_utf8_lossy(&ran.stderr);
            Err(text.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ").to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cwd: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
        let ran = Command::new("git").args(identity).args(arguments).current_dir(cwd).output().unwrap();
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    #[test]
    fn finds_changes_of_the_directory_since_a_branch_of_a_range_and_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path();
        assert!(Change::find(cwd, "").unwrap_err().contains("not a git repository"));
        run(cwd, &["init", "-q"]);
        let write = |name: &str, text: &str| std::fs::write(cwd.join(name), text).unwrap();
        write("a.txt", "one\n");
        let change = Change::find(cwd, "").unwrap();
        assert_eq!((change.diff.as_str(), change.new_files), ("", vec!["a.txt".to_string()]));
        run(cwd, &["add", "."]);
        assert!(Change::find(cwd, "").unwrap().diff.contains("+one"));
        run(cwd, &["commit", "-qm", "first"]);
        assert_eq!(Change::find(cwd, "").unwrap_err(), "nothing to review: the uncommitted changes are empty");
        run(cwd, &["checkout", "-qb", "topic"]);
        write("a.txt", "two\n");
        run(cwd, &["commit", "-qam", "second"]);
        write("a.txt", "three\n");
        let found = |what: &str| Change::find(cwd, what).unwrap().diff;
        assert!(found("").contains("-two\n+three"));
        assert!(found("main").contains("-one\n+three"));
        assert!(found("main..topic").contains("-one\n+two"));
        write("c.patch", &found("main"));
        assert_eq!(found("c.patch"), found("main"));
        for (what, reason) in [
            ("nothing", "\"nothing\" is not a branch, a commit, a range of commits or a file"),
            ("--output=x", "\"--output=x\" is not a branch or a file"),
            ("a.txt", "a.txt is not a patch: it has no changed lines"),
        ] {
            assert_eq!(Change::find(cwd, what).unwrap_err(), reason);
        }
        let error = Change::find(cwd, "main..nowhere").unwrap_err();
        assert!(error.starts_with("\"main..nowhere\" is not a range of commits or a file: "), "{error}");
        write("a.txt", &"long\n".repeat(100_000));
        let error = Change::find(cwd, "").unwrap_err();
        assert!(error.contains("KB, and at most 400 KB can be reviewed at once"), "{error}");
    }

    #[test]
    fn no_program_of_the_repository_runs() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path();
        run(cwd, &["init", "-q"]);
        std::fs::write(cwd.join("a.txt"), "one\n").unwrap();
        std::fs::write(cwd.join(".gitattributes"), "*.txt diff=odd\n").unwrap();
        run(cwd, &["add", "."]);
        run(cwd, &["commit", "-qm", "first"]);
        std::fs::write(cwd.join("a.txt"), "two\n").unwrap();
        for key in ["core.fsmonitor", "diff.external", "diff.odd.command", "diff.odd.textconv", "core.pager"] {
            run(cwd, &["config", key, "touch ran; false"]);
        }
        assert!(Change::find(cwd, "").unwrap().diff.contains("-one\n+two"));
        assert!(!cwd.join("ran").exists());
    }

    #[test]
    fn the_fence_of_a_diff_is_longer_than_those_in_it() {
        let change = Change { title: "it".into(), diff: "+````\n".into(), new_files: vec!["b".into()] };
        let text = change.assignment();
        assert!(text.contains("\n`````diff\n+````\n`````\n") && text.contains("you must read: b"), "{text}");
    }
}
