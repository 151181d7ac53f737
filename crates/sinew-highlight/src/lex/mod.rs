//! Built-in lexers: they highlight one line at a time and keep a small state between lines.

mod c_family;
mod c_family_words;
mod css;
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
use c_family::CFamily;
use c_family_words::Dialect;
use css::Css;
use diff::Diff;
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
pub(crate) enum NativeLexer {
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
    MySql,
    Diff,
    Bash,
    Ruby,
    Php,
    Html,
    /// Plain text.
    Text,
    Xml,
    Markdown,
    /// HTML with embedded code.
    Template(&'static template::Rules),
    /// A language of the table-driven lexer.
    Table(&'static Language),
}

/// A lexer and its state within a text.
#[derive(Clone)]
pub(crate) enum Lexer {
    CFamily(CFamily),
    Script(Script),
    Python(Python),
    Json(Json),
    Yaml(Yaml),
    Toml(Toml),
    Css(Css),
    Sql(Sql),
    Diff(Diff),
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
    pub(crate) fn new(language: NativeLexer) -> Self {
        match language {
            NativeLexer::C => Self::CFamily(CFamily::new(Dialect::C)),
            NativeLexer::Cpp => Self::CFamily(CFamily::new(Dialect::Cpp)),
            NativeLexer::Java => Self::CFamily(CFamily::new(Dialect::Java)),
            NativeLexer::CSharp => Self::CFamily(CFamily::new(Dialect::CSharp)),
            NativeLexer::Go => Self::CFamily(CFamily::new(Dialect::Go)),
            NativeLexer::Rust => Self::CFamily(CFamily::new(Dialect::Rust)),
            NativeLexer::JavaScript => Self::Script(Script::new(false, true)),
            NativeLexer::TypeScript => Self::Script(Script::new(true, false)),
            NativeLexer::Tsx => Self::Script(Script::new(true, true)),
            NativeLexer::Python => Self::Python(Python::default()),
            NativeLexer::Json => Self::Json(Json::default()),
            NativeLexer::Yaml => Self::Yaml(Yaml::default()),
            NativeLexer::Toml => Self::Toml(Toml::default()),
            NativeLexer::Css => Self::Css(Css::default()),
            NativeLexer::Sql => Self::Sql(Sql::default()),
            NativeLexer::MySql => Self::Sql(Sql::mysql()),
            NativeLexer::Diff => Self::Diff(Diff::default()),
            NativeLexer::Text => Self::Text,
            NativeLexer::Bash => Self::Shell(Shell::default()),
            NativeLexer::Ruby => Self::Ruby(Ruby::default()),
            NativeLexer::Php => Self::Php(Php::default()),
            NativeLexer::Html => Self::Html(Html::default()),
            NativeLexer::Xml => Self::Html(Html::xml()),
            NativeLexer::Template(rules) => Self::Template(Template::new(rules)),
            NativeLexer::Markdown => Self::Markdown(Markdown::default()),
            NativeLexer::Table(language) => Self::Table(TableLexer::new(language)),
        }
    }

    /// Highlights one line without its line end.
    pub(crate) fn line(&mut self, text: &[u8], paint: &mut Paint<'_>) {
        let mut line = Line::new(text, paint);
        match self {
            Self::CFamily(lexer) => lexer.line(&mut line),
            Self::Script(lexer) => lexer.line(&mut line),
            Self::Python(lexer) => lexer.line(&mut line),
            Self::Json(lexer) => lexer.line(&mut line),
            Self::Yaml(lexer) => lexer.line(&mut line),
            Self::Toml(lexer) => lexer.line(&mut line),
            Self::Css(lexer) => lexer.line(&mut line),
            Self::Sql(lexer) => lexer.line(&mut line),
            Self::Diff(lexer) => lexer.line(&mut line),
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
