//! Converts the colours of a file to sRGB, which everything that shows or reads an image without a profile assumes.

use std::borrow::Cow;
use std::sync::Arc;

use qcms::{DataType, Intent, Profile, Transform};

use crate::{Channels, Picture};

impl Picture {
    /// Adds the ICC profile of a file. A profile that is invalid, of another kind of colour than the pixels, or sRGB
    /// itself is dropped.
    pub(crate) fn with_profile(mut self, profile: Option<Vec<u8>>) -> Picture {
        self.profile = profile.filter(|bytes| parsed(bytes, self.channels()).is_some()).map(Arc::from);
        self
    }

    /// Returns the image in sRGB. Runs in linear time; an image without a profile is borrowed.
    #[must_use]
    pub fn to_srgb(&self) -> Cow<'_, Picture> {
        if self.profile.is_none() { Cow::Borrowed(self) } else { Cow::Owned(self.clone().into_srgb()) }
    }

    /// Does the same as [`Picture::to_srgb`] without a copy of the pixels.
    #[must_use]
    pub fn into_srgb(mut self) -> Picture {
        let profile = self.profile.take();
        let Some(profile) = profile.and_then(|bytes| parsed(&bytes, self.channels())) else { return self };
        let (from, to) = match self.channels() {
            Channels::Gray | Channels::GrayAlpha => (DataType::Gray8, DataType::RGB8),
            Channels::Rgb => (DataType::RGB8, DataType::RGB8),
            Channels::Rgba => (DataType::RGBA8, DataType::RGBA8),
        };
        let mut srgb = Profile::new_sRGB();
        srgb.precache_output_transform();
        let Some(transform) = Transform::new_to(&profile, &srgb, from, to, Intent::Perceptual) else { return self };
        let channels = self.channels().count();
        if channels > 2 {
            transform.apply(&mut self.samples);
        } else {
            let ramp: Vec<u8> = (0..=255).collect();
            let mut colors = vec![0; 256 * 3];
            transform.convert(&ramp, &mut colors);
            for pixel in self.samples.chunks_exact_mut(channels) {
                pixel[0] = colors[usize::from(pixel[0]) * 3];
            }
        }
        self
    }
}

/// Returns the profile if it changes pixels of this kind. The header names the kind of colour: a transform for pixels of
/// another kind would have no function.
fn parsed(bytes: &[u8], channels: Channels) -> Option<Box<Profile>> {
    let space: &[u8] = if channels.count() > 2 { b"RGB " } else { b"GRAY" };
    if bytes.get(16..20) != Some(space) {
        return None;
    }
    Profile::new_from_slice(bytes, false).filter(|profile| !profile.is_sRGB())
}
