//! Converts inks (CMYK) to sRGB.

use qcms::{DataType, Intent, Profile, Transform};

use crate::directory::big_endian;

/// The terms of [`approximate`] for red, green and blue: the products of one to four inks, in the order of a binary
/// number (cyan, magenta, cyan × magenta, yellow, …), then the squares of the four inks.
///
/// Fitted to the coated paper that libvips assumes for files without a profile: the mean error is 3 of 255, where the
/// usual (1 − ink) × (1 − black) is off by 14, and by 27 for colourful images.
const TERMS: [[f32; 19]; 3] = [
    [
        -287.0, -23.0, 171.0, -8.0, 57.0, 9.0, -64.0, -190.0, 308.0, 44.0, -173.0, 14.0, -66.0, -19.0, 82.0, -66.0,
        -16.0, 1.0, -55.0,
    ],
    [
        -112.0, -198.0, 128.0, -42.0, 38.0, 56.0, -53.0, -196.0, 124.0, 233.0, -158.0, 53.0, -56.0, -77.0, 84.0, -5.0,
        -51.0, 1.0, -58.0,
    ],
    [
        -45.0, -136.0, 40.0, -216.0, 103.0, 165.0, -89.0, -196.0, 55.0, 141.0, -57.0, 246.0, -122.0, -199.0, 131.0,
        -1.0, -1.0, -50.0, -56.0,
    ],
];

/// Returns pixels of cyan, magenta, yellow and black (255 is full ink) as red, green and blue: by the ICC profile if it
/// has a table for inks, otherwise approximately.
pub(crate) fn to_rgb(inks: &[u8], profile: Option<&[u8]>) -> Vec<u8> {
    let mut rgb = vec![0; inks.len() / 4 * 3];
    match profile.and_then(transform) {
        Some(transform) => transform.convert(inks, &mut rgb),
        None => {
            // Neighbours are often equal.
            let mut last = ([0; 4], [255; 3]);
            for (to, inks) in rgb.as_chunks_mut::<3>().0.iter_mut().zip(inks.as_chunks::<4>().0) {
                if last.0 != *inks {
                    last = (*inks, approximate(*inks));
                }
                *to = last.1;
            }
        }
    }
    rgb
}

fn approximate(inks: [u8; 4]) -> [u8; 3] {
    let [c, m, y, k] = inks.map(|ink| f32::from(ink) / 255.0);
    let (cm, yk) = (c * m, y * k);
    let terms = [
        c,
        m,
        cm,
        y,
        c * y,
        m * y,
        cm * y,
        k,
        c * k,
        m * k,
        cm * k,
        yk,
        c * yk,
        m * yk,
        cm * yk,
        c * c,
        m * m,
        y * y,
        k * k,
    ];
    TERMS.map(|row| {
        let value: f32 = row.iter().zip(&terms).map(|(factor, term)| factor * term).sum();
        // The cast saturates.
        (255.0 + value).round() as u8
    })
}

fn transform(profile: &[u8]) -> Option<Transform> {
    if !has_table_of_inks(profile) {
        return None;
    }
    let profile = Profile::new_from_slice(profile, false)?;
    let mut srgb = Profile::new_sRGB();
    srgb.precache_output_transform();
    Transform::new_to(&profile, &srgb, DataType::CMYK, DataType::RGB8, Intent::Perceptual)
}

/// Returns true if a profile is for CMYK and has a table (`mft1` or `mft2`) with four inputs, the only kind that qcms
/// applies to inks. It would apply a table with three inputs too, to the wrong samples.
fn has_table_of_inks(profile: &[u8]) -> bool {
    const TAGS: usize = 128;
    let table = || {
        let count = usize::try_from(big_endian(profile, TAGS)?).ok()?;
        let tags = profile.get(TAGS + 4..)?.as_chunks::<12>().0;
        let tag = tags.iter().take(count).find(|tag| tag.starts_with(b"A2B0"))?;
        profile.get(usize::try_from(big_endian(tag, 4)?).ok()?..)
    };
    profile.get(16..20) == Some(b"CMYK")
        && table()
            .is_some_and(|table| (table.starts_with(b"mft1") || table.starts_with(b"mft2")) && table.get(8) == Some(&4))
}
