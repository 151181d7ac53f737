//! Resampling, on top of the SIMD kernels of `fast_image_resize`.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x3, U8x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};
use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::{Channels, Picture};

/// The filter that makes new pixels of old ones. The numbers are those of the JavaScript `SamplingFilter`.
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
    /// [`ErrorCode::InvalidArgument`] for a side of 0, [`ErrorCode::LimitExceeded`] for one beyond [`crate::MAX_SIDE`] or a result beyond
    /// [`crate::MAX_BYTES`], and on cancellation.
    pub fn resize(&self, width: u32, height: u32, filter: SamplingFilter, cancel: &CancelToken) -> Result<Picture> {
        cancel.check()?;
        if width == 0 || height == 0 {
            return Err(Error::invalid(format!("image: cannot resize to {width}×{height}: a side is 0")));
        }
        let size = crate::limits::check(width, height, self.channels().count())?;
        if (width, height) == (self.width(), self.height()) {
            return Ok(self.clone());
        }
        // One call per kind of pixel: a choice at run time would bring in the kernels of all thirteen kinds,
        // and each kind costs half a megabyte of them.
        let samples = match self.channels() {
            Channels::Gray => resample::<U8>(self, self.samples(), (width, height), size, filter),
            // The rarest kind goes the way of colours: same weights, same result.
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

/// The `samples` of `picture` at `width × height`, in `size` bytes.
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
