//! The formats that owners of the clipboard offer, recognised by their names: media types in any spelling, and the names
//! of the X11 conventions.

/// How the bytes of a text are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Latin1,
    /// The name does not say: UTF-8 if the bytes are valid, otherwise Latin-1.
    Unknown,
}

/// Returns the encoding of a text format; `None` for other formats and for unsupported encodings.
pub(super) fn encoding(name: &str) -> Option<Encoding> {
    match name {
        "UTF8_STRING" => return Some(Encoding::Utf8),
        "STRING" => return Some(Encoding::Latin1),
        "TEXT" => return Some(Encoding::Unknown),
        _ => {}
    }
    let mut parts = name.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case("text/plain") {
        return None;
    }
    let charset = parts.find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    });
    match charset.as_deref() {
        Some("utf-8" | "utf8") => Some(Encoding::Utf8),
        Some("iso-8859-1" | "latin1") => Some(Encoding::Latin1),
        None | Some("" | "us-ascii" | "ascii") => Some(Encoding::Unknown),
        Some(_) => None,
    }
}

/// Media types of images without `image/`, in the order of preference: those without losses first.
const IMAGES: [&str; 17] = [
    "png",
    "x-png",
    "tiff",
    "tif",
    "x-tiff",
    "bmp",
    "x-bmp",
    "x-ms-bmp",
    "x-win-bitmap",
    "x-windows-bmp",
    "webp",
    "jpeg",
    "jpg",
    "pjpeg",
    "x-jpeg",
    "x-jpg",
    "gif",
];

/// Returns the rank of an image format, 0 for the best; `None` for other formats.
pub(super) fn image_rank(name: &str) -> Option<usize> {
    let name = name.split(';').next()?.trim().to_ascii_lowercase();
    let kind = name.strip_prefix("image/")?;
    IMAGES.iter().position(|image| *image == kind)
}
