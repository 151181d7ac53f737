//! Tests images for models and for terminals.

use crate::samples::{bmp, encoded, exif, jpeg_with_exif, never, noise, picture, tiff};
use sinew_base::ErrorCode;
use sinew_image::terminal::{Cells, iterm2, kitty, sixel};
use sinew_image::{Channels, FitOptions, FitResult, ImageFormat, Picture, SamplingFilter, decode, fit_image};

fn fit(file: &[u8], options: FitOptions) -> FitResult {
    let fitted = fit_image(file, &options, &never()).unwrap_or_else(|error| panic!("{error}"));
    let back = decode(&fitted.data, &never()).expect("the result is a picture");
    assert_eq!((back.width(), back.height()), (fitted.width, fitted.height));
    assert!(fitted.width <= options.max_width && fitted.height <= options.max_height);
    assert!(fitted.data.len().div_ceil(3) * 4 <= options.max_bytes);
    fitted
}

fn sides(max_width: u32, max_height: u32) -> FitOptions {
    FitOptions { max_width, max_height, ..FitOptions::default() }
}

#[test]
fn images_that_fit_are_returned_unchanged() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Webp, ImageFormat::Gif] {
        let file = encoded(&picture(40, 30, Channels::Rgb), format);
        let fitted = fit(&file, FitOptions::default());
        assert_eq!((fitted.data, fitted.mime_type, fitted.resized), (file, format.mime_type(), false));
    }
}

#[test]
fn an_animation_that_fits_stays_animated() {
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, 2, 2, &[0, 0, 0, 255, 255, 255]).unwrap();
    for pixel in [0, 1] {
        let frame = gif::Frame { width: 2, height: 2, buffer: vec![pixel; 4].into(), ..gif::Frame::default() };
        encoder.write_frame(&frame).unwrap();
    }
    drop(encoder);
    assert_eq!(fit(&file, FitOptions::default()).data, file);
    assert_eq!(fit(&file, sides(1, 1)).mime_type, "image/png");
}

#[test]
fn the_aspect_ratio_is_kept() {
    for (size, limit, expected) in [
        ((400, 300), (200, 200), (200, 150)),
        ((300, 400), (200, 200), (150, 200)),
        ((400, 1), (100, 100), (100, 1)),
        ((100, 50), (1000, 10), (20, 10)),
        ((3, 3), (2, 3), (2, 2)),
    ] {
        let file = encoded(&picture(size.0, size.1, Channels::Rgb), ImageFormat::Png);
        let fitted = fit(&file, sides(limit.0, limit.1));
        assert_eq!((fitted.width, fitted.height, fitted.resized), (expected.0, expected.1, true));
        assert_eq!(fitted.mime_type, "image/png");
    }
    let jpeg = encoded(&picture(400, 300, Channels::Rgb), ImageFormat::Jpeg);
    assert_eq!(fit(&jpeg, sides(200, 200)).mime_type, "image/jpeg");
}

#[test]
fn a_rotated_image_is_returned_upright() {
    let file = jpeg_with_exif(&encoded(&picture(40, 30, Channels::Rgb), ImageFormat::Jpeg), &exif(6, true));
    let fitted = fit(&file, FitOptions::default());
    assert_eq!((fitted.width, fitted.height, fitted.mime_type), (30, 40, "image/jpeg"));
    assert!(!fitted.resized && fitted.data != file);
}

#[test]
fn other_formats_become_png() {
    let file = bmp((1, 1), 24, 0, &[], &[3, 2, 1, 0]);
    let fitted = fit(&file, FitOptions::default());
    assert_eq!((fitted.mime_type, fitted.resized), ("image/png", false));
}

#[test]
fn oversized_images_become_jpeg_and_then_smaller() {
    let file = encoded(&noise(300, 200), ImageFormat::Png);
    let bytes = |max_bytes| FitOptions { max_bytes, ..FitOptions::default() };
    let fitted = fit(&file, bytes(90_000));
    assert_eq!((fitted.mime_type, fitted.resized), ("image/jpeg", false));
    let fitted = fit(&file, bytes(10_000));
    assert_eq!((fitted.mime_type, fitted.resized), ("image/jpeg", true));
    let fitted = fit(&file, FitOptions { format: Some(ImageFormat::Png), ..bytes(20_000) });
    assert_eq!((fitted.mime_type, fitted.resized), ("image/png", true));
    let fitted = fit(&file, FitOptions { format: Some(ImageFormat::Webp), ..FitOptions::default() });
    assert_eq!((fitted.mime_type, fitted.resized), ("image/webp", false));
}

#[test]
fn impossible_limits_are_refused() {
    let file = encoded(&picture(4, 4, Channels::Rgb), ImageFormat::Png);
    let error = fit_image(&file, &FitOptions { max_bytes: 20, ..FitOptions::default() }, &never()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::LimitExceeded);
    let error = fit_image(&file, &sides(0, 10), &never()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(fit_image(&file[..file.len() / 2], &FitOptions::default(), &never()).is_err());
}

#[test]
fn kitty_sends_chunks_of_4096() {
    let file = encoded(&noise(60, 60), ImageFormat::Png);
    let text = kitty(&file, Cells { columns: Some(10), rows: Some(5) }, Some(7));
    let parts: Vec<_> = text.strip_suffix("\x1b\\").unwrap().split("\x1b\\").collect();
    assert!(parts.len() > 2);
    assert!(parts[0].starts_with("\x1b_Ga=T,f=100,q=2,c=10,r=5,i=7,C=1,m=1;"));
    let mut data = String::new();
    for (number, part) in parts.iter().enumerate() {
        let (keys, payload) = part.split_once(';').unwrap();
        assert!(keys.ends_with(if number + 1 == parts.len() { "m=0" } else { "m=1" }));
        assert!(payload.len() == 4096 || number + 1 == parts.len());
        data += payload;
    }
    use base64::Engine as _;
    assert_eq!(base64::engine::general_purpose::STANDARD.decode(data).unwrap(), file);
    assert_eq!(kitty(b"a", Cells::default(), None), "\x1b_Ga=T,f=100,q=2,m=0;YQ==\x1b\\");
}

#[test]
fn iterm2_sends_the_file() {
    assert_eq!(
        iterm2(b"abc", Cells { columns: Some(3), rows: None }),
        "\x1b]1337;File=inline=1;size=3;width=3;height=auto;preserveAspectRatio=1:YWJj\x07"
    );
}

/// Decodes a Sixel image to its pixels.
fn sixel_pixels(text: &str, width: usize, height: usize) -> Vec<[u8; 4]> {
    let body = text.strip_prefix("\x1bP0;1q").and_then(|text| text.strip_suffix("\x1b\\")).expect("a Sixel picture");
    let mut pixels = vec![[0; 4]; width * height];
    let mut palette = std::collections::HashMap::new();
    let (mut x, mut band, mut color) = (0, 0, [0; 4]);
    let mut rest = body.split_once('#').map(|(_, rest)| format!("#{rest}")).unwrap_or_default();
    while let Some(first) = rest.chars().next() {
        rest.remove(0);
        let numbers = |rest: &mut String| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(rest.len());
            let text: String = rest.drain(..end).collect();
            text.split(';').map(|n| n.parse::<u32>().expect("a number")).collect::<Vec<_>>()
        };
        match first {
            '$' => x = 0,
            '-' => (x, band) = (0, band + 1),
            '#' => {
                let values = numbers(&mut rest);
                if let [number, 2, r, g, b] = values[..] {
                    palette.insert(number, [r, g, b].map(|part| (part * 255 / 100) as u8));
                } else {
                    let [r, g, b] = palette[&values[0]];
                    color = [r, g, b, 255];
                }
            }
            _ => {
                let (count, sixel) = if first == '!' {
                    let count = numbers(&mut rest)[0];
                    (count, rest.remove(0))
                } else {
                    (1, first)
                };
                for _ in 0..count {
                    for row in (0..6).filter(|row| (sixel as u8 - 63) >> row & 1 == 1) {
                        pixels[(band * 6 + row) * width + x] = color;
                    }
                    x += 1;
                }
            }
        }
    }
    pixels
}

#[test]
fn sixel_shows_every_pixel() {
    let colors = [[255, 0, 0, 255], [0, 0, 0, 255], [0, 255, 255, 255], [9, 9, 9, 0]];
    let pixels: Vec<[u8; 4]> = (0..17 * 13).map(|n| colors[n * n % 4]).collect();
    let picture = Picture::new(17, 13, Channels::Rgba, pixels.concat()).unwrap();
    let shown = sixel_pixels(&sixel(&picture, &never()).unwrap(), 17, 13);
    let expected: Vec<_> = pixels.iter().map(|pixel| if pixel[3] == 0 { [0; 4] } else { *pixel }).collect();
    assert_eq!(shown, expected);
}

#[test]
fn sixel_approximates_many_colours() {
    let picture = picture(64, 64, Channels::Rgb);
    let text = sixel(&picture, &never()).unwrap();
    let mean = |pixels: &[[u8; 4]], part: usize| {
        pixels.iter().map(|pixel| f64::from(pixel[part])).sum::<f64>() / pixels.len() as f64
    };
    let shown = sixel_pixels(&text, 64, 64);
    let rgba = picture.to_rgba();
    for part in 0..3 {
        let (a, b) = (mean(&shown, part), mean(rgba.as_chunks::<4>().0, part));
        assert!((a - b).abs() < 4.0, "part {part}: {a} instead of {b}");
    }
}

/// Returns the mean difference of the samples of two images of the same size, from 0 to 255.
fn difference(one: &Picture, other: &Picture) -> f64 {
    assert_eq!((one.width(), one.height()), (other.width(), other.height()));
    let (one, other) = (one.to_rgba(), other.to_rgba());
    let sum: u64 = one.iter().zip(&other).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / one.len() as f64
}

/// Decoding a JPEG at a reduced size must not make a visible difference.
#[test]
fn a_scaled_jpeg_shows_the_same_image() {
    for channels in [Channels::Rgb, Channels::Gray] {
        for (width, height) in [(801, 603), (515, 640), (97, 800), (17, 9)] {
            let file = encoded(&picture(width, height, channels), ImageFormat::Jpeg);
            let whole = decode(&file, &never()).unwrap();
            for part in [2, 3, 4, 9, 16] {
                let options = sides((width / part).max(1), (height / part).max(1));
                let fitted = fit(&file, options);
                let expect = whole.resize(fitted.width, fitted.height, SamplingFilter::Lanczos3, &never()).unwrap();
                let found = decode(&fitted.data, &never()).unwrap();
                // The losses of JPEG encoding differ from those of partial decoding.
                let expect = decode(&expect.encode(ImageFormat::Jpeg, 85, &never()).unwrap(), &never()).unwrap();
                let off = difference(&found, &expect);
                assert!(off < 2.0, "{width}×{height} {channels:?} to 1/{part}: {off:.1} off");
            }
        }
    }
}

#[test]
fn a_scaled_jpeg_is_rotated_according_to_exif() {
    let upright = encoded(&picture(640, 520, Channels::Rgb), ImageFormat::Jpeg);
    for orientation in 1..=8u16 {
        let file = jpeg_with_exif(&upright, &exif(orientation, false));
        let whole = decode(&file, &never()).unwrap();
        let fitted = fit(&file, sides(200, 200));
        assert_eq!(fitted.width > fitted.height, whole.width() > whole.height(), "{orientation}");
        let expect = whole.resize(fitted.width, fitted.height, SamplingFilter::Lanczos3, &never()).unwrap();
        let expect = decode(&expect.encode(ImageFormat::Jpeg, 85, &never()).unwrap(), &never()).unwrap();
        let off = difference(&decode(&fitted.data, &never()).unwrap(), &expect);
        assert!(off < 2.0, "{orientation}: {off:.1} off");
    }
}

#[test]
fn a_broken_jpeg_is_refused_by_a_scaled_decode_too() {
    let file = encoded(&picture(800, 600, Channels::Rgb), ImageFormat::Jpeg);
    for cut in [file.len() / 2, file.len() - 2] {
        assert!(fit_image(&file[..cut], &sides(50, 50), &never()).is_err(), "{cut} of {} bytes", file.len());
    }
}

#[test]
fn a_side_of_any_length_is_fitted() {
    for (width, height) in [(20_000, 20), (20, 20_000), (65_535, 3)] {
        let long = picture(width, height, Channels::Rgb);
        let tags = [(256, width), (257, height), (258, 8), (259, 1), (262, 1), (277, 1)];
        let grey = vec![77; (width * height) as usize];
        for (name, file) in [
            ("PNG", encoded(&long, ImageFormat::Png)),
            ("JPEG", encoded(&long, ImageFormat::Jpeg)),
            ("GIF", encoded(&long, ImageFormat::Gif)),
            ("TIFF", tiff(&tags, &grey)),
        ] {
            assert_eq!(decode(&file, &never()).map(|picture| (picture.width(), picture.height())), Ok((width, height)));
            let fitted = fit_image(&file, &FitOptions::default(), &never());
            let fitted = fitted.unwrap_or_else(|error| panic!("{name} of {width}×{height}: {error}"));
            assert_eq!(fitted.width.max(fitted.height), 2_000, "{name} of {width}×{height}");
        }
    }
}
