//! Resamples images with the SIMD kernels of `fast_image_resize`.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x3, U8x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};
use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::{Channels, Picture};

/// A resampling filter. The numbers are those of the JavaScript `SamplingFilter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum SamplingFilter {
    /// The nearest pixel: fast, with hard edges.
    Nearest = 1,
    /// Linear interpolation between neighbours.
    Triangle = 2,
    /// Cubic, sharper than `Triangle`.
    CatmullRom = 3,
    /// Soft.
    Gaussian = 4,
    /// The sharpest; best for reducing the size.
    Lanczos3 = 5,
}

impl SamplingFilter {
    /// Returns the filter of a JavaScript number.
    ///
    /// # Errors
    /// Returns `Invalid sampling filter: 9` if the number is not that of a filter.
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
    /// Returns the image scaled to `width × height` pixels; the aspect ratio may change. Colours are weighted by their
    /// opacity, so that no dark edges appear around transparent parts. Checks `cancel` before the work.
    ///
    /// # Errors
    /// Returns [`ErrorCode::InvalidArgument`] if a side is 0, [`ErrorCode::LimitExceeded`] if the result
    /// exceeds [`crate::MAX_BYTES`], and an error if the call is cancelled.
    pub fn resize(&self, width: u32, height: u32, filter: SamplingFilter, cancel: &CancelToken) -> Result<Picture> {
        cancel.check()?;
        if width == 0 || height == 0 {
            return Err(Error::invalid(format!("image: cannot resize to {width}×{height}: a side is 0")));
        }
        let size = crate::limits::check(width, height, self.channels().count())?;
        if (width, height) == (self.width(), self.height()) {
            return Ok(self.clone());
        }
        if self.profile.is_some() {
            return self.to_srgb().resize(width, height, filter, cancel);
        }
        // One call per pixel type: a choice at run time would link the kernels of all thirteen types, and each type
        // adds half a megabyte.
        let samples = match self.channels() {
            Channels::Gray => resample::<U8>(self, self.samples(), (width, height), size, filter),
            // The rarest type is converted to colours: same weights, same result.
            Channels::GrayAlpha => {
                let colours: Vec<u8> = self.samples().chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect();
                let resized = resample::<U8x4>(self, &colours, (width, height), 2 * size, filter)?;
                Ok(resized.chunks_exact(4).flat_map(|p| [p[0], p[3]]).collect())
            }
            Channels::Rgb => resample::<U8x3>(self, self.samples(), (width, height), size, filter),
            Channels::Rgba => resample::<U8x4>(self, self.samples(), (width, height), size, filter),
        }?;
        Picture::new(width, height, self.channels(), samples)
    }
}

/// Returns the `samples` of `picture` scaled to `width × height`, in `size` bytes.
fn resample<P: PixelTrait>(
    picture: &Picture,
    samples: &[u8],
    (width, height): (u32, u32),
    size: usize,
    filter: SamplingFilter,
) -> Result<Vec<u8>> {
    let failed = |cause: &dyn std::fmt::Display| {
        Error::new(ErrorCode::Internal, format!("image: failed to resize to {width}×{height}: {cause}"))
    };
    let from = TypedImageRef::<P>::from_buffer(picture.width(), picture.height(), samples);
    let from = from.map_err(|cause| failed(&cause))?;
    let mut resized = vec![0; size];
    let mut to = TypedImage::<P>::from_buffer(width, height, &mut resized).map_err(|cause| failed(&cause))?;
    let options = ResizeOptions::new().resize_alg(filter.algorithm());
    Resizer::new().resize_typed(&from, &mut to, &options).map_err(|cause| failed(&cause))?;
    drop(to);
    Ok(resized)
}
