//! Pictures: decode, resize, encode, fit for a model, show in a terminal.
//!
//! Functions of their arguments: no files, no threads, no clock of their own. One decoder crate per format;
//! Windows bitmaps are read here.
//!
//! | step | function | what it holds to |
//! |---|---|---|
//! | bytes → pixels | [`decode`] | limits checked before memory is asked for; EXIF orientation applied; only the first frame |
//! | pixels → pixels | [`Picture::resize`] | SIMD; opacity respected |
//! | pixels → bytes | [`Picture::encode`] | PNG, JPEG, lossless WebP, GIF |
//! | bytes → bytes that fit | [`fit_image`] | the one call before a picture is sent to a model |
//! | bytes → escape codes | [`terminal`] | Kitty graphics, iTerm2, Sixel |
//!
//! A broken file is an error, never half a picture: who shows a picture to a model must not show it grey.

mod decode;
mod encode;
mod exif;
mod fit;
mod format;
mod limits;
mod orient;
mod picture;
mod resize;
pub mod terminal;

pub use decode::{Probe, decode, probe};
pub use exif::Orientation;
pub use fit::{FitOptions, Fitted, fit_image};
pub use format::{ImageFormat, SourceFormat};
pub use limits::{MAX_BYTES, MAX_SIDE};
pub use picture::{Channels, Picture};
pub use resize::SamplingFilter;
