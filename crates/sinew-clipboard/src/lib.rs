//! The desktop's clipboard: text both ways, pictures out of it.
//!
//! On Linux it is the X11 selection `CLIPBOARD`, spoken with limits on every wait: a server or an owner that is
//! silent, dies or sends without end gives an error. A Wayland desktop is served through its Xwayland; one without
//! X11 is not. On macOS and Windows it is what the library `arboard` knows (not yet compiled or run).

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

/// How long the other side may be silent by default.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// More than this is not read: 256 MiB.
pub const LIMIT: usize = 256 * 1024 * 1024;

/// Where the clipboard is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipboardOptions {
    /// The X11 display, the value of `DISPLAY`. `None` or empty: there is none. Used on Linux alone.
    pub display: Option<String>,
    /// How long the other side may be silent. Default [`PATIENCE`].
    pub patience: Duration,
}

impl Default for ClipboardOptions {
    fn default() -> ClipboardOptions {
        ClipboardOptions { display: None, patience: PATIENCE }
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
    /// No server behind the display, a silent or broken one, an owner that does not answer, more than [`LIMIT`].
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
