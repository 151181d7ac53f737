//! The table-driven lexer: one highlighter for all languages whose rules are a row of data.

/// Declares languages with a name, alternative names and rules; missing rules are those of the base language, or of
/// `PLAIN`.
macro_rules! languages {
    ($($name:ident $names:literal $(from $base:ident)? { $($rules:tt)* })*) => {
        $(static $name: crate::lex::table::Language = crate::lex::table::Language::new(|| {
            const RULES: Rules = Rules { $($rules)* ..languages!(@base $($base)?) };
            crate::lex::table::compiled::CompiledRules::new(RULES)
        });)*
        /// The languages of this family.
        pub(super) static LANGUAGES: &[(&crate::lex::table::Language, &str)] = &[$((&$name, $names)),*];
    };
    (@base) => { PLAIN };
    (@base $base:ident) => { $base };
}

mod compiled;
mod lexer;
mod regions;
mod rules;

mod c_family;
mod config;
mod functional;
mod hardware;
mod lisp;
mod markup;
mod procedural;
mod query;
mod script;
mod shell;

pub(crate) use compiled::Language;
pub(crate) use lexer::TableLexer;
pub(crate) use markup::template_code;

/// Returns every language of the tables: its rules, followed by its name, aliases and extensions.
pub(crate) fn all() -> impl Iterator<Item = &'static (&'static Language, &'static str)> {
    [
        c_family::LANGUAGES,
        config::LANGUAGES,
        functional::LANGUAGES,
        hardware::LANGUAGES,
        lisp::LANGUAGES,
        markup::LANGUAGES,
        procedural::LANGUAGES,
        query::LANGUAGES,
        script::LANGUAGES,
        shell::LANGUAGES,
    ]
    .into_iter()
    .flatten()
}
