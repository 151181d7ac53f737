//! The clipboard of the desktop: reads and writes text, reads images.
//!
//! ```no_run
//! use sinew_clipboard::{Clipboard, ClipboardOptions};
//!
//! # fn main() -> sinew_base::Result<()> {
//! let display = Some(":0".to_string());
//! let clipboard = Clipboard::new(ClipboardOptions { display, ..ClipboardOptions::default() });
//! clipboard.write_text("copied")?;
//! assert_eq!(clipboard.read_text()?.as_deref(), Some("copied"));
//! # Ok(())
//! # }
//! ```
//!
//! On Linux this is the X11 selection `CLIPBOARD`, with limits on every wait: if the X server or the owner of the
//! selection is silent, dies or sends endless data, the call fails after [`ClipboardOptions::timeout`], and more than
//! [`MAX_BYTES`] is rejected. A Wayland desktop is supported through its Xwayland, but not without X11. macOS and
//! Windows use the library `arboard` (not yet compiled or run).

#[cfg(not(target_os = "linux"))]
mod desktop;
#[cfg(target_os = "linux")]
mod x11;

use std::time::Duration;

#[cfg(not(target_os = "linux"))]
use desktop as system;
use sinew_base::Result;
#[cfg(target_os = "linux")]
use x11 as system;

/// The default of [`ClipboardOptions::timeout`]: 3 seconds.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3);

/// The maximum amount of data that is read: 256 MiB.
pub const MAX_BYTES: usize = 256 * 1024 * 1024;

/// The location of the clipboard and the time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipboardOptions {
    /// The X11 display, the value of `DISPLAY`. `None` or empty means that there is no display. Only used on Linux.
    pub display: Option<String>,
    /// The maximum silence of the other side before a call fails. Default [`DEFAULT_TIMEOUT`].
    pub timeout: Duration,
}

impl Default for ClipboardOptions {
    fn default() -> ClipboardOptions {
        ClipboardOptions { display: None, timeout: DEFAULT_TIMEOUT }
    }
}

/// A clipboard. On Linux it offers the written text as long as it lives and no other program writes: the desktop keeps
/// no copy.
#[derive(Debug)]
pub struct Clipboard {
    inner: system::Clipboard,
}

impl Clipboard {
    /// Creates a clipboard. Opens no connection yet.
    #[must_use]
    pub fn new(options: ClipboardOptions) -> Clipboard {
        Clipboard { inner: system::Clipboard::new(options) }
    }

    /// Returns the text in the clipboard; `None` if there is no text or no display. Blocks.
    ///
    /// # Errors
    /// Returns an error if no server answers at the display, if the server is silent or faulty, if the owner does not
    /// answer, or if there are more than [`MAX_BYTES`].
    pub fn read_text(&self) -> Result<Option<String>> {
        self.inner.read_text()
    }

    /// Returns the image in the clipboard as PNG, converted from TIFF, BMP, WebP, JPEG or GIF if necessary; `None` without
    /// an image or a display. Blocks.
    ///
    /// # Errors
    /// Returns the errors of [`Clipboard::read_text`], and an error if the image is invalid.
    pub fn read_image(&self) -> Result<Option<Vec<u8>>> {
        self.inner.read_image()
    }

    /// Writes text to the clipboard. Blocks until the desktop has accepted it.
    ///
    /// # Errors
    /// Returns `ERR_UNSUPPORTED` without a display, and an error if no server answers there or if it is silent or
    /// faulty.
    pub fn write_text(&self, text: &str) -> Result<()> {
        self.inner.write_text(text)
    }
}
