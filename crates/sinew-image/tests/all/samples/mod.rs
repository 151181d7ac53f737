//! Images for the tests, created by the encoders or byte by byte, without files of other projects.

use sinew_base::CancelToken;
use sinew_image::{Channels, ImageFormat, Picture};

pub(crate) fn never() -> CancelToken {
    CancelToken::never()
}

/// Creates a gradient with an edge, which looks different after every rotation and reflection.
pub(crate) fn picture(width: u32, height: u32, channels: Channels) -> Picture {
    let mut samples = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let (x, y) = ((x * 255 / width.max(1)) as u8, (y * 255 / height.max(1)) as u8);
            let pixel = [x, y, if x > y { 200 } else { 40 }, 255 - x / 2];
            match channels {
                Channels::Gray => samples.push(x / 2 + y / 2),
                Channels::GrayAlpha => samples.extend([x / 2 + y / 2, pixel[3]]),
                Channels::Rgb => samples.extend(&pixel[..3]),
                Channels::Rgba => samples.extend(pixel),
            }
        }
    }
    Picture::new(width, height, channels, samples).expect("a small picture is within the limits")
}

/// Creates noise, which no encoder compresses well.
pub(crate) fn noise(width: u32, height: u32) -> Picture {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let samples = (0..width as usize * height as usize * 3).map(|_| next()).collect();
    Picture::new(width, height, Channels::Rgb, samples).expect("a small picture is within the limits")
}

pub(crate) fn encoded(picture: &Picture, format: ImageFormat) -> Vec<u8> {
    picture.encode(format, 90, &never()).expect("a picture can be encoded")
}

/// Creates EXIF data with an orientation, in either byte order.
pub(crate) fn exif(orientation: u16, big: bool) -> Vec<u8> {
    let short = |v: u16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let long = |v: u32| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let mut out = if big { b"MM\0\x2a".to_vec() } else { b"II\x2a\0".to_vec() };
    out.extend(long(8));
    out.extend(short(1));
    for part in [short(0x112), short(3)] {
        out.extend(part);
    }
    out.extend(long(1));
    out.extend(short(orientation));
    out.extend([0, 0]);
    out.extend(long(0));
    out
}

/// Returns the JPEG with EXIF data after its first marker.
pub(crate) fn jpeg_with_exif(jpeg: &[u8], exif: &[u8]) -> Vec<u8> {
    let mut out = jpeg[..2].to_vec();
    out.extend([0xff, 0xe1]);
    out.extend(((exif.len() + 8) as u16).to_be_bytes());
    out.extend(b"Exif\0\0");
    out.extend(exif);
    out.extend(&jpeg[2..]);
    out
}

/// Creates a PNG chunk with its checksum.
pub(crate) fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in name.iter().chain(data) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let mut out = (data.len() as u32).to_be_bytes().to_vec();
    out.extend(name);
    out.extend(data);
    out.extend((!crc).to_be_bytes());
    out
}

/// Returns the bytes as a zlib stream without compression.
pub(crate) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let (mut a, mut b) = (1u32, 0u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    let mut data = vec![0x78, 0x01, 0x01];
    data.extend((bytes.len() as u16).to_le_bytes());
    data.extend((!(bytes.len() as u16)).to_le_bytes());
    data.extend(bytes);
    data.extend((b << 16 | a).to_be_bytes());
    data
}

/// Creates a PNG whose rows are stored without compression.
pub(crate) fn png(width: u32, height: u32, depth: u8, color: u8, extra: &[Vec<u8>], rows: &[u8]) -> Vec<u8> {
    let mut head = width.to_be_bytes().to_vec();
    head.extend(height.to_be_bytes());
    head.extend([depth, color, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    out.extend(chunk(b"IHDR", &head));
    for chunk in extra {
        out.extend(chunk);
    }
    out.extend(chunk(b"IDAT", &deflated(rows)));
    out.extend(chunk(b"IEND", b""));
    out
}

/// Creates a Windows bitmap with the common header of 40 bytes.
pub(crate) fn bmp(size: (i32, i32), bits: u16, compression: u32, palette: &[u8], data: &[u8]) -> Vec<u8> {
    let offset = 54 + palette.len() as u32;
    let mut out = b"BM".to_vec();
    out.extend((offset + data.len() as u32).to_le_bytes());
    out.extend([0; 4]);
    out.extend(offset.to_le_bytes());
    out.extend(40u32.to_le_bytes());
    out.extend(size.0.to_le_bytes());
    out.extend(size.1.to_le_bytes());
    out.extend(1u16.to_le_bytes());
    out.extend(bits.to_le_bytes());
    out.extend(compression.to_le_bytes());
    out.extend([0; 20]);
    out.extend(palette);
    out.extend(data);
    out
}

/// Creates a TIFF with one strip. `tags` are pairs of number and value, stored as 32-bit numbers.
pub(crate) fn tiff(tags: &[(u16, u32)], data: &[u8]) -> Vec<u8> {
    let mut tags = tags.to_vec();
    tags.push((273, 8));
    tags.push((279, data.len() as u32));
    tags.sort_unstable();
    let mut out = b"II\x2a\0".to_vec();
    out.extend((8 + data.len().next_multiple_of(2) as u32).to_le_bytes());
    out.extend(data);
    out.resize(8 + data.len().next_multiple_of(2), 0);
    out.extend((tags.len() as u16).to_le_bytes());
    for (tag, value) in tags {
        out.extend(tag.to_le_bytes());
        // The decoder reads extra samples only as short numbers.
        out.extend(if tag == 338 { 3u16 } else { 4 }.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(value.to_le_bytes());
    }
    out.extend([0; 4]);
    out
}

/// Creates one file of every input format, with 24×16 pixels.
pub(crate) fn every_format() -> Vec<(&'static str, Vec<u8>)> {
    let color = picture(24, 16, Channels::Rgb);
    let clear = picture(24, 16, Channels::Rgba);
    let mut bitmap = Vec::new();
    for row in color.samples().chunks_exact(72).rev() {
        bitmap.extend(row.chunks_exact(3).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]]));
    }
    let gray = picture(24, 16, Channels::Gray);
    vec![
        ("png", encoded(&clear, ImageFormat::Png)),
        ("jpeg", encoded(&color, ImageFormat::Jpeg)),
        ("webp", encoded(&clear, ImageFormat::Webp)),
        ("gif", encoded(&color, ImageFormat::Gif)),
        ("bmp", bmp((24, 16), 24, 0, &[], &bitmap)),
        ("tiff", tiff(&[(256, 24), (257, 16), (258, 8), (259, 1), (262, 1), (277, 1)], gray.samples())),
    ]
}

fn xyz(values: [f64; 3]) -> Vec<u8> {
    let numbers = values.map(|value| ((value * 65_536.0).round() as i32).to_be_bytes());
    [b"XYZ \0\0\0\0", numbers.as_flattened()].concat()
}

/// Creates an ICC profile.
fn profile(space: &[u8; 4], tags: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut header = vec![0; 128];
    header[8] = 2;
    header[12..24].copy_from_slice(&[b"mntr", &space[..], b"XYZ "].concat());
    header[36..40].copy_from_slice(b"acsp");
    header[68..80].copy_from_slice(&xyz([0.9642, 1.0, 0.8249])[8..]);
    let mut table = (tags.len() as u32).to_be_bytes().to_vec();
    let (mut data, start) = (Vec::new(), 128 + 4 + 12 * tags.len());
    for (name, value) in tags {
        let place = [(start + data.len()) as u32, value.len() as u32].map(u32::to_be_bytes);
        table.extend([&name[..], place.as_flattened()].concat());
        data.extend(value);
    }
    let mut profile = [header, table, data].concat();
    let size = (profile.len() as u32).to_be_bytes();
    profile[..4].copy_from_slice(&size);
    profile
}

/// A profile whose red is the green of sRGB, whose green is its blue, and whose blue is its red.
pub(crate) fn swapped_profile() -> Vec<u8> {
    let curve = b"curv\0\0\0\0\0\0\0\x01\x02\x33\0\0".to_vec();
    let (red, green, blue) = ([0.4361, 0.2225, 0.0139], [0.3851, 0.7169, 0.0971], [0.1431, 0.0606, 0.7139]);
    let colors =
        [(b"rXYZ", xyz(green)), (b"gXYZ", xyz(blue)), (b"bXYZ", xyz(red)), (b"wtpt", xyz([0.9642, 1.0, 0.8249]))];
    let curves = [b"rTRC", b"gTRC", b"bTRC"].map(|name| (name, curve.clone()));
    profile(b"RGB ", &[&colors[..], &curves].concat())
}

/// A profile of grey values that are proportional to the light.
pub(crate) fn grey_profile() -> Vec<u8> {
    let linear = b"curv\0\0\0\0\0\0\0\x01\x01\0\0\0".to_vec();
    profile(b"GRAY", &[(b"kTRC", linear), (b"wtpt", xyz([0.9642, 1.0, 0.8249]))])
}
