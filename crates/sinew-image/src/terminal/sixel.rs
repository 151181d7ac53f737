//! Sixel: each character is a column of six pixels, one colour at a time.

use sinew_base::{CancelTicker, CancelToken, Result};

use crate::Picture;

/// The maximum number of colours of a Sixel image, which every terminal with Sixel supports.
const COLORS: usize = 256;

/// Encodes the image as Sixel at the cursor, starting with the palette. Pixels that are mostly transparent are skipped.
/// Up to 256 colours are exact; more are mapped to a palette of 216 evenly distributed ones with ordered dithering.
/// Runs in time linear in the pixels; checks `cancel` in every band.
///
/// # Errors
/// Returns an error if the call is cancelled.
pub fn sixel(picture: &Picture, cancel: &CancelToken) -> Result<String> {
    let pixels = picture.to_srgb().to_rgba();
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (palette, indices) = index(&pixels, width, cancel)?;
    // P2=1: skipped pixels are not changed.
    let mut out = format!("\x1bP0;1q\"1;1;{width};{height}");
    for (number, color) in palette.iter().enumerate() {
        let [r, g, b] = color.map(|part| (u32::from(part) * 100 + 127) / 255);
        out += &format!("#{number};2;{r};{g};{b}");
    }
    let mut band = Band::new(width, palette.len());
    for rows in indices.chunks(width * 6) {
        cancel.check()?;
        band.write(rows, &mut out);
    }
    out += "\x1b\\";
    Ok(out)
}

/// The index of a skipped pixel.
const NONE: u16 = u16::MAX;

/// A palette, and the palette index of every pixel.
type IndexedImage = (Vec<[u8; 3]>, Vec<u16>);

fn index(pixels: &[u8], width: usize, cancel: &CancelToken) -> Result<IndexedImage> {
    if let Some(exact) = exact(pixels, cancel)? {
        return Ok(exact);
    }
    let palette = (0..216u8).map(|n| [n / 36, n / 6 % 6, n % 6].map(|step| step * 51)).collect();
    let mut ticker = CancelTicker::new(cancel);
    let mut indices = Vec::with_capacity(pixels.len() / 4);
    for (at, &[r, g, b, a]) in pixels.as_chunks::<4>().0.iter().enumerate() {
        if at % width == 0 {
            ticker.step()?;
        }
        // The pattern decides between two levels, which are 51 apart.
        let threshold = BAYER[at / width % 4][at % width % 4];
        let step = |part: u8| (u16::from(part) * 16 + threshold * 51) / (51 * 16);
        indices.push(if a < 128 { NONE } else { step(r) * 36 + step(g) * 6 + step(b) });
    }
    Ok((palette, indices))
}

const BAYER: [[u16; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];

/// Returns the exact colours; `None` if there are too many.
fn exact(pixels: &[u8], cancel: &CancelToken) -> Result<Option<IndexedImage>> {
    let mut palette = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    let mut indices = Vec::with_capacity(pixels.len() / 4);
    let mut last = ([0; 3], NONE);
    let mut ticker = CancelTicker::new(cancel);
    for &[r, g, b, a] in pixels.as_chunks::<4>().0 {
        ticker.step()?;
        let color = [r, g, b];
        if a < 128 {
            indices.push(NONE);
            continue;
        }
        if last.1 == NONE || last.0 != color {
            let next = palette.len();
            let number = *numbers.entry(color).or_insert_with(|| {
                palette.push(color);
                // At most 257 colours are counted.
                next as u16
            });
            if palette.len() > COLORS {
                return Ok(None);
            }
            last = (color, number);
        }
        indices.push(last.1);
    }
    Ok(Some((palette, indices)))
}

/// Six rows, separated by colour. The memory is reused for each band.
struct Band {
    width: usize,
    /// The six-bit columns of every used colour; the position in `order` is its index here.
    columns: Vec<Vec<u8>>,
    /// The index in `columns` of each colour of this band.
    place: Vec<Option<usize>>,
    order: Vec<u16>,
}

impl Band {
    fn new(width: usize, colors: usize) -> Band {
        Band { width, columns: Vec::new(), place: vec![None; colors], order: Vec::new() }
    }

    fn write(&mut self, rows: &[u16], out: &mut String) {
        for number in self.order.drain(..) {
            self.place[usize::from(number)] = None;
        }
        for (y, row) in rows.chunks(self.width).enumerate() {
            for (x, &number) in row.iter().enumerate() {
                if number == NONE {
                    continue;
                }
                let place = match self.place[usize::from(number)] {
                    Some(place) => place,
                    None => {
                        let place = self.order.len();
                        self.order.push(number);
                        self.place[usize::from(number)] = Some(place);
                        if self.columns.len() == place {
                            self.columns.push(Vec::new());
                        }
                        self.columns[place].clear();
                        place
                    }
                };
                // A colour is written up to its last pixel: later columns are omitted.
                let columns = &mut self.columns[place];
                if columns.len() <= x {
                    columns.resize(x + 1, 0);
                }
                columns[x] |= 1 << y;
            }
        }
        for (place, number) in self.order.iter().enumerate() {
            if place > 0 {
                out.push('$');
            }
            *out += &format!("#{number}");
            runs(&self.columns[place], out);
        }
        out.push('-');
    }
}

/// Writes the columns as characters, with runs of four and more as a count.
fn runs(columns: &[u8], out: &mut String) {
    for run in columns.chunk_by(|a, b| a == b) {
        let character = char::from(63 + run[0]);
        if run.len() > 3 {
            *out += &format!("!{}{character}", run.len());
        } else {
            out.extend(std::iter::repeat_n(character, run.len()));
        }
    }
}
