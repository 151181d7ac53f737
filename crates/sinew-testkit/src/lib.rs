//! What tests need beside the code: servers of the providers' protocols, on real sockets.

pub mod provider;
