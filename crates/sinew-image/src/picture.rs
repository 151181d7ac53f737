//! The decoded image: eight bits per sample, rows without padding, immutable.

use std::fmt;
use std::sync::Arc;

/// The samples of a pixel, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channels {
    /// Brightness.
    Gray,
    /// Brightness and opacity.
    GrayAlpha,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue and opacity, not premultiplied.
    Rgba,
}

impl Channels {
    /// Returns the number of samples, and so bytes, per pixel.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Channels::Gray => 1,
            Channels::GrayAlpha => 2,
            Channels::Rgb => 3,
            Channels::Rgba => 4,
        }
    }

    /// Returns true if a pixel may be transparent.
    #[must_use]
    pub fn has_alpha(self) -> bool {
        matches!(self, Channels::GrayAlpha | Channels::Rgba)
    }
}

/// A decoded image. Immutable: every operation returns a new one. The colours are those of the file, with its ICC
/// profile if it has one: resizing, extending and encoding as another format than PNG convert them to sRGB, and PNG keeps
/// the profile.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    channels: Channels,
    pub(crate) samples: Vec<u8>,
    /// The ICC profile of the samples; `None` for sRGB.
    pub(crate) profile: Option<Arc<[u8]>>,
}

impl Picture {
    /// Creates an image from `samples`, row by row from the top.
    ///
    /// # Errors
    /// Returns [`sinew_base::ErrorCode`] `InvalidData` if a side is 0 or if `samples` does not have the length `width ×
    /// height × channels`, and `LimitExceeded` if the image exceeds [`crate::MAX_BYTES`].
    pub fn new(width: u32, height: u32, channels: Channels, samples: Vec<u8>) -> sinew_base::Result<Picture> {
        let size = crate::limits::check(width, height, channels.count())?;
        if samples.len() != size {
            return Err(sinew_base::Error::invalid(format!(
                "image: {width}×{height} pixels of {} samples are {size} bytes, not {}",
                channels.count(),
                samples.len()
            )));
        }
        Ok(Picture { width, height, channels, samples, profile: None })
    }

    /// Creates an image with the channels and the profile of this one.
    ///
    /// # Errors
    /// Returns the errors of [`Picture::new`].
    pub(crate) fn with_pixels(&self, width: u32, height: u32, samples: Vec<u8>) -> sinew_base::Result<Picture> {
        let picture = Picture::new(width, height, self.channels, samples)?;
        Ok(Picture { profile: self.profile.clone(), ..picture })
    }

    /// Returns the width in pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the samples of each pixel.
    #[must_use]
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// Returns the samples, row by row from the top, without padding, in the colours of the file:
    /// [`Picture::to_srgb`] converts them.
    #[must_use]
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }

    /// Moves the samples out.
    #[must_use]
    pub fn into_samples(self) -> Vec<u8> {
        self.samples
    }

    /// Returns the pixels as red, green, blue, opacity. Runs in linear time.
    #[must_use]
    pub fn to_rgba(&self) -> Vec<u8> {
        match self.channels {
            Channels::Gray => expand(&self.samples, |&[g]: &[u8; 1]| [g, g, g, 255]),
            Channels::GrayAlpha => expand(&self.samples, |&[g, a]: &[u8; 2]| [g, g, g, a]),
            Channels::Rgb => expand(&self.samples, |&[r, g, b]: &[u8; 3]| [r, g, b, 255]),
            Channels::Rgba => self.samples.clone(),
        }
    }

    /// Returns the image without transparency, blended with white. Runs in linear time; an opaque image is borrowed.
    #[must_use]
    pub fn on_white(&self) -> std::borrow::Cow<'_, Picture> {
        let on_white = |sample: u8, alpha: u8| {
            let (sample, alpha) = (u32::from(sample), u32::from(alpha));
            // Rounded; at most 255.
            ((sample * alpha + 255 * (255 - alpha) + 127) / 255) as u8
        };
        let (channels, samples) = match self.channels {
            Channels::Gray | Channels::Rgb => return std::borrow::Cow::Borrowed(self),
            Channels::GrayAlpha => (Channels::Gray, expand(&self.samples, |&[g, a]: &[u8; 2]| [on_white(g, a)])),
            Channels::Rgba => (
                Channels::Rgb,
                expand(&self.samples, |&[r, g, b, a]: &[u8; 4]| [on_white(r, a), on_white(g, a), on_white(b, a)]),
            ),
        };
        let profile = self.profile.clone();
        std::borrow::Cow::Owned(Picture { width: self.width, height: self.height, channels, samples, profile })
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Picture")
            .field("width", &self.width)
            .field("height", &self.height)
            .field("channels", &self.channels)
            .finish_non_exhaustive()
    }
}

/// Converts every pixel of `N` samples to one of `M` samples.
pub(crate) fn expand<const N: usize, const M: usize>(samples: &[u8], turn: impl Fn(&[u8; N]) -> [u8; M]) -> Vec<u8> {
    let (pixels, _) = samples.as_chunks::<N>();
    let mut out = vec![0; pixels.len() * M];
    for (to, from) in out.as_chunks_mut::<M>().0.iter_mut().zip(pixels) {
        *to = turn(from);
    }
    out
}

/// Reduces 16-bit samples in place to their upper bytes.
pub(crate) fn keep_upper_bytes(samples: &mut Vec<u8>) {
    let count = samples.len() / 2;
    for at in 0..count {
        samples[at] = (u16::from_ne_bytes([samples[2 * at], samples[2 * at + 1]]) >> 8) as u8;
    }
    samples.truncate(count);
    samples.shrink_to_fit();
}
