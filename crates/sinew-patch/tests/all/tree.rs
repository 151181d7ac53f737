//! The files below a directory, as data.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

/// A file: its content and whether it is executable; or the target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum File {
    Text(Vec<u8>, bool),
    Link(Vec<u8>),
}

pub(crate) type Tree = BTreeMap<String, File>;

/// Returns all files below `root`, without directories.
pub(crate) fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    collect(root, "", &mut tree);
    tree
}

fn collect(folder: &Path, prefix: &str, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let metadata = entry.path().symlink_metadata().unwrap();
        if metadata.is_dir() {
            collect(&entry.path(), &format!("{path}/"), tree);
        } else if metadata.is_symlink() {
            tree.insert(path, File::Link(fs::read_link(entry.path()).unwrap().as_os_str().as_bytes().to_vec()));
        } else {
            tree.insert(path, File::Text(fs::read(entry.path()).unwrap(), metadata.mode() & 0o100 != 0));
        }
    }
}

/// Writes the files below `root`.
pub(crate) fn write(root: &Path, tree: &Tree) {
    for (path, file) in tree {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match file {
            File::Link(target) => symlink(std::ffi::OsStr::from_bytes(target), path).unwrap(),
            File::Text(text, executable) => {
                fs::write(&path, text).unwrap();
                let mode = if *executable { 0o755 } else { 0o644 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
}

/// Returns the files and directories below `root` with everything that a change would affect: type, permissions, inode,
/// times and content.
pub(crate) fn fingerprint(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(path) = open.pop() {
        let metadata = path.symlink_metadata().unwrap();
        let content = match () {
            () if metadata.is_symlink() => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            () if metadata.is_file() => fs::read(&path).unwrap(),
            () => Vec::new(),
        };
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        // The time of a directory changes when files are created and removed, even if its entries are the same at the
        // end.
        let time = if metadata.is_dir() { 0 } else { metadata.mtime_nsec() };
        let facts = format!("{:o} {} {time} {content:?}", metadata.mode(), metadata.ino());
        found.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), facts);
    }
    found
}
