//! Programs of a line that run commands or code from their arguments or their input.

use super::code::{Language, is_plain};
use super::interpreters::{self, Source};
use super::line::{Line, substitutes};
use super::pattern::{ANY, is_listed};
use super::runners::{CommandPosition, DATA, INLINE, MODULES, PROFILERS, READING_MODULES, SHELL_WORDS, Values};
use super::syntax::Input;
use super::variables::{Effect, effect};
use super::words::{is_line, name, rows, values};

impl Line {
    /// Finds the commands that a program runs because of its options, and the lines that it reads.
    pub(super) fn program(&mut self, words: &[String], has_input: bool, depth: usize) {
        // The commands of lines inside have the same input.
        let (inherits, input) = (self.inherits, self.input.clone());
        self.inherits |= has_input;
        self.program_alone(words, has_input, depth + 1);
        (self.inherits, self.input) = (inherits, input);
    }

    fn program_alone(&mut self, words: &[String], has_input: bool, inner: usize) {
        let arguments = words.get(1..).unwrap_or_default();
        match name(words) {
            "eval" => return self.read_inner(&arguments.join(" "), inner),
            "trap" => {
                let lines = arguments.iter().filter(|word| word.contains(' ') || !word.starts_with('-'));
                lines.for_each(|text| self.read_inner(text, inner));
            }
            "alias" => self.alias(arguments, inner),
            "source" | "." => {
                let script = arguments.iter().find(|word| !word.starts_with("--"));
                if !script.is_some_and(|script| !script.contains(ANY) && self.is_plain_file(script, has_input)) {
                    self.unsure("it reads commands from something that is not a plain file");
                }
            }
            "env" | "sudo" | "doas" => {
                for (name, value) in arguments.iter().filter_map(|word| word.split_once('=')) {
                    if is_identifier(name) {
                        self.variable(name, value, true, inner - 1);
                    }
                }
            }
            _ => {}
        }
        for takes in rows(name(words)) {
            self.takes(takes, words, has_input, inner);
        }
    }

    fn takes(&mut self, takes: CommandPosition, words: &[String], has_input: bool, inner: usize) {
        let arguments = words.get(1..).unwrap_or_default();
        match takes {
            CommandPosition::Words | CommandPosition::WordsAndInput => {}
            CommandPosition::Shell => self.shell(words, has_input, inner),
            CommandPosition::Lines => {
                for word in arguments.iter().filter(|word| is_line(word)) {
                    self.read_inner(word, inner);
                    if let Some((_, value)) = word.split_once('=') {
                        self.read_inner(value, inner);
                    }
                }
            }
            CommandPosition::LinesAfter(beginnings) => {
                let lines = arguments.iter().filter(|word| beginnings.iter().any(|begin| word.starts_with(begin)));
                for (_, line) in lines.filter_map(|word| word.split_once('=')) {
                    self.read_inner(line, inner);
                }
            }
            CommandPosition::LinesOf(options) => {
                for value in values(arguments, options) {
                    self.read_inner(value.strip_prefix("exec=").unwrap_or(value), inner);
                }
            }
            CommandPosition::Unknown(_)
            | CommandPosition::UnknownWithin(_)
            | CommandPosition::UnknownBut(..)
            | CommandPosition::UnknownOptions(_)
            | CommandPosition::UnknownValues(..) => {
                if has_unknown(takes, words) {
                    self.unsure("an argument may make a program run commands");
                }
                // An expansion could contain such a text.
                let expands = matches!(takes, CommandPosition::UnknownWithin(texts) if texts.contains(&"$("));
                self.evaluates |= expands && arguments.iter().any(|word| word.contains(ANY));
            }
            CommandPosition::Code(options) => {
                if !values(arguments, options).is_empty() {
                    self.unsure("code of another language may start programs");
                }
            }
            CommandPosition::Reads | CommandPosition::ReadsUnlessFile | CommandPosition::ReadsUnlessTold(_) => {
                if has_input && self.reads(takes, arguments) {
                    self.unsure("a program runs commands from its input");
                }
            }
            CommandPosition::AlwaysBut(known) => {
                if arguments.is_empty() || !arguments.iter().all(|word| is_listed(word, known)) {
                    self.unsure("a program may run any command");
                }
            }
            CommandPosition::Interpreter => self.interpreter(words, has_input, inner),
            CommandPosition::ScriptOf(options) => {
                let scripts = values(arguments, options);
                if scripts.iter().any(|file| file.contains(ANY) || !self.is_plain_file(file, has_input)) {
                    self.unsure("a program runs commands from something that is not a plain file");
                }
            }
            CommandPosition::Always => self.unsure("a program may run any command"),
            CommandPosition::Evaluates => self.evaluation(name(words), arguments),
            CommandPosition::Sed => self.sed(arguments, has_input),
            CommandPosition::Awk => self.awk(arguments, has_input),
            CommandPosition::Git => self.git(arguments, inner),
        }
    }

    /// Returns whether a program runs commands from the input that it has.
    fn reads(&self, takes: CommandPosition, arguments: &[String]) -> bool {
        match takes {
            CommandPosition::ReadsUnlessFile => {
                let plain = |file: &String| !file.contains(ANY) && self.is_plain_file(file, true);
                !matches!(&self.input, Input::File(file) if plain(file))
            }
            CommandPosition::ReadsUnlessTold(valued) => operands(arguments, valued) < 2,
            _ => true,
        }
    }

    fn alias(&mut self, arguments: &[String], inner: usize) {
        for (_, text) in arguments.iter().filter_map(|word| word.split_once('=')) {
            let before = self.commands.len();
            self.read_inner(text, inner);
            // The arguments after an alias are appended to its last command.
            let last = self.commands[before..].last().into_iter().flatten();
            let longer: Vec<String> = last.map(|text| format!("{text} {ANY}")).collect();
            self.inside.extend(longer);
            if text.ends_with([' ', '\t']) {
                self.unsure("the word after an alias may be an alias too");
            }
        }
    }

    /// Reads the line of a shell: its `-c`, its script, or its standard input.
    fn shell(&mut self, words: &[String], has_input: bool, inner: usize) {
        let mut rest = words[1..].iter().map(String::as_str).peekable();
        let (mut is_line, mut by_input) = (false, false);
        while let Some(word) = rest.next_if(|word| word.len() > 1 && word.starts_with(['-', '+'])) {
            match word {
                // Without the `--`, which some runners remove, the next word would be an option.
                "--" if rest.peek().is_some_and(|next| next.starts_with('-')) => {
                    return self.unsure("a shell has an option that is not known");
                }
                "--" => break,
                "--version" | "--help" => return,
                "--norc" | "--noprofile" | "--posix" | "--login" | "--verbose" | "--restricted" => {}
                _ if word.starts_with("--") => return self.unsure("a shell has an option that is not known"),
                _ => {
                    is_line |= word.contains('c');
                    by_input |= word.contains(['s', 'i']);
                    self.shell_options(word);
                    // `-o pipefail` and `-O extglob` each have a value.
                    let settings = word.matches(['o', 'O']).count();
                    rest.by_ref().take(settings).for_each(|setting| self.shell_options(setting));
                }
            }
        }
        if is_line {
            // `sh -c -- line`
            let text = rest.find(|word| *word != "--");
            return match text {
                Some(text) => self.read_inner(text, inner),
                None => self.unsure("a shell has the option -c without a line"),
            };
        }
        if name(words) == "su" {
            return;
        }
        // Scripts are not read; standard input and expansions cannot be read.
        let seen = rest.next().is_some_and(|script| !script.contains(ANY) && self.is_plain_file(script, has_input));
        if !seen || by_input {
            self.unsure("a shell reads commands from something that is not a plain file");
        }
    }

    /// Checks the code of an interpreter: in the call, in a file, or from standard input.
    fn interpreter(&mut self, words: &[String], has_input: bool, inner: usize) {
        let Some(row) = interpreters::find(name(words)) else { return };
        let arguments = &words[1..];
        if row.language == Language::Perl && runs_arguments(arguments) {
            self.unsure("perl runs an argument with | as a command");
        }
        for source in row.sources(arguments) {
            let reason = match source {
                Source::Code(code) if is_plain(row.language, code) => continue,
                Source::Module(module, rest) if self.is_module(module, &rest, has_input, inner) => continue,
                Source::Script(file) if self.is_plain_file(file, has_input) => {
                    let at = arguments.iter().position(|word| word == file).map_or(arguments.len(), |at| at + 1);
                    self.inline(&arguments[at..], has_input);
                    // The debugger reads commands.
                    if has_input && row.language == Language::JavaScript && is_listed(file, "inspect debug") {
                        self.unsure("a program runs code from its input");
                    }
                    continue;
                }
                Source::Input if self.is_plain_document(row.language) => continue,
                Source::Nothing => continue,
                Source::Code(_) => "code of another language may start programs",
                Source::Module(..) => "a module runs code from its input or arguments",
                Source::Script(_) | Source::Input => "a program runs code from something that is not a plain file",
                Source::Unknown => "an interpreter has an unknown option",
            };
            self.unsure(reason);
        }
    }

    /// Returns whether the input is a here-document with code that clearly starts no program.
    fn is_plain_document(&self, language: Language) -> bool {
        matches!(&self.input, Input::Document(code) if is_plain(language, code))
    }

    /// Returns whether a module is a known one, or a file of the project. Checks its arguments as those of a program.
    fn is_module(&mut self, module: &str, arguments: &[&str], has_input: bool, inner: usize) -> bool {
        let first = module.split('.').next().unwrap_or_default();
        if module.contains(ANY) || is_listed(first, READING_MODULES) {
            return false;
        }
        let is_special = |word: &&&str| word.starts_with('/') && !self.is_plain_file(word, true);
        if has_input && arguments.iter().any(|word| is_special(&word)) {
            return false;
        }
        if is_listed(first, PROFILERS) {
            return self.profiled(arguments, has_input, inner);
        }
        let words: Vec<String> = [first].iter().chain(arguments).map(|word| (*word).to_string()).collect();
        for takes in rows(first) {
            self.takes(takes, &words, has_input, inner);
        }
        self.inline(&words[1..], has_input);
        let path = module.replace('.', "/");
        is_listed(first, MODULES)
            || self.has_file(&format!("{path}.py"))
            || self.has_file(&format!("{path}/__main__.py"))
    }

    /// Returns whether a module that runs a script or another module runs a plain file or a known module.
    fn profiled(&mut self, arguments: &[&str], has_input: bool, inner: usize) -> bool {
        let mut rest = arguments.iter().copied();
        let mut by_name = false;
        while let Some(word) = rest.next() {
            if word == "-o" || word == "-s" {
                rest.next();
            } else if word.len() > 1 && word.starts_with('-') {
                by_name |= word.contains('m') && !word.starts_with("--");
            } else if by_name {
                let behind: Vec<&str> = rest.collect();
                return self.is_module(word, &behind, has_input, inner);
            } else if !self.is_plain_file(word, has_input) {
                return false;
            }
        }
        true
    }

    /// Checks the arguments of a program that is not known for code and for a mode in which it reads code.
    pub(super) fn inline(&mut self, arguments: &[String], has_input: bool) {
        let is_code = |value: &str| value.contains(['\'', '"', '(', ')', '`', '$', '\\', ';', '|', '{', ANY]);
        let codes = arguments.iter().enumerate().filter_map(|(at, word)| {
            let next = || arguments.get(at + 1).map_or("", String::as_str);
            match word.split_once('=') {
                Some((option, value)) if is_listed(option, INLINE) => Some(value),
                _ if is_listed(word, INLINE) => Some(next()),
                _ => None,
            }
        });
        if codes.into_iter().any(is_code) {
            self.unsure("code of another language may start programs");
        }
        if has_input && arguments.iter().any(|word| is_listed(word, SHELL_WORDS)) {
            self.unsure("a program runs code from its input");
        }
    }

    /// Records variables that a command sets other than by a prefix `name=value`.
    pub(super) fn sets(&mut self, words: &[String], depth: usize) {
        let arguments = words.get(1..).unwrap_or_default();
        let program = name(words);
        let plain = |options: &str| -> Vec<&str> {
            let mut rest = arguments.iter().map(String::as_str);
            let mut found = Vec::new();
            while let Some(word) = rest.next() {
                match word.strip_prefix('-') {
                    Some(letters) if letters.ends_with(|last| options.contains(last)) => drop(rest.next()),
                    Some(_) => {}
                    None => found.push(word),
                }
            }
            found
        };
        let names: Vec<&str> = match program {
            "read" => plain("pdtnNui"),
            "mapfile" | "readarray" => plain("dnOsuCc"),
            "getopts" => arguments.get(1).map(String::as_str).into_iter().collect(),
            "printf" if arguments.iter().take(2).any(|word| word.starts_with("-v")) => values(arguments, &["-v"]),
            "wait" => values(arguments, &["-p"]),
            _ => Vec::new(),
        };
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            self.variable(name.split('[').next().unwrap_or_default(), &ANY.to_string(), false, depth);
        }
        if is_listed(program, "export declare typeset local readonly") {
            let flags = arguments.iter().filter(|word| word.starts_with('-'));
            let has = |letter: char| flags.clone().any(|word| word.contains(letter));
            // With these options it prints or handles functions, unless a value is given.
            let asks = has('p') || has('f') || has('F');
            let names = arguments.iter().filter(|word| !word.starts_with(['-', '+']));
            for word in names.filter(|word| !asks || word.contains('=')) {
                let (name, value) = word.split_once('=').unwrap_or((word, "\0"));
                let name = name.trim_end_matches('+').split('[').next().unwrap_or_default();
                self.variable(name, value, program == "export" || has('x'), depth);
                // With `-n`, the variable is a reference to the variable named by the value.
                if has('n') && program != "export" {
                    self.variable(value, &ANY.to_string(), false, depth);
                }
            }
            return;
        }
        // A program may accept variables as arguments: `make CC=x`.
        for (name, value) in arguments.iter().filter_map(|word| word.split_once('=')) {
            let function = name.starts_with("BASH_FUNC_");
            let line = effect(name, value, false) == Effect::Line;
            // After `set -k`, the shell passes such arguments as variables to every program.
            let line = line && !is_listed(program, DATA) || self.has_keywords();
            if function || is_identifier(name) && line {
                self.variable(name, value, true, depth);
            }
        }
    }

    /// Records a builtin whose arguments may be evaluated as expressions.
    fn evaluation(&mut self, name: &str, arguments: &[String]) {
        let has = |option: &str| arguments.iter().any(|word| word == option);
        let by_option = match name {
            "printf" | "test" | "[" => has("-v") || arguments.first().is_some_and(|word| word.starts_with("-v")),
            _ => true,
        };
        if by_option && arguments.iter().any(|word| substitutes(word)) {
            self.unsure("a builtin may run the substitution in its argument");
        }
        let integer = arguments.iter().any(|word| word.starts_with('-') && word.contains('i'));
        self.evaluates |= name == "let" || by_option && (integer || matches!(name, "test" | "[" | "printf" | "unset"));
    }
}

/// Returns whether a program has an argument that is not known to run nothing.
fn has_unknown(takes: CommandPosition, words: &[String]) -> bool {
    let arguments = words.get(1..).unwrap_or_default();
    match takes {
        CommandPosition::Unknown(beginnings) => {
            arguments.iter().any(|word| beginnings.iter().any(|begin| word.starts_with(begin)))
        }
        CommandPosition::UnknownWithin(texts) => arguments.iter().any(|word| {
            let word = word.to_ascii_lowercase();
            texts.iter().any(|text| word.contains(text))
        }),
        CommandPosition::UnknownBut(begin, known) => arguments.iter().any(|word| {
            let first = word.split_whitespace().next().unwrap_or_default();
            let named = first.strip_prefix(begin).is_some_and(|rest| rest.starts_with(|one: char| one.is_alphabetic()));
            named && !is_listed(first, known)
        }),
        CommandPosition::UnknownOptions(options) => {
            // `tar xIf` has its first options without a dash.
            let bare = arguments.first().filter(|_| name(words).ends_with("tar")).filter(|word| !word.starts_with('-'));
            let dashed: Vec<String> = bare.map(|word| format!("-{word}")).into_iter().collect();
            !values(arguments, options).is_empty() || !values(&dashed, options).is_empty()
        }
        CommandPosition::UnknownValues(options, known) => {
            let is_known = |value: &str| match known {
                Values::Files => !value.starts_with(['|', '!']) && !value.contains(ANY),
                Values::Sql(starts) => is_sql(value, starts),
                Values::Settings(names) => {
                    is_listed(&value.split(['=', ' ']).next().unwrap_or_default().to_ascii_lowercase(), names)
                }
            };
            values(arguments, options).iter().any(|value| !value.is_empty() && !is_known(value))
        }
        _ => false,
    }
}

/// Returns whether perl may run one of these arguments, because it reads the files in them (`-n`, `-p`, `<>`) and starts
/// a program for a name that begins or ends with `|`. With `-i` it opens plain files only.
fn runs_arguments(arguments: &[String]) -> bool {
    let behind_flags = |word: &String| {
        let letters = word.strip_prefix('-').unwrap_or("-");
        letters.trim_start_matches(|letter| "wWnpaslcTtuU01234567".contains(letter)).to_string()
    };
    let first = arguments.iter().map(behind_flags).find(|rest| !rest.is_empty());
    let in_place = first.is_some_and(|rest| rest.starts_with('i'));
    let is_script = arguments.first().is_some_and(|word| !word.starts_with('-'));
    let may_be = |end: char| end == '|' || end == ANY && !in_place && !is_script;
    arguments.iter().any(|word| word.trim().starts_with(may_be) || word.trim().ends_with(may_be))
}

/// Returns whether each statement starts with a listed word, and none leaves the language.
fn is_sql(text: &str, starts: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let outside =
        text.contains(['\\', ANY]) || ["program", "language", "execute", "sys_"].iter().any(|word| text.contains(word));
    let mut parts = text.split([';', '\n']).filter_map(|part| part.split_whitespace().next());
    !outside && parts.all(|word| is_listed(word, starts))
}

/// Returns the number of arguments that are neither options nor the values of the options in `valued`.
fn operands(arguments: &[String], valued: &str) -> usize {
    let mut rest = arguments.iter();
    let mut count = 0;
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            count += 1;
        } else if is_listed(word, valued) {
            rest.next();
        }
    }
    count
}

/// Returns whether a text is a valid variable name.
fn is_identifier(text: &str) -> bool {
    let first = text.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
    first && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
