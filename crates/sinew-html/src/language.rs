//! The language of a code block, as pages name it.

/// Words beside the name of a language in the classes of highlighters.
const OTHER_WORDS: [&str; 12] = [
    "copy",
    "highlight",
    "literate",
    "line-numbers",
    "lineAnchors",
    "nohighlight",
    "notranslate",
    "numberLines",
    "numberSource",
    "prettyprint",
    "sourceCode",
    "src",
];

/// Returns the language in a class; `None` for other classes. Recognises `language-rust`, `lang-rust`, GitHub's
/// `highlight-source-rust`, Sphinx's `highlight-rust`, Pandoc's `sourceCode rust`, highlight.js's `hljs rust`,
/// SyntaxHighlighter's `brush: rust` and Org's `src src-rust`.
pub(crate) fn of_class(class: &str) -> Option<&str> {
    let words = || class.split_ascii_whitespace();
    let prefixed = |prefixes: &[&str]| {
        words()
            .find_map(|word| prefixes.iter().find_map(|prefix| word.strip_prefix(prefix)).filter(|name| is_name(name)))
    };
    if let Some(name) = prefixed(&["language-", "lang-", "highlight-source-", "highlight-text-"]) {
        return Some(name);
    }
    if let Some(at) = class.find("brush:") {
        let name = class[at + "brush:".len()..].trim_start().split([';', ' ', '\t', '\n']).next();
        return name.filter(|name| is_name(name));
    }
    let has = |wanted: &str| words().any(|word| word == wanted);
    if has("hljs") || has("sourceCode") {
        let is_other = |word: &str| word.starts_with("hljs") || OTHER_WORDS.contains(&word);
        return words().find(|word| !is_other(word) && is_name(word) && word.len() <= 20);
    }
    if has("src") {
        return prefixed(&["src-"]);
    }
    // The default of Sphinx says nothing about the code.
    prefixed(&["highlight-"]).filter(|name| !matches!(*name, "default" | "none") && name.len() <= 20)
}

/// Returns true if a text can be written after a fence as the name of a language.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c == '`' || c.is_whitespace())
}
