//! Crops images, and extends them with borders.

use sinew_base::{CancelToken, Error, Result};

use crate::{Channels, Picture};

impl Picture {
    /// Returns the part of the image that begins `left` pixels from its left edge and `top` rows from its top. Runs in
    /// linear time.
    ///
    /// # Errors
    /// Returns [`sinew_base::ErrorCode`] `InvalidArgument` if the part is empty or not within the image.
    pub fn crop(&self, left: u32, top: u32, width: u32, height: u32) -> Result<Picture> {
        if !within(left, width, self.width()) || !within(top, height, self.height()) {
            return Err(Error::invalid(format!(
                "crop: {width}×{height} pixels at {left},{top} do not lie within the picture of {}×{}",
                self.width(),
                self.height()
            )));
        }
        let pixel = self.channels().count();
        let (row, part) = (self.width() as usize * pixel, width as usize * pixel);
        let mut samples = Vec::with_capacity(part * height as usize);
        for line in self.samples().chunks_exact(row).skip(top as usize).take(height as usize) {
            let from = left as usize * pixel;
            samples.extend_from_slice(&line[from..from + part]);
        }
        self.with_pixels(width, height, samples)
    }

    /// Returns the image on a canvas of `width × height` pixels of one colour (red, green, blue, opacity), `left`
    /// pixels from its left edge and `top` rows from its top. The result has the channels that the image and the colour
    /// need. Runs in linear time.
    ///
    /// # Errors
    /// Returns [`sinew_base::ErrorCode`] `InvalidArgument` if the image is not within the canvas, `LimitExceeded` if
    /// the canvas exceeds [`crate::MAX_BYTES`], and an error if the call is cancelled.
    pub fn extend(
        &self,
        (left, top): (u32, u32),
        (width, height): (u32, u32),
        colour: [u8; 4],
        cancel: &CancelToken,
    ) -> Result<Picture> {
        cancel.check()?;
        if !within(left, self.width(), width) || !within(top, self.height(), height) {
            return Err(Error::invalid(format!(
                "extend: a picture of {}×{} at {left},{top} does not lie within {width}×{height} pixels",
                self.width(),
                self.height()
            )));
        }
        if self.profile.is_some() {
            return self.to_srgb().extend((left, top), (width, height), colour, cancel);
        }
        let channels = self.channels().with(colour);
        let pixel = channels.count();
        let mut samples = vec![0; crate::limits::check(width, height, pixel)?];
        let [red, green, blue, alpha] = colour;
        let background: &[u8] = match channels {
            Channels::Gray => &[red],
            Channels::GrayAlpha => &[red, alpha],
            Channels::Rgb => &[red, green, blue],
            Channels::Rgba => &colour,
        };
        for place in samples.chunks_exact_mut(pixel) {
            place.copy_from_slice(background);
        }
        let own = self.channels().count();
        let rows = samples.chunks_exact_mut(width as usize * pixel).skip(top as usize);
        for (to, from) in rows.zip(self.samples().chunks_exact(self.width() as usize * own)) {
            let to = &mut to[left as usize * pixel..][..self.width() as usize * pixel];
            if own == pixel {
                to.copy_from_slice(from);
                continue;
            }
            for (to, from) in to.chunks_exact_mut(pixel).zip(from.chunks_exact(own)) {
                to.copy_from_slice(
                    &self.channels().rgba(from)[if channels == Channels::GrayAlpha { 2..4 } else { 0..pixel }],
                );
            }
        }
        Picture::new(width, height, channels, samples)
    }
}

/// Returns true if a part that begins there is not empty and ends within the whole.
fn within(begin: u32, length: u32, whole: u32) -> bool {
    length > 0 && u64::from(begin) + u64::from(length) <= u64::from(whole)
}

impl Channels {
    /// Returns the channels that can represent these and a colour.
    fn with(self, [red, green, blue, alpha]: [u8; 4]) -> Channels {
        let gray = red == green && green == blue && matches!(self, Channels::Gray | Channels::GrayAlpha);
        match (gray, self.has_alpha() || alpha < 255) {
            (true, false) => Channels::Gray,
            (true, true) => Channels::GrayAlpha,
            (false, false) => Channels::Rgb,
            (false, true) => Channels::Rgba,
        }
    }

    /// Converts one pixel to red, green, blue, opacity.
    fn rgba(self, pixel: &[u8]) -> [u8; 4] {
        match (self, pixel) {
            (Channels::Gray, &[gray]) => [gray, gray, gray, 255],
            (Channels::GrayAlpha, &[gray, alpha]) => [gray, gray, gray, alpha],
            (Channels::Rgb, &[red, green, blue]) => [red, green, blue, 255],
            (_, &[red, green, blue, alpha]) => [red, green, blue, alpha],
            (_, short) => unreachable!("a pixel of {} samples", short.len()),
        }
    }
}
