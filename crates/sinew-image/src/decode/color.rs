//! Converts the colours of a file to sRGB, which everything that shows or reads an image without a profile assumes.

use qcms::{DataType, Intent, Profile, Transform};

use crate::{Channels, Picture};

/// Returns the image in sRGB. A profile that is invalid, of another kind of colour than the pixels, or sRGB itself leaves
/// the image as it is. Runs in linear time.
pub(super) fn to_srgb(picture: Picture, profile: Option<&[u8]>) -> Picture {
    let Some(bytes) = profile else { return picture };
    let channels = picture.channels();
    // The header names the kind of colour. A transform for pixels of another kind would have no function.
    let (from, to) = match (bytes.get(16..20), channels) {
        (Some(b"GRAY"), Channels::Gray | Channels::GrayAlpha) => (DataType::Gray8, DataType::RGB8),
        (Some(b"RGB "), Channels::Rgb) => (DataType::RGB8, DataType::RGB8),
        (Some(b"RGB "), Channels::Rgba) => (DataType::RGBA8, DataType::RGBA8),
        _ => return picture,
    };
    let mut srgb = Profile::new_sRGB();
    srgb.precache_output_transform();
    let profile = Profile::new_from_slice(bytes, false).filter(|profile| !profile.is_sRGB());
    let transform = profile.and_then(|profile| Transform::new_to(&profile, &srgb, from, to, Intent::Perceptual));
    let Some(transform) = transform else { return picture };
    let (width, height) = (picture.width(), picture.height());
    let mut samples = picture.into_samples();
    if channels.count() > 2 {
        transform.apply(&mut samples);
    } else {
        let ramp: Vec<u8> = (0..=255).collect();
        let mut colors = vec![0; 256 * 3];
        transform.convert(&ramp, &mut colors);
        for pixel in samples.chunks_exact_mut(channels.count()) {
            pixel[0] = colors[usize::from(pixel[0]) * 3];
        }
    }
    // The numbers of pixels and samples have not changed.
    Picture::new(width, height, channels, samples).unwrap_or_else(|_| unreachable!("the same number of samples"))
}
