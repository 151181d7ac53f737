//! Images embedded in text (the Kitty graphics protocol, "Unicode placeholders"; Kitty 0.28, Ghostty).
//!
//! The terminal stores the file with an id and draws it over cells with a placeholder character whose foreground colour
//! is that id. Such rows scroll, wrap and are erased like text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::chunks;

/// The character of each cell.
const PLACEHOLDER: char = '\u{10EEEE}';
/// Combining characters that encode row and column numbers from 0, in the order of the protocol.
const MARKS: [char; MAX_ROWS] = [
    '\u{305}', '\u{30D}', '\u{30E}', '\u{310}', '\u{312}', '\u{33D}', '\u{33E}', '\u{33F}', '\u{346}', '\u{34A}',
    '\u{34B}', '\u{34C}', '\u{350}', '\u{351}', '\u{352}', '\u{357}', '\u{35B}', '\u{363}', '\u{364}', '\u{365}',
];

/// The maximum number of rows of one image.
pub const MAX_ROWS: usize = 20;
/// The exclusive upper limit of image ids, because a colour has 24 bits.
pub const MAX_ID: u32 = 1 << 24;

/// Sends a **PNG file** with an id to the terminal; nothing is shown yet, and no answer is requested. Runs in linear
/// time.
#[must_use]
pub fn transmit(png: &[u8], id: u32) -> String {
    chunks(&format!("a=t,f=100,q=2,i={id}"), &STANDARD.encode(png))
}

/// Scales the image with this id to a number of cells, replacing an earlier call for it.
#[must_use]
pub fn place(id: u32, columns: usize, rows: usize) -> String {
    format!("\x1b_Ga=p,U=1,q=2,i={id},p=1,c={columns},r={rows}\x1b\\")
}

/// Deletes the image with this id from the terminal: its cells become blank.
#[must_use]
pub fn delete(id: u32) -> String {
    format!("\x1b_Ga=d,d=I,q=2,i={id}\x1b\\")
}

/// Returns the text of one row of an image: `columns` cells, to be written in the colour [`color`]. Rows from
/// [`MAX_ROWS`] on are empty.
#[must_use]
pub fn row(row: usize, columns: usize) -> String {
    let mut text = String::with_capacity(columns * PLACEHOLDER.len_utf8() + 4);
    let Some(mark) = MARKS.get(row) else { return text };
    for column in 0..columns {
        text.push(PLACEHOLDER);
        if column == 0 {
            // The terminal numbers the cells after the first one automatically.
            text.extend([*mark, MARKS[0]]);
        }
    }
    text
}

/// Returns the foreground colour of an image's cells: red, green, blue.
#[must_use]
pub fn color(id: u32) -> [u8; 3] {
    let [_, red, green, blue] = id.to_be_bytes();
    [red, green, blue]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_numbers_its_first_cell() {
        assert_eq!(row(0, 2), "\u{10EEEE}\u{305}\u{305}\u{10EEEE}");
        assert_eq!(row(3, 1), "\u{10EEEE}\u{310}\u{305}");
        assert_eq!((row(20, 5).as_str(), row(1, 0).as_str()), ("", ""));
        assert_eq!(color(0x01_02_03), [1, 2, 3]);
    }

    #[test]
    fn a_file_is_sent_in_chunks_with_its_id() {
        let sent = transmit(&[7; 4_000], 9);
        let parts: Vec<&str> = sent.split("\x1b\\").collect();
        assert!(parts[0].starts_with("\x1b_Ga=t,f=100,q=2,i=9,m=1;") && parts[1].starts_with("\x1b_Gm=0;"), "{sent}");
        let text: String = parts.iter().filter_map(|part| Some(part.split_once(';')?.1)).collect();
        assert_eq!(STANDARD.decode(text).unwrap(), [7; 4_000]);
        assert_eq!(place(9, 4, 2), "\x1b_Ga=p,U=1,q=2,i=9,p=1,c=4,r=2\x1b\\");
        assert_eq!(delete(9), "\x1b_Ga=d,d=I,q=2,i=9\x1b\\");
    }
}
