//! The size of the terminal, as far as it is known.
//!
//! A multiplexer lays its rows out anew first and tells of it later: tmux up to a quarter of a second later, where sizes
//! follow one another. A frame for the size of before would be read for the new one, and rows would be lost. So tmux is
//! asked before each frame that changes more than the row of the cursor, and its answer counts.

use std::time::{Duration, Instant};

use super::{CURSOR, SETTLE};

/// The size as the terminal tells it.
pub(super) struct Sizes {
    /// The terminal is asked before frames.
    pub(super) asks: bool,
    /// It was asked at that time.
    pub(super) asked: Option<Instant>,
    /// Its answers name the columns first, as those of tmux 3.3 do; none: none of them has told.
    pub(super) is_turned: Option<bool>,
    /// It has answered: the next frame has the right size.
    pub(super) is_sure: bool,
    /// The last change; it waits for the next one.
    pub(super) changed: Option<Instant>,
    /// It was not written anew since it changed.
    pub(super) is_new: bool,
    /// The place of the cursor was asked for at that time.
    pub(super) place: Option<Instant>,
}

impl Sizes {
    /// `asks`: the terminal is a tmux.
    pub(super) fn new(asks: bool) -> Sizes {
        Sizes { asks, asked: None, is_turned: None, is_sure: false, changed: None, is_new: false, place: None }
    }

    /// The times at which something is due.
    pub(super) fn due(&self) -> [Option<Instant>; 3] {
        let after = |at: Option<Instant>, limit: Duration| at.map(|at| at + limit);
        [after(self.changed, SETTLE), after(self.place, CURSOR), after(self.asked, CURSOR)]
    }
}
