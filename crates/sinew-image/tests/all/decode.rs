//! Tests that files are decoded to the correct pixels.

use crate::samples::{self, bmp, chunk, encoded, exif, jpeg_with_exif, never, picture, png, tiff};
use sinew_image::{Channels, ImageFormat, Orientation, Picture, SamplingFilter, decode, probe};

#[track_caller]
fn check(file: &[u8], size: (u32, u32), rgba: &[[u8; 4]]) {
    let picture = decode(file, &never()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((picture.width(), picture.height()), size);
    assert_eq!(picture.to_rgba().as_chunks::<4>().0, rgba);
}

#[track_caller]
fn check_near(a: &Picture, b: &Picture, most: f64) {
    let (a, b) = (a.to_rgba(), b.to_rgba());
    assert_eq!(a.len(), b.len());
    let sum: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(a.abs_diff(*b))).sum();
    let mean = sum / a.len() as f64;
    assert!(mean <= most, "mean error {mean} is above {most}");
}

const WHITE: [u8; 4] = [255; 4];
const BLACK: [u8; 4] = [0, 0, 0, 255];

#[test]
fn lossless_formats_keep_every_pixel() {
    for channels in [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba] {
        let picture = picture(37, 23, channels);
        for format in [ImageFormat::Png, ImageFormat::Webp] {
            let back = decode(&encoded(&picture, format), &never()).unwrap();
            assert_eq!(back.to_rgba(), picture.to_rgba(), "{channels:?} {format:?}");
        }
        assert_eq!(decode(&encoded(&picture, ImageFormat::Png), &never()).unwrap(), picture);
    }
}

#[test]
fn jpeg_round_trips_approximately() {
    for channels in [Channels::Gray, Channels::Rgb] {
        let picture = picture(64, 48, channels);
        let back = decode(&encoded(&picture, ImageFormat::Jpeg), &never()).unwrap();
        assert_eq!(back.channels(), channels);
        check_near(&back, &picture, 3.0);
    }
    let clear = Picture::new(8, 8, Channels::Rgba, vec![0; 256]).unwrap();
    let back = decode(&encoded(&clear, ImageFormat::Jpeg), &never()).unwrap();
    assert_eq!(back.to_rgba().as_chunks::<4>().0[0], WHITE, "transparency is laid on white");
}

#[test]
fn cmyk_jpegs_are_converted_to_rgb() {
    for (inks, expect) in INKS {
        for color in [jpeg_encoder::ColorType::Cmyk, jpeg_encoder::ColorType::CmykAsYcck] {
            let mut file = Vec::new();
            jpeg_encoder::Encoder::new(&mut file, 100).encode(&inks.repeat(256), 16, 16, color).unwrap();
            let back = decode(&file, &never()).unwrap();
            let expect = Picture::new(16, 16, Channels::Rgb, expect.repeat(256)).unwrap();
            check_near(&back, &expect, 16.0);
        }
    }
}

/// Inks and the colours that libvips shows for them.
const INKS: [([u8; 4], [u8; 3]); 12] = [
    ([0, 0, 0, 0], [255, 255, 255]),
    ([255, 0, 0, 0], [0, 153, 227]),
    ([0, 255, 0, 0], [234, 0, 128]),
    ([255, 255, 0, 0], [32, 6, 117]),
    ([0, 0, 255, 0], [255, 240, 0]),
    ([255, 0, 255, 0], [0, 141, 45]),
    ([0, 255, 255, 0], [232, 0, 0]),
    ([255, 255, 255, 0], [33, 17, 31]),
    ([0, 0, 0, 255], [20, 5, 0]),
    ([255, 255, 255, 255], [0, 0, 0]),
    ([128, 0, 0, 0], [91, 193, 240]),
    ([0, 0, 0, 128], [134, 133, 132]),
];

/// Creates a CMYK profile with a table of two steps per ink, whose colours are only as bright as the cyan is missing.
fn cyan_profile() -> Vec<u8> {
    let mut table = [b"mft1".as_slice(), &[0; 4], &[4, 3, 2, 0]].concat();
    for cell in 0..9 {
        table.extend((if cell % 4 == 0 { 0x0001_0000u32 } else { 0 }).to_be_bytes());
    }
    table.extend((0..4).flat_map(|_| 0..=255u8));
    // Lab: no cyan is white, cyan is black.
    table.extend((0..16).flat_map(|cell| [if cell < 8 { 255u8 } else { 0 }, 128, 128]));
    table.extend((0..3).flat_map(|_| 0..=255u8));
    let mut profile = vec![0; 128];
    profile[8] = 2;
    profile[12..24].copy_from_slice(b"prtrCMYKLab ");
    profile[36..40].copy_from_slice(b"acsp");
    profile.extend(1u32.to_be_bytes());
    profile.extend(b"A2B0");
    profile.extend([144, table.len() as u32].map(u32::to_be_bytes).concat());
    profile.extend(table);
    let size = profile.len() as u32;
    profile[..4].copy_from_slice(&size.to_be_bytes());
    profile
}

#[test]
fn the_profile_of_inks_is_applied() {
    let inks: Vec<u8> = [[255u8, 0, 0, 0], [0, 255, 255, 255]].concat().repeat(32);
    let mut file = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut file, 100);
    encoder.add_icc_profile(&cyan_profile()).unwrap();
    encoder.set_sampling_factor(jpeg_encoder::SamplingFactor::F_1_1);
    encoder.encode(&inks, 8, 8, jpeg_encoder::ColorType::Cmyk).unwrap();
    let expect = Picture::new(8, 8, Channels::Rgb, [[0u8; 3], [255; 3]].concat().repeat(32)).unwrap();
    check_near(&decode(&file, &never()).unwrap(), &expect, 6.0);
    // A table with three inputs is not applied to four inks.
    let at = file.windows(4).position(|name| name == b"mft1").unwrap();
    file[at + 8] = 3;
    let unprofiled = decode(&file, &never()).unwrap();
    assert_ne!(unprofiled.to_rgba()[4..8], [255; 4]);
}

#[test]
fn the_sampling_factor_of_a_grey_jpeg_has_no_meaning() {
    for (width, height) in [(37, 29), (600, 520)] {
        let mut file = encoded(&picture(width, height, Channels::Gray), ImageFormat::Jpeg);
        let expect = decode(&file, &never()).unwrap();
        let frame = file.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
        for factors in [0x11, 0x22, 0x31, 0x13, 0x33, 0x41, 0x44, 0] {
            file[frame + 11] = factors;
            assert_eq!(decode(&file, &never()).unwrap(), expect, "{factors:x}");
            assert_eq!(probe(&file).unwrap().width, width);
        }
    }
}

#[test]
fn floating_point_colours_are_linear() {
    let tags = |samples: u32| {
        let mut tags = vec![(256, 2), (257, 1), (258, 32), (259, 1), (262, 2), (277, samples), (339, 3)];
        tags.extend((samples == 4).then_some((338, 2)));
        tags
    };
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let colors = [[188, 0, 255, 128], [50, 255, 13, 64]];
    let rgba = [0.5, 0.0, 1.0, 0.5, 0.031_9, 7.0, 0.004, 0.25];
    check(&tiff(&tags(4), &floats(&rgba)), (2, 1), &colors);
    let opaque = colors.map(|[r, g, b, _]| [r, g, b, 255]);
    check(&tiff(&tags(3), &floats(&[0.5, 0.0, 1.0, 0.031_9, 7.0, 0.004])), (2, 1), &opaque);
}

#[test]
fn decodes_progressive_jpeg() {
    let picture = picture(64, 48, Channels::Rgb);
    let mut file = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut file, 95);
    encoder.set_progressive(true);
    encoder.encode(picture.samples(), 64, 48, jpeg_encoder::ColorType::Rgb).unwrap();
    check_near(&decode(&file, &never()).unwrap(), &picture, 3.0);
}

#[test]
fn gif_keeps_palette_colours_and_transparency() {
    let pixels = [[255, 0, 0, 255], [0, 255, 0, 255], [9, 9, 9, 0], [0, 0, 255, 255]];
    let picture = Picture::new(2, 2, Channels::Rgba, pixels.concat()).unwrap();
    let back = decode(&encoded(&picture, ImageFormat::Gif), &never()).unwrap().to_rgba();
    let back = back.as_chunks::<4>().0;
    assert_eq!((back[0], back[1], back[2][3], back[3]), (pixels[0], pixels[1], 0, pixels[3]));
    let gray = samples::picture(16, 16, Channels::Gray);
    assert_eq!(decode(&encoded(&gray, ImageFormat::Gif), &never()).unwrap().to_rgba(), gray.to_rgba());
}

#[test]
fn the_canvas_of_a_gif_contains_its_first_frame() {
    let numbers = (0..5 * 4 * 5 * 4u16).map(|n| (n % 5, n / 5 % 4, n / 20 % 5 + 1, n / 100 + 1));
    for ((left, top, width, height), (screen_width, screen_height)) in
        numbers.flat_map(|frame| [(frame, (3u16, 2u16)), (frame, (0, 0))])
    {
        let mut file = Vec::new();
        let palette = [9, 9, 9, 255, 0, 0, 0, 255, 0, 0, 0, 255];
        let mut encoder = gif::Encoder::new(&mut file, screen_width, screen_height, &palette).unwrap();
        let (canvas_width, canvas_height) = (screen_width.max(left + width), screen_height.max(top + height));
        let pixel = |x: u16, y: u16| u8::try_from((x + 2 * y) % 4).unwrap();
        let buffer = (0..height).flat_map(|y| (0..width).map(move |x| pixel(x, y))).collect::<Vec<u8>>().into();
        encoder.write_frame(&gif::Frame { left, top, width, height, buffer, ..gif::Frame::default() }).unwrap();
        drop(encoder);
        let shown = |x: u16, y: u16| {
            let inside = (left..left + width).contains(&x) && (top..top + height).contains(&y);
            let index = if inside { usize::from(pixel(x - left, y - top)) } else { 0 };
            [palette[index * 3], palette[index * 3 + 1], palette[index * 3 + 2], if inside { 255 } else { 0 }]
        };
        let expect: Vec<u8> =
            (0..canvas_height).flat_map(|y| (0..canvas_width).flat_map(move |x| shown(x, y))).collect();
        let found = decode(&file, &never()).unwrap_or_else(|error| panic!("{width}×{height} at {left},{top}: {error}"));
        assert_eq!(found.to_rgba(), expect, "{width}×{height} at {left},{top}");
    }
}

#[test]
fn a_small_gif_frame_is_placed_at_its_offset() {
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, 3, 2, &[0, 0, 255, 255, 0, 0]).unwrap();
    let frame = gif::Frame { left: 2, top: 1, width: 1, height: 1, buffer: vec![1].into(), ..gif::Frame::default() };
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    let out = [0, 0, 255, 0];
    check(&file, (3, 2), &[out, out, out, out, out, [255, 0, 0, 255]]);
}

#[test]
fn decodes_png_of_every_depth() {
    let gray = |v: u8| [v, v, v, 255];
    check(&png(8, 1, 1, 0, &[], &[0, 0b1010_0001]), (8, 1), &[WHITE, BLACK, WHITE, BLACK, BLACK, BLACK, BLACK, WHITE]);
    check(&png(4, 1, 2, 0, &[], &[0, 0b0001_1011]), (4, 1), &[BLACK, gray(85), gray(170), WHITE]);
    check(&png(2, 1, 4, 0, &[], &[0, 0x0f]), (2, 1), &[BLACK, WHITE]);
    check(&png(1, 1, 16, 0, &[], &[0, 0x80, 0xff]), (1, 1), &[gray(0x80)]);
    check(&png(1, 1, 16, 2, &[], &[0, 1, 255, 2, 255, 3, 255]), (1, 1), &[[1, 2, 3, 255]]);
    check(&png(1, 1, 16, 6, &[], &[0, 1, 0, 2, 0, 3, 0, 4, 0]), (1, 1), &[[1, 2, 3, 4]]);
    check(&png(1, 1, 8, 4, &[], &[0, 7, 8]), (1, 1), &[[7, 7, 7, 8]]);
    let palette = chunk(b"PLTE", &[1, 2, 3, 4, 5, 6]);
    check(
        &png(2, 1, 1, 3, std::slice::from_ref(&palette), &[0, 0b0100_0000]),
        (2, 1),
        &[[1, 2, 3, 255], [4, 5, 6, 255]],
    );
    let holes = chunk(b"tRNS", &[9]);
    check(&png(2, 1, 8, 3, &[palette, holes], &[0, 0, 1]), (2, 1), &[[1, 2, 3, 9], [4, 5, 6, 255]]);
    let hole = chunk(b"tRNS", &[0, 15]);
    check(&png(2, 1, 4, 0, &[hole], &[0, 0x0f]), (2, 1), &[BLACK, [255, 255, 255, 0]]);
    let hole = chunk(b"tRNS", &[0, 1, 0, 2, 0, 3]);
    check(&png(2, 1, 8, 2, &[hole], &[0, 1, 2, 3, 4, 5, 6]), (2, 1), &[[1, 2, 3, 0], [4, 5, 6, 255]]);
    let gamma = chunk(b"gAMA", &22_000u32.to_be_bytes());
    check(&png(1, 1, 8, 0, &[gamma], &[0, 77]), (1, 1), &[gray(77)]);
}

#[test]
fn decodes_bitmaps_of_every_depth() {
    let palette = [0, 0, 255, 0, 0, 255, 0, 0];
    let (red, green) = ([255, 0, 0, 255], [0, 255, 0, 255]);
    check(&bmp((2, 2), 1, 0, &palette, &[0x40, 0, 0, 0, 0x80, 0, 0, 0]), (2, 2), &[green, red, red, green]);
    check(&bmp((2, -2), 1, 0, &palette, &[0x40, 0, 0, 0, 0x80, 0, 0, 0]), (2, 2), &[red, green, green, red]);
    check(&bmp((2, 1), 4, 0, &palette, &[0x10, 0, 0, 0]), (2, 1), &[green, red]);
    check(&bmp((2, 1), 8, 0, &palette, &[1, 0, 0, 0]), (2, 1), &[green, red]);
    check(&bmp((1, 1), 8, 0, &palette, &[9, 0, 0, 0]), (1, 1), &[BLACK]);
    check(&bmp((1, 1), 16, 0, &[], &[0x00, 0x7c, 0, 0]), (1, 1), &[red]);
    check(&bmp((1, 1), 24, 0, &[], &[3, 2, 1, 0]), (1, 1), &[[1, 2, 3, 255]]);
    check(&bmp((1, 1), 32, 0, &[], &[3, 2, 1, 0]), (1, 1), &[[1, 2, 3, 255]]);
    let masks = [0xff, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0xff, 0];
    check(&bmp((1, 1), 32, 3, &masks, &[1, 2, 3, 0]), (1, 1), &[[1, 2, 3, 255]]);
    let masks = [0xff, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0xff];
    check(&bmp((1, 1), 32, 6, &masks, &[1, 2, 3, 4]), (1, 1), &[[1, 2, 3, 4]]);
}

#[test]
fn decodes_run_length_encoded_bitmaps() {
    let palette = [0, 0, 255, 0, 0, 255, 0, 0];
    let (red, green) = ([255, 0, 0, 255], [0, 255, 0, 255]);
    // A run, a literal with padding and the end of the row; then a jump and the end of the image.
    let data = [2, 1, 0, 3, 0, 1, 0, 0, 0, 0, 0, 2, 3, 0, 1, 1, 0, 1];
    check(&bmp((5, 2), 8, 1, &palette, &data), (5, 2), &[red, red, red, green, red, green, green, red, green, red]);
    check(&bmp((4, 1), 4, 2, &palette, &[3, 0x10, 1, 0x10, 0, 1]), (4, 1), &[green, red, green, green]);
    // A run that extends beyond its row is cut.
    check(&bmp((2, 1), 8, 1, &palette, &[200, 1, 0, 1]), (2, 1), &[green, green]);
}

#[test]
fn os2_bitmaps_have_headers_of_16_to_64_bytes() {
    let palette = [0, 0, 255, 0, 0, 255, 0, 0];
    for size in [16, 24, 39, 48, 64] {
        let common = bmp((2, 1), 8, 0, &[], &[]);
        let mut file = common[..(14 + size).min(common.len())].to_vec();
        file.resize(14 + size, 0);
        file[14..18].copy_from_slice(&(size as u32).to_le_bytes());
        file.extend(palette);
        let pixels = file.len() as u32;
        file[10..14].copy_from_slice(&pixels.to_le_bytes());
        file.extend([1, 0, 0, 0]);
        check(&file, (2, 1), &[[0, 255, 0, 255], [255, 0, 0, 255]]);
    }
}

#[test]
fn decodes_tiffs_of_every_depth() {
    let tags = |bits: u32, color: u32, samples: u32, rest: &[(u16, u32)]| {
        let mut tags = vec![(256, 2), (257, 1), (258, bits), (259, 1), (262, color), (277, samples)];
        tags.extend(rest);
        tags
    };
    let gray = |v: u8| [v, v, v, 255];
    check(&tiff(&tags(8, 1, 1, &[]), &[10, 20]), (2, 1), &[gray(10), gray(20)]);
    check(&tiff(&tags(8, 0, 1, &[]), &[10, 20]), (2, 1), &[gray(245), gray(235)]);
    check(&tiff(&tags(1, 1, 1, &[]), &[0x40]), (2, 1), &[BLACK, WHITE]);
    check(&tiff(&tags(4, 1, 1, &[]), &[0x0f]), (2, 1), &[BLACK, WHITE]);
    check(&tiff(&tags(16, 1, 1, &[]), &[255, 1, 255, 2]), (2, 1), &[gray(1), gray(2)]);
    let floats = [0.0f32.to_le_bytes(), 1.0f32.to_le_bytes()].concat();
    check(&tiff(&tags(32, 1, 1, &[(339, 3)]), &floats), (2, 1), &[BLACK, WHITE]);
}

/// Returns the width and the pixels of an image of 3 × 2 pixels after applying an orientation, row by row.
fn turned(orientation: u16) -> (u32, [u8; 6]) {
    match orientation {
        2 => (3, [3, 2, 1, 6, 5, 4]),
        3 => (3, [6, 5, 4, 3, 2, 1]),
        4 => (3, [4, 5, 6, 1, 2, 3]),
        5 => (2, [1, 4, 2, 5, 3, 6]),
        6 => (2, [4, 1, 5, 2, 6, 3]),
        7 => (2, [6, 3, 5, 2, 4, 1]),
        8 => (2, [3, 6, 2, 5, 1, 4]),
        _ => (3, [1, 2, 3, 4, 5, 6]),
    }
}

#[test]
fn every_orientation_is_applied() {
    for orientation in 0..=9 {
        for big in [false, true] {
            let exif = chunk(b"eXIf", &exif(orientation, big));
            let file = png(3, 2, 8, 0, &[exif], &[0, 1, 2, 3, 0, 4, 5, 6]);
            let picture = decode(&file, &never()).unwrap();
            let (width, pixels) = turned(orientation);
            assert_eq!((picture.width(), picture.samples()), (width, &pixels[..]), "orientation {orientation}");
        }
        let file = tiff(
            &[(256, 3), (257, 2), (258, 8), (259, 1), (262, 1), (277, 1), (274, u32::from(orientation))],
            &[1, 2, 3, 4, 5, 6],
        );
        let picture = decode(&file, &never()).unwrap();
        assert_eq!((picture.width(), picture.samples()), (turned(orientation).0, &turned(orientation).1[..]));
    }
}

#[test]
fn exif_is_found_after_the_pixels_and_after_a_prefix() {
    let file = png(3, 2, 8, 0, &[], &[0, 1, 2, 3, 0, 4, 5, 6]);
    let end = file.len() - 12;
    let named = [b"Exif\0\0", &exif(6, true)[..]].concat();
    for exif in [&exif(6, true), &named] {
        let file = [&file[..end], &chunk(b"eXIf", exif), &file[end..]].concat();
        assert_eq!(probe(&file).unwrap().orientation, Orientation::Rotate90);
        assert_eq!(decode(&file, &never()).unwrap().samples(), turned(6).1);
    }
}

/// Creates an animated WebP of lossless frames, each at its position, in the order in which they are shown.
fn animated_webp(width: u32, height: u32, alpha: bool, frames: &[(u32, u32, &Picture)]) -> Vec<u8> {
    let three = |value: u32| value.to_le_bytes()[..3].to_vec();
    let chunk = |name: &[u8], data: &[u8]| {
        let mut out = [name, &(data.len() as u32).to_le_bytes(), data].concat();
        out.resize(out.len().next_multiple_of(2), 0);
        out
    };
    let flags = 0x02 | if alpha { 0x10 } else { 0 };
    let mut body = chunk(b"VP8X", &[&[flags, 0, 0, 0], &three(width - 1)[..], &three(height - 1)].concat());
    body.extend(chunk(b"ANIM", &[0, 0, 255, 255, 0, 0]));
    for (left, top, picture) in frames {
        // In a still image, the data after the header is the chunk of the frame.
        let still = encoded(picture, ImageFormat::Webp);
        let at = still.windows(4).position(|name| name == b"VP8L").expect("a lossless file");
        let mut frame = [left / 2, top / 2, picture.width() - 1, picture.height() - 1, 100].map(three).concat();
        frame.push(0);
        frame.extend(&still[at..]);
        body.extend(chunk(b"ANMF", &frame));
    }
    [b"RIFF", &(body.len() as u32 + 4).to_le_bytes()[..], b"WEBP", &body].concat()
}

#[test]
fn the_first_frame_of_an_animated_webp_is_unchanged() {
    let first = picture(6, 4, Channels::Rgba);
    let second = picture(6, 4, Channels::Rgb);
    for alpha in [true, false] {
        let file = animated_webp(6, 4, alpha, &[(0, 0, &first), (0, 0, &second)]);
        assert_eq!(decode(&file, &never()).unwrap().to_rgba(), first.to_rgba(), "alpha {alpha}");
        // The frame covers only a part of the canvas; the rest is transparent.
        let file = animated_webp(9, 8, alpha, &[(2, 4, &first)]);
        let shown = decode(&file, &never()).unwrap();
        assert_eq!((shown.width(), shown.height()), (9, 8));
        for (at, pixel) in shown.to_rgba().as_chunks::<4>().0.iter().enumerate() {
            let (x, y) = (at % 9, at / 9);
            let inside = (2..8).contains(&x) && y >= 4;
            let expect = if inside { first.to_rgba().as_chunks::<4>().0[(y - 4) * 6 + x - 2] } else { [0; 4] };
            assert_eq!(*pixel, expect, "{x},{y}, alpha {alpha}");
        }
    }
}

#[test]
fn a_jpeg_is_rotated_according_to_exif() {
    let upright = picture(48, 32, Channels::Rgb);
    let plain = encoded(&upright, ImageFormat::Jpeg);
    let stored = decode(&plain, &never()).unwrap();
    for orientation in 1..=8 {
        let file = jpeg_with_exif(&plain, &exif(orientation, true));
        assert_eq!(probe(&file).unwrap().orientation, Orientation::from_exif(orientation as u8).unwrap());
        let seen = decode(&file, &never()).unwrap();
        let corner = seen.to_rgba().as_chunks::<4>().0[0];
        let at = |x: usize, y: usize| stored.to_rgba().as_chunks::<4>().0[y * 48 + x];
        let expected = match orientation {
            1 | 5 => at(0, 0),
            2 | 8 => at(47, 0),
            3 | 7 => at(47, 31),
            _ => at(0, 31),
        };
        assert_eq!(corner, expected, "orientation {orientation}");
        let swapped = orientation >= 5;
        assert_eq!((seen.width(), seen.height()), if swapped { (32, 48) } else { (48, 32) });
    }
}

#[test]
fn grey_with_alpha_resizes_like_grey_and_like_rgb() {
    let (width, height) = (13, 9);
    let value = |at: usize| (at * 37 % 256) as u8;
    let grey: Vec<u8> = (0..width * height).map(value).collect();
    let opaque: Vec<u8> = grey.iter().flat_map(|g| [*g, 255]).collect();
    let clear: Vec<u8> = grey.iter().enumerate().flat_map(|(at, g)| [*g, value(at * 3)]).collect();
    let colours: Vec<u8> = clear.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect();
    let resized = |channels, samples: &[u8]| {
        let picture = Picture::new(width as u32, height as u32, channels, samples.to_vec()).unwrap();
        picture.resize(5, 21, SamplingFilter::Lanczos3, &never()).unwrap().samples().to_vec()
    };
    let with: Vec<u8> = resized(Channels::GrayAlpha, &opaque).chunks_exact(2).map(|p| p[0]).collect();
    assert_eq!(with, resized(Channels::Gray, &grey));
    let of_colours = resized(Channels::Rgba, &colours);
    let of_colours: Vec<u8> = of_colours.chunks_exact(4).flat_map(|p| [p[0], p[3]]).collect();
    assert_eq!(resized(Channels::GrayAlpha, &clear), of_colours);
}

const CHANNELS: [Channels; 4] = [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba];

#[test]
fn a_canvas_keeps_the_image_and_fills_the_rest() {
    for channels in CHANNELS {
        let picture = picture(5, 3, channels);
        for colour in [[7, 7, 7, 255], [7, 7, 7, 0], [1, 2, 3, 255], [1, 2, 3, 4]] {
            let canvas = picture.extend((2, 1), (9, 6), colour, &never()).unwrap();
            assert_eq!(canvas.crop(2, 1, 5, 3).unwrap().to_rgba(), picture.to_rgba(), "{channels:?} on {colour:?}");
            let rgba = canvas.to_rgba();
            for (at, pixel) in rgba.as_chunks::<4>().0.iter().enumerate() {
                let (x, y) = (at % 9, at / 9);
                assert!((2..7).contains(&x) && (1..4).contains(&y) || *pixel == colour, "{channels:?} at {x},{y}");
            }
            // The result has no more channels than necessary.
            let coloured = matches!(channels, Channels::Rgb | Channels::Rgba) || colour[0] != colour[1];
            let count = if coloured { 3 } else { 1 } + usize::from(channels.has_alpha() || colour[3] < 255);
            assert_eq!(canvas.channels().count(), count, "{channels:?} on {colour:?}");
        }
        for (at, size) in [((5, 0), (9, 6)), ((0, 4), (9, 6)), ((0, 0), (4, 3)), ((u32::MAX, 0), (9, 6))] {
            assert!(picture.extend(at, size, WHITE, &never()).is_err(), "{at:?} in {size:?}");
        }
    }
}

#[test]
fn four_rotations_and_two_flips_are_the_identity() {
    for channels in CHANNELS {
        let picture = picture(70, 3, channels);
        let after = |steps: &[Orientation]| {
            steps.iter().fold(picture.clone(), |picture, step| picture.orient(*step, &never()).unwrap())
        };
        assert!(after(&[Orientation::Rotate90; 4]) == picture);
        assert!(after(&[Orientation::Rotate90; 3]) == after(&[Orientation::Rotate270]));
        assert!(after(&[Orientation::FlipHorizontal; 2]) == picture);
        assert!(after(&[Orientation::FlipHorizontal, Orientation::FlipVertical]) == after(&[Orientation::Rotate180]));
        assert!(after(&[Orientation::NoTransforms]) == picture);
        assert!(after(&[Orientation::Rotate90]) != picture);
    }
}

#[test]
fn resizing_keeps_uniform_images() {
    for filter in [
        SamplingFilter::Nearest,
        SamplingFilter::Triangle,
        SamplingFilter::CatmullRom,
        SamplingFilter::Gaussian,
        SamplingFilter::Lanczos3,
    ] {
        let even = Picture::new(30, 20, Channels::Rgba, [10u8, 200, 30, 255].repeat(600)).unwrap();
        let small = even.resize(7, 3, filter, &never()).unwrap();
        assert_eq!(small.samples(), [10u8, 200, 30, 255].repeat(21), "{filter:?}");
    }
    // Transparent red must not colour the opaque blue beside it.
    let mixed = Picture::new(2, 1, Channels::Rgba, vec![255, 0, 0, 0, 0, 0, 255, 255]).unwrap();
    let one = mixed.resize(1, 1, SamplingFilter::Triangle, &never()).unwrap();
    assert_eq!(&one.samples()[..3], &[0, 0, 255]);
}

#[test]
fn unknown_filter_and_format_ids_are_refused_by_name() {
    assert_eq!(ImageFormat::from_id(7).unwrap_err().message(), "Invalid image format: 7");
    assert_eq!(SamplingFilter::from_id(0).unwrap_err().message(), "Invalid sampling filter: 0");
    for id in 0..4 {
        assert_eq!(ImageFormat::from_id(id).unwrap() as u32, id);
        assert_eq!(SamplingFilter::from_id(id + 1).unwrap() as u32, id + 1);
    }
}

#[test]
fn an_orientation_may_have_any_integer_type() {
    for (kind, value) in
        [(1u16, [6, 0, 0, 0]), (3, [6, 0, 0, 0]), (4, [6, 0, 0, 0]), (6, [6, 0, 0, 0]), (9, [6, 0, 0, 0])]
    {
        let mut data = exif(6, false);
        data[12..14].copy_from_slice(&kind.to_le_bytes());
        data[18..22].copy_from_slice(&value);
        let file = png(3, 2, 8, 0, &[chunk(b"eXIf", &data)], &[0, 1, 2, 3, 0, 4, 5, 6]);
        assert_eq!(decode(&file, &never()).unwrap().width(), 2, "type {kind}");
    }
}

#[test]
fn the_first_exif_block_of_a_jpeg_counts() {
    let plain = encoded(&picture(32, 16, Channels::Rgb), ImageFormat::Jpeg);
    for (first, second) in [(1, 6), (6, 1), (6, 3)] {
        let file = jpeg_with_exif(&jpeg_with_exif(&plain, &exif(second, true)), &exif(first, false));
        assert_eq!(probe(&file).unwrap().orientation, Orientation::from_exif(first as u8).unwrap());
        assert_eq!(decode(&file, &never()).unwrap().width(), if first == 6 { 16 } else { 32 });
    }
}

#[test]
fn decodes_tiffs_with_a_palette() {
    for (bits, big) in [1u16, 2, 4, 8].into_iter().flat_map(|bits| [(bits, false), (bits, true)]) {
        let short = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let long = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let colors = 1u16 << bits;
        let map = (0..3 * colors).flat_map(|n| short((n % colors * 7 + n / colors * 40) << 8));
        // Two pixels with the first and the last colour.
        let pixels = if bits == 8 { [0, 255] } else { [(0xff >> bits) & (0xff << (8 - 2 * bits) as u8), 0] };
        let mut file = if big { b"MM\0\x2a".to_vec() } else { b"II\x2a\0".to_vec() };
        let directory = 8 + 2 + 6 * u32::from(colors);
        file.extend(long(directory));
        file.extend(pixels);
        file.extend(map);
        let tags = [
            (256, 3, 1, 2),
            (257, 3, 1, 1),
            (258, 3, 1, u32::from(bits)),
            (259, 3, 1, 1),
            (262, 3, 1, 3),
            (273, 4, 1, 8),
            (277, 3, 1, 1),
            (279, 4, 1, 2),
            (320, 3, 3 * u32::from(colors), 10),
        ];
        file.extend(short(tags.len() as u16));
        for (tag, kind, count, value) in tags {
            file.extend([short(tag), short(kind)].concat());
            file.extend(long(count));
            if kind == 3 && count == 1 {
                file.extend([short(value as u16), [0; 2]].concat());
            } else {
                file.extend(long(value));
            }
        }
        file.extend([0; 4]);
        let color = |index: u16| [(index * 7) as u8, (index * 7 + 40) as u8, (index * 7 + 80) as u8, 255];
        check(&file, (2, 1), &[color(0), color(colors - 1)]);
    }
}

#[test]
fn colours_with_a_profile_become_srgb_where_they_are_changed() {
    let near = |picture: &Picture, expect: [u8; 3]| {
        let found = picture.to_srgb().to_rgba();
        assert!(found.iter().zip(expect).all(|(a, b)| a.abs_diff(b) <= 6), "{:?} is not {expect:?}", &found[..4]);
    };
    let swapped = samples::swapped_profile();
    let mut packed = b"profile\0\0".to_vec();
    packed.extend(samples::deflated(&swapped));
    let chunks = [chunk(b"iCCP", &packed)];
    near(&decode(&png(1, 1, 8, 2, &chunks, &[0, 200, 100, 50]), &never()).unwrap(), [50, 200, 100]);
    let kept = decode(&png(1, 1, 8, 2, &chunks, &[0, 200, 100, 50]), &never()).unwrap();
    assert_eq!(kept.samples(), [200, 100, 50]);
    // PNG keeps the profile, other formats and sizes are sRGB.
    near(&decode(&encoded(&kept, ImageFormat::Png), &never()).unwrap(), [50, 200, 100]);
    assert_eq!(decode(&encoded(&kept, ImageFormat::Png), &never()).unwrap().samples(), [200, 100, 50]);
    let webp = decode(&encoded(&kept, ImageFormat::Webp), &never()).unwrap();
    assert_eq!(webp.to_srgb().samples(), webp.samples());
    near(&webp, [50, 200, 100]);
    let large = kept.resize(3, 3, SamplingFilter::Nearest, &never()).unwrap();
    assert_eq!(large.to_srgb().samples(), large.samples());
    near(&large, [50, 200, 100]);
    near(&kept.extend((0, 0), (1, 1), [9; 4], &never()).unwrap(), [50, 200, 100]);
    near(&kept.crop(0, 0, 1, 1).unwrap(), [50, 200, 100]);
    near(&kept.orient(Orientation::Rotate90, &never()).unwrap(), [50, 200, 100]);
    let clear = decode(&png(1, 1, 8, 6, &chunks, &[0, 200, 100, 50, 7]), &never()).unwrap();
    near(&clear, [50, 200, 100]);
    assert_eq!(clear.to_rgba()[3], 7);

    let flat = Picture::new(600, 600, Channels::Rgb, [200, 100, 50].repeat(600 * 600)).unwrap();
    let jpeg = encoded(&flat, ImageFormat::Jpeg);
    let segment = [&b"ICC_PROFILE\0\x01\x01"[..], &swapped].concat();
    let length = (segment.len() as u16 + 2).to_be_bytes();
    let jpeg = [&jpeg[..2], &[0xff, 0xe2], &length, &segment, &jpeg[2..]].concat();
    near(&decode(&jpeg, &never()).unwrap(), [50, 200, 100]);
    // Decoded at a quarter of the size.
    let options = sinew_image::FitOptions {
        max_width: 150,
        max_height: 150,
        format: Some(ImageFormat::Png),
        ..Default::default()
    };
    let fitted = sinew_image::fit_image(&jpeg, &options, &never()).unwrap();
    near(&decode(&fitted.data, &never()).unwrap(), [50, 200, 100]);

    let grey = chunk(b"iCCP", &[b"grey\0\0", &samples::deflated(&samples::grey_profile())[..]].concat());
    near(&decode(&png(1, 1, 8, 0, std::slice::from_ref(&grey), &[0, 128]), &never()).unwrap(), [188; 3]);

    // An invalid profile, or one of another kind of colour, changes nothing.
    check(&png(1, 1, 8, 0, &chunks, &[0, 77]), (1, 1), &[[77, 77, 77, 255]]);
    let mut broken = b"x\0\0".to_vec();
    broken.extend(samples::deflated(b"no profile"));
    check(&png(1, 1, 8, 2, &[chunk(b"iCCP", &broken)], &[0, 1, 2, 3]), (1, 1), &[[1, 2, 3, 255]]);
}

/// The directory with the files of one run of `cjpeg` and `djpeg`.
struct Libjpeg(tempfile::TempDir);

impl Libjpeg {
    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn runs(&self, program: &str, arguments: &[&str]) -> bool {
        let output = std::process::Command::new(program).args(arguments).output();
        output
            .unwrap_or_else(|_| panic!("{program} is on PATH; install libjpeg-turbo-progs to run this test"))
            .status
            .success()
    }

    /// Encodes `source` and returns the file and the pixels that libjpeg decodes. `None` if libjpeg does not support the
    /// combination: not every one fits into a block, and fractions of a pixel are not supported.
    fn encode(&self, sample: &str, mode: &[&str]) -> Option<(Vec<u8>, Vec<u8>)> {
        let (file, back, source) = (self.path("file.jpg"), self.path("back"), self.path("source"));
        let arguments = [&["-quality", "95", "-sample", sample, "-outfile", &file][..], mode, &[&source]].concat();
        let fits = self.runs("cjpeg", &arguments) && self.runs("djpeg", &["-outfile", &back, &file]);
        let read = |path| std::fs::read(path).expect("the program has written it");
        fits.then(|| (read(file), read(back)))
    }
}

/// Every combination of sampling factors, of scans and of restarts that libjpeg writes is decoded to the pixels that
/// libjpeg reads, or rejected. Wrong colours without an error would mislead a model.
#[test]
fn decodes_jpegs_as_libjpeg_does() {
    let libjpeg = Libjpeg(tempfile::tempdir().unwrap());
    let (width, height) = (75u32, 53u32);
    let wave = |value: f64| (128.0 + 100.0 * value.sin()) as u8;
    let pixels = (0..width * height).flat_map(|n| {
        let (x, y) = (f64::from(n % width), f64::from(n / width));
        [wave(x / 9.0), wave(y / 7.0), wave((x + y) / 11.0)]
    });
    let source = [format!("P6\n{width} {height}\n255\n").into_bytes(), pixels.collect()].concat();
    std::fs::write(libjpeg.path("source"), source).unwrap();
    let [each, last, two] = ["each", "last", "two"].map(|name| libjpeg.path(name));
    for (path, scans) in [(&each, "0;\n1;\n2;\n"), (&last, "1;\n2;\n0;\n"), (&two, "0 1;\n2;\n")] {
        std::fs::write(path, scans).unwrap();
    }
    let modes: [&[&str]; 7] = [
        &[],
        &["-progressive"],
        &["-scans", &each],
        &["-scans", &last],
        &["-scans", &two],
        &["-restart", "1"],
        &["-arithmetic"],
    ];
    let factors = [1, 2, 3, 4].into_iter().flat_map(|across| [1, 2, 3, 4].map(|down| format!("{across}x{down}")));
    let samples =
        factors.flat_map(|luma| ["1x1", "2x1", "1x2", "2x2", "3x1", "4x1"].map(|rest| format!("{luma},{rest},{rest}")));
    let (mut decoded, mut rejected) = (0, Vec::new());
    for sample in samples {
        for mode in modes {
            let Some((file, expect)) = libjpeg.encode(&sample, mode) else { continue };
            match decode(&file, &never()) {
                Ok(found) => {
                    let expect = expect[expect.len() - 3 * 75 * 53..].to_vec();
                    check_near(&found, &Picture::new(width, height, Channels::Rgb, expect).unwrap(), 3.0);
                    decoded += 1;
                }
                Err(error) => {
                    assert_eq!(error.code(), sinew_base::ErrorCode::Unsupported, "{sample} {mode:?}: {error}");
                    rejected.push(format!("{sample} {mode:?}: {error}"));
                }
            }
        }
    }
    rejected.retain(|text| !text.contains("arithmetic coding") && !text.contains("in scans of one component"));
    assert!(decoded > 250 && rejected.is_empty(), "{decoded} decoded, rejected: {rejected:#?}");
}
