//! The commits that programs created in a view. They are read from the view's own objects, without git.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::ZlibDecoder;

use crate::answer::Commit;
use crate::copy::{open_path, read_path};

/// The maximum number of commits that are listed.
const MAX_COMMITS: usize = 100;
/// The maximum size of a commit that is read, in bytes.
const MAX_COMMIT: u64 = 1 << 20;
/// The maximum length of a subject, in characters.
const MAX_SUBJECT: usize = 200;
/// The maximum size of a file of references that is read, in bytes.
const MAX_REFERENCES: u64 = 16 << 20;
/// The maximum number of references.
const MAX_NAMES: usize = 100_000;

fn read(path: &Path) -> Option<Vec<u8>> {
    read_path(path, MAX_REFERENCES).ok()
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the references of a git directory with the ids of their commits, HEAD last. References in the reftable
/// format are not read.
pub(crate) fn references(data: &Path) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut folders = vec!["refs".to_string()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(data.join(&folder)).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = format!("{folder}/{name}");
            if found.len() + folders.len() >= MAX_NAMES {
                break;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(name);
            } else if let Some(id) = read(&data.join(&name)).and_then(|bytes| String::from_utf8(bytes).ok()) {
                found.push((name, id.trim().to_string()));
            }
        }
    }
    let loose: HashSet<String> = found.iter().map(|(name, _)| name.clone()).collect();
    let packed = read(&data.join("packed-refs")).unwrap_or_default();
    for line in String::from_utf8_lossy(&packed).lines().take(MAX_NAMES) {
        if let Some((id, name)) = line.split_once(' ')
            && !loose.contains(name)
        {
            found.push((name.to_string(), id.to_string()));
        }
    }
    found.retain(|(_, id)| is_id(id));
    found.sort();
    let head = read(&data.join("HEAD")).and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(id) = head.map(|head| head.trim().to_string()).filter(|head| is_id(head)) {
        found.push(("HEAD".into(), id));
    }
    found
}

/// Returns the commits of a git directory that are not in the references before.
pub(crate) fn new_commits(data: &Path, before: &[(String, String)]) -> Vec<Commit> {
    let mut known: HashSet<String> = before.iter().map(|(_, id)| id.clone()).collect();
    let mut commits = Vec::new();
    for (reference, id) in references(data) {
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            if commits.len() >= MAX_COMMITS || !known.insert(id.clone()) {
                continue;
            }
            let is_tip = commits.last().is_none_or(|last: &Commit| last.reference != reference);
            match read_commit(data, &id) {
                Some((parents, subject)) => {
                    commits.push(Commit { reference: reference.clone(), id, subject });
                    next.extend(parents);
                }
                // An object of the original repository ends the list, unless the reference itself moved to it.
                None if is_tip => commits.push(Commit { reference: reference.clone(), id, subject: String::new() }),
                None => {}
            }
        }
    }
    commits
}

/// Returns the parents and the subject of a commit in a loose object of the view.
fn read_commit(data: &Path, id: &str) -> Option<(Vec<String>, String)> {
    if !is_id(id) {
        return None;
    }
    let file = open_path(&data.join("objects").join(&id[..2]).join(&id[2..])).ok()?;
    let mut bytes = Vec::new();
    ZlibDecoder::new(file).take(MAX_COMMIT).read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().take(64).position(|byte| *byte == 0)?;
    if !bytes.starts_with(b"commit ") {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes[end + 1..]).into_owned();
    let (header, message) = text.split_once("\n\n").unwrap_or((&text, ""));
    let parents = header.lines().filter_map(|line| line.strip_prefix("parent ")).map(str::to_string).collect();
    Some((parents, message.lines().next().unwrap_or_default().chars().take(MAX_SUBJECT).collect()))
}
