//! Tests of the providers against servers that implement their protocols.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod connections;
mod end_reasons;
mod exchange;
mod property_names;
mod providers;
mod quirks;
mod requests;
mod sse_streams;
mod surrogates;
mod tls;
mod unusual_ends;
