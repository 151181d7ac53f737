//! Linear mode: output that only grows, for screen readers and for terminals that know no cursor.
//!
//! Nothing that was written is written again, but for the row in which the user writes.

mod line;
mod sink;

pub use line::InputLine;
pub use sink::{LinearOutput, Pace, Speech};
