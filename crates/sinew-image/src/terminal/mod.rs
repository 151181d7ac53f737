//! Escape codes that show a picture in a terminal.
//!
//! | function | terminals | what is sent |
//! |---|---|---|
//! | [`kitty`] | Kitty, Ghostty, WezTerm, Konsole | the PNG file, base64 in chunks of 4096 |
//! | [`iterm2`], [`iterm2_row`] | iTerm2, WezTerm, VS Code | the file, base64 |
//! | [`placeholder`] | Kitty, Ghostty | the PNG file once, and cells of text where it is drawn |
//! | [`sixel`] | xterm, foot, Windows Terminal, mlterm | up to 256 colours, in bands of six rows |

pub mod placeholder;
mod sixel;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub use sixel::sixel;

/// Base64 characters in one escape code of the Kitty protocol: the most that it allows.
const KITTY_CHUNK: usize = 4096;

/// The number of cells that a picture covers; `None` leaves it to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cells {
    /// Columns.
    pub columns: Option<u32>,
    /// Rows.
    pub rows: Option<u32>,
}

/// The Kitty graphics protocol: transmits a **PNG file** and shows it at the cursor, which stays where it is
/// when `cells` names the rows (the caller prints as many lines). `id` lets the picture be replaced or deleted
/// later. No answer is asked for. Linear.
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

/// Escape codes that carry base64 text, the keys in the first of them.
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
        // Base64 is ASCII: every position is a boundary.
        out += &text[start..text.len().min(start + KITTY_CHUNK)];
        out += "\x1b\\";
    }
    out
}

/// One row of cells of a picture for iTerm2 and WezTerm: a file that fills it. The cursor stays in the row. Linear.
#[must_use]
pub fn iterm2_row(file: &[u8], columns: usize) -> String {
    format!(
        "\x1b]1337;File=inline=1;size={};width={columns};height=1;preserveAspectRatio=0;doNotMoveCursor=1:{}\x1b\\",
        file.len(),
        STANDARD.encode(file)
    )
}

/// The inline pictures of iTerm2: any file that the terminal can decode. Without `cells` it is shown at its
/// own size; the shape is kept. Linear.
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
