//! macOS and Windows. Not yet compiled or run.

use arboard::Error as Failure;
use sinew_base::{Error, ErrorCode, Result};

use crate::ClipboardOptions;

#[derive(Debug)]
pub(crate) struct Clipboard;

impl Clipboard {
    pub(crate) fn new(_: ClipboardOptions) -> Clipboard {
        Clipboard
    }

    pub(crate) fn read_text(&self) -> Result<Option<String>> {
        there(open()?.get_text())
    }

    pub(crate) fn read_image(&self) -> Result<Option<Vec<u8>>> {
        let Some(image) = there(open()?.get_image())? else { return Ok(None) };
        let (width, height) = (image.width as u32, image.height as u32);
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&image.bytes));
        written.map_err(|error| failed(&error))?;
        Ok(Some(bytes))
    }

    pub(crate) fn write_text(&self, text: &str) -> Result<()> {
        open()?.set_text(text).map_err(|error| failed(&error))
    }
}

fn open() -> Result<arboard::Clipboard> {
    arboard::Clipboard::new().map_err(|error| failed(&error))
}

fn there<T>(answer: std::result::Result<T, Failure>) -> Result<Option<T>> {
    match answer {
        Ok(content) => Ok(Some(content)),
        Err(Failure::ContentNotAvailable) => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorCode::Io, format!("clipboard: {error}"))
}
