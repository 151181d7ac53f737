//! A temporary directory for a test, scans of it, and reproducible random numbers.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::path::{Path, PathBuf};

use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_walk::{Entry, Scan, ScanOptions};

pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> PathBuf {
        let file = self.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Writes a file, unless a directory has its path, or a file has the path of one of its directories.
    pub(crate) fn try_file(&self, path: &str, text: &str) {
        let file = self.path().join(path);
        if std::fs::create_dir_all(file.parent().unwrap()).is_ok() && !file.is_dir() {
            std::fs::write(&file, text).unwrap();
        }
    }

    pub(crate) fn folder(&self, path: &str) {
        std::fs::create_dir_all(self.path().join(path)).unwrap();
    }

    /// Returns every directory below, listed with the standard library.
    pub(crate) fn folders(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut todo = vec![self.path().to_path_buf()];
        while let Some(folder) = todo.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    found.push(path.strip_prefix(self.path()).unwrap().to_string_lossy().into_owned());
                    todo.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

pub(crate) fn scan(options: &ScanOptions) -> Scan {
    sinew_walk::scan(options, &Pool::new("test", 3), &CancelToken::never()).unwrap()
}

pub(crate) fn names(scan: &Scan, keep: impl Fn(&Entry<'_>) -> bool) -> Vec<String> {
    scan.iter().filter(keep).map(|entry| entry.path().into_owned()).collect()
}

/// Returns `count` seeds for a property test. `SINEW_LAW_RUNS` multiplies the number, for the nightly run;
/// `SINEW_LAW_FROM` is the offset of the first seed, so that each night uses other seeds.
pub(crate) fn seeds(from: u64, count: u64) -> std::ops::Range<u64> {
    let number =
        |name, usual| std::env::var(name).map_or(usual, |text| text.parse().expect("a number in that variable"));
    let runs = number("SINEW_LAW_RUNS", 1);
    // The shift separates the seeds of different tests.
    let from = if runs == 1 { from } else { (from << 32) + number("SINEW_LAW_FROM", 0) };
    from..from + count * runs
}

/// A reproducible pseudorandom number generator.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    pub(crate) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}
