//! The MCP servers of a session, and the changes that a person can make to them.
//!
//! | module | contents |
//! |---|---|
//! | `servers` | the servers that a session may use, from the configuration files |
//! | `edit` | adds, removes, enables and disables: changes one entry of a file and nothing else |
//! | `login` | signs in and out |
//! | `trace` | shows the traffic with a server |

pub mod edit;
pub mod login;
pub mod servers;
mod trace;
