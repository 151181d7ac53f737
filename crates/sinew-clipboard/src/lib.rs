//! The desktop's clipboard: text both ways, pictures out of it.
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
//! On Linux this is the X11 selection `CLIPBOARD`, with limits on every wait: a server or an owner that is silent, dies or
//! sends without end gives an error after [`ClipboardOptions::timeout`], and more than [`MAX_BYTES`] is refused. A Wayland
//! desktop is served through its Xwayland; one without X11 is not. On macOS and Windows the library `arboard` does the work
//! (not yet compiled or run).

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

/// More than this is not read: 256 MiB.
pub const MAX_BYTES: usize = 256 * 1024 * 1024;

/// The address of the clipboard and the time that it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipboardOptions {
    /// The X11 display, the value of `DISPLAY`. `None` or empty: there is none. Used on Linux alone.
    pub display: Option<String>,
    /// The longest silence of the other side before a call fails. Default [`DEFAULT_TIMEOUT`].
    pub timeout: Duration,
}

impl Default for ClipboardOptions {
    fn default() -> ClipboardOptions {
        ClipboardOptions { display: None, timeout: DEFAULT_TIMEOUT }
    }
}

/// A clipboard. On Linux it offers what was written for as long as it lives and nobody else writes: the desktop
/// keeps no copy of its own.
#[derive(Debug)]
pub struct Clipboard {
    inner: system::Clipboard,
}

impl Clipboard {
    /// Nothing is opened yet.
    #[must_use]
    pub fn new(options: ClipboardOptions) -> Clipboard {
        Clipboard { inner: system::Clipboard::new(options) }
    }

    /// The text in the clipboard; `None` where there is no text or no display. Blocks.
    ///
    /// # Errors
    /// No server behind the display, a silent or broken one, an owner that does not answer, more than [`MAX_BYTES`].
    pub fn read_text(&self) -> Result<Option<String>> {
        self.inner.read_text()
    }

    /// The picture in the clipboard as PNG; `None` where there is none or no display. Blocks.
    ///
    /// # Errors
    /// As [`Clipboard::read_text`], and a picture that is not what it says.
    pub fn read_image(&self) -> Result<Option<Vec<u8>>> {
        self.inner.read_image()
    }

    /// Puts text into the clipboard. Blocks until the desktop knows.
    ///
    /// # Errors
    /// `ERR_UNSUPPORTED` without a display; no server behind it, a silent or broken one.
    pub fn write_text(&self, text: &str) -> Result<()> {
        self.inner.write_text(text)
    }
}
