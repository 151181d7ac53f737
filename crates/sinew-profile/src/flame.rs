//! A flame graph as SVG: one row per depth, one box per path, with a width proportional to its time.

use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const ROW: usize = 18;
const MARGIN: usize = 10;
/// The approximate width of one character of the labels.
const CHARACTER: f64 = 7.0;
/// Deeper paths are cut, since they are unreadable and an image must be finite.
const DEPTH: usize = 100;
/// Narrower boxes are invisible.
const NARROW: f64 = 0.2;

#[derive(Default)]
struct Node<'a> {
    micros: u64,
    children: BTreeMap<&'a str, Node<'a>>,
}

/// Draws paths (joined by `;`) with their own time. Returns `None` if no time was spent.
pub(crate) fn draw<'a>(paths: impl Iterator<Item = (&'a str, u64)>) -> Option<String> {
    let mut root = Node::default();
    let mut deepest = 0;
    for (path, micros) in paths {
        root.micros += micros;
        let mut node = &mut root;
        for (depth, name) in path.split(';').take(DEPTH).enumerate() {
            node = node.children.entry(name).or_default();
            node.micros += micros;
            deepest = deepest.max(depth + 1);
        }
    }
    if root.micros == 0 {
        return None;
    }
    let height = (deepest + 1) * ROW + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" \
         font-family=\"monospace\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fffdf5\"/>\n",
        WIDTH as usize + 2 * MARGIN
    );
    let total = root.micros;
    boxes(&mut svg, "all", &root, MARGIN as f64, height - MARGIN - ROW, total);
    svg.push_str("</svg>\n");
    Some(svg)
}

fn boxes(svg: &mut String, name: &str, node: &Node<'_>, left: f64, top: usize, total: u64) {
    let width = WIDTH * node.micros as f64 / total as f64;
    if width < NARROW {
        return;
    }
    let share = node.micros as f64 * 100.0 / total as f64;
    let (label, name) = (escaped(&fitting(name, width)), escaped(name));
    let inner = ROW - 1;
    // Writing to a String never fails.
    let _ = writeln!(
        svg,
        "<g><title>{name}: {:.3} ms, {share:.1} %</title>\
         <rect x=\"{left:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{inner}\" rx=\"2\" fill=\"{}\"/>\
         <text x=\"{:.1}\" y=\"{}\">{label}</text></g>",
        node.micros as f64 / 1e3,
        color(&name),
        left + 3.0,
        top + 13
    );
    let mut at = left;
    for (name, child) in &node.children {
        // Rows grow upwards; the depth is limited, so there is room.
        boxes(svg, name, child, at, top - ROW, total);
        at += WIDTH * child.micros as f64 / total as f64;
    }
}

/// Returns the part of `name` that fits into a box of that width.
fn fitting(name: &str, width: f64) -> String {
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    match name.chars().count() {
        count if count <= room => name.to_string(),
        _ if room < 3 => String::new(),
        _ => name.chars().take(room - 2).chain("..".chars()).collect(),
    }
}

/// Escapes text for SVG, and replaces characters that XML does not allow.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            control if control.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            other => out.push(other),
        }
    }
    out
}

/// Returns a warm colour, always the same for a name.
fn color(name: &str) -> String {
    let hash = name.bytes().fold(2_166_136_261u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    format!("hsl({},{}%,{}%)", hash % 55, 65 + hash / 55 % 20, 62 + hash / 1_100 % 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(svg: &str, word: &str) -> usize {
        svg.matches(word).count()
    }

    #[test]
    fn every_path_has_a_box_with_its_share_of_the_width() {
        let svg = draw([("search;grep", 600), ("search;glob", 200), ("shell", 200)].into_iter()).unwrap();
        assert_eq!((count(&svg, "<g>"), count(&svg, "</g>")), (5, 5));
        assert!(svg.contains("<title>search: 0.800 ms, 80.0 %</title>"), "{svg}");
        assert!(svg.contains("width=\"720.0\"") && svg.contains(">grep</text>"), "{svg}");
    }

    #[test]
    fn names_cannot_break_out_of_their_element() {
        let svg = draw([("<script>\"&\u{0}", 5)].into_iter()).unwrap();
        assert!(svg.contains("&lt;script&gt;&quot;&amp;\u{FFFD}") && !svg.contains("<script"), "{svg}");
    }

    #[test]
    fn narrow_boxes_are_omitted_and_labels_are_cut() {
        let svg = draw([("wide", 1_000_000), ("thin", 1), ("a-name-that-is-long", 20_000)].into_iter()).unwrap();
        assert!(!svg.contains("thin"));
        assert!(svg.contains("<title>a-name-that-is-long"), "{svg}");
        assert!(!svg.contains(">a-name-that-is-long</text>"), "{svg}");
    }

    #[test]
    fn very_deep_paths_are_cut() {
        let deep = vec!["x"; 10_000].join(";");
        assert_eq!(count(&draw([(deep.as_str(), 1)].into_iter()).unwrap(), "<g>"), DEPTH + 1);
    }

    #[test]
    fn without_time_there_is_no_image() {
        assert_eq!(draw([("a", 0)].into_iter()), None);
        assert_eq!(draw([].into_iter()), None);
    }
}
