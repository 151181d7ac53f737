//! Test helpers: servers of the providers' protocols on real sockets, and scripted providers.

pub mod oauth;
pub mod provider;
pub mod scripted;
