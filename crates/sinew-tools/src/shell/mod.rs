//! Running commands: the shell of a session, terminals, background jobs, and output.
//!
//! | module | contents |
//! |---|---|
//! | `carry` | what a command of the user changes in the shell of a session |
//! | `command` | one command on a thread of its own |
//! | `environment` | the environment of commands, and the list of read-only commands |
//! | `jobs` | the background jobs of a session |
//! | `output` | the part of an output that the model sees, and the artifact with all of it |
//! | `session` | the shell of a session and its state |
//! | `terminal` | commands in a terminal that the user sees |

pub(crate) mod carry;
pub(crate) mod command;
pub(crate) mod environment;
pub(crate) mod jobs;
pub(crate) mod output;
pub(crate) mod session;
pub(crate) mod terminal;
