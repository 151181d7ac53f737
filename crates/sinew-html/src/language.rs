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

/// The names that stand alone as the class of `code`.
const NAMES: [&str; 56] = [
    "bash",
    "c",
    "clojure",
    "cmake",
    "cpp",
    "cs",
    "csharp",
    "css",
    "dart",
    "diff",
    "dockerfile",
    "elixir",
    "erlang",
    "go",
    "graphql",
    "groovy",
    "haskell",
    "html",
    "ini",
    "java",
    "javascript",
    "js",
    "json",
    "jsx",
    "julia",
    "kotlin",
    "latex",
    "lisp",
    "lua",
    "makefile",
    "markdown",
    "matlab",
    "nim",
    "nix",
    "objc",
    "ocaml",
    "perl",
    "php",
    "powershell",
    "python",
    "r",
    "ruby",
    "rust",
    "scala",
    "scss",
    "sh",
    "shell",
    "sql",
    "swift",
    "toml",
    "ts",
    "tsx",
    "typescript",
    "xml",
    "yaml",
    "zig",
];

/// The names of languages with two letters, which distinguish `lang=js` from `lang=en`.
const SHORT_NAMES: [&str; 24] = [
    "cl", "cr", "cs", "el", "fs", "go", "hs", "js", "kt", "md", "ml", "pl", "ps", "py", "rb", "rs", "sh", "st", "tf",
    "ts", "vb", "vy", "wl", "hx",
];

/// Returns true for the class of a line of code.
pub(crate) fn is_line(word: &str) -> bool {
    matches!(word, "line" | "code-line")
}

/// Returns true for the class of the line numbers beside code.
pub(crate) fn is_gutter(word: &str) -> bool {
    matches!(word, "gutter" | "lineno" | "linenos" | "linenumber" | "linenumbers" | "line-number" | "blob-num")
        || matches!(
            word,
            "linenodiv"
                | "lnt"
                | "lntd"
                | "hljs-ln-numbers"
                | "line-numbers-rows"
                | "react-syntax-highlighter-line-number"
        )
}

/// Returns the language in the class of a `figure`, as Hexo writes it: `highlight rust`.
pub(crate) fn of_figure(class: &str) -> Option<&str> {
    class.strip_prefix("highlight ").map(str::trim).filter(|name| is_name(name) && *name != "plain")
}

/// Returns the language in the class of `code`, if that is the name of a common language alone: `perl`.
pub(crate) fn of_code(class: &str) -> Option<&str> {
    Some(class.trim()).filter(|name| NAMES.binary_search(name).is_ok())
}

/// Returns the language in the attribute `lang` of code. Text in it may be in a natural language: `en`, `de-AT`.
pub(crate) fn of_attribute(lang: &str) -> Option<&str> {
    let (first, region) = lang.split_once('-').map_or((lang, None), |(first, region)| (first, Some(region)));
    let is_natural = match first.len() {
        2 => region.is_some() || !SHORT_NAMES.contains(&first),
        3 => region.is_some(),
        _ => false,
    };
    (is_name(lang) && !is_natural).then_some(lang)
}

/// Returns the language in a class; `None` for other classes. Recognises `language-rust`, `lang-rust`, GitHub's
/// `highlight-source-rust`, Sphinx's `highlight-rust`, Pandoc's `sourceCode rust`, highlight.js's `hljs rust`,
/// SyntaxHighlighter's `brush: rust`, Org's `src src-rust`, MediaWiki's `mw-highlight-lang-rust` and docutils' `code rust
/// literal-block`.
pub(crate) fn of_class(class: &str) -> Option<&str> {
    let words = || class.split_ascii_whitespace();
    let prefixed = |prefixes: &[&str]| {
        words()
            .find_map(|word| prefixes.iter().find_map(|prefix| word.strip_prefix(prefix)).filter(|name| is_name(name)))
    };
    if let Some(name) = prefixed(&["language-", "lang-", "highlight-source-", "highlight-text-", "mw-highlight-lang-"])
    {
        return Some(name).filter(|name| *name != "none");
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
    if has("code") && has("literal-block") {
        return words().find(|word| !matches!(*word, "code" | "literal-block") && !OTHER_WORDS.contains(word));
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
