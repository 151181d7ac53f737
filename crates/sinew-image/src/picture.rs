//! The decoded picture: eight bits per sample, rows without padding, never changed after it was made.

use std::fmt;

/// The samples of a pixel, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channels {
    /// One brightness.
    Gray,
    /// Brightness and opacity.
    GrayAlpha,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue and opacity, not premultiplied.
    Rgba,
}

impl Channels {
    /// Samples, and so bytes, of one pixel.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Channels::Gray => 1,
            Channels::GrayAlpha => 2,
            Channels::Rgb => 3,
            Channels::Rgba => 4,
        }
    }

    /// Returns whether a pixel may be transparent.
    #[must_use]
    pub fn has_alpha(self) -> bool {
        matches!(self, Channels::GrayAlpha | Channels::Rgba)
    }
}

/// A decoded picture. Immutable: every operation gives a new one.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    channels: Channels,
    samples: Vec<u8>,
}

impl Picture {
    /// A picture of `samples`, row by row from the top.
    ///
    /// # Errors
    /// [`sinew_base::ErrorCode`] `InvalidData` for a side of 0 and `LimitExceeded` for one beyond [`crate::MAX_SIDE`] or a picture beyond
    /// [`crate::MAX_BYTES`], or when `samples` is not `width × height × channels` long.
    pub fn new(width: u32, height: u32, channels: Channels, samples: Vec<u8>) -> sinew_base::Result<Picture> {
        let size = crate::limits::check(width, height, channels.count())?;
        if samples.len() != size {
            return Err(sinew_base::Error::invalid(format!(
                "image: {width}×{height} pixels of {} samples are {size} bytes, not {}",
                channels.count(),
                samples.len()
            )));
        }
        Ok(Picture { width, height, channels, samples })
    }

    /// Pixels in a row.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The samples that each pixel has.
    #[must_use]
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// The samples, row by row from the top, without padding.
    #[must_use]
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }

    /// The samples themselves.
    #[must_use]
    pub fn into_samples(self) -> Vec<u8> {
        self.samples
    }

    /// The pixels as red, green, blue, opacity. Linear.
    #[must_use]
    pub fn to_rgba(&self) -> Vec<u8> {
        match self.channels {
            Channels::Gray => expand(&self.samples, |&[g]: &[u8; 1]| [g, g, g, 255]),
            Channels::GrayAlpha => expand(&self.samples, |&[g, a]: &[u8; 2]| [g, g, g, a]),
            Channels::Rgb => expand(&self.samples, |&[r, g, b]: &[u8; 3]| [r, g, b, 255]),
            Channels::Rgba => self.samples.clone(),
        }
    }

    /// The same without transparency: laid on white. Linear; nothing is copied where nothing can shine through.
    #[must_use]
    pub fn on_white(&self) -> std::borrow::Cow<'_, Picture> {
        let on_white = |sample: u8, alpha: u8| {
            let (sample, alpha) = (u32::from(sample), u32::from(alpha));
            // Rounded; never above 255.
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
        std::borrow::Cow::Owned(Picture { width: self.width, height: self.height, channels, samples })
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

/// Every pixel of `N` samples turned into one of `M`.
pub(crate) fn expand<const N: usize, const M: usize>(samples: &[u8], turn: impl Fn(&[u8; N]) -> [u8; M]) -> Vec<u8> {
    let (pixels, _) = samples.as_chunks::<N>();
    let mut out = vec![0; pixels.len() * M];
    for (to, from) in out.as_chunks_mut::<M>().0.iter_mut().zip(pixels) {
        *to = turn(from);
    }
    out
}
