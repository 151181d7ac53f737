//! Tests that broken, truncated and oversized files yield an error, with little time and memory.

use crate::samples::{
    self, chunk, deflated, encoded, every_format, exif, grey_profile, jpeg_with_exif, never, picture, png,
    swapped_profile,
};
use proptest::prelude::*;
use sinew_base::{CancelHandle, ErrorCode};
use sinew_image::{
    Channels, FitOptions, ImageFormat, MAX_BYTES, Orientation, Picture, SamplingFilter, decode, fit_image, probe,
};

#[track_caller]
fn refused(file: &[u8]) -> (ErrorCode, String) {
    match decode(file, &never()) {
        Ok(picture) => panic!("{picture:?} was decoded"),
        Err(error) => (error.code(), error.message().to_string()),
    }
}

#[test]
fn complete_files_are_decoded() {
    for (name, file) in every_format() {
        let picture = decode(&file, &never()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((picture.width(), picture.height()), (24, 16), "{name}");
        let head = probe(&file).unwrap();
        assert_eq!((head.width, head.height), (24, 16), "{name}");
    }
}

#[test]
fn a_truncated_file_is_refused() {
    for (name, file) in every_format() {
        for sixteenth in 0..16 {
            let cut = &file[..file.len() * sixteenth / 16];
            assert!(decode(cut, &never()).is_err(), "{name} with {sixteenth}/16 of its bytes");
        }
        // A GIF without its end marker still contains the complete image.
        if name != "gif" {
            assert!(decode(&file[..file.len() - 1], &never()).is_err(), "{name} without its last byte");
        }
    }
}

#[test]
fn unknown_data_is_reported() {
    assert_eq!(refused(b"").1, "image: no data");
    let (code, message) = refused(b"<svg xmlns>");
    assert_eq!(code, ErrorCode::InvalidData);
    assert!(message.starts_with("image: unknown format (first bytes 3c 73 76 67 20 78 6d 6c)"), "{message}");
}

#[test]
fn a_damaged_png_is_refused() {
    let good = png(2, 1, 8, 0, &[], &[0, 1, 2]);
    let damaged = |at: usize, value: u8| {
        let mut file = good.clone();
        file[at] = value;
        file
    };
    // The checksum of the header, the colour type, the compression, and the checksum of the data.
    for file in [damaged(29, 0), damaged(25, 1), damaged(26, 9), damaged(good.len() - 14, 1)] {
        assert_eq!(refused(&file).0, ErrorCode::InvalidData);
    }
    assert!(decode(&png(1, 1, 8, 3, &[], &[0, 1]), &never()).is_err(), "no palette");
    assert!(decode(&png(2, 2, 8, 0, &[], &[0, 1, 2]), &never()).is_err(), "too few rows");
    assert!(decode(&png(1, 1, 3, 0, &[], &[0, 1]), &never()).is_err(), "a depth of three");
    assert!(decode(&png(0, 1, 8, 0, &[], &[0]), &never()).is_err(), "no columns");
}

#[test]
fn decompression_bombs_are_refused_before_allocating() {
    for (width, height) in [(50_000, 50_000), (16_384, 16_384), (u32::MAX >> 1, 1), (1, MAX_BYTES as u32 / 4 + 1)] {
        // The file contains only the header and one byte of data.
        let (code, message) = refused(&png(width, height, 8, 6, &[], &[0]));
        assert_eq!(code, ErrorCode::LimitExceeded, "{message}");
        assert!(message.contains(&format!("{width}×{height}")), "{message}");
    }
    let mut gif = b"GIF89a".to_vec();
    gif.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0]);
    assert_eq!(refused(&gif).0, ErrorCode::LimitExceeded);
    let bitmap = samples::bmp((i32::MAX, 1), 1, 0, &[], &[0; 64]);
    assert_eq!(refused(&bitmap).0, ErrorCode::LimitExceeded);
    let bitmap = samples::bmp((1, i32::MIN), 1, 0, &[], &[0; 64]);
    assert_eq!(refused(&bitmap).0, ErrorCode::InvalidData);
    let tags = [(256, 60_000), (257, 60_000), (258, 8), (259, 1), (262, 1), (277, 1)];
    assert_eq!(refused(&samples::tiff(&tags, &[0; 64])).0, ErrorCode::LimitExceeded);
}

#[test]
fn only_the_first_frame_is_decoded() {
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, 2, 2, &[0, 0, 0, 255, 255, 255]).unwrap();
    for number in 0..10_000u16 {
        let pixel = u8::from(number == 0);
        let frame = gif::Frame { width: 2, height: 2, buffer: vec![pixel; 4].into(), ..gif::Frame::default() };
        encoder.write_frame(&frame).unwrap();
    }
    drop(encoder);
    assert_eq!(decode(&file, &never()).unwrap().to_rgba(), vec![255; 16]);
    // Data after the first frame is not read.
    let half = file.len() / 2;
    assert_eq!(decode(&file[..half], &never()).unwrap().to_rgba(), vec![255; 16]);
}

#[test]
fn exif_that_points_at_itself_is_harmless() {
    let jpeg = encoded(&picture(8, 8, Channels::Rgb), ImageFormat::Jpeg);
    let check = |exif: &[u8], expect| {
        for file in [jpeg_with_exif(&jpeg, exif), png(1, 1, 8, 0, &[chunk(b"eXIf", exif)], &[0, 7])] {
            assert_eq!(probe(&file).unwrap().orientation, expect, "{exif:?}");
            decode(&file, &never()).unwrap();
        }
    };
    let mut looped = exif(6, false);
    let end = looped.len();
    looped[end - 4..].copy_from_slice(&8u32.to_le_bytes());
    check(&looped, Orientation::Rotate90);
    for offset in [0, 4, 7, 9, u32::MAX, u32::MAX - 1] {
        let mut lost = exif(6, false);
        lost[4..8].copy_from_slice(&offset.to_le_bytes());
        check(&lost, Orientation::NoTransforms);
    }
    let mut long = exif(6, true);
    long[8..10].copy_from_slice(&u16::MAX.to_be_bytes());
    long[10..12].copy_from_slice(&[0, 0]);
    check(&long, Orientation::NoTransforms);
    check(b"", Orientation::NoTransforms);
}

#[test]
fn endless_metadata_is_refused_or_skipped() {
    let huge = chunk(b"tEXt", &vec![b'a'; 1 << 20]);
    let file = png(1, 1, 8, 0, &[huge], &[0, 7]);
    assert_eq!(decode(&file, &never()).unwrap().samples(), [7]);
    // A length that reaches beyond the file.
    let mut file = png(1, 1, 8, 0, &[chunk(b"tEXt", b"abc")], &[0, 7]);
    file[33..37].copy_from_slice(&0x7fff_ffffu32.to_be_bytes());
    assert_eq!(refused(&file).0, ErrorCode::InvalidData);
}

#[test]
fn invalid_sizes_are_refused() {
    let picture = picture(4, 4, Channels::Rgb);
    for (width, height) in [(0, 1), (1, 0), (MAX_BYTES as u32, 1), (1, u32::MAX), (16_384, 16_384)] {
        let error = picture.resize(width, height, SamplingFilter::Nearest, &never()).unwrap_err();
        assert!(error.message().contains(&format!("{width}×{height}")), "{error}");
    }
    assert!(picture.encode(ImageFormat::Jpeg, 101, &never()).is_err());
    let long = Picture::new(65_536, 1, Channels::Gray, vec![0; 65_536]).unwrap();
    for (format, limit) in [(ImageFormat::Jpeg, "65535"), (ImageFormat::Gif, "65535"), (ImageFormat::Webp, "16384")] {
        let error = long.encode(format, 90, &never()).unwrap_err();
        assert!(error.message().contains("65536×1") && error.message().contains(limit), "{error}");
    }
    assert!(Picture::new(2, 2, Channels::Rgb, vec![0; 11]).is_err());
    assert!(Picture::new(0, 0, Channels::Rgb, vec![]).is_err());
}

#[test]
fn a_cancelled_call_ends() {
    let (cancel_handle, cancel) = CancelHandle::new();
    cancel_handle.cancel();
    let picture = picture(4, 4, Channels::Rgb);
    let errors = every_format()
        .iter()
        .map(|(_, file)| decode(file, &cancel).unwrap_err())
        .chain([picture.resize(2, 2, SamplingFilter::Nearest, &cancel).unwrap_err()])
        .chain([picture.encode(ImageFormat::Png, 0, &cancel).unwrap_err()])
        .collect::<Vec<_>>();
    for error in errors {
        assert_eq!((error.code(), error.message()), (ErrorCode::Aborted, "Aborted: Signal"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arbitrary_bytes_never_panic(head in 0..6usize, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (_, file) = &every_format()[head];
        let mut data = file[..12].to_vec();
        data.extend(bytes);
        let _ = (decode(&data, &never()), probe(&data));
    }

    #[test]
    fn damaged_files_never_panic(
        format in 0..6usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        cuts: bool,
    ) {
        let (_, mut file) = every_format().swap_remove(format);
        for (at, value) in damage {
            let at = at.index(file.len());
            file[at] = value;
        }
        if cuts {
            file.truncate(cut.index(file.len()));
        }
        let _ = (decode(&file, &never()), probe(&file));
    }

    #[test]
    fn damaged_jpegs_of_unusual_kinds_never_panic(
        kind in 0..4usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        use jpeg_encoder::SamplingFactor::{F_1_4, F_2_4, F_4_1, F_4_2};
        let mut file = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut file, 80);
        encoder.set_sampling_factor([F_4_1, F_4_2, F_1_4, F_2_4][kind]);
        encoder.encode(&[200, 100, 50].repeat(40 * 24), 40, 24, jpeg_encoder::ColorType::Rgb).unwrap();
        for (at, value) in damage {
            let at = at.index(file.len());
            file[at] = value;
        }
        let _ = (decode(&file, &never()), probe(&file));
    }

    #[test]
    fn damaged_profiles_never_panic(
        is_grey: bool,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut profile = if is_grey { grey_profile() } else { swapped_profile() };
        for (at, value) in damage {
            let at = at.index(profile.len());
            profile[at] = value;
        }
        let profile = chunk(b"iCCP", &[b"x\0\0", &deflated(&profile)[..]].concat());
        let (color, row) = if is_grey { (0, &[0, 7][..]) } else { (2, &[0, 7, 8, 9][..]) };
        decode(&png(1, 1, 8, color, &[profile], row), &never()).unwrap();
    }

    #[test]
    fn any_exif_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), big: bool) {
        let mut exif = if big { b"MM\0\x2a".to_vec() } else { b"II\x2a\0".to_vec() };
        exif.extend(bytes);
        let file = png(1, 1, 8, 0, &[chunk(b"eXIf", &exif)], &[0, 7]);
        let picture = decode(&file, &never()).unwrap();
        prop_assert_eq!(picture.samples(), [7]);
    }
}

proptest! {
    // Each case decodes an image that is large enough to be decoded at a reduced size.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn scaled_decodes_of_damaged_files_never_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..8),
        side in 1..256u32,
    ) {
        let mut file = large_jpeg().to_vec();
        for (at, value, in_head) in damage {
            // The header determines most of the decoding, so it is damaged more often.
            let at = at.index(if in_head { 700 } else { file.len() });
            file[at] = value;
        }
        let options = FitOptions { max_width: side, max_height: side, ..FitOptions::default() };
        let _ = fit_image(&file, &options, &never());
    }
}

fn large_jpeg() -> &'static [u8] {
    static FILE: std::sync::LazyLock<Vec<u8>> =
        std::sync::LazyLock::new(|| encoded(&picture(512, 512, Channels::Rgb), ImageFormat::Jpeg));
    &FILE
}
