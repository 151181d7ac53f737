//! Compares two lists of numbers.

use std::time::Duration;

use similar::algorithms::{Capture, Compact, DiffHook, Replace, myers};
use similar::{DiffOp, DiffTag};
use sinew_base::{CancelToken, Result};

use crate::Ops;
use crate::tokens::Pieces;

/// The number of pieces of both texts up to which the search for the shortest difference always completes, in at most
/// about ten milliseconds.
const SMALL: usize = 4_000;

/// The number of operations up to which changes are shifted and merged, which can need quadratic time.
const COMPACTED: usize = 4_000;

/// Returns the operations that turn `old` into `new`.
pub(crate) fn compare(old: &Pieces<'_>, new: &Pieces<'_>, effort: Duration, cancel: &CancelToken) -> Result<Ops> {
    let (old, new) = (&old.ids[..], &new.ids[..]);
    cancel.check()?;
    let limited = if old.len() + new.len() > SMALL { cancel.clone().with_timeout(effort) } else { cancel.clone() };
    let mut capture = Capture::new();
    let Ok(()) = myers::diff_deadline(&mut capture, old, 0..old.len(), new, 0..new.len(), limited.deadline());
    cancel.check()?;
    let raw = capture.into_ops();
    if raw.len() > COMPACTED {
        let mut joined = Replace::new(Capture::new());
        replay(&raw, &mut joined);
        return Ok(placed(&joined.into_inner().into_ops()));
    }
    let mut joined = Compact::new(Replace::new(Capture::new()), old, new);
    replay(&raw, &mut joined);
    Ok(placed(&joined.into_inner().into_inner().into_ops()))
}

/// Returns the operations with contiguous positions. When `Compact` shifts an operation, it does not update the
/// position in the other text, and the header of a hunk that ends there would be wrong.
fn placed(ops: &Ops) -> Ops {
    let (mut old_index, mut new_index) = (0, 0);
    let mut next = |op: &DiffOp| {
        let (old_len, new_len) = (op.old_range().len(), op.new_range().len());
        let placed = match op.tag() {
            DiffTag::Equal => DiffOp::Equal { old_index, new_index, len: old_len },
            DiffTag::Delete => DiffOp::Delete { old_index, old_len, new_index },
            DiffTag::Insert => DiffOp::Insert { old_index, new_index, new_len },
            DiffTag::Replace => DiffOp::Replace { old_index, old_len, new_index, new_len },
        };
        (old_index, new_index) = (old_index + old_len, new_index + new_len);
        placed
    };
    ops.iter().map(&mut next).collect()
}

fn replay<D: DiffHook<Error = std::convert::Infallible>>(ops: &Ops, hook: &mut D) {
    for op in ops {
        let Ok(()) = op.apply_to_hook(hook);
    }
    let Ok(()) = hook.finish();
}
