//! Images in the conversation: a line about each, and the image below it in terminals that support images as text or in
//! cells.
//!
//! Kitty and Ghostty store an image under an id and draw it where placeholder cells with that id are. iTerm2 and
//! WezTerm store it in the cells over which it was drawn: each row is then a separate image, so that rows can be
//! scrolled, covered and painted individually. Sixel is not supported: terminals disagree about the row of the cursor
//! after an image, and those that move to the next row in the last row of the screen scroll without informing the
//! program.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sinew::base::CancelToken;
use sinew::image::terminal::{iterm2_row, placeholder};
use sinew::image::{ImageFormat, Picture, SamplingFilter, SourceFormat, decode, probe};
use sinew_llm::message::ImageBlock;
use sinew_tui::{Block, Color, Layout, Line, RenderedRows, Row, Size, Style};

use super::blocks::DIM;

/// The maximum number of images in the terminal, whatever the settings say, because all of them are deleted at the end.
pub(super) const PICTURES: usize = 100;
/// The number of base64 characters that are searched for the size of an image.
const HEAD: usize = 64 << 10;
/// The number of rows of the screen that an image leaves free.
const FREE: usize = 6;

/// How a terminal shows images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawing {
    /// With placeholder cells of an id.
    Cells,
    /// Row by row, over the cells that it covers.
    Rows,
}

impl Drawing {
    /// Returns the method for a terminal that reports this name; `None` if it is not known to support images.
    pub(super) fn by_name(name: &str) -> Option<Drawing> {
        let name = name.to_ascii_lowercase();
        // The name may have a version: `kitty(0.42.1)`, `ghostty 1.2.0`.
        let rest = |known: &str| {
            let rest = name.strip_prefix(known);
            rest.filter(|rest| !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric()))
        };
        match () {
            () if rest("kitty").or_else(|| rest("ghostty")).is_some() => Some(Drawing::Cells),
            () if rest("iterm2").is_some() => Some(Drawing::Rows),
            // Its versions are dates. Older ones move to the next row after an image.
            () if rest("wezterm").is_some_and(|rest| rest.trim() >= "20220319") => Some(Drawing::Rows),
            () => None,
        }
    }

    /// Returns the method for the terminal around tmux, according to the variables of the shell that started tmux.
    pub(super) fn around_tmux<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<Drawing> {
        // Images over cells would be drawn at the position where tmux left the terminal's cursor, and tmux would not
        // track them.
        let is_known = ["KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR"].iter().any(|name| variable(name).is_some());
        is_known.then_some(Drawing::Cells)
    }
}

/// Wraps each sequence so that tmux forwards it: every ESC in it is doubled.
pub(super) fn passed(sequences: &str) -> String {
    let parts = sequences.split_inclusive("\x1b\\").filter(|part| !part.is_empty());
    parts.map(|part| format!("\x1bPtmux;{}\x1b\\", part.replace('\x1b', "\x1b\x1b"))).collect()
}

/// The maximum space of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Space {
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// The size of a cell in pixels.
    pub(super) cell: (u32, u32),
}

impl Space {
    /// Returns the space on a screen of this size.
    pub(super) fn on(size: Size, cell: (u32, u32), drawing: Drawing) -> Space {
        let rows = size.rows.saturating_sub(FREE).clamp(1, placeholder::MAX_ROWS);
        // Drawn rows must leave the last column free.
        let free = usize::from(drawing == Drawing::Rows);
        Space { columns: size.columns.saturating_sub(free).max(1), rows, cell }
    }
}

/// The cells of an image that the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PicturePlacement {
    pub(super) id: u32,
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// An image in the form for the terminal: a PNG file, or the sequences of its rows.
#[derive(Debug)]
pub(super) struct PreparedPicture {
    pub(super) png: Vec<u8>,
    pub(super) placed: PicturePlacement,
    pub(super) rows: Vec<Arc<str>>,
}

/// Describes an image: `[image 800×600 image/png]`.
pub(super) fn caption(image: &ImageBlock) -> String {
    let ImageBlock { data, mime_type } = image;
    // Only complete groups of base64 can be decoded.
    let head = data.get(..data.len().min(HEAD) / 4 * 4).unwrap_or_default();
    let size = STANDARD.decode(head).ok().and_then(|bytes| probe(&bytes).ok()).map(|facts| facts.upright_size());
    match size {
        Some((width, height)) => format!("[image {width}×{height} {mime_type}]"),
        None => format!("[image {mime_type}]"),
    }
}

/// Prepares an image for the terminal: scales it down to its cells, and encodes it as one PNG file, or as one for each
/// row. Equal images have equal ids. Takes between milliseconds and a second.
///
/// # Errors
/// Returns an error if the image cannot be decoded.
pub(super) fn prepare(image: &ImageBlock, space: Space, drawing: Drawing) -> Result<PreparedPicture, String> {
    let never = CancelToken::never();
    let bytes = STANDARD.decode(&image.data).map_err(|error| error.to_string())?;
    let picture = decode(&bytes, &never).map_err(|error| error.to_string())?;
    let (cell_width, cell_height) = (space.cell.0.max(1), space.cell.1.max(1));
    let most = |cells: usize, pixels: u32| u32::try_from(cells).unwrap_or(u32::MAX).saturating_mul(pixels).max(1);
    let (width, height) = (picture.width(), picture.height());
    let (most_width, most_height) = (most(space.columns, cell_width), most(space.rows, cell_height));
    let scale = f64::min(f64::from(most_width) / f64::from(width), f64::from(most_height) / f64::from(height)).min(1.0);
    let scaled = |side: u32, most: u32| ((f64::from(side) * scale).round() as u32).clamp(1, most);
    let (width, height) = (scaled(width, most_width), scaled(height, most_height));
    let (columns, rows) = (width.div_ceil(cell_width) as usize, height.div_ceil(cell_height) as usize);
    let is_as_it_is = scale >= 1.0 && SourceFormat::of(&bytes) == Some(SourceFormat::Png);
    let (png, drawn) = match drawing {
        Drawing::Cells if is_as_it_is => (bytes, Vec::new()),
        drawing => {
            // Not every terminal reads profiles.
            let small = picture.into_srgb().resize(width, height, SamplingFilter::Triangle, &never);
            let small = small.map_err(|error| error.to_string())?;
            match drawing {
                Drawing::Cells => {
                    let png = small.encode(ImageFormat::Png, 100, &never).map_err(|error| error.to_string())?;
                    (png, Vec::new())
                }
                Drawing::Rows => {
                    let size = (columns as u32 * cell_width, cell_height);
                    (Vec::new(), slices(&small, size, columns).map_err(|error| error.to_string())?)
                }
            }
        }
    };
    let mut hasher = DefaultHasher::new();
    image.data.hash(&mut hasher);
    // Zero is not a valid id.
    let id = 1 + u32::try_from(hasher.finish() % u64::from(placeholder::MAX_ID - 1)).unwrap_or_default();
    Ok(PreparedPicture { png, placed: PicturePlacement { id, columns, rows }, rows: drawn })
}

/// Splits an image into rows, each padded to this size with transparent pixels.
fn slices(picture: &Picture, (width, height): (u32, u32), columns: usize) -> sinew::base::Result<Vec<Arc<str>>> {
    let never = CancelToken::never();
    let slice = |top: u32| {
        let part = picture.crop(0, top, picture.width(), height.min(picture.height() - top))?;
        let whole = part.extend((0, 0), (width, height), [0; 4], &never)?;
        Ok(iterm2_row(&whole.encode(ImageFormat::Png, 100, &never)?, columns).into())
    };
    (0..picture.height()).step_by(height as usize).map(slice).collect()
}

/// A line about an image, and the image when the terminal has it.
pub(super) struct PictureBlock {
    caption: String,
    /// The image, until it is removed to be prepared.
    image: Option<ImageBlock>,
    placed: Option<PicturePlacement>,
    /// The sequences of its rows, if it is drawn row by row.
    rows: Vec<Arc<str>>,
    is_done: bool,
    version: u64,
}

impl PictureBlock {
    pub(super) fn new(caption: String, image: ImageBlock) -> PictureBlock {
        PictureBlock { caption, image: Some(image), placed: None, rows: Vec::new(), is_done: false, version: 0 }
    }

    /// Removes the image, to prepare it.
    pub(super) fn take_image(&mut self) -> Option<ImageBlock> {
        self.image.take()
    }

    /// Completes the block: shows the image if the terminal has it or can draw it with these sequences.
    pub(super) fn finish(&mut self, placed: Option<PicturePlacement>, rows: Vec<Arc<str>>) {
        (self.placed, self.rows, self.is_done) = (placed, rows, true);
        self.version += 1;
    }
}

impl Block for PictureBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, _restart: bool, out: &mut RenderedRows) {
        out.reopen();
        let mut caption = Line::styled(&self.caption, DIM).into_row(layout.width);
        caption.line = 1;
        out.extend([caption]);
        if let (Some(PicturePlacement { columns, .. }), false) = (self.placed, self.rows.is_empty()) {
            // On a narrower screen only the line is shown, because drawn rows cannot be cut.
            let rows = self.rows.iter().filter(|_| columns < layout.width);
            out.extend((2..).zip(rows).map(|(number, row)| Row::drawn(columns, number, Arc::clone(row))));
        } else if let Some(PicturePlacement { id, columns, rows }) = self.placed {
            let [red, green, blue] = placeholder::color(id);
            let style = Style::fg(Color::Rgb(red, green, blue));
            // On a narrower screen the right part is omitted.
            let columns = columns.min(layout.width);
            let row = |at: usize| Row::new(Line::styled(&placeholder::row(at, columns), style), 2 + at as u32);
            out.extend((0..rows).map(row));
        }
        if self.is_done {
            out.finish();
        }
    }

    fn plain(&self) -> String {
        self.caption.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sinew::image::{Channels, Picture};
    use sinew_tui::theme::Theme;
    use sinew_tui::{Screen, ScreenOptions};

    use super::*;

    fn image(width: u32, height: u32, format: ImageFormat) -> ImageBlock {
        let picture = Picture::new(width, height, Channels::Rgb, vec![90; (width * height * 3) as usize]).unwrap();
        let bytes = picture.encode(format, 80, &CancelToken::never()).unwrap();
        ImageBlock { data: STANDARD.encode(bytes), mime_type: format.mime_type().into() }
    }

    #[test]
    fn a_picture_fits_into_the_available_cells() {
        let space = Space { columns: 40, rows: 10, cell: (8, 16) };
        for (width, height, cells, pixels) in [
            (1, 1, (1, 1), (1, 1)),
            (17, 33, (3, 3), (17, 33)),
            (320, 160, (40, 10), (320, 160)),
            // Too wide, too high, both.
            (640, 16, (40, 1), (320, 8)),
            (8, 320, (1, 10), (4, 160)),
            (3_200, 3_200, (20, 10), (160, 160)),
            (9_000, 1, (40, 1), (320, 1)),
        ] {
            let PreparedPicture { png, placed, rows } =
                prepare(&image(width, height, ImageFormat::Png), space, Drawing::Cells).unwrap();
            assert_eq!((placed.columns, placed.rows), cells, "{width}×{height}");
            assert_eq!((probe(&png).unwrap().upright_size(), rows.len()), (pixels, 0), "{width}×{height}");
            // When drawn row by row, each row is padded.
            let PreparedPicture { rows, .. } =
                prepare(&image(width, height, ImageFormat::Png), space, Drawing::Rows).unwrap();
            assert_eq!(rows.len(), cells.1);
            for row in rows {
                let (options, data) = row.strip_suffix("\x1b\\").unwrap().split_once(':').unwrap();
                assert!(options.contains(&format!(";width={};height=1;", cells.0)), "{options}");
                let size = probe(&STANDARD.decode(data).unwrap()).unwrap().upright_size();
                assert_eq!(size, (cells.0 as u32 * 8, 16), "{width}×{height}");
            }
        }
        let jpeg = image(20, 20, ImageFormat::Jpeg);
        let prepared = prepare(&jpeg, space, Drawing::Cells).unwrap();
        assert_eq!(SourceFormat::of(&prepared.png), Some(SourceFormat::Png), "terminals accept no other format");
        assert_eq!(prepare(&jpeg, space, Drawing::Cells).unwrap().placed, prepared.placed, "the same number again");
        assert!((1..placeholder::MAX_ID).contains(&prepared.placed.id));
        assert!(
            prepare(&ImageBlock { data: "AAAA".into(), mime_type: "image/png".into() }, space, Drawing::Cells).is_err()
        );
    }

    #[test]
    fn a_caption_contains_size_and_type() {
        assert_eq!(caption(&image(30, 20, ImageFormat::Png)), "[image 30×20 image/png]");
        assert_eq!(caption(&ImageBlock { data: "?".into(), mime_type: "image/gif".into() }), "[image image/gif]");
    }

    #[test]
    fn pictures_need_a_terminal_that_stores_them_with_their_cells() {
        for (name, expect) in [
            ("kitty(0.42.1)", Some(Drawing::Cells)),
            ("ghostty 1.2.0", Some(Drawing::Cells)),
            ("Ghostty", Some(Drawing::Cells)),
            ("kittyhawk 1", None),
            ("WezTerm 20240203-110809-5046fc22", Some(Drawing::Rows)),
            ("WezTerm 20220319-142410-0fcdea07", Some(Drawing::Rows)),
            ("WezTerm 20220101-133340-7edc5b5a", None),
            ("tmux 3.5a", None),
            ("iTerm2 3.6.1", Some(Drawing::Rows)),
            ("xterm.js(6.0.0)", None),
            ("", None),
        ] {
            assert_eq!(Drawing::by_name(name), expect, "{name}");
        }
        let around = |name: &'static str| Drawing::around_tmux(move |asked| (asked == name).then_some("1"));
        assert_eq!(around("KITTY_WINDOW_ID"), Some(Drawing::Cells));
        assert_eq!(around("ITERM_SESSION_ID"), None);
        assert_eq!(
            passed("\x1b_Ga\x1b\\\x1b_Gb\x1b\\"),
            "\x1bPtmux;\x1b\x1b_Ga\x1b\x1b\\\x1b\\\x1bPtmux;\x1b\x1b_Gb\x1b\x1b\\\x1b\\"
        );
        assert_eq!(passed(""), "");
    }

    #[test]
    fn a_picture_is_text_of_its_colour_below_its_caption() {
        let mut screen = Screen::new(Size::new(20, 12), ScreenOptions::default(), Arc::new(Theme::default()));
        let block = screen.push(PictureBlock::new("[image]".into(), image(1, 1, ImageFormat::Png)));
        screen.paint();
        assert_eq!(screen.shown_rows().map(|row| row.width()).max(), Some(7), "only the caption");
        screen
            .block::<PictureBlock>(block)
            .unwrap()
            .finish(Some(PicturePlacement { id: 0x01_02_03, columns: 30, rows: 2 }), Vec::new());
        let bytes = String::from_utf8(screen.paint().bytes).unwrap();
        assert!(bytes.contains("38;2;1;2;3"), "{bytes:?}");
        let widths: Vec<usize> = screen.shown_rows().map(Row::width).filter(|width| *width > 0).collect();
        assert_eq!(widths, [7, 20, 20], "cut to the screen");
    }
}
