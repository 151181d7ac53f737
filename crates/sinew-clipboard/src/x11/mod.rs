//! The X11 selection `CLIPBOARD`.

mod connection;
mod read;
mod serve;

use parking_lot::Mutex;

use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::ClipboardOptions;
use connection::Connection;
use serve::Owner;
use x11rb::protocol::xproto::AtomEnum;

#[derive(Debug)]
pub(crate) struct Clipboard {
    options: ClipboardOptions,
    owner: Mutex<Option<Owner>>,
}

impl Clipboard {
    pub(crate) fn new(options: ClipboardOptions) -> Clipboard {
        Clipboard { options, owner: Mutex::new(None) }
    }

    pub(crate) fn read_text(&self) -> Result<Option<String>> {
        let Some(display) = self.display() else { return Ok(None) };
        let connection = Connection::open(display, self.options.timeout)?;
        let atoms = &connection.atoms;
        let old = u32::from(AtomEnum::STRING);
        // Some owners send the format they have, regardless of the request.
        for target in [atoms.UTF8_STRING, atoms.TEXT_UTF8, old, atoms.TEXT_PLAIN] {
            let Some(data) = read::selection(&connection, target)? else { continue };
            if data.kind == old {
                return Ok(Some(latin_1(data.bytes)));
            }
            if [atoms.UTF8_STRING, atoms.TEXT_UTF8].contains(&data.kind) {
                return Ok(Some(String::from_utf8_lossy(&data.bytes).into_owned()));
            }
            // The format does not name its encoding.
            if data.kind == atoms.TEXT_PLAIN {
                return Ok(Some(String::from_utf8(data.bytes).unwrap_or_else(|error| latin_1(error.into_bytes()))));
            }
        }
        Ok(None)
    }

    pub(crate) fn read_image(&self) -> Result<Option<Vec<u8>>> {
        let Some(display) = self.display() else { return Ok(None) };
        let connection = Connection::open(display, self.options.timeout)?;
        let Some((name, data)) = image(&connection)? else { return Ok(None) };
        if name == "image/png" {
            return match data.bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
                true => Ok(Some(data.bytes)),
                false => {
                    Err(Error::new(ErrorCode::InvalidData, "clipboard: the data offered as image/png is not a PNG"))
                }
            };
        }
        let never = CancelToken::never();
        let converted = sinew_image::decode(&data.bytes, &never)
            .and_then(|picture| picture.encode(sinew_image::ImageFormat::Png, 100, &never));
        converted.map(Some).map_err(|error| {
            let message = format!("clipboard: the data offered as {name} cannot be converted: {}", error.message());
            Error::new(error.code(), message)
        })
    }

    pub(crate) fn write_text(&self, text: &str) -> Result<()> {
        let Some(display) = self.display() else {
            return Err(Error::new(ErrorCode::Unsupported, "clipboard: there is no display; set DISPLAY"));
        };
        let connection = Connection::open(display, self.options.timeout)?;
        let owner = Owner::start(connection, text.as_bytes().to_vec())?;
        // The previous owner has lost the selection to this one; its thread ends here.
        *self.owner.lock() = Some(owner);
        Ok(())
    }

    fn display(&self) -> Option<&str> {
        self.options.display.as_deref().filter(|display| !display.is_empty())
    }
}

/// Returns the image in the clipboard and the name of its format. If the owner lists its formats, the first of ours that
/// it has; otherwise PNG. Formats without losses come first.
fn image(connection: &Connection) -> Result<Option<(&'static str, read::SelectionData)>> {
    let atoms = &connection.atoms;
    let formats = [
        (atoms.PNG, "image/png"),
        (atoms.TIFF, "image/tiff"),
        (atoms.BMP, "image/bmp"),
        (atoms.X_BMP, "image/x-bmp"),
        (atoms.X_MS_BMP, "image/x-MS-bmp"),
        (atoms.WEBP, "image/webp"),
        (atoms.JPEG, "image/jpeg"),
        (atoms.JPG, "image/jpg"),
        (atoms.GIF, "image/gif"),
    ];
    let offered = read::targets(connection)?;
    for (target, name) in formats {
        let is_offered = offered.as_ref().map_or(target == atoms.PNG, |offered| offered.contains(&target));
        if !is_offered {
            continue;
        }
        if let Some(data) = read::selection(connection, target)?.filter(|data| data.kind == target) {
            return Ok(Some((name, data)));
        }
    }
    Ok(None)
}

/// Decodes Latin-1, whose bytes are the first characters of Unicode.
fn latin_1(bytes: Vec<u8>) -> String {
    bytes.into_iter().map(char::from).collect()
}
