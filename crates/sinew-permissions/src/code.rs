//! Checks code of other languages inside a line: whether it clearly starts no program. Anything that is not known to be
//! harmless is refused.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern::{ANY, is_listed};

/// The language of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    JavaScript,
    Perl,
    Python,
    /// Any other language, whose code is never clear.
    Other,
}

/// Returns whether code clearly starts no program.
pub(super) fn is_plain(language: Language, code: &str) -> bool {
    !code.contains(ANY)
        && match language {
            Language::JavaScript => javascript(code),
            Language::Perl => perl(code),
            Language::Python => python(code),
            Language::Other => false,
        }
}

/// Python modules of which every name except those in `PYTHON_STARTS` may be used.
const PYTHON_MODULES: &str = "base64 binascii bisect calendar collections csv datetime decimal difflib enum fractions functools \
    glob gzip hashlib heapq hmac html io itertools json locale math pathlib pprint random re secrets socket sqlite3 ssl \
    statistics string struct sys textwrap time tomllib unicodedata urllib uuid zlib zoneinfo";

/// Python modules of which only some names may be used.
const PYTHON_PARTS: &[(&str, &str)] = &[
    (
        "os",
        "path getcwd environ getenv listdir sep linesep cpu_count walk stat getpid name uname makedirs mkdir remove rename getsize",
    ),
    ("yaml", "safe_load safe_load_all safe_dump dump"),
];

/// Words with which Python starts a program, creates code from text, or accesses a name by text.
const PYTHON_STARTS: &str = "system exec eval compile spawn* popen Popen subprocess fork* pty getattr setattr vars globals locals \
    builtins codecs modules importlib ctypes breakpoint breakpointhook attrgetter methodcaller runpy marshal pickle posix nt \
    Formatter meta_path path_hooks path_importer_cache load_extension enable_load_extension sched inspect loader \
    timeit typing get_type_hints ForwardRef singledispatch* update_wrapper remote_exec CGIHTTPRequestHandler";

fn python(code: &str) -> bool {
    static WORD: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Za-z_][A-Za-z0-9_]*"));
    static FROM: LazyLock<Regex> = LazyLock::new(|| regex(r"^from\s+([\w.]+)\s+import\s+[\w\s,()*]+$"));
    static IMPORT: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^import\s+([\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*)$"));
    // Importing a module runs its file, like running a script.
    static SHOWS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^import ([\w.]+)(?:; ?print\([\w.]+\.__(?:version|file|path)__\))?$"));
    let is_module = |name: &str| is_listed(name.split('.').next().unwrap_or_default(), PYTHON_MODULES);
    if let Some(shown) = SHOWS.captures(code.trim()) {
        let first = shown[1].split('.').next().unwrap_or_default();
        return !is_listed(first, "antigravity pty this code pdb idlelib IPython") && !shown[1].contains("__main__");
    }
    for statement in code.split([';', '\n']).map(str::trim) {
        if !WORD.find_iter(statement).any(|word| word.as_str() == "import") {
            continue;
        }
        let known = if let Some(from) = FROM.captures(statement) {
            is_module(&from[1]) && !statement.contains('*')
        } else if let Some(import) = IMPORT.captures(statement) {
            import[1].split(',').all(|part| {
                let mut words = part.split_whitespace();
                let name = words.next().unwrap_or_default();
                let part = PYTHON_PARTS.iter().any(|(module, _)| *module == name) && words.next().is_none();
                is_module(name) || part
            })
        } else {
            false
        };
        if !known {
            return false;
        }
    }
    let code =
        code.split([';', '\n']).filter(|statement| !IMPORT.is_match(statement.trim())).collect::<Vec<_>>().join("\n");
    WORD.find_iter(&code).all(|found| {
        let (word, before, behind) = (found.as_str(), &code[..found.start()], &code[found.end()..]);
        if let Some((_, names)) = PYTHON_PARTS.iter().find(|(module, _)| *module == word) {
            let name = behind.strip_prefix('.').and_then(|rest| WORD.find(rest)).filter(|name| name.start() == 0);
            return !before.ends_with('.') && name.is_some_and(|name| is_listed(name.as_str(), names));
        }
        let hidden = word.starts_with('_') && !is_listed(word, "_ __name__ __version__ __file__ __doc__");
        !hidden && !is_listed(word, PYTHON_STARTS)
    })
}

/// Words with which JavaScript starts a program, creates code from text, or accesses a name by text.
const JAVASCRIPT_STARTS: &str = "child_process exec* spawn* fork eval Function constructor binding mainModule import global \
    globalThis module createRequire Reflect vm worker_threads cluster prototype __proto__ dlopen Worker getOwn* getPrototypeOf \
    setPrototypeOf defineProperty Proxy Deno Bun with repl inspector this";

const JAVASCRIPT_MODULES: &str = "fs path os util url crypto assert buffer zlib querystring string_decoder http https dns events \
    node:fs node:path node:os node:util node:url node:crypto fs/promises node:fs/promises";

const JAVASCRIPT_PROCESS: &str =
    "version versions argv env platform arch cwd exit stdin stdout memoryUsage hrtime uptime pid release exitCode";

fn javascript(code: &str) -> bool {
    static WORD: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Za-z_$][A-Za-z0-9_$]*"));
    static REQUIRE: LazyLock<Regex> = LazyLock::new(|| regex(r#"^\(\s*["']([\w./:@-]+)["']\s*\)(\.version\b)?"#));
    static INDEX: LazyLock<Regex> = LazyLock::new(|| regex(r#"^\[\s*(?:["'][\w .-]*["']|\d+|)\s*\]"#));
    static PROCESS: LazyLock<Regex> = LazyLock::new(|| regex(r"^\.(\w+)"));
    if ["\\x", "\\u", "`", "]:", "] :"].iter().any(|text| code.contains(text)) {
        return false;
    }
    // A computed index may access any name.
    let indexes = code.match_indices('[').all(|(at, _)| {
        let before = code[..at].trim_end().chars().next_back();
        let is_index = before.is_some_and(|letter| letter.is_alphanumeric() || "_$)]?.}\"'".contains(letter));
        !is_index || INDEX.is_match(&code[at..])
    });
    indexes
        && WORD.find_iter(code).all(|found| {
            let (word, behind) = (found.as_str(), &code[found.end()..]);
            match word {
                "require" => REQUIRE.captures(behind).is_some_and(|required| {
                    let name = &required[1];
                    name.starts_with("./")
                        || name.starts_with("../")
                        || is_listed(name, JAVASCRIPT_MODULES)
                        || required.get(2).is_some()
                }),
                "process" => PROCESS.captures(behind).is_some_and(|name| is_listed(&name[1], JAVASCRIPT_PROCESS)),
                _ => !is_listed(word, JAVASCRIPT_STARTS),
            }
        })
}

/// Accepts a list of replacements, or one `print` of fields, or the separator of `-F`.
fn perl(code: &str) -> bool {
    static PRINTS: LazyLock<Regex> = LazyLock::new(|| {
        let item = r#"(?:\$F\[-?\d+\]|\$[_.&\d]|"(?:[^"\\$@`]|\\[nt])*")"#;
        regex(&format!(r#"^print(?: {item}(?:, ?{item})*)?(?: (?:if|unless) /[^/"'`$@]*/)?;?$"#))
    });
    static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| regex(r"^/?(?:[,:;|. -]|\\[ts|.]\+?)+/?$"));
    let code = code.trim();
    PRINTS.is_match(code) || SEPARATOR.is_match(code) || perl_replaces(code)
}

/// Returns whether code consists of `s///`, `y///` and `tr///` only, none of which evaluates its text.
fn perl_replaces(code: &str) -> bool {
    let mut rest = code;
    loop {
        let plain = rest.starts_with('s');
        let Some(behind) = ["s", "y", "tr"].iter().find_map(|name| rest.strip_prefix(name)) else { return false };
        // After other delimiters, Perl may read a longer word: `s::x`, `s=>`.
        let Some(by) = behind.chars().next().filter(|by| "/|,!#%~".contains(*by)) else { return false };
        let Some((pattern, behind)) = perl_part(&behind[1..], by) else { return false };
        let Some((text, behind)) = perl_part(behind, by) else { return false };
        if plain && !(perl_is_text(pattern) && perl_is_text(text)) {
            return false;
        }
        let flags = if plain { "gimsxar" } else { "cdsr" };
        let behind = behind.trim_start_matches(|letter| flags.contains(letter)).trim_start();
        rest = behind.trim_start_matches(';').trim_start();
        if rest.is_empty() {
            return true;
        }
        if !behind.starts_with(';') {
            return false;
        }
    }
}

/// Splits a text at the next delimiter that is not escaped.
fn perl_part(text: &str, by: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == by => return Some((&text[..at], &text[at + by.len_utf8()..])),
            _ => {}
        }
    }
    None
}

/// Returns whether a pattern or a replacement runs no code: it has no code block, and each variable in it is a plain one
/// without an index, which could be any expression.
fn perl_is_text(text: &str) -> bool {
    if ["?{", "*{", "`"].iter().any(|code| text.contains(code)) {
        return false;
    }
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '@' => return false,
            '$' => {
                let behind = &text[at + 1..];
                let named = behind.trim_start_matches(|letter: char| letter == '_' || letter.is_ascii_alphanumeric());
                let name = behind.len() - named.len();
                let ends = behind.is_empty() || behind.starts_with([')', '|']);
                if !ends && (name == 0 || named.starts_with(['[', '{', '-', ':', '\''])) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a literal pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_plain_only_if_it_starts_no_programs() {
        use Language::{JavaScript, Other, Perl, Python};
        for (language, code, expect) in [
            (Python, "import json,sys; print(json.load(sys.stdin)[\"a\"])", true),
            (Python, "import os\nprint(os.path.join('a', 'b'), os.environ['X'])", true),
            (Python, "print(1 + 2)", true),
            (Python, "import numpy; print(numpy.__version__)", true),
            (Python, "from pathlib import Path; print(Path('x').read_text())", true),
            (Python, "import yaml; print(yaml.safe_load(open('a.yml')))", true),
            (Python, "import os; os.system('x')", false),
            (Python, "import os as o; o.__dict__['sys' + 'tem']('x')", false),
            (Python, "import sys; sys.modules['o' + 's'].system('x')", false),
            (Python, "import glob; glob.os.execvp('x', ['x'])", false),
            (Python, "__import__('os')", false),
            (Python, "x = 1; import pty", false),
            (Python, "exec('x')", false),
            (Python, "from os import system as s; s('x')", false),
            (Python, "print(\0)", false),
            (Python, "import timeit; timeit.timeit('x')", false),
            (Python, "from timeit import timeit as t; t('x')", false),
            (Python, "import typing; typing.get_type_hints(f)", false),
            (Python, "import functools; functools.singledispatch(f)", false),
            (Python, "import sys; sys.remote_exec(1, 'x')", false),
            (Python, "import IPython.__main__", false),
            (Python, "import idlelib.idle", false),
            (Python, "import yaml; yaml.load('x')", false),
            (JavaScript, "console.log(require(\"./package.json\").version)", true),
            (JavaScript, "JSON.parse(require('fs').readFileSync('a')).b.map(x => x[0])", true),
            (JavaScript, "process.version", true),
            (JavaScript, "[1, 2].includes(1)", true),
            (JavaScript, "require('child_process').execSync('x')", false),
            (JavaScript, "(() => {})['con' + 'structor']('x')()", false),
            (JavaScript, "process.mainModule.require('x')", false),
            (JavaScript, "require('child' + '_process')", false),
            (JavaScript, "k = 'x'; f[k]()", false),
            (JavaScript, "import('x')", false),
            (JavaScript, "'\\x63'", false),
            (Perl, "s/a/b/g", true),
            (Perl, "print if /x/", true),
            (Perl, "s/x/y/e", false),
            (Perl, "system 'x'", false),
            (Perl, "s/a/b/;system qw yxy", false),
            (Perl, "system qw yxy", false),
            (Perl, "s/a/@{[system 1]}/", false),
            (Perl, "s/a/b/; s/(x+)$/<$1>/gi; tr/a-z/A-Z/;", true),
            (Perl, "s/\\n+/\\n/g", true),
            (Perl, "s/me@x/y/", false),
            (Perl, "print $F[0], \" \", $F[-1]", true),
            (Perl, "print \"$x[f()]\"", false),
            (Perl, "print $F[f()]", false),
            (Perl, ",", true),
            (Perl, "/x/;f()", false),
            (Perl, "s/a/b/;a;readpipe(1)", false),
            (Perl, "s/a/b/;#x\nreadpipe(1)", false),
            (Perl, "s/(.*)/b/;w;readpipe(1)", false),
            (Perl, "s/a/$x[readpipe 1]/", false),
            (Perl, "s/a/$1->[readpipe 1]/", false),
            (Perl, "s/a/$h{readpipe 1}/", false),
            (Perl, "s/(?{f()})/x/", false),
            (Perl, "s/(*{f()})/x/", false),
            (Perl, "s::x:;readpipe(1);:", false),
            (Perl, "s/a/b/ee", false),
            (Perl, "s/a/b/ x readpipe(1)", false),
            (Perl, "y/a/b/;a;readpipe(1)", false),
            (Other, "puts 1", false),
        ] {
            assert_eq!(is_plain(language, code), expect, "{code}");
        }
    }
}
