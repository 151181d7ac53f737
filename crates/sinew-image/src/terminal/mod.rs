//! Escape codes that show an image in a terminal.
//!
//! | function | terminals | content |
//! |---|---|---|
//! | [`kitty`] | Kitty, Ghostty, WezTerm, Konsole | the PNG file, base64 in chunks of 4096 |
//! | [`iterm2`], [`iterm2_row`] | iTerm2, WezTerm, VS Code | the file, base64 |
//! | [`placeholder`] | Kitty, Ghostty | the PNG file once, and text cells where it is drawn |
//! | [`sixel`] | xterm, foot, Windows Terminal, mlterm | up to 256 colours, in bands of six rows |

pub mod placeholder;
mod sixel;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub use sixel::sixel;

/// The maximum number of base64 characters in one escape code of the Kitty protocol.
const KITTY_CHUNK: usize = 4096;

/// The number of cells that an image covers; `None` lets the terminal choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cells {
    /// The number of columns.
    pub columns: Option<u32>,
    /// The number of rows.
    pub rows: Option<u32>,
}

/// Sends a **PNG file** with the Kitty graphics protocol and shows it at the cursor, which does not move if `cells`
/// contains the rows (the caller prints that many lines). `id` allows replacing or deleting the image later. Requests
/// no answer. Runs in linear time.
#[must_use]
pub fn kitty(png: &[u8], cells: Cells, id: Option<u32>) -> String {
    let text = STANDARD.encode(png);
    let mut keys = "a=T,f=100,q=2".to_string();
    for (key, value) in [("c", cells.columns), ("r", cells.rows), ("i", id)] {
        if let Some(value) = value {
            keys += &format!(",{key}={value}");
        }
    }
    if cells.rows.is_some() {
        keys += ",C=1";
    }
    chunks(&keys, &text)
}

/// Splits base64 text into escape codes, with the keys in the first of them.
fn chunks(keys: &str, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / KITTY_CHUNK * 16 + 64);
    let chunks = text.len().div_ceil(KITTY_CHUNK).max(1);
    for chunk in 0..chunks {
        let start = chunk * KITTY_CHUNK;
        let more = u8::from(chunk + 1 < chunks);
        out += "\x1b_G";
        if chunk == 0 {
            out += keys;
            out += ",";
        }
        out += if more == 1 { "m=1;" } else { "m=0;" };
        // Base64 is ASCII, so every position is a character boundary.
        out += &text[start..text.len().min(start + KITTY_CHUNK)];
        out += "\x1b\\";
    }
    out
}

/// Shows a file as one row of cells in iTerm2 and WezTerm. The cursor stays in the row. Runs in linear time.
#[must_use]
pub fn iterm2_row(file: &[u8], columns: usize) -> String {
    format!(
        "\x1b]1337;File=inline=1;size={};width={columns};height=1;preserveAspectRatio=0;doNotMoveCursor=1:{}\x1b\\",
        file.len(),
        STANDARD.encode(file)
    )
}

/// Shows an inline image in iTerm2: any file that the terminal can decode. Without `cells` it is shown at its own size;
/// the aspect ratio is kept. Runs in linear time.
#[must_use]
pub fn iterm2(file: &[u8], cells: Cells) -> String {
    let side = |value: Option<u32>| value.map_or_else(|| "auto".to_string(), |cells| cells.to_string());
    format!(
        "\x1b]1337;File=inline=1;size={};width={};height={};preserveAspectRatio=1:{}\x07",
        file.len(),
        side(cells.columns),
        side(cells.rows),
        STANDARD.encode(file)
    )
}
