//! Tests properties of the text functions with arbitrary UTF-16.

use proptest::prelude::*;
use sinew_term::utf16::*;
use unicode_segmentation::UnicodeSegmentation;

/// Pieces that are hard to combine correctly: complete and broken sequences, controls, marks, joiners and surrogates.
const PIECES: &[&str] = &[
    "a",
    "Z",
    "7",
    " ",
    "   ",
    "word",
    "longer word",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\x08",
    "\0",
    "\x7f",
    "\u{9c}",
    "\x1b",
    "\x1b[",
    "\x1b[31m",
    "\x1b[1;4m",
    "\x1b[4:3m",
    "\x1b[38:2::1:2:3m",
    "\x1b[38;5;9m",
    "\x1b[38;2;1m",
    "\x1b[0m",
    "\x1b[24m",
    "\x1b[m",
    "\x1b[?25l",
    "\x1b[3",
    "\x1b]8;;http://x\x07",
    "\x1b]8;;\x07",
    "\x1b]8;;y\x1b\\",
    "\x1b]8;;\x1b\\",
    "\x1b]0;t",
    "\x1b_Ga=d;\x1b\\",
    "\x1bP1$r\x1b\\",
    "\x1b(B",
    "\x1b7",
    "\u{9b}32m",
    "\u{9d}0;t\u{9c}",
    "\x1b]66;s=2;big\x07",
    "\x1b]66;n=1:d=2:w=1;ab\x1b\\",
    "\x1b]66;w=3;\x07",
    "界",
    "ｱ",
    "ﾟ",
    "é",
    "e\u{301}",
    "\u{301}",
    "\u{200d}",
    "\u{fe0f}",
    "\u{fe0e}",
    "\u{200b}",
    "👩",
    "👩\u{200d}💻",
    "🏽",
    "🇩",
    "🇪",
    "❤",
    "1\u{fe0f}\u{20e3}",
    "\u{20e3}",
    "क",
    "\u{94d}",
    "\u{93f}",
    "ᄀ",
    "\u{1161}",
    "\u{11a8}",
    "가",
    "\u{0600}",
    "\u{0d4e}",
    "\u{feff}",
    "\u{2028}",
    "𝔄",
    "\u{10ffff}",
];

/// Generates text from pieces, arbitrary units and lone surrogates.
fn text() -> impl Strategy<Value = Vec<u16>> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(|piece| piece.encode_utf16().collect::<Vec<_>>()),
        1 => any::<u16>().prop_map(|unit| vec![unit]),
        1 => any::<char>().prop_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn plain(units: &[u16]) -> Vec<u16> {
    sanitize(units).unwrap_or_else(|| units.to_vec())
}

/// Returns the visible part of a text, without sequences, controls and blanks.
fn visible(units: &[u16]) -> Vec<u16> {
    plain(units).into_iter().filter(|unit| !matches!(unit, 0x20 | 0x09 | 0x0A)).collect()
}

/// Returns the sized texts (OSC 66) of a text, which sanitising removes completely.
fn sized(units: &[u16]) -> Vec<String> {
    let text = whole(units);
    let starts = text.match_indices("\x1b]66;").map(|(start, _)| &text[start..]);
    starts.map(|rest| rest[..rest.find(['\x07', '\\']).map_or(rest.len(), |end| end + 1)].to_string()).collect()
}

fn has_lone_surrogate(units: &[u16]) -> bool {
    char::decode_utf16(units.iter().copied()).any(|c| c.is_err())
}

/// Converts a text, with its lone surrogates replaced.
fn whole(units: &[u16]) -> String {
    String::from_utf16_lossy(units)
}

/// Generates styled letters and blanks without wide characters, so that a column is a character.
fn styled() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(&[
        "a",
        "bc",
        "def",
        " ",
        "\x1b[31m",
        "\x1b[4m",
        "\x1b[4:0m",
        "\x1b[1;2m",
        "\x1b[22m",
        "\x1b[38:2::9:8:7m",
        "\x1b[48;5;3;9m",
        "\x1b[58;5;7m",
        "\x1b[39m",
        "\x1b[0m",
        "\x1b[31;m",
        "\x1b[38;2;255m",
        "\x1b]8;;u\x07",
        "\x1b]8;id=1;v\x1b\\",
        "\x1b]8;;\x07",
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

/// Returns each letter with the state at its position, as a slice of it shows.
fn cells(line: &str) -> Vec<String> {
    let columns = 0..sinew_term::visible_width(line, 3);
    let cell = |column| sinew_term::slice(line, column, 1, true, 3).text;
    columns.map(cell).filter(|cell| sinew_term::sanitize(cell) != " ").collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn slices_have_at_most_the_requested_width(text in text(), start in 0usize..20, length in 0usize..20) {
        let (cut, width) = slice(&text, start, length, true, 3);
        prop_assert!(width <= length);
        prop_assert_eq!(visible_width(&cut, 3), width);
        let (loose, width) = slice(&text, start, length, false, 3);
        prop_assert_eq!(visible_width(&loose, 3), width);
    }

    #[test]
    fn adjacent_slices_contain_every_narrow_cluster(text in text(), start in 0usize..20) {
        // With narrow tabs and no wide characters, no cluster is across an edge.
        let narrow: Vec<u16> = text.into_iter().filter(|unit| *unit < 0x7F && *unit != 0x0A).collect();
        let all = visible_width(&narrow, 1);
        let (left, _) = slice(&narrow, 0, start, true, 1);
        let (right, _) = slice(&narrow, start, all, true, 1);
        prop_assert_eq!([visible(&left), visible(&right)].concat(), visible(&narrow));
    }

    #[test]
    fn truncated_text_has_at_most_the_requested_width(text in text(), max in 0usize..20, kind in 0usize..3) {
        let kind = [Ellipsis::Unicode, Ellipsis::Ascii, Ellipsis::Omit][kind];
        let cut = truncate(&text, max, kind, false, 3);
        let fits = visible_width(&text, 3) <= max;
        prop_assert_eq!(cut.is_none(), fits);
        prop_assert!(visible_width(&cut.unwrap_or_else(|| text.clone()), 3) <= max);
        let padded = truncate(&text, max, kind, true, 3).unwrap_or_else(|| text.clone());
        prop_assert_eq!(visible_width(&padded, 3), max);
    }

    #[test]
    fn wrapped_lines_contain_every_visible_cluster(text in text(), width in 1usize..12) {
        let lines = wrap(&text, width, 3, true);
        for line in lines.split(|unit| *unit == 0x0A) {
            let cells = visible_width(line, 3);
            // Only a cluster that is wider than the limit makes a line too wide, and it is alone on its line.
            let alone = slice(line, 0, 1, false, 3).1 == cells;
            prop_assert!(cells <= width || alone, "{cells} in {width}: {:?}", String::from_utf16_lossy(line));
        }
        prop_assert_eq!(visible(&lines), visible(&text));
        prop_assert_eq!(sized(&lines), sized(&text));
    }

    #[test]
    fn broken_cjk_words_follow_the_rules(text in "[漢字、。「」かー()a1]{0,30}", width in 4usize..12) {
        let lines = sinew_term::wrap(&text, width, 3, true);
        prop_assert_eq!(lines.concat(), text.clone());
        for pair in lines.windows(2) {
            let (last, first) = (pair[0].chars().next_back().unwrap(), pair[1].chars().next().unwrap());
            // The rules do not apply between two ASCII characters.
            let is_bad = |(before, after): (char, char)| {
                "「(".contains(before) || "、。」ー)".contains(after) || before.is_ascii() && after.is_ascii()
            };
            if is_bad((last, first)) && !(last.is_ascii() && first.is_ascii()) {
                // Then no other place was on the line.
                prop_assert!(pair[0].chars().zip(pair[0].chars().skip(1)).all(is_bad), "{lines:?}");
            }
        }
    }

    #[test]
    fn wrapped_letters_keep_their_style_and_link(text in styled(), width in 1usize..12) {
        let lines = sinew_term::wrap(&text, width, 3, true);
        prop_assert_eq!(lines.iter().flat_map(|line| cells(line)).collect::<Vec<_>>(), cells(&text));
    }

    /// A sequence without meaning selects the general path for text that otherwise uses the fast path.
    #[test]
    fn both_code_paths_wrap_alike(words in prop::collection::vec("[a-z]{1,9} {0,3}|\n", 0..30), width in 1usize..30) {
        let text = words.concat();
        let marked = text.replace(' ', " \x1b[?0h").replace('\n', "\n\x1b[?0h");
        let wrapped = sinew_term::wrap(&marked, width, 3, true);
        let stripped: Vec<String> = wrapped.iter().map(|line| line.replace("\x1b[?0h", "").trim_end().to_string()).collect();
        let direct: Vec<String> = sinew_term::wrap(&text, width, 3, true).iter().map(|line| line.trim_end().to_string()).collect();
        prop_assert_eq!(direct, stripped);
    }

    #[test]
    fn sanitizing_again_changes_nothing(text in text()) {
        let clean = plain(&text);
        prop_assert!(sanitize(&clean).is_none());
        prop_assert!(clean.iter().all(|unit| !matches!(unit, 0..=8 | 0x0B..=0x1F | 0x7F..=0x9F)));
        prop_assert!(!has_lone_surrogate(&clean));
    }

    #[test]
    fn sanitizing_keeps_the_width(text in text()) {
        let mut text = whole(&text);
        sized(&text.encode_utf16().collect::<Vec<_>>()).iter().for_each(|sized| text = text.replace(sized, ""));
        let line: Vec<u16> = text.encode_utf16().filter(|unit| *unit != 0x0A).collect();
        prop_assert_eq!(visible_width(&line, 3), visible_width(&plain(&line), 3));
    }

    /// A sized text keeps its width next to any other text, sanitizing removes all of it, and slicing never cuts it.
    #[test]
    fn sized_texts_are_measured_and_cut_as_one_unit(
        before in "[a-z界é ]{0,6}",
        after in "[a-z界é ]{0,6}",
        (scale, width, inner) in (1usize..8, 0usize..8, "[a-z界é ;:=]{1,5}"),
        (keys, end) in (prop::sample::select(&["", ":n=1:d=2", ":v=2:h=1", ":x=7", ":s", ":w=x"]), prop::sample::select(&["\x07", "\x1b\\"])),
        (start, length) in (0usize..12, 0usize..12),
    ) {
        let width_of = |text: &str| sinew_term::visible_width(text, 3);
        let piece = format!("\x1b]66;s={scale}:w={width}{keys};{inner}{end}");
        let cells = scale * if width == 0 { width_of(&inner) } else { width };
        prop_assert_eq!(width_of(&piece), cells);
        let text = format!("{before}{piece}{after}");
        prop_assert_eq!(width_of(&text), width_of(&before) + cells + width_of(&after));
        prop_assert_eq!(sinew_term::sanitize(&text), format!("{before}{after}"));
        let cut = |text: &str| text.replace(&piece, "").contains("66;");
        let strict = sinew_term::slice(&text, start, length, true, 3);
        prop_assert!(!cut(&strict.text) && strict.width <= length);
        prop_assert!(!cut(&sinew_term::slice(&text, start, length, false, 3).text));
        let short = sinew_term::truncate(&text, length, sinew_term::Ellipsis::Unicode, false, 3);
        prop_assert!(!cut(&short) && width_of(&short) <= length);
        for line in sinew_term::wrap(&text, length, 3, true) {
            prop_assert!(!cut(&line));
            prop_assert!(width_of(&line) <= length.max(1) || line == piece || line.chars().count() == 1, "{:?}", line);
        }
    }

    #[test]
    fn segments_are_slices(text in text(), before in 0usize..12, gap in 0usize..6, length in 0usize..12, strict: bool) {
        let [left, right] = segments(&text, before, before + gap, length, strict, 3);
        prop_assert_eq!(left, slice(&text, 0, before, true, 3));
        prop_assert_eq!(right, slice(&text, before + gap, length, strict, 3));
    }

    #[test]
    fn a_result_from_the_start_equals_that_of_the_whole(text in text(), cut in 0usize..60, a in 0usize..12, b in 0usize..12, flag: bool) {
        let mut start = &text[..cut.min(text.len())];
        if let [head @ .., 0xD800..=0xDBFF] = start {
            start = head;
        }
        if let Some(found) = truncate_start(start, a, Ellipsis::Unicode, flag, 3) {
            prop_assert_eq!(Some(found), truncate(&text, a, Ellipsis::Unicode, flag, 3));
        }
        let windows = [(0, a, true), (b, a, flag)];
        let (found, sure) = columns(start, windows, 3);
        if sure {
            prop_assert_eq!(found, columns(&text, windows, 3).0);
        }
    }

    #[test]
    fn utf_8_and_utf_16_agree(text in text(), a in 0usize..12, b in 0usize..12, flag: bool) {
        let utf8 = whole(&text);
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        let text = units(&utf8);
        prop_assert_eq!(sinew_term::visible_width(&utf8, 3), visible_width(&text, 3));
        let (cut, width) = slice(&text, a, b, flag, 3);
        let other = sinew_term::slice(&utf8, a, b, flag, 3);
        prop_assert_eq!((units(&other.text), other.width), (cut, width));
        prop_assert_eq!(units(&sinew_term::wrap(&utf8, a, 3, true).join("\n")), wrap(&text, a, 3, true));
        let cut = truncate(&text, a, Ellipsis::Ascii, flag, 3).unwrap_or_else(|| text.clone());
        prop_assert_eq!(units(&sinew_term::truncate(&utf8, a, Ellipsis::Ascii, flag, 3)), cut);
        prop_assert_eq!(units(&sinew_term::sanitize(&utf8)), plain(&text));
    }

    #[test]
    fn wrapping_keeps_an_indent(indent in "[ \t]{0,4}", word in "[a-z]{1,9}( [a-z]{1,9}){0,3}", width in 1usize..30) {
        let cells = sinew_term::visible_width(&indent, 3);
        let lines = sinew_term::wrap(&format!("{indent}{word}"), width, 3, true);
        prop_assert!(cells > width || lines[0].starts_with(&indent), "{lines:?}");
    }

    /// With width 1 there is a break at every opportunity, so each line is one cluster of the segmentation crate.
    #[test]
    fn clusters_are_those_of_unicode(picks in prop::collection::vec(prop::sample::select(PIECES), 0..12), other: char) {
        let mut text = picks.concat();
        text.push(other);
        let keep = |c: &char| !c.is_control() && *c != ' ' && *c != '\u{fffd}';
        let text: String = text.chars().filter(keep).collect();
        let mut lines = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let first = rest.graphemes(true).next().expect("not empty");
            lines.push(first);
            rest = &rest[first.len()..];
        }
        // Clusters without width stay on the previous line, so clusters are joined until each has a width.
        let ours = sinew_term::wrap(&text, 1, 3, true);
        let mut theirs: Vec<String> = Vec::new();
        let mut last = 0;
        for cluster in lines {
            let cells = sinew_term::visible_width(cluster, 3);
            if theirs.is_empty() || (cells > 0 && last > 0) {
                theirs.push(cluster.to_string());
                last = cells;
            } else {
                theirs.last_mut().expect("not empty").push_str(cluster);
                last += cells;
            }
        }
        if theirs.is_empty() {
            theirs.push(String::new());
        }
        prop_assert_eq!(ours, theirs);
    }
}

#[test]
fn a_mark_after_a_dropped_tab_is_separate() {
    let wrapped = |text: &str| sinew_term::wrap(text, 1, 3, true);
    assert_eq!(wrapped("a\x08\t\u{fe0f}"), ["a\x08", "\u{fe0f}"]);
    assert_eq!(wrapped("☺\t\u{fe0f}"), ["☺", "\u{fe0f}"]);
}
