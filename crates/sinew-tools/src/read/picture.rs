//! Images, scaled down to the limits of providers.

use std::fs::File;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sinew::base::CancelToken;
use sinew::image::{FitOptions, FitResult, SourceFormat, fit_image, probe};
use sinew_llm::message::{Block, ImageBlock};
use sinew_session::files::size_text;

use crate::Host;
use crate::tool::{ToolError, ToolOutput};

/// Larger files are not opened.
const LARGEST: u64 = 20 << 20;

/// Returns the type of the image that begins with these bytes; `None` if it is not an image.
pub(super) fn mime_type(head: &[u8]) -> Option<&'static str> {
    SourceFormat::of(head).map(SourceFormat::mime_type)
}

/// Returns the image for the model, or a text with the reason why it is missing.
pub(super) fn read(
    host: &Host,
    file: &File,
    name: &str,
    mime_type: &str,
    size: u64,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let settings = host.options.settings.images;
    if settings.block_images {
        let size = size_text(size);
        return Ok(ToolOutput::text(format!("Image file: {name} ({size}, {mime_type}). Images are disabled.")));
    }
    if size > LARGEST {
        let size = size_text(size);
        return Ok(ToolOutput::text(format!(
            "Image file: {name} ({size}, {mime_type}). Not shown: larger than 20 MB."
        )));
    }
    let failed = |error: std::io::Error| ToolError::Failed(format!("Cannot read {name}: {error}"));
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    block(&bytes, settings.auto_resize, cancel).map(|(text, block)| ToolOutput {
        content: std::iter::once(Block::text(format!("Read image file {text}"))).chain(block).collect(),
        ..ToolOutput::default()
    })
}

/// Returns a description of the image, and the image; if the image is `None`, the description contains the reason.
///
/// # Errors
/// Returns an error if `cancel` was set.
pub fn block(bytes: &[u8], resize: bool, cancel: &CancelToken) -> Result<(String, Option<Block>), ToolError> {
    let made = probe(bytes).and_then(|facts| {
        let before = facts.upright_size();
        if resize {
            return fit_image(bytes, &FitOptions::default(), cancel).map(|fitted| (before, fitted));
        }
        let mime_type = facts.format.mime_type();
        let fitted = FitResult { data: bytes.to_vec(), mime_type, width: before.0, height: before.1, resized: false };
        Ok((before, fitted))
    });
    let ((width, height), fitted) = match made {
        Ok(made) => made,
        Err(error) => match ToolError::from(error) {
            ToolError::Failed(reason) => return Ok((format!("that cannot be shown: {reason}"), None)),
            aborted => return Err(aborted),
        },
    };
    let mut text = format!("[{}] {}x{}", fitted.mime_type, fitted.width, fitted.height);
    if fitted.resized {
        text.push_str(&format!(" (from {width}x{height})"));
    }
    let data = STANDARD.encode(&fitted.data);
    Ok((text, Some(Block::Image(ImageBlock { data, mime_type: fitted.mime_type.to_string() }))))
}
