//! Lexers of our own: one line in, painted pieces out, and a small state between lines.

mod css;
mod curly;
mod curly_words;
mod diff;
mod html;
mod json;
mod markdown;
mod php;
mod preprocessor;
mod python;
mod ruby;
mod scan;
mod script;
mod script_words;
mod shell;
mod sql;
pub(crate) mod table;
pub(crate) mod template;
mod toml;
mod words;
mod yaml;

use crate::paint::Paint;
use css::Css;
use curly::Curly;
use curly_words::Dialect;
use html::Html;
use json::Json;
use markdown::Markdown;
use php::Php;
use python::Python;
use ruby::Ruby;
use scan::Line;
use script::Script;
use shell::Shell;
use sql::Sql;
use table::{Language, TableLexer};
use template::Template;
use toml::Toml;
use yaml::Yaml;

/// The languages with a lexer.
#[derive(Clone, Copy)]
pub(crate) enum Fast {
    C,
    Cpp,
    Java,
    CSharp,
    Go,
    Rust,
    JavaScript,
    TypeScript,
    Tsx,
    Python,
    Json,
    Yaml,
    Toml,
    Css,
    Sql,
    Diff,
    Bash,
    Ruby,
    Php,
    Html,
    /// No language at all.
    Text,
    Xml,
    Markdown,
    /// HTML with code.
    Template(&'static template::Rules),
    /// A row of the tables.
    Table(&'static Language),
}

/// A lexer and where in a text it stands.
#[derive(Clone)]
pub(crate) enum Lexer {
    Curly(Curly),
    Script(Script),
    Python(Python),
    Json(Json),
    Yaml(Yaml),
    Toml(Toml),
    Css(Css),
    Sql(Sql),
    Diff,
    Text,
    Shell(Shell),
    Ruby(Ruby),
    Php(Php),
    Html(Html),
    Markdown(Markdown),
    Table(TableLexer),
    Template(Template),
}

impl Lexer {
    pub(crate) fn new(language: Fast) -> Self {
        match language {
            Fast::C => Self::Curly(Curly::new(Dialect::C)),
            Fast::Cpp => Self::Curly(Curly::new(Dialect::Cpp)),
            Fast::Java => Self::Curly(Curly::new(Dialect::Java)),
            Fast::CSharp => Self::Curly(Curly::new(Dialect::CSharp)),
            Fast::Go => Self::Curly(Curly::new(Dialect::Go)),
            Fast::Rust => Self::Curly(Curly::new(Dialect::Rust)),
            Fast::JavaScript => Self::Script(Script::new(false, true)),
            Fast::TypeScript => Self::Script(Script::new(true, false)),
            Fast::Tsx => Self::Script(Script::new(true, true)),
            Fast::Python => Self::Python(Python::default()),
            Fast::Json => Self::Json(Json::default()),
            Fast::Yaml => Self::Yaml(Yaml::default()),
            Fast::Toml => Self::Toml(Toml::default()),
            Fast::Css => Self::Css(Css::default()),
            Fast::Sql => Self::Sql(Sql::default()),
            Fast::Diff => Self::Diff,
            Fast::Text => Self::Text,
            Fast::Bash => Self::Shell(Shell::default()),
            Fast::Ruby => Self::Ruby(Ruby::default()),
            Fast::Php => Self::Php(Php::default()),
            Fast::Html => Self::Html(Html::default()),
            Fast::Xml => Self::Html(Html::xml()),
            Fast::Template(rules) => Self::Template(Template::new(rules)),
            Fast::Markdown => Self::Markdown(Markdown::default()),
            Fast::Table(language) => Self::Table(TableLexer::new(language)),
        }
    }

    /// Paints one line without its terminator.
    pub(crate) fn line(&mut self, text: &[u8], paint: &mut Paint<'_>) {
        let mut line = Line::new(text, paint);
        match self {
            Self::Curly(lexer) => lexer.line(&mut line),
            Self::Script(lexer) => lexer.line(&mut line),
            Self::Python(lexer) => lexer.line(&mut line),
            Self::Json(lexer) => lexer.line(&mut line),
            Self::Yaml(lexer) => lexer.line(&mut line),
            Self::Toml(lexer) => lexer.line(&mut line),
            Self::Css(lexer) => lexer.line(&mut line),
            Self::Sql(lexer) => lexer.line(&mut line),
            Self::Diff => diff::line(&mut line),
            Self::Text => line.rest(crate::category::Category::Plain),
            Self::Shell(lexer) => lexer.line(&mut line),
            Self::Ruby(lexer) => lexer.line(&mut line),
            Self::Php(lexer) => lexer.line(&mut line),
            Self::Html(lexer) => lexer.line(&mut line),
            Self::Markdown(lexer) => lexer.line(&mut line),
            Self::Template(lexer) => lexer.line(&mut line),
            Self::Table(lexer) => lexer.line(&mut line),
        }
    }
}
