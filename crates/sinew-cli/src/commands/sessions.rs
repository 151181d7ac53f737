//! Implements `sinew sessions list|rm|gc`.

use std::path::PathBuf;

use sinew::base::ErrorCode;
use sinew_control::failure::Failure;
use sinew_control::output::print;
use sinew_control::sessions::{SessionFolders, resolve_any};
use sinew_control::startup::Startup;
use sinew_session::clock::iso;
use sinew_session::{Blobs, Scope};

pub(super) const HELP: &str = "\
sinew sessions: list and delete earlier conversations

Usage:
  sinew sessions list [--all] [--session-dir DIR]      list the sessions of this folder, newest first
  sinew sessions rm ID…                                delete sessions and their files permanently
  sinew sessions gc [--dry-run] [--session-dir DIR]    delete images that no session uses

A line of the list is: id, time of the last change, title. --all lists the sessions of every folder, and empty ones.

To continue a session:
  sinew -p --continue \"message\"       continue the last session of this terminal or folder
  sinew -p --resume 1f9d \"message\"    continue the session whose id begins or ends with 1f9d
  sinew -p --fork 1f9d \"message\"      continue a copy, even if the session is in use or from another folder

To read a session in a browser, or to share it:
  sinew --export 1f9d [page.html]     write one HTML file without scripts; secret values are masked

A session is a file of JSON lines in ~/.sinew/agent/sessions, in a subfolder for each working directory. Entries are
only appended, so earlier branches stay in the file. Large images are stored in ~/.sinew/agent/blobs: rm keeps them, and
gc deletes those that no session uses. gc checks every folder in which a session was stored. For one command,
--session-dir DIR uses a folder that directly contains session files; the setting sessionDir does the same permanently.
";

/// Runs the command that the words after `sessions` name; returns `None` if they are a prompt.
///
/// # Errors
/// Returns an error if the command is invalid, or if it fails.
pub(super) fn run(startup: &Startup, words: &[&str]) -> Result<Option<u8>, Failure> {
    let Startup { paths, settings, .. } = startup;
    // These commands only read files that need no trust.
    let folders = || SessionFolders::find(paths, settings);
    match words {
        [] => print(HELP).map(Some),
        ["list"] => list(startup, &folders()).map(Some),
        ["gc"] => collect(startup, &folders()).map(Some),
        ["rm", ids @ ..] if !ids.is_empty() => remove(startup, &folders(), ids).map(Some),
        ["list" | "gc" | "rm", ..] | [_] => {
            let rest = words.join(" ");
            Err(Failure::usage(format!("sinew sessions {rest}: use list, rm ID or gc. Use -p to send a message")))
        }
        _ => Ok(None),
    }
}

fn list(startup: &Startup, folders: &SessionFolders) -> Result<u8, Failure> {
    let is_all = startup.args.session.all;
    let scope = if is_all { Scope::All } else { Scope::Cwd(&startup.paths.cwd) };
    let mut out = String::new();
    for listed in sinew_session::list(&folders.all, scope) {
        if !listed.has_messages && !is_all {
            continue;
        }
        let since = listed.modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let when = iso(i64::try_from(since.as_millis()).unwrap_or_default());
        let place = if is_all { format!("  {}", listed.cwd) } else { String::new() };
        out.push_str(&format!("{}  {}  {}{place}\n", listed.id, &when[..16], listed.title));
    }
    if out.is_empty() {
        out.push_str("No sessions found\n");
    }
    print(&out)
}

/// Deletes sessions. All of them are looked up first, so that a wrong id deletes none.
fn remove(startup: &Startup, folders: &SessionFolders, ids: &[&str]) -> Result<u8, Failure> {
    let files: Vec<PathBuf> =
        ids.iter().map(|id| resolve_any(folders, &startup.paths, id)).collect::<Result<_, Failure>>()?;
    for file in files {
        if startup.args.session.dry_run {
            print(&format!("would remove {}\n", file.display()))?;
            continue;
        }
        sinew_session::remove(&file).map_err(|error| match error.code() {
            ErrorCode::InvalidState => Failure::config("the session is in use; end it first"),
            _ => Failure::failed(error.message()),
        })?;
        print(&format!("removed {}\n", file.display()))?;
    }
    Ok(0)
}

fn collect(startup: &Startup, folders: &SessionFolders) -> Result<u8, Failure> {
    let (paths, dry) = (&startup.paths, startup.args.session.dry_run);
    let blobs = Blobs::new(paths.agent.join("blobs"));
    let gone = sinew_session::collect(&folders.known(paths)?, &blobs, !dry);
    let gone = gone.map_err(|error| Failure::failed(error.message()))?;
    let verb = if dry { "would be removed" } else { "removed" };
    print(&format!("{} unused images {verb}\n", gone.len()))
}
