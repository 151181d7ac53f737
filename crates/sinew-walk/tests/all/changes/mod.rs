//! Makes random changes to a small tree: every kind that can affect a scan.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::tree::Dice;

const NAMES: &[&str] = &["a", "b", "a-b", "a.c", ".h", "node_modules", "é", "x y", "k.rs"];
const RULE_FILES: &[&str] = &[".gitignore", ".ignore", ".rgignore"];
const RULES: &[&str] =
    &["a\n", "*.c\n", "!a\n", "b/\n", "/a\n", "!.h\n.h\n", "!.h\n", "a/b\n", "k.*\n", "", "*\n!b\n", "é\n", ".env\n"];

/// Contents with different properties for a search: lines in both cases and with both line ends, binary, with a byte
/// order mark, encoded, long.
fn content(dice: &mut Dice) -> Vec<u8> {
    let filler = |bytes: usize| b"filler of a line\n".repeat(bytes / 17);
    match dice.below(16) {
        0 => b"".to_vec(),
        1 => b"Needle\r\nother\r\n".to_vec(),
        2 => b"\xEF\xBB\xBFneedle behind a mark\n".to_vec(),
        3 => b"\xFF\xFEn\0e\0e\0d\0l\0e\0\n\0".to_vec(),
        4 => b"a needle\0binary\n".to_vec(),
        5 => b"a\nb needle\0nearly binary\n".to_vec(),
        6 => [filler(70_000), b"needle\0late\n".to_vec()].concat(),
        7 => [filler(40_000), b"far needle\n".to_vec(), filler(3_000)].concat(),
        8 => b"need\xFFle no UTF-8 needle\n".to_vec(),
        9 => "\u{212A}elvin mi\u{17F}t needle".as_bytes().to_vec(),
        10 => b"one long line without an end ".repeat(2_000),
        11 => b"first half need\nle second half\n".to_vec(),
        other => format!("text {other}\nneedle {other}\n").into_bytes(),
    }
}

/// A directory that contains the tree and its surroundings: rules above it, rules behind links, and entries moved out
/// of it.
pub(crate) struct Changes {
    place: tempfile::TempDir,
    outside: usize,
    /// Also changes rules outside the tree. After each such change, everything is read again for a while.
    around: bool,
}

impl Changes {
    pub(crate) fn new(around: bool) -> Changes {
        Changes::in_folder(tempfile::tempdir().unwrap(), around)
    }

    pub(crate) fn in_folder(place: tempfile::TempDir, around: bool) -> Changes {
        for folder in ["root/a/b/a-b", "root/b/a", "root/x y/a"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
            fs::write(place.path().join(folder).join("a.c"), "text\n").unwrap();
            fs::write(place.path().join(folder).join("é"), "text\n").unwrap();
        }
        Changes { place, outside: 0, around }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.place.path().join("root")
    }

    /// Returns the path of the global ignore file.
    pub(crate) fn global(&self) -> PathBuf {
        self.place.path().join("global")
    }

    /// Returns a random directory of the tree.
    pub(crate) fn folder(&self, dice: &mut Dice) -> PathBuf {
        let mut folder = self.root();
        for _ in 0..dice.below(4) {
            let mut below: Vec<PathBuf> =
                entries(&folder).into_iter().filter(|path| path.is_dir() && !path.is_symlink()).collect();
            below.sort();
            if below.is_empty() {
                break;
            }
            folder = below.swap_remove(dice.below(below.len()));
        }
        folder
    }

    /// Returns a random entry of the tree other than its root.
    fn entry(&self, dice: &mut Dice) -> Option<PathBuf> {
        let mut all = entries(&self.folder(dice));
        all.sort();
        (!all.is_empty()).then(|| all.swap_remove(dice.below(all.len())))
    }

    fn fresh_name(&self, dice: &mut Dice) -> PathBuf {
        self.folder(dice).join(dice.pick(NAMES))
    }

    /// Makes one change and returns its description. Errors are not fatal.
    pub(crate) fn step(&mut self, dice: &mut Dice) -> String {
        let kind = dice.below(38);
        let text = content(dice);
        let folder = self.folder(dice);
        let target = self.fresh_name(dice);
        let entry = self.entry(dice);
        let other = self.entry(dice);
        let rule_file = folder.join(dice.pick(RULE_FILES));
        let rules = dice.pick(RULES);
        let outside = self.place.path().join(format!("outside{}", self.outside));
        let outcome = match kind {
            0..4 => fs::write(&target, &text),
            4..6 => {
                let deep = target.join(dice.pick(NAMES)).join(dice.pick(NAMES));
                fs::create_dir_all(deep.parent().unwrap()).and_then(|()| fs::write(&deep, &text))
            }
            6..8 => entry.as_deref().map_or(Ok(()), remove),
            8 => entry.as_deref().map_or(Ok(()), |entry| fs::rename(entry, &target)),
            9 | 24 | 25 => match (&entry, &other) {
                (Some(entry), Some(other)) => exchange(entry, other),
                _ => Ok(()),
            },
            10 => {
                self.outside += 1;
                entry.as_deref().map_or(Ok(()), |entry| fs::rename(entry, &outside))
            }
            11 => {
                let kept = self.place.path().join(format!("outside{}", dice.below(self.outside + 1)));
                fs::rename(kept, &target)
            }
            12 => symlink(dice.pick(&["a", "../b", "nowhere", ".", "/etc"]), &target),
            13..16 => remove(&rule_file).or(Ok(())).and_then(|()| fs::write(&rule_file, rules)),
            // Writes in place, often with the same length as before.
            16 => fs::write(&rule_file, rules),
            17 => {
                let linked = self.place.path().join("linked rules");
                remove(&rule_file).or(Ok(())).and_then(|()| symlink(&linked, &rule_file))
            }
            18..20 | 21 if !self.around => fs::write(&target, &text),
            18 => fs::write(self.place.path().join("linked rules"), rules),
            19 => fs::write(self.place.path().join(dice.pick(RULE_FILES)), rules),
            20 => self.repository(&folder, dice, rules),
            21 => fs::write(self.global(), rules),
            22 => fs::set_permissions(&folder, fs::Permissions::from_mode(0o700 + dice.below(2) as u32 * 0o55)),
            26..37 => entry.as_deref().map_or(Ok(()), |entry| self.rewrite(kind, entry, &target, &text)),
            37 => fs::write(folder.join(".env"), &text),
            // Exceeds the size limit of ignore files, which causes a warning.
            _ => fs::File::create(&rule_file).and_then(|file| file.set_len(9 << 20)),
        };
        format!(
            "{kind} {target:?} {entry:?} {other:?} {rule_file:?} {rules:?} {:?}",
            outcome.map_err(|error| error.kind())
        )
    }

    /// Changes the content or the metadata of a file, in a way that depends on `kind`.
    fn rewrite(&self, kind: usize, entry: &Path, target: &Path, text: &[u8]) -> std::io::Result<()> {
        if !entry.is_file() || entry.is_symlink() {
            return Ok(());
        }
        match kind {
            26 | 27 => fs::File::options().append(true).open(entry)?.write_all(text),
            28 => fs::File::options().write(true).open(entry)?.set_len(fs::metadata(entry)?.len() / 2),
            29 => {
                let same_size: Vec<u8> = fs::read(entry)?.iter().rev().copied().collect();
                fs::write(entry, same_size)
            }
            30 | 31 => {
                let before = fs::metadata(entry)?.modified()?;
                let mut swapped = fs::read(entry)?;
                let by = 1.min(swapped.len());
                swapped.rotate_left(by);
                fs::write(entry, swapped)?;
                fs::File::options().write(true).open(entry)?.set_modified(before)
            }
            32 => {
                let beside = self.place.path().join("beside");
                fs::write(&beside, text)?;
                fs::rename(&beside, entry)
            }
            // A new hard link in an unwatched directory, for example an ignored one, causes no event. The next event of
            // the file reveals it.
            33 | 34 => {
                fs::hard_link(entry, target)?;
                let modified = fs::metadata(entry)?.modified()?;
                fs::File::options().write(true).open(entry)?.set_modified(modified)
            }
            35 => fs::set_permissions(entry, fs::Permissions::from_mode(0o600)),
            _ => fs::write(entry, text),
        }
    }

    fn repository(&self, folder: &Path, dice: &mut Dice, rules: &str) -> std::io::Result<()> {
        let git = folder.join(".git");
        let apart = self.place.path().join("apart.git");
        match dice.below(8) {
            0 => remove(&git),
            1 => fs::create_dir_all(git.join("info")),
            2 => fs::write(git.join("info/exclude"), rules),
            3 => fs::write(git.join("config"), format!("[core]\n\texcludesFile = {:?}\n", self.global())),
            4 => fs::write(&git, format!("gitdir: {}\n", apart.display())),
            5 => fs::create_dir_all(apart.join("info")).and_then(|()| fs::write(apart.join("info/exclude"), rules)),
            6 => fs::create_dir(folder.join(".jj")),
            _ => remove(&folder.join(".jj")),
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn remove(path: &Path) -> std::io::Result<()> {
    if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Exchanges two names atomically.
#[cfg(target_os = "linux")]
fn exchange(left: &Path, right: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE)?)
}

/// Replaces one name by another, on systems that cannot exchange them.
#[cfg(not(target_os = "linux"))]
fn exchange(left: &Path, right: &Path) -> std::io::Result<()> {
    fs::rename(left, right)
}
