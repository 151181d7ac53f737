//! Tests the text functions with examples.

use sinew_term::*;
use unicode_width::UnicodeWidthChar;

#[track_caller]
fn widths(cases: &[(&str, usize)]) {
    for (text, cells) in cases {
        assert_eq!(visible_width(text, 3), *cells, "{text:?}");
    }
}

#[test]
fn clusters_have_the_width_that_terminals_show() {
    widths(&[
        ("", 0),
        ("plain", 5),
        ("界", 2),
        ("ｶﾞ", 2),
        ("Ａ", 2),
        ("e\u{301}", 1),
        ("\u{301}", 0),
        ("👩\u{200d}👩\u{200d}👧\u{200d}👦", 2),
        ("👍🏽", 2),
        ("🇩🇪", 2),
        ("🇩", 1),
        ("🇩🇪🇫", 3),
        ("1\u{fe0f}\u{20e3}", 2),
        ("#\u{20e3}", 2),
        ("#\u{fe0f}", 1),
        ("❤", 1),
        ("❤\u{fe0f}", 2),
        ("☕\u{fe0e}", 2),
        ("한국어", 6),
        ("\u{1112}\u{1161}\u{11ab}", 2),
        ("क्षि", 2),
        ("ที่", 1),
        ("กำ", 2),
        ("\u{ad}\u{200b}\u{feff}\u{2060}", 0),
        ("a\tb", 5),
        ("±", 1),
    ]);
    assert_eq!(visible_width("\t\t", 8), 16);
    assert_eq!(visible_width("\t", 0), 0);
}

#[test]
fn sized_texts_have_the_width_that_kitty_uses() {
    widths(&[
        ("\x1b]66;s=2;hello\x07", 10),
        ("\x1b]66;;text\x1b\\", 4),
        ("\x1b]66;w=5;hello\x07", 5),
        ("\x1b]66;s=3:w=1;x\x07", 3),
        ("\x1b]66;s=2:w=3;anything\x1b\\", 6),
        ("\x1b]66;s=2:w=0;中\x07", 4),
        ("\x1b]66;n=1:d=2:w=1;Ha\x07\x1b]66;n=1:d=2:w=1;lf\x07", 2),
        // Everything after the second semicolon is text.
        ("abc\x1b]66;s=2;n=1,d=2,w=3;hello\x1b\\def", 40),
        ("a\x1b]66;s=2;👩\u{200d}💻\x07\u{200d}💻", 1 + 4 + 2),
        ("\u{9d}66;w=2;XY\u{9c}", 2),
        // Out of range, unknown, not a number.
        ("\x1b]66;s=9:w=9;x\x07", 49),
        ("\x1b]66;s=0;xy\x07", 2),
        ("\x1b]66;s=4294967298:q=1:w=:s=b;xy\x07", 14),
        // Without text, metadata or an end.
        ("\x1b]66;s=2;\x07", 0),
        ("\x1b]66;w=2;\x07", 0),
        ("\x1b]66;text\x07", 0),
        ("\x1b]666;s=2;text\x07", 0),
        ("\x1b]66;s=2;text", 0),
    ]);
}

#[test]
fn sequences_and_controls_have_no_width() {
    widths(&[
        ("\x1b[31mred\x1b[0m", 3),
        ("\x1b[38:2::255:0:0mred\x1b[m", 3),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", 4),
        ("\x1b]8;id=1;http://x\x1b\\link\x1b]8;;\x1b\\", 4),
        ("\x1b]0;title\x07", 0),
        ("\x1b_Ga=T;AAAA\x1b\\x", 1),
        ("\x1bP1$r0m\x1b\\x", 1),
        ("\x1b^pm\x1b\\\x1bXsos\x1b\\x", 1),
        ("\x1b_Ga=T;AAAA\x07x", 1),
        ("\u{9f}apc\x07x\u{9d}0;t\x07y", 2),
        ("\x1bPtmux;\x07\x1b\\x", 1),
        ("\u{9b}31mred\u{9d}0;t\u{9c}", 3),
        ("\x1b7\x1b(B\x1b#8x", 1),
        ("\x1b[12", 0),
        ("\x1b]0;no end", 0),
        ("\x1b]0;no end\nnext", 4),
        ("\x1b[3\x1b[4mx", 1),
        ("a\r\nb\x07\x7f\u{85}", 2),
        ("👩\x1b[1m\u{200d}💻", 2),
    ]);
}

/// Compares every character with the table of `unicode-width`, except those that the build script overrides.
#[test]
fn single_characters_have_the_width_of_the_table() {
    let apart = |c: char| {
        matches!(c, '\u{a8fa}' | '\u{111c2}'..='\u{111c3}' | '\u{113d1}' | '\u{1193f}' | '\u{11941}' | '\u{11a84}'..='\u{11a89}' | '\u{11d46}' | '\u{11f02}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{d4e}' | '\u{17a4}' | '\u{17d8}' | '\u{2028}'..='\u{2029}' | '\u{2d7f}' | '\u{ff9e}'..='\u{ff9f}' | '\u{200b}'..='\u{200f}' | '\u{fff9}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}')
    };
    let mut seen = 0;
    for c in ('\u{a0}'..=char::MAX).filter(|c| !apart(*c) && !is_spacing_extend(*c)) {
        let mut buffer = [0; 4];
        assert_eq!(visible_width(c.encode_utf8(&mut buffer), 3), c.width().unwrap_or(0), "U+{:04X}", c as u32);
        seen += 1;
    }
    assert!(seen > 1_000_000);
}

/// Marks that have no separate cell: Hangul tone marks, Vietnamese reading marks and parts of musical notes are drawn
/// around their base.
const AROUND: [std::ops::RangeInclusive<char>; 4] =
    ['\u{302E}'..='\u{302F}', '\u{16FF0}'..='\u{16FF1}', '\u{1D165}'..='\u{1D166}', '\u{1D16D}'..='\u{1D172}'];

fn is_spacing_extend(c: char) -> bool {
    static CLASS: std::sync::LazyLock<regex::Regex> =
        std::sync::LazyLock::new(|| regex::Regex::new(r"^[\p{Mc}&&\p{Grapheme_Extend}]$").expect("the class exists"));
    CLASS.is_match(c.encode_utf8(&mut [0; 4])) && !AROUND.iter().any(|range| range.contains(&c))
}

#[test]
fn spacing_marks_within_a_cluster_have_a_cell() {
    let marks: Vec<char> = ('\u{300}'..=char::MAX).filter(|c| is_spacing_extend(*c)).collect();
    assert!(marks.len() >= 45, "{}", marks.len());
    for mark in marks {
        assert_eq!(visible_width(&format!("a{mark}"), 3), 2, "U+{:04X}", mark as u32);
        assert_eq!(clusters(&format!("a{mark}"), 3).count(), 1, "U+{:04X}", mark as u32);
    }
    widths(&[
        ("বা", 2),
        ("பா", 2),
        ("மா", 2),
        ("ಕೋ", 2),
        ("കാ", 2),
        ("ଓା", 2),
        ("කා", 2),
        ("ক\u{9c7}\u{9be}", 2),
        ("বাংলা", 4),
        ("தமிழ்", 4),
        ("한\u{302e}", 2),
    ]);
}

#[test]
fn every_letter_has_a_width() {
    let letters = regex::Regex::new(r"[\p{L}--\p{Default_Ignorable_Code_Point}]").unwrap();
    // Hangul vowels and final consonants are part of the syllable that the first letter begins.
    let within_syllable = |c: char| matches!(c, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}');
    let none: Vec<String> = ('\0'..=char::MAX)
        .filter(|c| !within_syllable(*c))
        .map(String::from)
        .filter(|text| letters.is_match(text) && visible_width(text, 3) == 0)
        .map(|text| format!("U+{:04X}", text.chars().next().unwrap_or('\0') as u32))
        .collect();
    assert_eq!(none, Vec::<String>::new());
}

#[test]
fn flags_and_emoji_with_skin_tones_have_two_cells() {
    let letter = |n: u32| char::from_u32(0x1F1E6 + n).expect("a regional indicator");
    for flag in (0..26 * 26).map(|n| [letter(n / 26), letter(n % 26)].iter().collect::<String>()) {
        assert_eq!(visible_width(&flag, 3), 2, "{flag}");
    }
    for base in "☝✌✍⛹👆👋👍👦👩🏃🏋💪🕵🖐🙏🚶🤝🧑🫶".chars() {
        for tone in '\u{1F3FB}'..='\u{1F3FF}' {
            let toned = format!("{base}{tone}");
            assert_eq!(visible_width(&toned, 3), 2, "{toned}");
            let working = format!("{toned}\u{200d}♀\u{fe0f}");
            assert_eq!(visible_width(&working, 3), 2, "{working}");
        }
    }
}

#[track_caller]
fn wraps(text: &str, width: usize, lines: &[&str]) {
    assert_eq!(wrap(text, width, 3, true), lines, "{text:?} to {width}");
}

#[test]
fn breaks_cjk_words_where_unicode_allows() {
    wraps("漢字、漢字", 4, &["漢", "字、", "漢字"]);
    wraps("これは「引用」です。", 10, &["これは「引", "用」です。"]);
    wraps("これは「引用」です。", 8, &["これは", "「引用」", "です。"]);
    wraps("カード", 4, &["カー", "ド"]);
    wraps("漢字カード", 6, &["漢字", "カード"]);
    wraps("価格は￥1000です", 8, &["価格は", "￥1000で", "す"]);
    wraps("漢字)漢字", 4, &["漢", "字)", "漢字"]);
    // A space is a better place, and words without wide characters are broken anywhere.
    wraps("ab 漢字、", 6, &["ab", "漢字、"]);
    wraps("abcd,efg", 4, &["abcd", ",efg"]);
    // Without a place on the line, it is broken anyway.
    wraps("。。。。", 4, &["。。", "。。"]);
    wraps("「「「漢", 4, &["「「", "「漢"]);
    wraps("\x1b[1m漢\x1b[31m字\x1b[0m、", 4, &["\x1b[1m漢\x1b[31m", "\x1b[1;31m字\x1b[0m、"]);
    // A vowel without cells stays with the character before it.
    wraps("\u{600}界\u{1161}a", 1, &["\u{600}界\u{1161}", "a"]);
    assert_eq!(wrap("漢字、漢字", 4, 3, false), ["漢字", "、漢", "字"]);
}

#[test]
fn wraps_at_words() {
    wraps("", 10, &[""]);
    wraps("fits as it is ", 20, &["fits as it is "]);
    wraps("one two three", 7, &["one two", "three"]);
    wraps("one  two", 4, &["one", "two"]);
    wraps("aaab c", 3, &["aaa", "b c"]);
    wraps("a\nb\r\nc\n", 5, &["a", "b", "c", ""]);
    wraps("  indented text", 10, &["  indented", "text"]);
    wraps("  abcdef", 4, &["  ab", "cdef"]);
    wraps("界界界", 4, &["界界", "界"]);
    wraps("界a", 1, &["界", "a"]);
    wraps("ab", 0, &["a", "b"]);
    wraps("a\tbcd", 4, &["a", "bcd"]);
    wraps("👩\u{200d}💻👩\u{200d}💻", 3, &["👩\u{200d}💻", "👩\u{200d}💻"]);
}

#[test]
fn wrapping_keeps_an_indent() {
    wraps("\tfoo bar", 8, &["\tfoo", "bar"]);
    wraps("\thello world", 7, &["\thell", "o world"]);
    wraps("   hello", 6, &["   hel", "lo"]);
    wraps("\t\tfoo", 8, &["\t\tfo", "o"]);
    wraps("a\n\tbcd", 5, &["a", "\tbc", "d"]);
    wraps("\x1b[31m\thello", 6, &["\x1b[31m\thel", "\x1b[31mlo"]);
    // The indent fills its line.
    wraps("   abc", 3, &["   ", "abc"]);
    wraps("\tabc", 3, &["\t", "abc"]);
    wraps("\t\x1b[4mabc", 3, &["\t\x1b[4m\x1b[24m", "\x1b[4mabc\x1b[24m"]);
    // The indent is wider than a line.
    wraps("\ta", 2, &["a"]);
}

#[test]
fn wrapped_lines_restore_and_close_styles_and_links() {
    wraps("\x1b[31mone two\x1b[0m", 3, &["\x1b[31mone", "\x1b[31mtwo\x1b[0m"]);
    wraps("\x1b[38:2::1:2:3mone two", 3, &["\x1b[38:2::1:2:3mone", "\x1b[38:2::1:2:3mtwo"]);
    wraps("\x1b[4mone two\x1b[24m", 3, &["\x1b[4mone\x1b[24m", "\x1b[4mtwo\x1b[24m"]);
    wraps("\x1b[9mone two\x1b[29m", 3, &["\x1b[9mone\x1b[29m", "\x1b[9mtwo\x1b[29m"]);
    wraps("\x1b[4;9;53mab", 1, &["\x1b[4;9;53ma\x1b[24m\x1b[29m\x1b[55m", "\x1b[4;9;53mb\x1b[24m\x1b[29m\x1b[55m"]);
    wraps("\x1b[1;31mab\x1b[22mcd", 2, &["\x1b[1;31mab\x1b[22m", "\x1b[31mcd"]);
    wraps("\x1b]8;;u\x07one two\x1b]8;;\x07", 3, &["\x1b]8;;u\x07one\x1b]8;;\x07", "\x1b]8;;u\x07two\x1b]8;;\x07"]);
    wraps("\x1b]8;;u\x1b\\ab\nc", 3, &["\x1b]8;;u\x1b\\ab\x1b]8;;\x1b\\", "\x1b]8;;u\x1b\\c\x1b]8;;\x1b\\"]);
    wraps("\x1b[31;mab", 1, &["\x1b[31;ma", "b"]);
    wraps("\x1b[38;2;255mab", 1, &["\x1b[38;2;255ma", "b"]);
}

#[test]
fn truncates_with_an_ellipsis() {
    let cut = |text: &str, max, mark, pad| truncate(text, max, mark, pad, 3).into_owned();
    assert!(matches!(truncate("short", 5, Ellipsis::Unicode, false, 3), std::borrow::Cow::Borrowed("short")));
    assert_eq!(cut("longer", 5, Ellipsis::Unicode, false), "long…");
    assert_eq!(cut("longer", 5, Ellipsis::Ascii, false), "lo...");
    assert_eq!(cut("longer", 5, Ellipsis::Omit, false), "longe");
    assert_eq!(cut("longer", 2, Ellipsis::Ascii, false), "..");
    assert_eq!(cut("longer", 0, Ellipsis::Unicode, false), "");
    assert_eq!(cut("界界界", 4, Ellipsis::Unicode, true), "界… ");
    assert_eq!(cut("ab", 4, Ellipsis::Unicode, true), "ab  ");
    assert_eq!(cut("\x1b[31mlonger\x1b[0m", 4, Ellipsis::Unicode, false), "\x1b[31mlon\x1b[0m…");
    assert_eq!(cut("\x1b]8;;u\x07longer", 4, Ellipsis::Omit, false), "\x1b]8;;u\x07long\x1b]8;;\x07");
    assert_eq!(cut("\x1b[3", 2, Ellipsis::Omit, true), "  ");
}

#[test]
fn slices_columns() {
    let cut = |start, length, strict| {
        let found = slice("\x1b[31ma界\x1b[1mb\x1b[0mc", start, length, strict, 3);
        (found.text, found.width)
    };
    assert_eq!(cut(0, 9, true), ("\x1b[31ma界\x1b[1mb\x1b[0mc".into(), 5));
    assert_eq!(cut(1, 2, true), ("\x1b[31m界\x1b[0m".into(), 2));
    assert_eq!(cut(2, 2, true), ("\x1b[1;31mb\x1b[0m".into(), 1));
    assert_eq!(cut(0, 2, true), ("\x1b[31ma\x1b[0m".into(), 1));
    assert_eq!(cut(0, 2, false), ("\x1b[31ma界\x1b[0m".into(), 3));
    assert_eq!(cut(4, 1, true), ("c".into(), 1));
    assert_eq!(cut(9, 5, true), (String::new(), 0));
    assert_eq!(cut(0, 0, true), (String::new(), 0));
}

#[test]
fn segments_surround_an_overlay() {
    let found = segments("\x1b[31mab界cdef", 3, 5, 2, true, 3);
    assert_eq!((found.before.text.as_str(), found.before.width), ("\x1b[31mab\x1b[0m", 2));
    assert_eq!((found.after.text.as_str(), found.after.width), ("\x1b[31mde\x1b[0m", 2));
}

#[test]
fn sanitizing_removes_sequences_and_controls() {
    for (text, clean) in [
        ("\x1b[31mred\x1b[0m\r\n\ttab", "red\n\ttab"),
        ("a\x07\x08\x7f\u{85}b", "ab"),
        ("\x1b]0;no end", ""),
        ("\x1b]0;no end\nnext", "\nnext"),
        ("\u{9b}31mred", "red"),
        ("a\x1bb", "a"),
        ("ok \u{301}🇩🇪", "ok \u{301}🇩🇪"),
    ] {
        assert_eq!(sanitize(text), clean, "{text:?}");
    }
    assert!(matches!(sanitize("nothing to do"), std::borrow::Cow::Borrowed(_)));
    assert_eq!(utf16::sanitize(&[0x61, 0xD83D, 0x1B, 0xDE00, 0x62]), Some(vec![0x61, 0x62]));
    assert_eq!(utf16::visible_width(&[0xD800, 0x61], 3), 2);
}

#[test]
fn limits_the_size_of_reopened_links() {
    let text = format!("\x1b]8;;{}\x07{}", "u".repeat(3000), "a".repeat(100_000));
    let size: usize = wrap(&text, 1, 3, true).iter().map(String::len).sum();
    assert!(size < 30 * text.len(), "{size}");
}
