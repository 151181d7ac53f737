//! Implements `sinew index status|remove|prune`.

use std::fmt::Write;
use std::time::SystemTime;

use serde_json::{Value, json};
use sinew::search::{StoredIndex, Workspaces};
use sinew_control::config::work_tree;
use sinew_control::failure::Failure;
use sinew_control::output::{print, warn};
use sinew_control::startup::Startup;
use sinew_session::clock::iso;

pub(super) const HELP: &str = "\
sinew index: show and delete the search indexes of large work trees

Usage:
  sinew index status [--output json]    list the indexes on disk, the last used first
  sinew index remove [FOLDER]           delete the index of a folder; default: this work tree
  sinew index prune [--dry-run]         delete indexes of missing folders, and those unused for 30 days

A line of the status is: size, last use, folder. You never need these commands: Sinew creates an index at the second
search of a tree of 5,000 files or 32 MB, updates it with each change, and deletes it when it was unused for 30 days,
when its folder was missing for 7 days, or when all indexes together exceed 8 GiB. A deleted index is created again when
it is useful. An index that is in use is never deleted.

Set search.index to \"off\" to search without indexes. Indexes are in ~/.cache/sinew/index, or below SINEW_HOME, and
contain nothing from ignored files.
";

/// Runs the command that the words after `index` name; returns `None` if they are a prompt.
///
/// # Errors
/// Returns an error if the command is invalid, or if it fails.
pub(super) fn run(startup: &Startup, words: &[&str]) -> Result<Option<u8>, Failure> {
    match words {
        [] => print(HELP).map(Some),
        ["status"] => status(startup).map(Some),
        ["remove"] => remove(startup, None).map(Some),
        ["remove", folder] => remove(startup, Some(folder)).map(Some),
        ["prune"] => prune(startup).map(Some),
        ["status" | "remove" | "prune", ..] | [_] => {
            let rest = words.join(" ");
            Err(Failure::usage(format!(
                "sinew index {rest}: use status, remove [FOLDER] or prune. Use -p to send a message"
            )))
        }
        _ => Ok(None),
    }
}

fn stored(startup: &Startup) -> Vec<StoredIndex> {
    let cache = startup.new_sinew().index_cache;
    cache.map(|cache| Workspaces::stored(&cache)).unwrap_or_default()
}

fn status(startup: &Startup) -> Result<u8, Failure> {
    let stored = stored(startup);
    if startup.args.output.object {
        let list: Vec<Value> = stored.iter().map(facts).collect();
        return print(&format!("{:#}\n", json!(list)));
    }
    let mut out: String = stored.iter().map(|index| line(index) + "\n").collect();
    if out.is_empty() {
        out.push_str("No indexes found\n");
    } else {
        let bytes = stored.iter().map(|index| index.bytes).sum();
        let _ = writeln!(out, "{}  total", size(bytes));
    }
    print(&out)
}

fn remove(startup: &Startup, folder: Option<&str>) -> Result<u8, Failure> {
    let here = || work_tree(&startup.paths.cwd, std::env::home_dir().as_deref());
    let root = folder.map_or_else(here, |folder| startup.paths.cwd.join(folder));
    let removed = startup.new_sinew().index_cache.map_or(Ok(false), |cache| Workspaces::remove(&cache, &root));
    match removed.map_err(|error| Failure::failed(error.message()))? {
        true => print(&format!("removed the index of {}\n", root.display())),
        false => Err(Failure::failed(format!("{} has no index; see sinew index status", root.display()))),
    }
}

fn prune(startup: &Startup) -> Result<u8, Failure> {
    let is_dry = startup.args.session.dry_run;
    let mut out = String::new();
    let (mut count, mut bytes) = (0, 0);
    // An index without the path of its directory is incomplete or damaged.
    let is_over = |index: &StoredIndex| index.root.is_none() || index.is_root_gone || index.is_old(SystemTime::now());
    for index in stored(startup).iter().filter(|index| is_over(index)) {
        if !is_dry && let Err(error) = Workspaces::remove_stored(index) {
            warn(&[error.message().to_string()]);
            continue;
        }
        (count, bytes) = (count + 1, bytes + index.bytes);
        let _ = writeln!(out, "{}", line(index));
    }
    let verb = if is_dry { "would be removed" } else { "removed" };
    print(&format!("{out}{count} indexes {verb}, {}\n", size(bytes).trim_start()))
}

fn line(index: &StoredIndex) -> String {
    let root = index.root.as_ref().map_or_else(|| "(unknown folder)".into(), |root| root.display().to_string());
    let gone = if index.is_root_gone { "  (gone)" } else { "" };
    format!("{}  {}  {root}{gone}", size(index.bytes), &used(index)[..16])
}

fn facts(index: &StoredIndex) -> Value {
    let root = index.root.as_ref().map(|root| root.to_string_lossy());
    json!({"root": root, "rootGone": index.is_root_gone, "bytes": index.bytes, "used": used(index)})
}

fn used(index: &StoredIndex) -> String {
    let since = index.used.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    iso(i64::try_from(since.as_millis()).unwrap_or_default())
}

#[allow(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn size(bytes: u64) -> String {
    format!("{:8.1} MB", bytes as f64 / 1e6)
}
