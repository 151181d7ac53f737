//! Converts categories of byte ranges to coloured text.

use crate::category::{CATEGORIES, Category};
use crate::colors::{Palette, VISIBLE_ON_BLANKS};

/// Adds colour codes to the tokens of each line.
///
/// Only codes are added, no byte of the input is changed, and every line ends without colours.
pub(crate) struct Paint<'a> {
    palette: &'a Palette,
    out: Vec<u8>,
    /// The category whose codes are active.
    current: Category,
    /// True for a line with an escape character, which gets no codes: they could complete a sequence that it begins.
    muted: bool,
    /// The number of blanks at the end of `out` since the last token: a colour that ends there ends before them.
    gap: usize,
    /// The number of bytes of the line that were shown before and are not shown again.
    skip: usize,
    /// For each pair (from, to): whether the first has to be reset before the second begins.
    resets: [u16; CATEGORIES],
}

impl<'a> Paint<'a> {
    pub(crate) fn new(palette: &'a Palette, size: usize) -> Self {
        let mut resets = [0u16; CATEGORIES];
        for (from, row) in palette.styles.iter().zip(&mut resets) {
            for (index, to) in palette.styles.iter().enumerate() {
                if from.sets & !to.sets != 0 {
                    *row |= 1 << index;
                }
            }
        }
        Self { palette, out: Vec::with_capacity(size), current: Category::Plain, muted: false, gap: 0, skip: 0, resets }
    }

    /// Begins a line; its first `skip` bytes are lexed but not shown.
    pub(crate) fn begin(&mut self, muted: bool, skip: usize) {
        self.muted = muted;
        self.skip = skip;
    }

    /// Appends a token of the line in a category.
    #[inline]
    pub(crate) fn piece(&mut self, mut text: &[u8], category: Category) {
        if self.skip > 0 {
            let hidden = self.skip.min(text.len());
            self.skip -= hidden;
            text = &text[hidden..];
        }
        if text.is_empty() {
            return;
        }
        if category != self.current && !self.muted {
            self.change(category);
        }
        self.gap = 0;
        self.out.extend_from_slice(text);
    }

    /// Appends blanks between two tokens; they have the colour of the previous token if it continues after them.
    #[inline]
    pub(crate) fn blank(&mut self, text: &[u8]) {
        if self.skip > 0 || self.palette.styles[self.current as usize].sets & VISIBLE_ON_BLANKS != 0 {
            return self.piece(text, if self.skip > 0 { self.current } else { Category::Plain });
        }
        self.gap += text.len();
        self.out.extend_from_slice(text);
    }

    /// Ends the line: resets the colour, then appends the original line end.
    pub(crate) fn end(&mut self, terminator: &[u8]) {
        if self.current != Category::Plain {
            self.change(Category::Plain);
        }
        self.gap = 0;
        let hidden = self.skip.min(terminator.len());
        self.out.extend_from_slice(&terminator[hidden..]);
    }

    /// Returns the coloured text; `None` if a token was cut inside a character.
    pub(crate) fn finish(self) -> Option<String> {
        String::from_utf8(self.out).ok()
    }

    fn change(&mut self, category: Category) {
        if self.resets[self.current as usize] >> category as usize & 1 != 0 {
            let end = self.palette.styles[self.current as usize].end.as_bytes();
            let start = self.out.len() - self.gap;
            self.out.extend_from_slice(end);
            self.out[start..].rotate_right(end.len());
        }
        self.out.extend_from_slice(self.palette.styles[category as usize].begin.as_bytes());
        self.current = category;
    }
}
