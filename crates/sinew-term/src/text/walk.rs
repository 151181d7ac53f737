//! Splits text into indivisible items: clusters, escape sequences, controls, line ends.

use super::class::*;
use super::cluster::Cluster;
use super::escape::{self, Kind};
use super::style::Style;
use super::unit::{Unit, printable_run};

/// One item, and where it ends.
pub(crate) enum Item {
    /// A cluster and its width, or a sized text (OSC 66). `inner` is true if there are escape sequences or controls
    /// between its characters.
    Cluster {
        end: usize,
        width: usize,
        inner: bool,
    },
    Escape {
        end: usize,
        kind: Kind,
    },
    Control {
        end: usize,
    },
    Newline {
        end: usize,
    },
}

/// Returns the item that starts at `at`, which must be inside `text`.
#[inline]
pub(crate) fn item<U: Unit>(text: &[U], at: usize, tab: usize) -> Item {
    if is_printable(text[at]) && text.get(at + 1).is_none_or(|next| is_printable(*next)) {
        return Item::Cluster { end: at + 1, width: 1, inner: false };
    }
    let (props, length) = U::props(text, at);
    match props >> 2 {
        INTRO => {
            let (end, kind) = escape::scan(text, at);
            match kind {
                Kind::Sized(width) => Item::Cluster { end, width, inner: false },
                kind => Item::Escape { end, kind },
            }
        }
        STRIP => Item::Control { end: control_end(text, at + length) },
        NEWLINE => Item::Newline { end: at + length },
        TAB => Item::Cluster { end: at + length, width: tab, inner: false },
        _ => cluster(text, at, props, length),
    }
}

/// Sequences and controls do not end a cluster: a terminal applies a mark to the previous cell regardless of what is in
/// between. A sized text ends it, because it has a width.
fn cluster<U: Unit>(text: &[U], at: usize, props: u8, length: usize) -> Item {
    let mut state = Cluster::NONE;
    let (_, mut width) = state.step(props);
    let mut end = at + length;
    let mut inner = false;
    let mut next = end;
    while next < text.len() {
        let (props, length) = U::props(text, next);
        match props >> 2 {
            NEWLINE | TAB => break,
            STRIP => next = control_end(text, next + length),
            INTRO => match escape::scan(text, next) {
                (_, Kind::Sized(_)) => break,
                (stop, _) => next = stop,
            },
            _ => {
                let (joins, cells) = state.step(props);
                if !joins {
                    break;
                }
                inner |= next != end;
                width += cells;
                next += length;
                end = next;
            }
        }
    }
    Item::Cluster { end, width, inner }
}

/// Returns the end of a control whose own character ends at `at`. An emoji selector after it has lost its base, and is
/// included.
#[inline]
pub(crate) fn control_end<U: Unit>(text: &[U], mut at: usize) -> usize {
    while at < text.len() {
        let (props, length) = U::props(text, at);
        if props >> 2 != VS16 {
            break;
        }
        at += length;
    }
    at
}

#[inline(always)]
pub(crate) fn is_printable<U: Unit>(unit: U) -> bool {
    unit.code().wrapping_sub(0x20) < 0x5F
}

/// Returns the number of units from `at` on that are printable ASCII and certainly complete clusters. The last one is
/// excluded, because a mark may follow it.
#[inline]
pub(crate) fn plain_run<U: Unit>(text: &[U], at: usize, limit: usize) -> usize {
    let rest = &text[..text.len().min(at.saturating_add(limit).saturating_add(1))];
    let run = printable_run(rest, at);
    if at + run == text.len() { run.min(limit) } else { run.saturating_sub(1) }
}

/// Applies the sequences between the characters of a cluster.
pub(crate) fn apply_inner<U: Unit>(style: &mut Style, text: &[U], start: usize, end: usize) {
    let mut at = start;
    while at < end {
        let (props, length) = U::props(text, at);
        if props >> 2 == INTRO {
            let (stop, kind) = escape::scan(text, at);
            style.apply(text, at, stop, kind);
            at = stop;
        } else {
            at += length;
        }
    }
}
