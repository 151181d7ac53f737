//! The X11 selection `CLIPBOARD`.

mod connection;
mod read;
mod serve;

use parking_lot::Mutex;

use sinew_base::{Error, ErrorCode, Result};

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
        let old = u32::from(AtomEnum::STRING);
        // Some owners send the format they have, regardless of the request.
        for target in [connection.atoms.UTF8_STRING, old] {
            match read::selection(&connection, target)? {
                Some(data) if data.kind == connection.atoms.UTF8_STRING => {
                    return Ok(Some(String::from_utf8_lossy(&data.bytes).into_owned()));
                }
                // Latin-1, whose bytes are the first characters of Unicode.
                Some(data) if data.kind == old => return Ok(Some(data.bytes.into_iter().map(char::from).collect())),
                _ => {}
            }
        }
        Ok(None)
    }

    pub(crate) fn read_image(&self) -> Result<Option<Vec<u8>>> {
        let Some(display) = self.display() else { return Ok(None) };
        let connection = Connection::open(display, self.options.timeout)?;
        let image = read::selection(&connection, connection.atoms.PNG)?;
        match image.filter(|data| data.kind == connection.atoms.PNG) {
            Some(data) if !data.bytes.starts_with(b"\x89PNG\r\n\x1a\n") => {
                Err(Error::new(ErrorCode::InvalidData, "clipboard: what was offered as image/png is none"))
            }
            image => Ok(image.map(|data| data.bytes)),
        }
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
