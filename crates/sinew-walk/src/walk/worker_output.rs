//! The output of each thread of a walk, and its assembly into one scan.

use std::io;
use std::ops::Range;

use sinew_base::{CancelTicker, CancelToken, Error, Result};

use crate::end_offsets::EndOffsets;
use crate::entry::{Scan, bits_of};
use crate::{Detail, FileType, ScanOptions};

/// The maximum number of warnings kept; further ones are counted.
pub(super) const WARNINGS: usize = 100;

/// A name in a listing.
pub(super) struct Item {
    /// The first bytes of the name, for a quick comparison.
    pub(super) key: u64,
    pub(super) start: usize,
    pub(super) length: u32,
    pub(super) bits: u8,
    /// The number of the task that reads it, plus one; 0 if it is not entered.
    pub(super) child: u32,
    /// Its index in the details; unused without [`Detail::Full`].
    pub(super) detail: u32,
}

/// A directory that was read: the range of its steps in the output.
pub(super) struct Listing {
    id: u32,
    path: Vec<u8>,
    steps: Range<usize>,
}

/// The output of one thread.
#[derive(Default)]
pub(super) struct WorkerOutput {
    pub(super) names: Vec<u8>,
    pub(super) items: Vec<Item>,
    /// The time and size of items.
    pub(super) details: Vec<(i64, u64)>,
    /// The index of an item or, with the lowest bit set, everything below it.
    steps: Vec<usize>,
    listings: Vec<Listing>,
    warnings: Vec<String>,
    more_warnings: usize,
    /// True if a directory named `node_modules` was excluded.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only a kept tree reads it"))]
    pub(super) skipped_modules: bool,
}

pub(super) fn name_of<'a>(names: &'a [u8], item: &Item) -> &'a [u8] {
    &names[item.start..item.start + item.length as usize]
}

impl WorkerOutput {
    pub(super) fn push(&mut self, name: &[u8], file_type: FileType) {
        let mut key = [0; 8];
        let length = name.len().min(8);
        key[..length].copy_from_slice(&name[..length]);
        self.items.push(Item {
            key: u64::from_be_bytes(key),
            start: self.names.len(),
            length: u32::try_from(name.len()).unwrap_or(u32::MAX),
            bits: bits_of(file_type),
            child: 0,
            detail: 0,
        });
        self.names.extend_from_slice(name);
    }

    pub(super) fn record_failure(&mut self, path: &[u8], cause: &io::Error) {
        // It was deleted since the listing, so nothing is missing.
        if !matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            let what = format!("failed to read folder {:?}", String::from_utf8_lossy(path));
            self.warn(Error::io(what, cause).to_string());
        }
    }

    pub(super) fn warn(&mut self, warning: String) {
        if self.warnings.len() < WARNINGS {
            self.warnings.push(warning);
        } else {
            self.more_warnings += 1;
        }
    }

    /// Clears everything but keeps the memory.
    #[cfg(unix)]
    pub(super) fn clear(&mut self) {
        let WorkerOutput { names, items, details, steps, listings, warnings, more_warnings, skipped_modules } = self;
        names.clear();
        items.clear();
        details.clear();
        steps.clear();
        listings.clear();
        warnings.clear();
        (*more_warnings, *skipped_modules) = (0, false);
    }

    /// Returns the steps of the only directory read into this output: an item or, with the lowest bit set, everything
    /// below it.
    pub(super) fn steps(&self) -> &[usize] {
        &self.steps
    }

    /// Drops the steps of items for which `keep` returns false.
    pub(super) fn retain_steps(&mut self, mut keep: impl FnMut(&[u8], &Item) -> bool) {
        self.steps.retain(|step| step & 1 == 1 || keep(&self.names, &self.items[step >> 1]));
    }

    /// Moves out the path of the only directory read into this output; empty if it could not be read.
    pub(super) fn take_path(&mut self) -> Vec<u8> {
        self.listings.pop().map(|listing| listing.path).unwrap_or_default()
    }

    /// Returns the recorded warnings, and the number of further ones.
    pub(super) fn warnings(&self) -> (&[String], usize) {
        (&self.warnings, self.more_warnings)
    }

    /// Records the sorted items from `first` on as the listing of the directory `id`. The content of a subdirectory
    /// follows at its position in path order: `a`, `a-b`, `a/c`.
    pub(super) fn order(&mut self, first: usize, id: u32, path: Vec<u8>) {
        let start = self.steps.len();
        let mut open: Vec<usize> = Vec::new();
        for index in first..self.items.len() {
            let name = name_of(&self.names, &self.items[index]);
            while let Some(last) = open.last() {
                let folder = name_of(&self.names, &self.items[*last]);
                // Compares `folder/` with `name`.
                let before = name.strip_prefix(folder).map_or(folder < name, |rest| rest.first() > Some(&b'/'));
                if !before {
                    break;
                }
                self.steps.push(last << 1 | 1);
                open.pop();
            }
            self.steps.push(index << 1);
            if self.items[index].child > 0 {
                open.push(index);
            }
        }
        self.steps.extend(open.into_iter().rev().map(|last| last << 1 | 1));
        self.listings.push(Listing { id, path, steps: start..self.steps.len() });
    }
}

/// Copies the listings in path order into one scan.
pub(super) fn assemble(
    options: &ScanOptions,
    outputs: Vec<WorkerOutput>,
    mut warnings: Vec<String>,
    cancel: &CancelToken,
) -> Result<Scan> {
    let folders = outputs.iter().map(|output| output.listings.len()).sum::<usize>();
    let highest = outputs.iter().flat_map(|output| &output.listings).map(|listing| listing.id).max().unwrap_or(0);
    let mut places: Vec<Option<(&WorkerOutput, &Listing)>> = vec![None; highest as usize + 1];
    let (mut count, mut size) = (0, 0);
    for output in &outputs {
        count += output.items.len();
        size += output.names.len();
        for listing in &output.listings {
            size += (listing.path.len() + 1) * listing.steps.len();
            places[listing.id as usize] = Some((output, listing));
        }
    }
    let mut scan = Scan {
        root: options.root.clone(),
        text: Vec::with_capacity(size),
        ends: EndOffsets::with_capacity(count),
        bits: Vec::with_capacity(count),
        ..Scan::default()
    };
    let full = options.detail == Detail::Full;
    let mut ticker = CancelTicker::new(cancel);
    let mut stack: Vec<(&WorkerOutput, &Listing, usize)> = Vec::with_capacity(64.min(folders));
    stack.extend(places[0].map(|(output, listing)| (output, listing, listing.steps.start)));
    while let Some((output, listing, step)) = stack.pop() {
        let mut entered = None;
        for at in step..listing.steps.end {
            let item = &output.items[output.steps[at] >> 1];
            if output.steps[at] & 1 == 1 {
                // `None` for a directory that could not be read.
                entered = Some((at + 1, places.get(item.child as usize - 1).copied().flatten()));
                break;
            }
            ticker.step()?;
            if !listing.path.is_empty() {
                scan.text.extend_from_slice(&listing.path);
                scan.text.push(b'/');
            }
            scan.text.extend_from_slice(name_of(&output.names, item));
            scan.ends.push(scan.text.len());
            scan.bits.push(item.bits);
            if full {
                scan.details.push(output.details[item.detail as usize]);
            }
        }
        if let Some((next, child)) = entered {
            stack.push((output, listing, next));
            stack.extend(child.map(|(output, listing)| (output, listing, listing.steps.start)));
        }
    }
    scan.text.shrink_to_fit();
    let more = outputs.iter().map(|output| output.more_warnings).sum::<usize>();
    warnings.extend(outputs.into_iter().flat_map(|output| output.warnings));
    scan.warnings = finish_warnings(warnings, more);
    Ok(scan)
}

/// Returns the warnings of a scan: sorted, with one that counts those beyond the first hundred.
pub(super) fn finish_warnings(mut warnings: Vec<String>, more: usize) -> Vec<String> {
    warnings.sort();
    let dropped = more + warnings.len().saturating_sub(WARNINGS);
    warnings.truncate(WARNINGS);
    if dropped > 0 {
        warnings.push(format!("and {dropped} more paths that could not be read"));
    }
    warnings
}
