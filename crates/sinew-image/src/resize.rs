//! Resampling, on top of the SIMD kernels of `fast_image_resize`.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use sinew_base::{Cancel, Error, ErrorCode, Result};

use crate::{Channels, Picture};

/// How new pixels are made of old ones. The numbers are those of the JavaScript `SamplingFilter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum SamplingFilter {
    /// The nearest pixel: fast, hard edges.
    Nearest = 1,
    /// Linear between neighbours.
    Triangle = 2,
    /// Cubic, sharper than `Triangle`.
    CatmullRom = 3,
    /// Soft.
    Gaussian = 4,
    /// The sharpest; best for making pictures smaller.
    Lanczos3 = 5,
}

impl SamplingFilter {
    /// The filter of a JavaScript number.
    ///
    /// # Errors
    /// `Invalid sampling filter: 9` for a number that names none.
    pub fn from_id(id: u32) -> Result<SamplingFilter> {
        Ok(match id {
            1 => SamplingFilter::Nearest,
            2 => SamplingFilter::Triangle,
            3 => SamplingFilter::CatmullRom,
            4 => SamplingFilter::Gaussian,
            5 => SamplingFilter::Lanczos3,
            _ => return Err(Error::invalid(format!("Invalid sampling filter: {id}"))),
        })
    }

    fn algorithm(self) -> ResizeAlg {
        match self {
            SamplingFilter::Nearest => ResizeAlg::Nearest,
            SamplingFilter::Triangle => ResizeAlg::Convolution(FilterType::Bilinear),
            SamplingFilter::CatmullRom => ResizeAlg::Convolution(FilterType::CatmullRom),
            SamplingFilter::Gaussian => ResizeAlg::Convolution(FilterType::Gaussian),
            SamplingFilter::Lanczos3 => ResizeAlg::Convolution(FilterType::Lanczos3),
        }
    }
}

impl Picture {
    /// The picture at `width × height` pixels; the shape is not kept. Colours are weighted by their opacity,
    /// so that no dark seams appear around transparent parts. `cancel` is looked at before the work.
    ///
    /// # Errors
    /// When a side is 0 or beyond [`crate::MAX_SIDE`], when the result would need more than
    /// [`crate::MAX_BYTES`], and on cancellation.
    pub fn resize(&self, width: u32, height: u32, filter: SamplingFilter, cancel: &Cancel) -> Result<Picture> {
        cancel.check()?;
        if width == 0 || height == 0 {
            return Err(Error::invalid(format!("image: cannot resize to {width}×{height}: a side is 0")));
        }
        let size = crate::limits::check(width, height, self.channels().count())?;
        if (width, height) == (self.width(), self.height()) {
            return Ok(self.clone());
        }
        let failed = |cause: &dyn std::fmt::Display| {
            Error::new(ErrorCode::Internal, format!("image: failed to resize to {width}×{height}: {cause}"))
        };
        let pixel = match self.channels() {
            Channels::Gray => PixelType::U8,
            Channels::GrayAlpha => PixelType::U8x2,
            Channels::Rgb => PixelType::U8x3,
            Channels::Rgba => PixelType::U8x4,
        };
        let from = ImageRef::new(self.width(), self.height(), self.samples(), pixel).map_err(|e| failed(&e))?;
        let mut to = Image::from_vec_u8(width, height, vec![0; size], pixel).map_err(|e| failed(&e))?;
        let options = ResizeOptions::new().resize_alg(filter.algorithm());
        Resizer::new().resize(&from, &mut to, &options).map_err(|e| failed(&e))?;
        Picture::new(width, height, self.channels(), to.into_vec())
    }
}
