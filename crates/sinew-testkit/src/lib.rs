//! Help for tests: servers of the providers' protocols on real sockets, and providers that answer as a
//! script says.

pub mod oauth;
pub mod provider;
pub mod scripted;
