//! Programs of a line that run commands or code from their arguments or their input.

use super::code::is_plain;
use super::interpreters::{self, Source};
use super::line::{LOOKED_AT, Line, substitutes};
use super::pattern::{ANY, is_listed};
use super::runners::{CommandPosition, DATA, GIT_COMMANDS, GIT_SETTINGS, GIT_VALUES, Values};
use super::sed;
use super::variables::{Effect, effect};
use super::words::{name, rows, spellings, values};

/// Python modules that run code which they read or receive as an argument.
const READING_MODULES: &str = "code pdb bdb timeit pty IPython idlelib asyncio runpy trace";

impl Line {
    /// Finds the commands that a program runs because of its options, and the lines that it reads.
    pub(super) fn program(&mut self, words: &[String], has_input: bool, depth: usize) {
        let arguments = words.get(1..).unwrap_or_default();
        let inner = depth + 1;
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
                        self.variable(name, value, true, depth);
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
                for word in arguments.iter().filter(|word| word.contains([' ', '\t', '\n', ';', '|', '&', '`', '('])) {
                    self.read_inner(word, inner);
                    if let Some((_, value)) = word.split_once('=') {
                        self.read_inner(value, inner);
                    }
                }
            }
            CommandPosition::LinesOf(options) => {
                for value in values(arguments, options) {
                    self.read_inner(value.strip_prefix("exec=").unwrap_or(value), inner);
                }
            }
            CommandPosition::Unknown(beginnings) => {
                if arguments.iter().any(|word| beginnings.iter().any(|begin| word.starts_with(begin))) {
                    self.unsure("an argument may make a program run commands");
                }
            }
            CommandPosition::UnknownBut(begin, known) => {
                let is_unknown = |word: &&String| {
                    let first = word.split_whitespace().next().unwrap_or_default();
                    let named =
                        first.strip_prefix(begin).is_some_and(|rest| rest.starts_with(|one: char| one.is_alphabetic()));
                    named && !is_listed(first, known)
                };
                if arguments.iter().any(|word| is_unknown(&word)) {
                    self.unsure("a subcommand may make a program run commands");
                }
            }
            CommandPosition::UnknownOptions(options) => {
                // `tar xIf` has its first options without a dash.
                let bare =
                    arguments.first().filter(|_| name(words).ends_with("tar")).filter(|word| !word.starts_with('-'));
                let dashed: Vec<String> = bare.map(|word| format!("-{word}")).into_iter().collect();
                if !values(arguments, options).is_empty() || !values(&dashed, options).is_empty() {
                    self.unsure("an option may make a program run commands");
                }
            }
            CommandPosition::UnknownValues(options, known) => {
                let is_known = |value: &str| match known {
                    Values::Files => !value.starts_with(['|', '!']) && !value.contains(ANY),
                    Values::Settings(names) => {
                        is_listed(&value.split(['=', ' ']).next().unwrap_or_default().to_ascii_lowercase(), names)
                    }
                };
                if values(arguments, options).iter().any(|value| !value.is_empty() && !is_known(value)) {
                    self.unsure("an option may make a program run commands");
                }
            }
            CommandPosition::Code(options) => {
                if !values(arguments, options).is_empty() {
                    self.unsure("code of another language may start programs");
                }
            }
            CommandPosition::Reads if has_input => self.unsure("a program runs commands from its input"),
            CommandPosition::Reads => {}
            CommandPosition::Interpreter => self.interpreter(words, has_input),
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
                "--" => break,
                "--version" | "--help" => return,
                "--norc" | "--noprofile" | "--posix" | "--login" | "--verbose" | "--restricted" => {}
                _ if word.starts_with("--") => return self.unsure("a shell has an unknown option"),
                _ => {
                    is_line |= word.contains('c');
                    by_input |= word.contains(['s', 'i']);
                    // `-o pipefail` and `-O extglob` each have a value.
                    let settings = word.matches(['o', 'O']).count();
                    rest.by_ref().take(settings).for_each(drop);
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
    fn interpreter(&mut self, words: &[String], has_input: bool) {
        let Some(row) = interpreters::find(name(words)) else { return };
        for source in row.sources(&words[1..]) {
            let reason = match source {
                Source::Code(code) if is_plain(row.language, code) => continue,
                Source::Module(module) if !module.contains(ANY) && !is_listed(module, READING_MODULES) => continue,
                Source::Script(file) if self.is_plain_file(file, has_input) => continue,
                Source::Nothing => continue,
                Source::Code(_) => "code of another language may start programs",
                Source::Module(_) => "a module runs code from its input or arguments",
                Source::Script(_) | Source::Input => "a program runs code from something that is not a plain file",
                Source::Unknown => "an interpreter has an unknown option",
            };
            self.unsure(reason);
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
            if function || is_identifier(name) && line && !is_listed(program, DATA) {
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

    fn sed(&mut self, arguments: &[String], has_input: bool) {
        let mut rest = arguments.iter().map(String::as_str);
        let (mut scripts, mut words, mut files) = (Vec::new(), Vec::new(), Vec::new());
        let mut known = true;
        while let Some(word) = rest.next() {
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let is = |option: &str| !name.is_empty() && option.starts_with(name);
                if is("expression") {
                    scripts.extend(value.or_else(|| rest.next()));
                } else if is("file") && !is("follow-symlinks") {
                    files.extend(value.or_else(|| rest.next()));
                } else if !name.is_empty() {
                    const FLAGS: &str = "quiet silent debug follow-symlinks in-place null-data posix regexp-extended separate \
                        sandbox unbuffered help version zero-terminated";
                    known &= FLAGS.split(' ').any(|flag| flag.starts_with(name));
                }
                continue;
            }
            let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                words.push(word);
                continue;
            };
            for (at, letter) in letters.char_indices() {
                let behind = Some(&letters[at + letter.len_utf8()..]).filter(|behind| !behind.is_empty());
                match letter {
                    'n' | 'E' | 'r' | 's' | 'u' | 'z' => continue,
                    // The rest of the word is the suffix of the backup file.
                    'i' => {}
                    'e' => scripts.extend(behind.or_else(|| rest.next())),
                    'f' => files.extend(behind.or_else(|| rest.next())),
                    _ => known = false,
                }
                break;
            }
        }
        if scripts.is_empty() && files.is_empty() {
            // On BSD, `-i` is followed by an empty word.
            scripts.extend(words.iter().find(|word| !word.is_empty()));
        }
        if files.iter().any(|file| file.contains(ANY) || !self.is_plain_file(file, has_input)) {
            self.unsure("sed reads its script from something that is not a plain file");
        }
        if !known || scripts.iter().any(|script| script.contains(ANY) || sed::may_run(script)) {
            self.unsure("a sed script may run commands");
        }
    }

    fn awk(&mut self, arguments: &[String], has_input: bool) {
        let mut rest = arguments.iter().map(String::as_str);
        let (mut programs, mut files) = (Vec::new(), Vec::new());
        let mut known = true;
        while let Some(word) = rest.next() {
            let (name, value) = match word.split_once('=').filter(|_| word.starts_with("--")) {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            match name {
                "--" => {
                    programs.extend(rest.next().filter(|_| files.is_empty()));
                    break;
                }
                "--version" | "--help" | "--posix" | "--re-interval" | "--csv" => {}
                "-v" | "-F" | "--assign" | "--field-separator" => drop(value.or_else(|| rest.next())),
                "-f" | "--file" => files.extend(value.or_else(|| rest.next())),
                "-e" | "--source" => programs.extend(value.or_else(|| rest.next())),
                _ if name.starts_with("-F") || name.starts_with("-v") => {}
                _ if name.starts_with("-f") => files.push(&name[2..]),
                _ if name.starts_with('-') && name.len() > 1 => known = false,
                _ => {
                    programs.extend(Some(word).filter(|_| files.is_empty() && programs.is_empty()));
                    break;
                }
            }
        }
        if !known || files.iter().any(|file| file.contains(ANY) || !self.is_plain_file(file, has_input)) {
            self.unsure("awk reads its program from something that is not a plain file, or has an unknown option");
        }
        let starts = |program: &&str| {
            let text = program.replace("||", " ");
            let calls =
                text.match_indices('@').any(|(at, _)| text[at + 1..].starts_with(|next: char| next.is_alphabetic()));
            calls || text.contains(['|', ANY]) || text.contains("system") || text.contains("getline")
        };
        if programs.iter().any(starts) {
            self.unsure("an awk program may run commands");
        }
    }

    fn git(&mut self, arguments: &[String], inner: usize) {
        let mut at = 0;
        while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
            let (option, value) =
                word.split_once('=').map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
            let value = value.or_else(|| arguments.get(at + 1).map(String::as_str)).unwrap_or_default();
            let sets = word.starts_with("-c") && !is_harmless(if word == "-c" { value } else { &word[2..] });
            if sets || option == "--config-env" || option == "--exec-path" && word.contains('=') {
                self.unsure("a setting of the call may make git run commands");
            }
            at += 1 + usize::from(GIT_VALUES.contains(&word.as_str()));
        }
        let Some(command) = arguments.get(at) else { return };
        let rest = &arguments[at..];
        let known = GIT_COMMANDS.contains(&format!(" {command} "));
        if !known {
            // Either an alias or an external program.
            self.inside.push(format!("git {ANY}"));
        } else if at > 0 {
            self.inside.push(format!("git {}", rest.join(" ")));
        }
        let behind = |word: &str| rest.iter().position(|other| other == word).map(|at| &rest[at + 1..]);
        match command.as_str() {
            "config" => {
                let words = rest[1..].iter().filter(|word| !word.starts_with('-'));
                let sets = words.clone().count() > 1;
                let keys = words.filter(|word| word.contains('.'));
                // If no option has a value, the first word is the key.
                let valued = rest.iter().any(|word| {
                    let option = word.split('=').next().unwrap_or_default();
                    word.starts_with("-f") || is_listed(option, "--file --blob --type --default --comment --value")
                });
                let count = if valued { usize::MAX } else { 1 };
                if sets && keys.take(count).any(|key| !is_harmless(key)) {
                    self.unsure("a saved setting may make git run commands later");
                }
            }
            "bisect" | "submodule" | "for-each-repo" => {
                let run = behind("run").or_else(|| behind("foreach")).or((command == "for-each-repo").then_some(rest));
                for at in 0..run.map_or(0, |run| run.len().min(LOOKED_AT)) {
                    let words = run.unwrap_or_default();
                    self.inside.extend(spellings(&words[at..]));
                    self.program(&words[at..], false, inner);
                    if words[at].contains([' ', ';', '|', '&']) {
                        self.read_inner(&words[at], inner);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns whether a git setting never runs a program.
fn is_harmless(setting: &str) -> bool {
    let key = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    is_listed(&key, GIT_SETTINGS)
}

/// Returns whether a text is a valid variable name.
fn is_identifier(text: &str) -> bool {
    let first = text.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
    first && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
