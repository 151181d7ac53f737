//! Programs that are terminated when this process ends: a keeper process between this process and the program owns the
//! other end of a socket, and terminates all descendants when the socket closes for any reason.
//!
//! The keeper is any program that calls [`keeper`] first if its only argument is [`ROLE`]: `sinew` itself, or
//! `sinew-keeper` of this crate. It sleeps while its program runs. Each program has its own keeper: if a program leaves
//! a process behind by forking twice, the keeper of *that* program adopts the process, so it can be distinguished from
//! those of other programs.
//!
//! The command line and environment of the program are sent to the keeper over the socket, so the process list only
//! shows them for the program itself.

mod host;
mod keeper;
mod request;

pub use host::{Kept, ProgramPipes, ProgramSpec, start};
pub use keeper::keeper;

use std::time::Duration;

/// The argument that starts the keeper role.
pub const ROLE: &str = "keep";

/// The time for a program to exit by itself after its standard input was closed.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

/// The time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// From the keeper: the program was started, followed by its process id; or was not, with the system's error number.
const STARTED: u8 = b'S';
const NOT_STARTED: u8 = b'E';
/// From the keeper: the program has ended, followed by its wait status.
const EXITED: u8 = b'X';
/// To the keeper: terminate everything now, without a grace period.
const KILL: u8 = b'K';
