//! Pictures of the conversation: a line about each, and below it the picture itself in terminals that take pictures as text.

use std::hash::{DefaultHasher, Hash, Hasher};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sinew::base::CancelToken;
use sinew::image::terminal::placeholder;
use sinew::image::{ImageFormat, SamplingFilter, SourceFormat, decode, probe};
use sinew_llm::message::ImageBlock;
use sinew_tui::{Block, Color, Layout, Line, Rendered, Row, Size, Style};

use super::blocks::DIM;

/// Pictures that a terminal is given at most, whatever the settings say: all of them are taken back at the end.
pub(super) const PICTURES: usize = 100;
/// Characters of base64 in which the size of a picture is looked for.
const HEAD: usize = 64 << 10;
/// Rows of the screen that a picture leaves free.
const FREE: usize = 6;

/// The space that a picture may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Space {
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// Pixels of a cell.
    pub(super) cell: (u32, u32),
}

impl Space {
    /// The space on a screen of this size.
    pub(super) fn on(size: Size, cell: (u32, u32)) -> Space {
        let rows = size.rows.saturating_sub(FREE).clamp(1, placeholder::MAX_ROWS);
        Space { columns: size.columns, rows, cell }
    }
}

/// The cells of a picture that the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) id: u32,
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// A picture as a terminal takes it.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) png: Vec<u8>,
    pub(super) placed: Placed,
}

/// Returns true if the terminal, by the name that it gives itself, draws pictures where placeholders stand.
pub(super) fn is_drawn_by(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // With and without a version: `kitty(0.42.1)`, `ghostty 1.2.0`.
    ["kitty", "ghostty"].iter().any(|known| {
        let rest = name.strip_prefix(known);
        rest.is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric()))
    })
}

/// Describes a picture: `[image 800×600 image/png]`.
pub(super) fn caption(image: &ImageBlock) -> String {
    let ImageBlock { data, mime_type } = image;
    // Whole groups of base64 alone.
    let head = data.get(..data.len().min(HEAD) / 4 * 4).unwrap_or_default();
    let size = STANDARD.decode(head).ok().and_then(|bytes| probe(&bytes).ok()).map(|facts| facts.upright_size());
    match size {
        Some((width, height)) => format!("[image {width}×{height} {mime_type}]"),
        None => format!("[image {mime_type}]"),
    }
}

/// Makes a picture ready for the terminal: small enough for its cells, and a PNG file. The same picture has the same number
/// again. Takes milliseconds to a second.
///
/// # Errors
/// It cannot be decoded.
pub(super) fn prepare(image: &ImageBlock, space: Space) -> Result<Prepared, String> {
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
    let is_as_it_is = scale >= 1.0 && SourceFormat::of(&bytes) == Some(SourceFormat::Png);
    let png = match is_as_it_is {
        true => bytes,
        false => {
            let small = picture.resize(width, height, SamplingFilter::Triangle, &never);
            let png = small.and_then(|small| small.encode(ImageFormat::Png, 100, &never));
            png.map_err(|error| error.to_string())?
        }
    };
    let mut hasher = DefaultHasher::new();
    image.data.hash(&mut hasher);
    // Zero is no number of a picture.
    let id = 1 + u32::try_from(hasher.finish() % u64::from(placeholder::MAX_ID - 1)).unwrap_or_default();
    let (columns, rows) = (width.div_ceil(cell_width) as usize, height.div_ceil(cell_height) as usize);
    Ok(Prepared { png, placed: Placed { id, columns, rows } })
}

/// A line about a picture, and the picture once the terminal has it.
pub(super) struct PictureBlock {
    caption: String,
    /// The picture, until it is taken to be made ready.
    image: Option<ImageBlock>,
    placed: Option<Placed>,
    is_done: bool,
    version: u64,
}

impl PictureBlock {
    pub(super) fn new(caption: String, image: ImageBlock) -> PictureBlock {
        PictureBlock { caption, image: Some(image), placed: None, is_done: false, version: 0 }
    }

    /// Takes the picture, to make it ready.
    pub(super) fn take_image(&mut self) -> Option<ImageBlock> {
        self.image.take()
    }

    /// Ends the block: with the picture, if the terminal has it.
    pub(super) fn finish(&mut self, placed: Option<Placed>) {
        (self.placed, self.is_done) = (placed, true);
        self.version += 1;
    }
}

impl Block for PictureBlock {
    fn version(&self) -> u64 {
        self.version
    }

    fn render(&mut self, layout: &Layout<'_>, _restart: bool, out: &mut Rendered) {
        out.reopen();
        let mut caption = Line::styled(&self.caption, DIM).into_row(layout.width);
        caption.line = 1;
        out.extend([caption]);
        if let Some(Placed { id, columns, rows }) = self.placed {
            let [red, green, blue] = placeholder::color(id);
            let style = Style::fg(Color::Rgb(red, green, blue));
            // On a narrower screen the right part is missing.
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
    fn a_picture_takes_the_cells_that_it_covers_and_no_more_than_there_are() {
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
            let Prepared { png, placed } = prepare(&image(width, height, ImageFormat::Png), space).unwrap();
            assert_eq!((placed.columns, placed.rows), cells, "{width}×{height}");
            assert_eq!(probe(&png).unwrap().upright_size(), pixels, "{width}×{height}");
        }
        let jpeg = image(20, 20, ImageFormat::Jpeg);
        let prepared = prepare(&jpeg, space).unwrap();
        assert_eq!(SourceFormat::of(&prepared.png), Some(SourceFormat::Png), "terminals take no other format");
        assert_eq!(prepare(&jpeg, space).unwrap().placed, prepared.placed, "the same number again");
        assert!((1..placeholder::MAX_ID).contains(&prepared.placed.id));
        assert!(prepare(&ImageBlock { data: "AAAA".into(), mime_type: "image/png".into() }, space).is_err());
    }

    #[test]
    fn a_caption_tells_size_and_type() {
        assert_eq!(caption(&image(30, 20, ImageFormat::Png)), "[image 30×20 image/png]");
        assert_eq!(caption(&ImageBlock { data: "?".into(), mime_type: "image/gif".into() }), "[image image/gif]");
    }

    #[test]
    fn pictures_are_for_terminals_that_draw_them_in_text() {
        for (name, expect) in [
            ("kitty(0.42.1)", true),
            ("ghostty 1.2.0", true),
            ("Ghostty", true),
            ("kittyhawk 1", false),
            ("WezTerm 20240203", false),
            ("tmux 3.5a", false),
            ("iTerm2 3.6.1", false),
            ("", false),
        ] {
            assert_eq!(is_drawn_by(name), expect, "{name}");
        }
    }

    #[test]
    fn a_picture_is_text_of_its_colour_below_its_caption() {
        let mut screen = Screen::new(Size::new(20, 12), ScreenOptions::default(), Arc::new(Theme::default()));
        let block = screen.push(PictureBlock::new("[image]".into(), image(1, 1, ImageFormat::Png)));
        screen.paint();
        assert_eq!(screen.shown_rows().map(|row| row.width()).max(), Some(7), "only the caption");
        screen.block::<PictureBlock>(block).unwrap().finish(Some(Placed { id: 0x01_02_03, columns: 30, rows: 2 }));
        let bytes = String::from_utf8(screen.paint().bytes).unwrap();
        assert!(bytes.contains("38;2;1;2;3"), "{bytes:?}");
        let widths: Vec<usize> = screen.shown_rows().map(Row::width).filter(|width| *width > 0).collect();
        assert_eq!(widths, [7, 20, 20], "cut to the screen");
    }
}
