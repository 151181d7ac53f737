//! The size of the terminal, as far as it is known.
//!
//! A multiplexer first lays out its rows for a new size and reports it later: tmux up to a quarter of a second later,
//! if sizes change repeatedly. A frame for the old size would be interpreted with the new one, and rows would be lost.
//! Therefore tmux is queried before each frame that changes more than the row of the cursor, and its reply is used.

use std::time::{Duration, Instant};

/// The time without a change of the size after which the screen is laid out again.
const SETTLE: Duration = Duration::from_millis(30);
/// The time limit for a report of the cursor position.
const CURSOR: Duration = Duration::from_millis(150);
/// The time after a change within which the next change belongs to the same resize, such as dragging a border.
const DRAG: Duration = Duration::from_millis(300);
/// The time without a change after which the screen is laid out again while a border is dragged. A frame that is being
/// transferred when tmux changes its size is interpreted with the wrong one, so fewer frames are better.
const DRAG_SETTLE: Duration = Duration::from_millis(120);

/// The size according to the terminal.
pub(super) struct Sizes {
    /// True if the terminal is queried before frames.
    pub(super) asks: bool,
    /// The time of the pending query.
    pub(super) asked: Option<Instant>,
    /// True if its replies contain the columns first, as in tmux 3.3; `None` if that is unknown yet.
    pub(super) is_turned: Option<bool>,
    /// True if it has replied, so that the next frame has the correct size.
    pub(super) is_sure: bool,
    /// The time of the last change, while a further one may follow.
    pub(super) changed: Option<Instant>,
    /// The time of the last change, including completed ones.
    last: Option<Instant>,
    /// True if the change followed shortly after another one.
    is_dragged: bool,
    /// True if the screen was not drawn since the size changed.
    pub(super) is_new: bool,
    /// The time of the pending query of the cursor position.
    pub(super) place: Option<Instant>,
}

impl Sizes {
    /// Creates the state. `asks` says that the terminal is tmux.
    pub(super) fn new(asks: bool) -> Sizes {
        Sizes {
            asks,
            asked: None,
            is_turned: None,
            is_sure: false,
            changed: None,
            last: None,
            is_dragged: false,
            is_new: false,
            place: None,
        }
    }

    /// Records a change. It is applied when no further change follows for a while.
    pub(super) fn change(&mut self, now: Instant) {
        self.is_dragged = self.last.is_some_and(|last| now < last + DRAG);
        (self.last, self.changed, self.place, self.is_new) = (Some(now), Some(now), None, true);
    }

    /// Returns the deadlines.
    pub(super) fn due(&self) -> [Option<Instant>; 3] {
        let after = |at: Option<Instant>, limit: Duration| at.map(|at| at + limit);
        let settle = if self.asks && self.is_dragged { DRAG_SETTLE } else { SETTLE };
        [after(self.changed, settle), after(self.place, CURSOR), after(self.asked, CURSOR)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dragged_border_of_tmux_is_followed_when_it_stops() {
        let begun = Instant::now();
        let ms = Duration::from_millis;
        for (asks, changes, due) in [
            (true, &[0][..], 30),
            (true, &[0, 50], 50 + 120),
            (true, &[0, 50, 100], 100 + 120),
            (true, &[0, 301], 301 + 30),
            (false, &[0, 50], 50 + 30),
        ] {
            let mut sizes = Sizes::new(asks);
            changes.iter().for_each(|at| sizes.change(begun + ms(*at)));
            assert_eq!(sizes.due(), [Some(begun + ms(due)), None, None], "{changes:?}");
        }
    }
}
