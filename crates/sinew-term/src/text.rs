//! Terminal text: one width engine over UTF-8 and UTF-16.
//!
//! [`walk`] cuts text into clusters, escape sequences and controls; everything else is written over it or, where
//! only cells are counted, over the same rules ([`cluster`], [`escape`]). What one function measures, the others
//! cut at.

#[allow(dead_code, reason = "the build script uses the classes that the engine does not name")]
mod class;
mod cluster;
pub(crate) mod cut;
mod escape;
pub(crate) mod sanitize;
mod style;
pub(crate) mod unit;
pub(crate) mod walk;
pub(crate) mod width;
pub(crate) mod wrap;
