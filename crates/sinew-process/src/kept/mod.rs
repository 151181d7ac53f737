//! Programs that end with us: a keeper process stands between this process and the program, holds the other end of a
//! socket, and ends everything below it when the socket closes, whatever closed it.
//!
//! The keeper is any program that calls [`keeper`] first thing when its only argument is [`ROLE`]: `sinew` itself, or
//! `sinew-keeper` of this crate. It sleeps while its program lives. One program, one keeper: what a program leaves
//! behind when it forks twice comes back to *its* keeper and can be told from what another one left.
//!
//! Command line and environment of the program reach the keeper over the socket, so the process list shows them only
//! for the program itself.

mod host;
mod keeper;
mod request;

pub use host::{Kept, KeptPipes, KeptProgram, start};
pub use keeper::keeper;

use std::time::Duration;

/// The argument that makes a program a keeper.
pub const ROLE: &str = "keep";

/// The time that a program has to end by itself after its standard input was closed.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

/// The time that its processes have to end after SIGTERM, before SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// From the keeper: the program was started, with its pid behind it; or was not, with the error number of the system.
const STARTED: u8 = b'S';
const NOT_STARTED: u8 = b'E';
/// From the keeper: the program is over, with its wait status behind it.
const EXITED: u8 = b'X';
/// To the keeper: end everything now, without grace.
const KILL: u8 = b'K';
