//! Linear mode: append-only output for screen readers and for terminals without cursor movement.
//!
//! Written text is never rewritten, except for the row of the user's input.

mod line;
mod sink;

pub use line::InputLine;
pub use sink::{LineSplitter, LinearOutput, OutputUnit};
