//! Removes everything from a text that a terminal would interpret.

use super::class::*;
use super::escape;
use super::unit::{Unit, printable_run};
use super::walk::{control_end, is_printable};

/// Removes escape sequences, controls (except line feed and tab) and lone surrogates. `None` if there is nothing to
/// remove.
pub(crate) fn sanitize<U: Unit>(text: &[U]) -> Option<Vec<U>> {
    let mut out = Vec::new();
    // Everything before `kept` is in `out` or removed.
    let (mut at, mut kept) = (0, 0);
    while let Some(unit) = text.get(at) {
        if is_printable(*unit) {
            at += printable_run(text, at);
            continue;
        }
        let (props, length) = U::props(text, at);
        let end = match props >> 2 {
            INTRO => escape::scan(text, at).0,
            STRIP => control_end(text, at + length),
            SURROGATE => at + length,
            _ => {
                at += length;
                continue;
            }
        };
        out.extend_from_slice(&text[kept..at]);
        (at, kept) = (end, end);
    }
    if kept == 0 {
        return None;
    }
    out.extend_from_slice(&text[kept..]);
    Some(out)
}
