//! Colours and attributes of text, and the SGR codes between two styles.

/// A colour of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Color {
    /// The terminal's default.
    #[default]
    Default,
    /// One of the 16 named colours: 0–7 normal, 8–15 bright.
    Named(u8),
    /// One of the 256 palette colours.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// Attributes of text, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Attrs(pub u8);

impl Attrs {
    /// No attribute.
    pub const NONE: Attrs = Attrs(0);
    /// Bold.
    pub const BOLD: Attrs = Attrs(1);
    /// Dim.
    pub const DIM: Attrs = Attrs(2);
    /// Italic.
    pub const ITALIC: Attrs = Attrs(4);
    /// Underlined.
    pub const UNDERLINE: Attrs = Attrs(8);
    /// Foreground and background swapped.
    pub const REVERSE: Attrs = Attrs(16);
    /// Struck through.
    pub const STRIKE: Attrs = Attrs(32);

    /// Returns true if all attributes of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Attrs) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, other: Attrs) -> Attrs {
        Attrs(self.0 | other.0)
    }
}

/// The code that sets each attribute.
const CODES: [(Attrs, &[u8]); 6] = [
    (Attrs::BOLD, b"1"),
    (Attrs::DIM, b"2"),
    (Attrs::ITALIC, b"3"),
    (Attrs::UNDERLINE, b"4"),
    (Attrs::REVERSE, b"7"),
    (Attrs::STRIKE, b"9"),
];

/// The style of a piece of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Style {
    /// The foreground colour.
    pub fg: Color,
    /// The background colour.
    pub bg: Color,
    /// The attributes.
    pub attrs: Attrs,
}

/// The number of colours that the terminal shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub enum Depth {
    /// No colours: attributes only (`NO_COLOR`).
    None,
    /// The 16 named colours.
    Named,
    /// The palette of 256 colours.
    Indexed,
    /// All colours.
    #[default]
    True,
}

impl Style {
    /// The terminal's default style.
    pub const PLAIN: Style = Style { fg: Color::Default, bg: Color::Default, attrs: Attrs::NONE };

    /// Creates a style with only a foreground.
    #[must_use]
    pub const fn fg(color: Color) -> Style {
        Style { fg: color, ..Style::PLAIN }
    }

    /// Adds attributes.
    #[must_use]
    pub const fn with(self, attrs: Attrs) -> Style {
        Style { attrs: self.attrs.with(attrs), ..self }
    }

    /// Changes the background.
    #[must_use]
    pub const fn on(self, bg: Color) -> Style {
        Style { bg, ..self }
    }

    /// Uses the values of `self` that are set, else those of `below`.
    #[must_use]
    pub fn over(self, below: Style) -> Style {
        let pick = |own, other| if own == Color::Default { other } else { own };
        Style { fg: pick(self.fg, below.fg), bg: pick(self.bg, below.bg), attrs: self.attrs.with(below.attrs) }
    }

    /// Returns the nearest style that `depth` can show.
    #[must_use]
    pub fn reduced(self, depth: Depth) -> Style {
        Style { fg: self.fg.reduced(depth), bg: self.bg.reduced(depth), attrs: self.attrs }
    }
}

impl Color {
    /// Returns the nearest colour that `depth` can show.
    #[must_use]
    pub fn reduced(self, depth: Depth) -> Color {
        match (depth, self) {
            (Depth::None, _) => Color::Default,
            (Depth::Indexed, Color::Rgb(r, g, b)) => Color::Indexed(nearest_indexed([r, g, b])),
            (Depth::Named, Color::Rgb(r, g, b)) => Color::Named(nearest_named([r, g, b])),
            (Depth::Named, Color::Indexed(n @ 16..)) => Color::Named(nearest_named(indexed_rgb(n))),
            (Depth::Named, Color::Indexed(n)) => Color::Named(n),
            _ => self,
        }
    }
}

const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The 16 colours as most terminals show them.
pub(crate) const NAMED: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 49, 49],
    [13, 188, 121],
    [229, 229, 16],
    [36, 114, 200],
    [188, 63, 188],
    [17, 168, 205],
    [229, 229, 229],
    [102, 102, 102],
    [241, 76, 76],
    [35, 209, 139],
    [245, 245, 67],
    [59, 142, 234],
    [214, 112, 214],
    [41, 184, 219],
    [255, 255, 255],
];

pub(crate) fn indexed_rgb(n: u8) -> [u8; 3] {
    match n {
        0..=15 => NAMED[usize::from(n)],
        232..=255 => [8 + (n - 232) * 10; 3],
        _ => {
            let n = usize::from(n - 16);
            [LEVELS[n / 36], LEVELS[n / 6 % 6], LEVELS[n % 6]]
        }
    }
}

/// Returns the nearest colour of the cube and the greys; the 16 named ones are user-defined and have no fixed value.
fn nearest_indexed(rgb: [u8; 3]) -> u8 {
    let level = |value: u8| (0..6).min_by_key(|&at: &usize| LEVELS[at].abs_diff(value)).unwrap_or(0) as u8;
    let cube = 16 + 36 * level(rgb[0]) + 6 * level(rgb[1]) + level(rgb[2]);
    let mean = (u32::from(rgb[0]) + u32::from(rgb[1]) + u32::from(rgb[2])) / 3;
    let grey = 232 + (mean.saturating_sub(3) / 10).min(23) as u8;
    let far = |n: u8| crate::theme::distance(indexed_rgb(n), rgb);
    if far(grey) < far(cube) { grey } else { cube }
}

fn nearest_named(rgb: [u8; 3]) -> u8 {
    (0..16u8)
        .min_by(|a, b| {
            let far = |n: u8| crate::theme::distance(NAMED[usize::from(n)], rgb);
            far(*a).total_cmp(&far(*b))
        })
        .unwrap_or(7)
}

/// Writes the SGR sequence that changes `from` to `to`; nothing if they are equal.
pub(crate) fn write_sgr(from: Style, to: Style, out: &mut Vec<u8>) {
    if from == to {
        return;
    }
    if to == Style::PLAIN {
        out.extend_from_slice(b"\x1b[m");
        return;
    }
    // To remove an attribute, everything is reset, since not all terminals support single resets.
    let removes = from.attrs.0 & !to.attrs.0 != 0;
    let base = if removes { Style::PLAIN } else { from };
    out.extend_from_slice(b"\x1b[");
    let first = out.len();
    let part = |out: &mut Vec<u8>, code: &[u8]| {
        if out.len() > first {
            out.push(b';');
        }
        out.extend_from_slice(code);
    };
    if removes {
        part(out, b"0");
    }
    for (attr, code) in CODES {
        if to.attrs.contains(attr) && !base.attrs.contains(attr) {
            part(out, code);
        }
    }
    if to.fg != base.fg {
        part(out, color_code(to.fg, 30).as_bytes());
    }
    if to.bg != base.bg {
        part(out, color_code(to.bg, 40).as_bytes());
    }
    out.push(b'm');
}

fn color_code(color: Color, base: u32) -> String {
    match color {
        Color::Default => format!("{}", base + 9),
        Color::Named(n @ 0..=7) => format!("{}", base + u32::from(n)),
        Color::Named(n) => format!("{}", base + 60 + u32::from(n & 7)),
        Color::Indexed(n) => format!("{};5;{n}", base + 8),
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
    }
}
