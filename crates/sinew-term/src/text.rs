//! Terminal text: one width engine over UTF-8 and UTF-16.
//!
//! [`walk`] splits text into clusters, escape sequences and controls; everything else uses it or, if only widths are
//! needed, the same rules ([`cluster`], [`escape`]). All functions therefore agree about widths.

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
