//! Writes the property table of the text engine from the tables of `unicode-width` and `unicode-segmentation`.
//!
//! Both crates keep their tables private, so the class of each character is derived from a few tests ("is `a` + c one
//! cluster?"). The engine then needs one look-up per character, for UTF-16 and for UTF-8.

#[path = "src/text/class.rs"]
mod class;

use class::*;
use std::{collections::HashMap, env, fmt::Write, fs, path::Path};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters that terminals show with another width than the one in `unicode-width`, which depends on fonts.
const WIDTHS: &[(u32, u32, u8)] = &[
    (0x06DD, 0x06DD, 0),   // end of ayah
    (0x070F, 0x070F, 0),   // Syriac abbreviation mark
    (0x0890, 0x0891, 1),   // Arabic pound and piastre marks: signs before a number
    (0x08E2, 0x08E2, 0),   // disputed end of ayah
    (0x0D4E, 0x0D4E, 1),   // Malayalam dot reph: a letter before a letter
    (0x17A4, 0x17A4, 1),   // deprecated Khmer vowel
    (0x17D8, 0x17D8, 1),   // deprecated Khmer beyyal
    (0x2028, 0x2029, 0),   // line and paragraph separator: controls
    (0x2D7F, 0x2D7F, 0),   // Tifinagh consonant joiner
    (0xA8FA, 0xA8FA, 1),   // Devanagari caret
    (0xFF9E, 0xFF9F, 1),   // halfwidth voicing marks: separate cells
    (0x111C2, 0x111C3, 1), // Sharada jihvamuliya and upadhmaniya: letters before a letter, like the following ones
    (0x113D1, 0x113D1, 1), // Tulu-Tigalari repha
    (0x1193F, 0x1193F, 1), // Dives Akuru prefixed nasal sign
    (0x11941, 0x11941, 1), // Dives Akuru initial ra
    (0x11A84, 0x11A89, 1), // Soyombo sign jihvamuliya to cluster-initial letter sa
    (0x11D46, 0x11D46, 1), // Masaram Gondi repha
    (0x11F02, 0x11F02, 1), // Kawi sign repha
];

/// Vowel signs and viramas that extend a cluster but have a separate cell: `unicode-width` counts every extending
/// character as 0, but terminals draw these next to their letter. Hangul tone marks, Vietnamese reading marks and parts
/// of musical notes are not included, because they are drawn around their base.
const SPACING_EXTEND: &[(u32, u32)] = &[
    (0x09BE, 0x09BE),
    (0x09D7, 0x09D7),
    (0x0B3E, 0x0B3E),
    (0x0B57, 0x0B57),
    (0x0BBE, 0x0BBE),
    (0x0BD7, 0x0BD7),
    (0x0CC0, 0x0CC0),
    (0x0CC2, 0x0CC2),
    (0x0CC7, 0x0CC8),
    (0x0CCA, 0x0CCB),
    (0x0CD5, 0x0CD6),
    (0x0D3E, 0x0D3E),
    (0x0D57, 0x0D57),
    (0x0DCF, 0x0DCF),
    (0x0DDF, 0x0DDF),
    (0x1715, 0x1715),
    (0x1734, 0x1734),
    (0x1B35, 0x1B35),
    (0x1B3B, 0x1B3B),
    (0x1B3D, 0x1B3D),
    (0x1B43, 0x1B44),
    (0x1BAA, 0x1BAA),
    (0x1BF2, 0x1BF3),
    (0xA953, 0xA953),
    (0xA9C0, 0xA9C0),
    (0x111C0, 0x111C0),
    (0x11235, 0x11235),
    (0x1133E, 0x1133E),
    (0x1134D, 0x1134D),
    (0x11357, 0x11357),
    (0x113B8, 0x113B8),
    (0x113C2, 0x113C2),
    (0x113C5, 0x113C5),
    (0x113C7, 0x113C9),
    (0x113CF, 0x113CF),
    (0x114B0, 0x114B0),
    (0x114BD, 0x114BD),
    (0x115AF, 0x115AF),
    (0x116B6, 0x116B6),
    (0x11930, 0x11930),
    (0x1193D, 0x1193D),
    (0x11F41, 0x11F41),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/text/class.rs");
    let mut pages: Vec<[u8; 256]> = Vec::new();
    let mut known: HashMap<[u8; 256], usize> = HashMap::new();
    let mut index = Vec::with_capacity(0x1100);
    for page in 0..0x1100u32 {
        let bytes = page_bytes(page);
        let number = *known.entry(bytes).or_insert_with(|| {
            pages.push(bytes);
            pages.len() - 1
        });
        index.push(u8::try_from(number).expect("fewer than 256 different pages"));
    }
    let mut text = String::new();
    let _ = writeln!(text, "pub(crate) static INDEX: [u8; {}] = {index:?};", index.len());
    let _ = writeln!(text, "pub(crate) static PAGES: [[u8; 256]; {}] = {pages:?};", pages.len());
    let _ = writeln!(text, "pub(crate) static AMBIGUOUS: &[(char, char)] = &{:?};", ranges(is_ambiguous));
    let _ = writeln!(text, "pub(crate) static NO_LINE_START: &[(char, char)] = &{:?};", ranges(may_not_start_a_line));
    let _ = writeln!(text, "pub(crate) static NO_LINE_END: &[(char, char)] = &{:?};", ranges(may_not_end_a_line));
    let out = env::var_os("OUT_DIR").expect("cargo names the output folder");
    fs::write(Path::new(&out).join("table.rs"), text).expect("the output folder is writable");
}

/// Returns true for a character of ambiguous width: one cell here, two on legacy East Asian terminals.
fn is_ambiguous(c: char) -> bool {
    c >= '\u{a0}' && c.width() == Some(1) && c.width_cjk() == Some(2)
}

/// Returns true for closing marks and what follows its character without a break (UAX #14, rules 11 to 13, 15, 16, 19,
/// 21, 22 and 25).
fn may_not_start_a_line(c: char) -> bool {
    use unicode_linebreak::BreakClass::{
        CloseParenthesis, ClosePunctuation, ConditionalJapaneseStarter, Exclamation, InfixSeparator, Inseparable,
        NonBreakingGlue, NonStarter, Postfix, Quotation, Symbol, WordJoiner,
    };
    match unicode_linebreak::break_property(c.into()) {
        ClosePunctuation
        | CloseParenthesis
        | ConditionalJapaneseStarter
        | Exclamation
        | InfixSeparator
        | Inseparable
        | NonBreakingGlue
        | NonStarter
        | Postfix
        | Symbol
        | WordJoiner => true,
        // Final quotation marks; their class does not tell them from initial ones.
        Quotation => matches!(c, '"' | '\'' | '»' | '’' | '”' | '›'),
        _ => false,
    }
}

/// Returns true for opening marks and what precedes its character without a break (rules 11, 12, 14, 19 and 25).
fn may_not_end_a_line(c: char) -> bool {
    use unicode_linebreak::BreakClass::{NonBreakingGlue, OpenPunctuation, Prefix, Quotation, WordJoiner};
    match unicode_linebreak::break_property(c.into()) {
        OpenPunctuation | NonBreakingGlue | Prefix | WordJoiner => true,
        Quotation => matches!(c, '«' | '‘' | '‚' | '“' | '„' | '‹'),
        _ => false,
    }
}

/// Returns the ranges of the characters that fulfil a condition.
fn ranges(fulfils: fn(char) -> bool) -> Vec<(char, char)> {
    let mut ranges: Vec<(char, char)> = Vec::new();
    for c in ('\0'..=char::MAX).filter(|c| fulfils(*c)) {
        match ranges.last_mut() {
            Some((_, last)) if *last as u32 + 1 == c as u32 => *last = c,
            _ => ranges.push((c, c)),
        }
    }
    ranges
}

fn page_bytes(page: u32) -> [u8; 256] {
    let first = page << 8;
    let mut bytes = [0; 256];
    // All characters in these pages (ideographs, private use, higher planes) have one class, so one test is enough.
    let uniform = matches!(first, 0x3400..0x4D00 | 0x4E00..0x9F00 | 0xE000..0xF900 | 0x2_0000..0xE_0000 | 0xE_1000..);
    if uniform && first & 0xFFFF != 0xFF00 {
        return [character(char::from_u32(first).expect("no surrogate")); 256];
    }
    for (low, byte) in (0u32..).zip(&mut bytes) {
        *byte = char::from_u32(first + low).map_or(SURROGATE << 2 | 1, character);
    }
    bytes
}

fn character(c: char) -> u8 {
    let class = match c {
        '\n' => NEWLINE,
        '\t' => TAB,
        '\x1b' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => INTRO,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' => STRIP,
        '0'..='9' | '#' | '*' => KEYCAP_BASE,
        ' '..='~' => OTHER,
        '\u{fe0f}' => VS16,
        '\u{20e3}' => KEYCAP,
        '\u{200d}' => ZWJ,
        '\u{1f3fb}'..='\u{1f3ff}' => MODIFIER,
        '\u{1f1e6}'..='\u{1f1ff}' => REGIONAL,
        _ => asked(c),
    };
    if matches!(class, INTRO | STRIP | NEWLINE | TAB | CONTROL) {
        return class << 2;
    }
    if SPACING_EXTEND.iter().any(|(first, last)| (*first..=*last).contains(&(c as u32))) {
        return class << 2 | 1;
    }
    let width = WIDTHS
        .iter()
        .find(|(first, last, _)| (*first..=*last).contains(&(c as u32)))
        .map_or_else(|| c.width().map_or(0, |width| width.min(2) as u8), |(_, _, width)| *width);
    class << 2 | width
}

/// Returns the class of a character, determined from the clusters that it forms with others.
fn asked(c: char) -> u8 {
    let one = |text: &str| text.graphemes(true).next().is_some_and(|first| first.len() == text.len());
    if one(&format!("a{c}")) {
        return if one(&format!("क{c}क")) {
            LINKER
        } else if !one(&format!("⌚{c}\u{200d}⌚")) {
            SPACING
        } else if one(&format!("क{c}\u{94d}क")) {
            EXTEND
        } else {
            EXTEND_APART
        };
    }
    if !one(&format!("{c}\u{301}")) {
        return CONTROL;
    }
    if one(&format!("{c}a")) {
        return PREPEND;
    }
    if one(&format!("{c}\u{200d}⌚")) {
        let widens = c.width() == Some(1) && format!("{c}\u{fe0f}").width() == 2;
        return if widens { PICT_VS } else { PICT };
    }
    let (before_v, after_l) = (one(&format!("{c}\u{1160}")), one(&format!("\u{1100}{c}")));
    let (before_t, after_v) = (one(&format!("{c}\u{11a8}")), one(&format!("\u{1160}{c}")));
    match (before_v, after_l, before_t, after_v) {
        (true, true, false, false) => HANGUL_L,
        (true, true, true, true) => HANGUL_V,
        (false, false, true, true) => HANGUL_T,
        (true, true, true, false) => HANGUL_LV,
        (false, true, true, false) => HANGUL_LVT,
        _ if one(&format!("{c}\u{94d}क")) => CONSONANT,
        _ => OTHER,
    }
}
