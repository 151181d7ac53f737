//! Widths of texts, in cells.

use super::class::*;
use super::cluster::Cluster;
use super::escape::{self, Kind};
use super::unit::{Unit, printable_run};
use super::walk::{control_end, is_printable};

/// Returns the width of `text`; a tab has `tab` cells. One pass, no allocation.
pub(crate) fn visible_width<U: Unit>(text: &[U], tab: usize) -> usize {
    let mut width = 0usize;
    let mut state = Cluster::NONE;
    let mut at = 0;
    while let Some(unit) = text.get(at) {
        if is_printable(*unit) {
            let run = printable_run(text, at);
            at += run;
            width += run;
            state = Cluster::after_ascii(text[at - 1].code());
            continue;
        }
        let (props, length) = U::props(text, at);
        match props >> 2 {
            INTRO => {
                let (end, kind) = escape::scan(text, at);
                if let Kind::Sized(cells) = kind {
                    width = width.saturating_add(cells);
                    state = Cluster::NONE;
                }
                at = end;
                continue;
            }
            STRIP => {
                at = control_end(text, at + length);
                continue;
            }
            NEWLINE => state = Cluster::NONE,
            TAB => {
                width = width.saturating_add(tab);
                state = Cluster::NONE;
            }
            _ => width += state.step(props).1,
        }
        at += length;
    }
    width
}
