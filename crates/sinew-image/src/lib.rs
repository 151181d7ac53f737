//! Images: decoding, resizing, encoding, preparing them for models, and showing them in a terminal.
//!
//! All functions only depend on their arguments: they use no files, threads or clocks. The `image` crate decodes PNG,
//! JPEG, GIF, WebP and BMP, the `tiff` crate TIFF.
//!
//! | step | function | guarantees |
//! |---|---|---|
//! | bytes → pixels | [`decode`] | limits checked before memory is allocated; EXIF orientation applied; only the first frame |
//! | pixels → pixels | [`Picture::resize`] | SIMD; opacity respected |
//! | | [`Picture::crop`], [`Picture::extend`], [`Picture::orient`] | linear |
//! | pixels → bytes | [`Picture::encode`] | PNG, JPEG, lossless WebP, GIF |
//! | bytes → bytes that fit | [`fit_image`] | prepares an image for a model |
//! | bytes → escape codes | [`terminal`] | Kitty graphics, iTerm2, Sixel |
//!
//! ```
//! use sinew_base::CancelToken;
//! use sinew_image::{Channels, FitOptions, ImageFormat, Picture, fit_image};
//!
//! # fn main() -> sinew_base::Result<()> {
//! let never = CancelToken::never();
//! let wide = Picture::new(600, 20, Channels::Rgb, vec![200; 600 * 20 * 3])?;
//! let file = wide.encode(ImageFormat::Png, 100, &never)?;
//! let options = FitOptions { max_width: 300, ..FitOptions::default() };
//! let fitted = fit_image(&file, &options, &never)?;
//! assert_eq!((fitted.width, fitted.height, fitted.mime_type), (300, 10, "image/png"));
//! # Ok(())
//! # }
//! ```
//!
//! Limit: [`MAX_BYTES`] of memory for one decoded image. [`fit_image`] decodes larger JPEG and PNG files at a reduced
//! size. A corrupt file is an error and never a partial image, because a model would interpret the missing part as grey.

mod canvas;
mod cmyk;
mod color;
mod decode;
mod directory;
mod encode;
mod fit;
mod format;
mod limits;
mod orient;
mod picture;
mod resize;
pub mod terminal;

pub use decode::{Probe, decode, probe};
pub use fit::{FitOptions, FitResult, fit_image};
pub use format::{ImageFormat, SourceFormat};
pub use image::metadata::Orientation;
pub use limits::MAX_BYTES;
pub use picture::{Channels, Picture};
pub use resize::SamplingFilter;
