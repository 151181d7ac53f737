//! Names of languages: resolves a name, an extension or an alias to a lexer or grammar.

use syntect::parsing::SyntaxReference;

use crate::grammar;
use crate::lex::{NativeLexer, table, template};

/// The engine that highlights a language.
#[derive(Clone, Copy)]
pub(crate) enum Engine {
    /// A built-in lexer.
    Native(NativeLexer),
    /// A TextMate grammar.
    Grammar(&'static SyntaxReference),
}

/// Languages with a lexer: the name first, then its aliases and extensions.
const NATIVE: &[(NativeLexer, &str)] = &[
    (NativeLexer::Bash, "bash sh zsh shell ksh ash shellscript shell-script console bashrc zshrc ebuild pkgbuild"),
    (NativeLexer::C, "c h"),
    (NativeLexer::Cpp, "cpp c++ cc cxx cp hpp hh hxx h++ ipp inl tpp cuda cu arduino ino"),
    (NativeLexer::CSharp, "csharp c# cs csx"),
    (NativeLexer::Go, "go golang"),
    (NativeLexer::Java, "java"),
    (NativeLexer::JavaScript, "javascript js jsx mjs cjs es6 node babel javascriptreact"),
    (NativeLexer::Json, "json jsonc json5 jsonl ndjson webmanifest"),
    (NativeLexer::Python, "python py python3 py3 pyi pyw starlark bzl"),
    (NativeLexer::Php, "php php3 php4 php5 php7 php8 phtml phps"),
    (NativeLexer::Ruby, "ruby rb gemspec rake rakefile gemfile podfile vagrantfile jruby irb rxml"),
    (NativeLexer::Rust, "rust rs"),
    (NativeLexer::Html, "html htm xhtml shtml vue svelte astro"),
    (
        NativeLexer::Xml,
        "xml svg rss xsd xsl xslt atom plist wsdl xib xjb opml tld csproj vcxproj props targets resx xaml rng",
    ),
    (NativeLexer::Template(&template::BRACES), "jinja jinja2 j2 django twig nunjucks njk"),
    (NativeLexer::Template(&template::ERB), "erb rhtml erbsql"),
    (NativeLexer::Markdown, "markdown md mdown mkd mdx"),
    (NativeLexer::Css, "css scss less"),
    (NativeLexer::Diff, "diff patch udiff"),
    (NativeLexer::MySql, "mysql mariadb"),
    (NativeLexer::Sql, "sql postgres postgresql pgsql plsql sqlite tsql ddl dml"),
    (NativeLexer::Text, "text plain plaintext txt"),
    (NativeLexer::Toml, "toml"),
    (NativeLexer::Yaml, "yaml yml"),
    (NativeLexer::Tsx, "tsx typescriptreact"),
    (NativeLexer::TypeScript, "typescript ts mts cts"),
];

/// Languages with a grammar of another name: the name, the grammar's name, then aliases.
const ALIASES: &[(&str, &str, &str)] =
    &[("gitignore", "Git Ignore", ""), ("rst", "reStructuredText", "restructuredtext")];

/// Returns the engine for a name, ignoring case, surrounding blanks and a leading dot (`.rs`); `None` if it is unknown.
pub(crate) fn find(name: &str) -> Option<Engine> {
    let key = key(name)?;
    if let Some(fast) = fast(&key) {
        return Some(Engine::Native(fast));
    }
    let alias = ALIASES.iter().find(|(own, _, aliases)| *own == key || lists(aliases, &key));
    let grammar = alias.map_or(name.trim(), |row| row.1);
    let syntax = grammar::find(grammar).or_else(|| grammar::find(&key))?;
    // Grammars know more extensions than the tables.
    let lexer = fast(&syntax.name.to_ascii_lowercase());
    Some(lexer.map_or(Engine::Grammar(syntax), Engine::Native))
}

/// Returns the lexer for a name, looked up as in [`find`].
pub(crate) fn find_lexer(name: &str) -> Option<NativeLexer> {
    fast(&key(name)?)
}

/// Returns the name in the form of the tables; `None` if it cannot be in them.
fn key(name: &str) -> Option<String> {
    let name = name.trim();
    // No language has a longer name, and the tables are searched linearly.
    if name.is_empty() || name.len() > 64 {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    Some(lower.strip_prefix('.').map(str::to_owned).unwrap_or(lower))
}

fn fast(key: &str) -> Option<NativeLexer> {
    let own = NATIVE.iter().find(|(_, names)| lists(names, key)).map(|row| row.0);
    own.or_else(|| table::all().find(|(_, names)| lists(names, key)).map(|row| NativeLexer::Table(row.0)))
}

fn lists(names: &str, key: &str) -> bool {
    names.split(' ').any(|known| known == key)
}

/// Returns the grammar for a name, even if the language has a built-in lexer.
pub(crate) fn find_grammar(name: &str) -> Option<&'static SyntaxReference> {
    let name = match name {
        "cpp" => "C++",
        "csharp" => "C#",
        "bash" => "Bourne Again Shell (bash)",
        "jsx" => "JavaScript (Babel)",
        name => name,
    };
    grammar::find(name)
}

/// Grammars whose languages have a lexer with another name.
const REPLACED: &[&str] = &[
    "ARM Assembly",
    "Batch File",
    "Bourne Again Shell (bash)",
    "C",
    "C#",
    "C++",
    "DotENV",
    "F#",
    "Fortran (Fixed Form)",
    "Fortran (Modern)",
    "GDScript (Godot Engine)",
    "Git Config",
    "JavaScript (Babel)",
    "Java Properties",
    "Lisp",
    "Literate Haskell",
    "Objective-C",
    "Objective-C++",
    "Protocol Buffer",
    "TeX",
    "TypeScriptReact",
    "Syslog",
    "VimL",
    "Vue Component",
    "x86_64 Assembly",
];

/// Returns one name per language, in lower case, sorted.
pub(crate) fn all() -> Vec<String> {
    let lexers = NATIVE.iter().map(|row| row.1).chain(table::all().map(|row| row.1));
    let mut names: Vec<String> = lexers.filter_map(|names| names.split(' ').next()).map(str::to_owned).collect();
    names.extend(ALIASES.iter().map(|row| row.0.to_owned()));
    for syntax in grammar::all() {
        let renamed = ALIASES.iter().any(|row| row.1 == syntax.name) || REPLACED.contains(&syntax.name.as_str());
        if !renamed {
            let own = std::iter::once(syntax.name.to_ascii_lowercase());
            let name = own.chain(syntax.file_extensions.iter().cloned()).find(|name| is_plain_name(name));
            names.extend(name.filter(|name| fast(name).is_none()));
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn is_plain_name(name: &str) -> bool {
    name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_belongs_to_one_lexer() {
        let rows = NATIVE.iter().map(|row| row.1).chain(table::all().map(|row| row.1));
        let mut names: Vec<&str> = rows.flat_map(|names| names.split(' ')).collect();
        let count = names.len();
        assert!(count > 300, "{count}");
        names.sort_unstable();
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
        for name in names {
            assert_eq!(key(name).as_deref(), Some(name), "names in the table are in lookup form");
        }
    }

    #[test]
    fn every_name_of_a_replaced_grammar_finds_a_lexer() {
        for syntax in grammar::all().filter(|syntax| REPLACED.contains(&syntax.name.as_str())) {
            // Listed as Haskell, although only a grammar supports it.
            if syntax.name == "Literate Haskell" {
                continue;
            }
            let mut names = syntax.file_extensions.iter();
            assert!(names.any(|name| find_lexer(name).is_some()), "{}: {:?}", syntax.name, syntax.file_extensions);
        }
    }
}
