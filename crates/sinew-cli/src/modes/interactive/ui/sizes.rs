//! The size of the terminal, as far as it is known.
//!
//! A multiplexer lays its rows out anew first and tells of it later: tmux up to a quarter of a second later, where sizes
//! follow one another. A frame for the size of before would be read for the new one, and rows would be lost. So tmux is
//! asked before each frame that changes more than the row of the cursor, and its answer counts.

use std::time::{Duration, Instant};

/// Silence after the last change of size before the screen is laid out anew.
const SETTLE: Duration = Duration::from_millis(30);
/// The time that the terminal may take to say where the cursor is.
const CURSOR: Duration = Duration::from_millis(150);
/// Time after a change in which the next one belongs to it: somebody drags a border.
const DRAG: Duration = Duration::from_millis(300);
/// Silence after such a change. A frame that is on its way when tmux takes another size is read for the wrong one: the fewer
/// of them are sent while a border is dragged, the better.
const DRAG_SETTLE: Duration = Duration::from_millis(120);

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
    /// The time of the last change, also of one that was followed.
    last: Option<Instant>,
    /// It came shortly after another one.
    is_dragged: bool,
    /// It was not written anew since it changed.
    pub(super) is_new: bool,
    /// The place of the cursor was asked for at that time.
    pub(super) place: Option<Instant>,
}

impl Sizes {
    /// `asks`: the terminal is a tmux.
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

    /// Takes a change, which is followed when nothing more has changed for a while.
    pub(super) fn change(&mut self, now: Instant) {
        self.is_dragged = self.last.is_some_and(|last| now < last + DRAG);
        (self.last, self.changed, self.place, self.is_new) = (Some(now), Some(now), None, true);
    }

    /// The times at which something is due.
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
    fn a_border_of_tmux_that_is_dragged_is_followed_when_it_rests() {
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
