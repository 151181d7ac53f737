//! Formulas as TeX: MathML, the scripts and the output of MathJax, and spans that contain TeX.

use super::code::has_class;
use crate::tokens::is_formula;
use crate::tree::{Data, NIL, Tree, descendants};

/// A formula as TeX, and whether it is a block.
pub(super) type Formula = (String, bool);

/// Returns the formula that an element shows; `None` for all other elements, and for MathML of one line, which is
/// readable as text.
pub(super) fn formula(tree: &Tree, id: u32) -> Option<Formula> {
    let Data::Element { name, foreign, .. } = &tree.node(id).data else { return None };
    match &**name {
        "math" if *foreign => {
            let is_block = tree.attribute(id, "display") == Some("block");
            annotation(tree, id)
                .or_else(|| has_structure(tree, id).then(|| mathml(tree, id)))
                .map(|tex| (tex, is_block))
        }
        "script" => {
            let kind = tree.attribute(id, "type").filter(|kind| is_formula(kind))?;
            Some((text(tree, id)?, kind.contains("display")))
        }
        "span" | "div" => in_span(tree, id),
        _ => None,
    }
    .map(|(tex, is_block)| (tex.split_ascii_whitespace().collect::<Vec<_>>().join(" "), is_block))
    .filter(|(tex, _)| !tex.is_empty())
}

/// Returns the formula of `<span class="math inline">\(x\)</span>`, which Pandoc and others write.
fn in_span(tree: &Tree, id: u32) -> Option<Formula> {
    if !has_class(tree, id, |word| word == "math") {
        return None;
    }
    let text = text(tree, id)?;
    let text = text.trim();
    for (begin, end, is_block) in [("\\(", "\\)", false), ("\\[", "\\]", true), ("$$", "$$", true), ("$", "$", false)] {
        if let Some(tex) = text.strip_prefix(begin).and_then(|text| text.strip_suffix(end)) {
            return Some((tex.to_string(), is_block));
        }
    }
    // Without delimiters only a second class tells that it is TeX.
    let is_block = has_class(tree, id, |word| word == "display");
    (is_block || has_class(tree, id, |word| word == "inline")).then(|| (text.to_string(), is_block))
}

/// Returns the text of an element without inner elements.
fn text(tree: &Tree, id: u32) -> Option<String> {
    tree.children(id)
        .map(|id| match &tree.node(id).data {
            Data::Text(text) => Some(&**text),
            Data::Nothing => Some(""),
            Data::Element { .. } => None,
        })
        .collect()
}

/// Returns the TeX that accompanies a MathML formula.
fn annotation(tree: &Tree, id: u32) -> Option<String> {
    // The annotation follows the formula: `math`, `semantics`, `annotation`.
    let semantics = tree.children(id).find(|id| foreign(tree, *id) == Some("semantics"))?;
    let annotation = tree.children(semantics).find(|id| {
        foreign(tree, *id) == Some("annotation") && tree.attribute(*id, "encoding") == Some("application/x-tex")
    })?;
    text(tree, annotation).filter(|text| !text.trim().is_empty())
}

fn foreign(tree: &Tree, id: u32) -> Option<&str> {
    match &tree.node(id).data {
        Data::Element { name, foreign: true, .. } => Some(name),
        _ => None,
    }
}

/// Returns true if a formula is more than a sequence of symbols.
fn has_structure(tree: &Tree, id: u32) -> bool {
    let is_structure = |name: &str| {
        ["msub", "msup", "munder", "mover"].iter().any(|start| name.starts_with(start))
            || matches!(name, "mfrac" | "msqrt" | "mroot" | "mtable")
    };
    descendants(tree, id).any(|id| foreign(tree, id).is_some_and(is_structure))
}

/// Writes MathML as TeX. Recursive: a tree has at most 256 levels.
fn mathml(tree: &Tree, id: u32) -> String {
    let parts = || tree.children(id).filter(|id| foreign(tree, *id).is_some());
    let part = |index: usize| parts().nth(index).map(|id| mathml(tree, id)).unwrap_or_default();
    let all = || tree.children(id).map(|id| mathml(tree, id)).collect::<String>();
    let Some(name) = foreign(tree, id) else {
        return match &tree.node(id).data {
            Data::Text(text) => escaped(text.trim()),
            _ => String::new(),
        };
    };
    match name {
        "annotation" | "annotation-xml" | "mphantom" | "mspace" => String::new(),
        "semantics" | "maction" => part(0),
        "mi" => {
            let name = all();
            if name.chars().nth(1).is_some() && !name.starts_with('\\') { format!("\\mathrm{{{name}}}") } else { name }
        }
        "mtext" | "ms" => format!("\\text{{{}}}", all()),
        "mfrac" => format!("\\frac{{{}}}{{{}}}", part(0), part(1)),
        "msqrt" => format!("\\sqrt{{{}}}", all()),
        "mroot" => format!("\\sqrt[{}]{{{}}}", part(1), part(0)),
        "msup" | "mover" => format!("{}^{{{}}}", base(part(0)), part(1)),
        "msub" | "munder" => format!("{}_{{{}}}", base(part(0)), part(1)),
        "msubsup" | "munderover" => format!("{}_{{{}}}^{{{}}}", base(part(0)), part(1), part(2)),
        "mtable" => {
            let rows: Vec<_> = parts().map(|id| mathml(tree, id)).collect();
            format!("\\begin{{matrix}}{}\\end{{matrix}}", rows.join(" \\\\ "))
        }
        "mtr" => parts().map(|id| mathml(tree, id)).collect::<Vec<_>>().join(" & "),
        _ => all(),
    }
}

/// Returns the base of an index or exponent as one group.
fn base(tex: String) -> String {
    if tex.chars().nth(1).is_some() { format!("{{{tex}}}") } else { tex }
}

/// Returns a symbol with the characters escaped that mean something else in TeX, without the invisible operators.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '{' | '}' | '%' | '#' | '&' | '$' | '_' => out.extend(['\\', c]),
            '\\' => out.push_str("\\backslash "),
            '\u{2061}'..='\u{2064}' => {}
            c => out.push(c),
        }
    }
    out
}

/// Returns true for an element that repeats a formula beside it: the layout of KaTeX, the image of Wikipedia, and the
/// layout or the preview of MathJax.
pub(super) fn repeats_formula(tree: &Tree, id: u32) -> bool {
    // Only four siblings, so that many siblings take linear time.
    let beside = |step: fn(&Tree, u32) -> u32| {
        std::iter::successors(Some(id), move |id| Some(step(tree, *id)).filter(|id| *id != NIL)).skip(1).take(4)
    };
    let starts = |id: u32, start: &str| has_class(tree, id, |word| word.starts_with(start));
    let repeats = |own: &str, first: &str| {
        starts(id, own) && beside(|tree, id| tree.node(id).previous).any(|id| starts(id, first))
    };
    let next = || beside(|tree, id| tree.node(id).next);
    let is_script = |id: u32| tree.attribute(id, "type").is_some_and(is_formula);
    repeats("katex-html", "katex-mathml")
        || repeats("mwe-math-fallback", "mwe-math-mathml")
        || starts(id, "MathJax") && next().any(is_script)
        || tree.name(id).is_some_and(|name| &**name == "mjx-math")
            && next().any(|id| tree.name(id).is_some_and(|name| &**name == "mjx-assistive-mml"))
}
