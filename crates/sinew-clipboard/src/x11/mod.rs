//! The X11 selection `CLIPBOARD`.

mod connection;
mod formats;
mod read;
mod serve;

use parking_lot::Mutex;

use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_image::{ImageFormat, SourceFormat};

use crate::ClipboardOptions;
use connection::Connection;
use formats::Encoding;
use serve::Owner;
use x11rb::protocol::xproto::{Atom, AtomEnum};

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
        // Some owners send the format they have, regardless of the request.
        for target in text_targets(&connection)? {
            let Some(data) = read::selection(&connection, target)? else { continue };
            let name = read::names(&connection, &[data.kind])?.pop();
            let Some(encoding) = name.and_then(|(_, name)| formats::encoding(&name)) else { continue };
            return Ok(Some(match encoding {
                Encoding::Utf8 => String::from_utf8_lossy(&data.bytes).into_owned(),
                Encoding::Latin1 => latin_1(data.bytes),
                Encoding::Unknown => String::from_utf8(data.bytes).unwrap_or_else(|error| latin_1(error.into_bytes())),
            }));
        }
        Ok(None)
    }

    pub(crate) fn read_image(&self) -> Result<Option<Vec<u8>>> {
        let Some(display) = self.display() else { return Ok(None) };
        let connection = Connection::open(display, self.options.timeout)?;
        let Some((name, bytes)) = image(&connection)? else { return Ok(None) };
        // Some owners offer every image as PNG.
        if SourceFormat::of(&bytes) == Some(SourceFormat::Png) {
            return Ok(Some(bytes));
        }
        let never = CancelToken::never();
        let converted =
            sinew_image::decode(&bytes, &never).and_then(|picture| picture.encode(ImageFormat::Png, 100, &never));
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

/// Returns the formats in which to request a text: of those that the owner lists, the ones that name their encoding
/// first, then the usual ones, for an owner with an incomplete list.
fn text_targets(connection: &Connection) -> Result<Vec<Atom>> {
    let atoms = &connection.atoms;
    let offered = read::targets(connection)?.unwrap_or_default();
    let encoded_as = |encoding| {
        let fits = move |(_, name): &&(Atom, String)| formats::encoding(name) == Some(encoding);
        offered.iter().filter(fits).map(|(atom, _)| *atom)
    };
    let listed = encoded_as(Encoding::Utf8).chain(encoded_as(Encoding::Unknown)).chain(encoded_as(Encoding::Latin1));
    let usual = [atoms.UTF8_STRING, atoms.TEXT_UTF8, AtomEnum::STRING.into(), atoms.TEXT_PLAIN, atoms.TEXT];
    let mut targets: Vec<Atom> = Vec::new();
    for target in listed.chain(usual) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// Returns the image in the clipboard and the name of its format. If the owner lists its formats, the best of ours that
/// it has; otherwise PNG.
fn image(connection: &Connection) -> Result<Option<(String, Vec<u8>)>> {
    let offered = read::targets(connection)?.unwrap_or_else(|| vec![(connection.atoms.PNG, "image/png".to_string())]);
    let ranked = offered.into_iter().filter_map(|(atom, name)| Some((formats::image_rank(&name)?, atom, name)));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort();
    for (_, target, name) in ranked {
        if let Some(data) = read::selection(connection, target)?.filter(|data| data.kind == target) {
            return Ok(Some((name, data.bytes)));
        }
    }
    Ok(None)
}

/// Decodes Latin-1, whose bytes are the first characters of Unicode.
fn latin_1(bytes: Vec<u8>) -> String {
    bytes.into_iter().map(char::from).collect()
}
