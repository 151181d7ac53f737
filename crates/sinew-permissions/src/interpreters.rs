//! The interpreters of languages and where they find their code. If a call has an option that no row lists, its code is
//! unknown.

use super::code::Language;
use super::pattern::is_listed;

/// The options of an interpreter, separated by spaces; a final `*` matches any ending. One-letter options may be
/// combined.
pub(super) struct Interpreter {
    /// Its names, each of which may be followed by a version: `python3.12`, but not `python3-config`.
    names: &'static str,
    pub(super) language: Language,
    /// Options without a value.
    flags: &'static str,
    /// Options with a value.
    values: &'static str,
    /// Options whose value is code.
    code: &'static str,
    /// Options whose value names a module.
    module: &'static str,
    /// Options that load a module, and the values that run nothing but the module: `-r dotenv/config`.
    loads: &'static [(&'static str, &'static str)],
    /// Options that make it search for its files by itself.
    finds: &'static str,
    /// Options that only print information.
    informs: &'static str,
}

/// The source of the code that a call runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source<'a> {
    Code(&'a str),
    /// A module, and the arguments after it.
    Module(&'a str, Vec<&'a str>),
    Script(&'a str),
    /// Its standard input.
    Input,
    /// No code runs.
    Nothing,
    /// Unknown, because an option is unknown.
    Unknown,
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: "python pythonw pypy graalpy micropython jython",
        language: Language::Python,
        flags: "-b -B -d -E -I -O -OO -P -q -s -S -u -v -x -R",
        values: "-W -X --check-hash-based-pycs",
        code: "-c",
        module: "-m",
        loads: &[],
        finds: "",
        informs: "-h -V -? --help* --version",
    },
    Interpreter {
        names: "node nodejs",
        language: Language::JavaScript,
        flags: "-c --check --test --test-only --test-force-exit --test-update-snapshots --test-coverage-* --watch \
            --watch-preserve-output --no-* --trace-* --enable-source-maps --harmony* --max-* --stack-size* \
            --unhandled-rejections* --preserve-symlinks* --expose-gc --input-type* --conditions* --title* \
            --experimental-vm-modules --experimental-strip-types --experimental-transform-types --experimental-modules \
            --experimental-json-modules --experimental-wasm-modules --experimental-fetch --experimental-worker \
            --experimental-specifier-resolution* --experimental-test-coverage --experimental-test-module-mocks \
            --experimental-test-snapshots --experimental-test-isolation* --experimental-import-meta-resolve \
            --experimental-global-* --experimental-websocket --experimental-sqlite --experimental-require-module \
            --experimental-detect-module --experimental-default-type* --experimental-top-level-await \
            --experimental-abortcontroller --experimental-permission --experimental-webstorage \
            --experimental-eventsource",
        values: "-C --watch-path --test-name-pattern --test-skip-pattern --test-concurrency --test-timeout --test-shard \
            --test-isolation --test-reporter-destination",
        code: "-e -p -pe --eval --print",
        module: "",
        loads: &[
            (
                "-r --require --import --loader --experimental-loader",
                "dotenv/config tsx tsx/cjs tsx/esm ts-node/register ts-node/register/transpile-only ts-node/esm \
                 source-map-support/register esm @swc-node/register @swc-node/register/esm-register @babel/register \
                 tsconfig-paths/register",
            ),
            ("--test-reporter", "spec tap dot junit lcov"),
        ],
        finds: "--test",
        informs: "-v -h --version --help --v8-options",
    },
    Interpreter {
        names: "perl",
        language: Language::Perl,
        flags: "-w -W -X -t -T -u -U -n -p -a -s -c -l -i* -0 -1 -2 -3 -4 -5 -6 -7",
        values: "-I",
        // `-F` is inserted into the code.
        code: "-e -E -M -m -F",
        module: "",
        loads: &[],
        finds: "",
        informs: "-v -V -h",
    },
    Interpreter {
        names: "ruby jruby truffleruby",
        language: Language::Other,
        flags: "-w -W* -v -n -p -a -l -s -c -U",
        values: "-I -r -C -E",
        code: "-e",
        module: "",
        loads: &[],
        finds: "",
        informs: "-h --help --version --copyright",
    },
    Interpreter {
        names: "php php-cgi php-fpm phpdbg",
        language: Language::Other,
        flags: "-n -q -C -l",
        values: "-f -F",
        code: "-r -B -R -E",
        module: "",
        loads: &[],
        finds: "",
        informs: "-v -m -i -h --version --help --ini",
    },
    Interpreter {
        names: "lua luajit texlua",
        language: Language::Other,
        flags: "-W -E",
        values: "-l",
        code: "-e",
        module: "",
        loads: &[],
        finds: "",
        informs: "-v",
    },
    Interpreter {
        names: "Rscript",
        language: Language::Other,
        flags: "--vanilla --verbose --no-*",
        values: "",
        code: "-e",
        module: "",
        loads: &[],
        finds: "",
        informs: "--version --help",
    },
];

/// Returns the interpreter with this name.
pub(super) fn find(name: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|row| row.names.split(' ').any(|base| is_version(name, base)))
}

/// Returns whether a name is `base`, which may be followed by a version: `python3.12`, `python3.13t`, `python3-dbg`,
/// `perl5.36-x86_64-linux-gnu`.
fn is_version(name: &str, base: &str) -> bool {
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let Some(behind) = name.strip_prefix(base) else { return false };
    let version = behind.strip_prefix('-').filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let version = version.unwrap_or(behind);
    let build = version.trim_start_matches(|letter: char| letter == '.' || letter.is_ascii_digit());
    let letters = build.len() <= 2 && build.bytes().all(|byte| byte.is_ascii_lowercase());
    let variant = build.starts_with('-') && !build.starts_with("-config");
    version.is_empty() || build.len() < version.len() && (letters || variant)
}

impl Interpreter {
    /// Returns the sources of the code that a call with these arguments runs.
    pub(super) fn sources<'a>(&self, arguments: &'a [String]) -> Vec<Source<'a>> {
        let mut found = Vec::new();
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            if word == "--" || !word.starts_with('-') || word == "-" {
                if !found.iter().any(|source| matches!(source, Source::Code(_))) {
                    let script = if word == "--" { rest.next() } else { Some(word) };
                    found.push(script.map_or(Source::Input, |script| match script {
                        "-" => Source::Input,
                        script => Source::Script(script),
                    }));
                }
                return found;
            }
            if !self.option(word, &mut rest, &mut found) {
                return vec![Source::Unknown];
            }
            if let Some(Source::Module(_, arguments)) = found.last_mut() {
                *arguments = rest.collect();
                return found;
            }
            if found.last() == Some(&Source::Nothing) {
                return found;
            }
        }
        if found.is_empty() {
            // `node --test` searches for files by itself.
            let finds = arguments.iter().any(|word| is_listed(word, self.finds));
            found.push(if finds { Source::Nothing } else { Source::Input });
        }
        found
    }

    /// Reads one option or several combined ones. Returns false if one is unknown.
    fn option<'a>(&self, word: &'a str, rest: &mut impl Iterator<Item = &'a str>, found: &mut Vec<Source<'a>>) -> bool {
        let (name, attached) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if word.starts_with("--") || self.has(word) {
            return self.one(name, attached, rest, found).is_some();
        }
        for (at, letter) in word.char_indices().skip(1) {
            let behind = &word[at + letter.len_utf8()..];
            let attached = Some(behind).filter(|behind| !behind.is_empty());
            match self.one(&format!("-{letter}"), attached, rest, found) {
                Some(true) => return true,
                Some(false) => {}
                None => return false,
            }
        }
        true
    }

    /// Returns whether a list contains a word exactly.
    fn has(&self, word: &str) -> bool {
        let lists = [self.flags, self.values, self.code, self.module, self.informs];
        let loads = self.loads.iter().map(|(options, _)| *options);
        lists.into_iter().chain(loads).any(|list| list.split(' ').any(|entry| entry == word))
    }

    /// Reads one option. Returns whether it uses the attached value, or `None` if the option is unknown.
    fn one<'a>(
        &self,
        name: &str,
        attached: Option<&'a str>,
        rest: &mut impl Iterator<Item = &'a str>,
        found: &mut Vec<Source<'a>>,
    ) -> Option<bool> {
        let mut value = || attached.or_else(|| rest.next()).unwrap_or_default();
        if is_listed(name, self.code) {
            found.push(Source::Code(value()));
        } else if is_listed(name, self.module) {
            found.push(Source::Module(value(), Vec::new()));
        } else if let Some((_, known)) = self.loads.iter().find(|(options, _)| is_listed(name, options)) {
            if !is_listed(value(), known) {
                return None;
            }
        } else if is_listed(name, self.values) {
            value();
        } else if is_listed(name, self.informs) {
            found.push(Source::Nothing);
            return Some(false);
        } else if is_listed(name, self.flags) {
            // `-i.bak`: the rest of the word is its value.
            return Some(self.flags.split(' ').any(|flag| flag.strip_suffix('*') == Some(name)));
        } else {
            return None;
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_where_interpreters_read_their_code() {
        use Source::{Code, Input, Module, Nothing, Script, Unknown};
        for (call, expect) in [
            ("python3", vec![Input]),
            ("python3 -", vec![Input]),
            ("python3 - x", vec![Input]),
            ("python3 -u a.py -c b", vec![Script("a.py")]),
            ("python3 -W ignore", vec![Input]),
            ("python3 -Wignore a.py", vec![Script("a.py")]),
            ("python3 -Ic x", vec![Code("x")]),
            ("python3 -m json.tool", vec![Module("json.tool", Vec::new())]),
            ("python3 -i a.py", vec![Unknown]),
            ("python3 --version", vec![Nothing]),
            ("node --test", vec![Nothing]),
            ("node --test -e x", vec![Code("x")]),
            ("node -pe x", vec![Code("x")]),
            ("node --eval=x", vec![Code("x")]),
            ("node --require ./x a.js", vec![Unknown]),
            ("node --max-old-space-size=4096 a.js", vec![Script("a.js")]),
            ("perl -pi.bak -e x f", vec![Code("x")]),
            ("perl -0777 -ne x", vec![Code("x")]),
            ("perl -le x", vec![Code("x")]),
            ("perl -wle x", vec![Code("x")]),
            ("perl -d x", vec![Unknown]),
            ("ruby -rjson a.rb", vec![Script("a.rb")]),
            ("php -d auto_prepend_file=x a.php", vec![Unknown]),
            ("perl -- -", vec![Input]),
            ("perl -F, -lane x", vec![Code(","), Code("x")]),
            ("python3 -m cProfile -o x a.py", vec![Module("cProfile", vec!["-o", "x", "a.py"])]),
            ("node --experimental-loader=data:x a.js", vec![Unknown]),
            ("node --test-reporter=data:x --test", vec![Unknown]),
            ("node --test-reporter spec --test", vec![Nothing]),
            ("node --test-global-setup=x --test", vec![Unknown]),
            ("node -r dotenv/config a.js", vec![Script("a.js")]),
            ("node --import tsx a.js", vec![Script("a.js")]),
            ("node --test-name-pattern x a.js", vec![Script("a.js")]),
            ("php -l a.php", vec![Script("a.php")]),
        ] {
            let words: Vec<String> = call.split(' ').map(str::to_string).collect();
            let row = find(&words[0]).unwrap();
            assert_eq!(row.sources(&words[1..]), expect, "{call}");
        }
    }

    #[test]
    fn interpreters_are_named_with_a_version_only() {
        for (name, expect) in [
            ("python3", true),
            ("python3.12", true),
            ("python3.13t", true),
            ("python3-dbg", true),
            ("python3-config", false),
            ("python-config", false),
            ("perl5.36-x86_64-linux-gnu", true),
            ("perldoc", false),
            ("perltidy", false),
            ("php8.1-cgi", true),
            ("php-cs-fixer", false),
            ("phpunit", false),
            ("lua5.4", true),
            ("lua-5.1", true),
            ("luacheck", false),
            ("ruby2.7", true),
            ("python3.exe", true),
            ("pypy3.10", true),
            ("node", true),
        ] {
            assert_eq!(find(name).is_some(), expect, "{name}");
        }
    }
}
