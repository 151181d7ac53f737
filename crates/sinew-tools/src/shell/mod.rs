//! Commands at work: the shell of a session, terminals, jobs in the background, and their output.
//!
//! | module | knows |
//! |---|---|
//! | `command` | one command on a thread of its own |
//! | `environment` | the variables that commands get, and which commands change nothing |
//! | `jobs` | the commands of a session that run in the background |
//! | `output` | the part of an output that the model sees, and the artifact with all of it |
//! | `session` | the shell of a session and its state |
//! | `terminal` | commands on a terminal that the user sees |

pub(crate) mod command;
pub(crate) mod environment;
pub(crate) mod jobs;
pub(crate) mod output;
pub(crate) mod session;
pub(crate) mod terminal;
