//! Markup languages and style sheets.

use super::rules::{
    Anchor, C_COMMENT, Calls, DOUBLE, HASH_BRACE, Key, LineRule, PERCENT, PLAIN, Region, Rules, SINGLE, SLASHES, Sigil,
    block, key, mark, quote, sigil, whole_line,
};
use crate::category::Category::{Comment, Keyword, Plain, String, Type, Variable};
use crate::lex::words::Then;

/// Returns the region of a fenced block of lines.
const fn fence(mark: &'static str) -> Region {
    block(mark, mark).whole_lines()
}

const MATH: Region = quote("$").end("$");

languages! {
    ASCIIDOC "asciidoc adoc asc" {
        lines: &[
            heading("= "), heading("== "), heading("=== "), heading("==== "), heading("===== "), heading("====== "),
            mark("* ", Keyword), mark("** ", Keyword), mark(". ", Keyword), mark(".. ", Keyword), mark("- ", Keyword),
        ],
        regions: &[
            fence("////").is(Comment), Region { multiline: false, ..block("//", "\n") }.at(Anchor::Column0), fence("----").is(String), fence("....").is(String), fence("```").is(String), fence("____").is(Comment), fence("++++").is(String),
            quote("[").end("]").raw().within(200).is(Type).at(Anchor::Column0), quote("`").raw().within(200), quote("+").raw().within(100).at(Anchor::AfterBlank),
        ],
        sigils: &[Sigil { place: Anchor::Column0, ..sigil(":", Variable) }],
        calls: Calls::None,
        operators: "",
        punctuation: "",
    }
    HAML "haml" {
        words: &[(Keyword, Then::Any, "if else elsif unless each do end case when in and or not nil true false self link_to render yield")],
        lines: &[whole_line("-#", Comment), whole_line("/", Comment), whole_line("!!!", Keyword), mark("=", Keyword), mark("-", Keyword)],
        regions: &[DOUBLE.interpolations(HASH_BRACE), SINGLE.at(Anchor::NotAfterValue)],
        sigils: &[sigil("%", Keyword), sigil("@", Variable), Sigil { place: Anchor::NotAfterValue, ..sigil(":", String) }, sigil(".", Type), sigil("#", Type)],
        keys: &[Key { first: false, spaced: false, ..key(": ", Variable) }],
        letters: "-",
        operators: "=&|!<>+*",
    }
    LATEX "latex tex sty ltx bbl" {
        words: &[],
        comments: &[PERCENT],
        regions: &[
            block("\\begin{verbatim}", "\\end{verbatim}").is(String), block("\\begin{lstlisting}", "\\end{lstlisting}").is(String), block("\\begin{comment}", "\\end{comment}"),
            quote("\\verb|").end("|").raw(), quote("\\verb+").end("+").raw(), quote("\\url{").end("}").raw().within(400), MATH.within(u16::MAX).is(Plain),
        ],
        sigils: &[Sigil { specials: "\\{}%$&#_ ,;!/[]()", ..sigil("\\", Keyword) }],
        letters: "@*",
        calls: Calls::None,
        operators: "&^_~$",
        punctuation: "{}[]",
    }
    SASS "sass" from STYLUS_RULES {}
    STYLUS "stylus styl" from STYLUS_RULES {}
}

const STYLUS_RULES: Rules = Rules {
    words: &[(
        Keyword,
        Then::Any,
        "if else unless for in return and or not is isnt null true false @charset @css @debug @extend @extends @font-face @import @include @keyframes @media @mixin @page @require @supports @warn",
    )],
    comments: &[SLASHES],
    regions: &[C_COMMENT, DOUBLE, SINGLE],
    sigils: &[
        sigil("$", Variable),
        sigil("@", Keyword),
        Sigil { place: Anchor::LineStart, ..sigil(".", Type) },
        Sigil { place: Anchor::LineStart, ..sigil("#", Type) },
    ],
    number_prefixes: &["#"],
    number_marks: "%",
    signed: true,
    letters: "-",
    keys: &[key("=", Variable)],
    calls: Calls::Bracket,
    ..PLAIN
};

const fn heading(begin: &'static str) -> LineRule {
    LineRule { indented: false, ..whole_line(begin, Keyword) }
}

/// Returns the language of the code in a template.
pub(crate) fn template_code() -> &'static super::Language {
    &TEMPLATE_CODE
}

const TEMPLATE_RULES: Rules = Rules {
    words: &[
        (Keyword, Then::Function, "block macro endblock endmacro"),
        (
            Keyword,
            Then::Any,
            "and apply as autoescape by call comment context csrf_token cycle debug defined do elif else elseif embed empty endapply endautoescape endcall endcomment endembed \
              endfilter endfor endif endraw endset endspaceless endtrans endverbatim endwith extends false filter firstof flush for from if ifchanged ignore import in include is load loop lorem missing \
              none not now null only or ordered pluralize raw recursive regroup resetcycle sandbox set spaceless ssi static templatetag trans true url use verbatim widthratio with without",
        ),
    ],
    regions: &[DOUBLE.lines(), SINGLE.lines()],
    ..PLAIN
};

static TEMPLATE_CODE: super::Language = super::Language::new(|| super::compiled::CompiledRules::new(TEMPLATE_RULES));
