//! The commands that a line of bash runs, as texts that rules are compared with.

use super::Fit;
use super::pattern::{ANY, Pattern};
use super::runners::{
    GIT_COMMANDS, GIT_SETTINGS, GIT_VALUES, LINE_VARIABLES, RUNNERS, STARTS, Takes, UNKNOWN_VARIABLES,
};
use super::sed;
use super::syntax::{self, Script, SimpleWords, Unreadable};

/// A line of bash.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Each simple command, in its spellings.
    commands: Vec<Vec<String>>,
    /// Commands that others run: `sudo`, `xargs`.
    inside: Vec<String>,
    /// The reason why something of the line cannot be known by reading it.
    unknown: Option<&'static str>,
    assigns: bool,
    dormant: bool,
    evaluates: bool,
}

/// Words of a runner at most; behind them nothing is looked for but the commands of `find`.
const LOOKED_AT: usize = 64;
/// Lines in lines: `bash -c 'bash -c …'`.
const DEEPEST: usize = 8;
/// Commands of one line, those that others run included.
const MOST: usize = 20_000;
/// Words of `find` behind which a command begins.
const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

impl Line {
    pub(super) fn read(text: &str) -> Line {
        let mut line = Line::default();
        line.read_inner(text, 0);
        if line.dormant && line.evaluates {
            line.unsure("text with a substitution in it may be evaluated");
        }
        line
    }

    /// The reason why the line cannot be read for sure, where it is not an expansion.
    pub(super) fn unknown(&self) -> Option<&'static str> {
        self.unknown
    }

    /// Returns whether one of the commands fits.
    pub(super) fn fit(&self, pattern: &Pattern) -> Fit {
        let texts = || self.commands.iter().flatten().chain(&self.inside);
        if texts().any(|text| pattern.fits(text)) {
            Fit::Yes
        } else if self.unknown.is_some() || texts().any(|text| pattern.may_fit(text)) {
            Fit::Maybe
        } else {
            Fit::No
        }
    }

    /// Returns whether all commands fit and nothing else happens.
    pub(super) fn covered(&self, pattern: &Pattern) -> bool {
        let plain = self.unknown.is_none() && !self.assigns && self.inside.is_empty() && !self.commands.is_empty();
        plain && self.commands.iter().all(|spellings| spellings.first().is_some_and(|text| pattern.fits(text)))
    }

    fn unsure(&mut self, reason: &'static str) {
        self.unknown = self.unknown.or(Some(reason));
    }

    fn read_inner(&mut self, text: &str, depth: usize) {
        if depth > DEEPEST || self.commands.len() + self.inside.len() > MOST {
            return self.unsure("it nests too deep");
        }
        if text.contains(ANY) {
            return self.unsure("a line that is put together when it runs");
        }
        let script = match syntax::read(text) {
            Ok(script) => script,
            Err(Unreadable(reason)) => return self.unsure(reason),
        };
        let Script { commands, assignments, dormant, evaluates } = script;
        self.dormant |= dormant;
        self.evaluates |= evaluates;
        self.assigns |= !assignments.is_empty();
        for (name, value) in &assignments {
            self.assignment(name, value, depth);
        }
        for command in &commands {
            self.command(command, depth);
        }
    }

    /// A variable that the line sets, or gives to a program.
    fn assignment(&mut self, name: &str, value: &str, depth: usize) {
        if LINE_VARIABLES.contains(&name) {
            self.read_inner(value, depth + 1);
        } else if UNKNOWN_VARIABLES.contains(&name) || name.starts_with("GIT_CONFIG") || name.starts_with("BASH_FUNC_")
        {
            self.unsure("it sets a variable by which programs run others");
        } else if substitutes(value) {
            self.unsure("it keeps a substitution in a variable");
        }
        // What stands in the value for itself may be a part of a substitution that is put together later.
        self.dormant |= value.contains(['$', '`']);
    }

    fn command(&mut self, command: &SimpleWords, depth: usize) {
        let words = &command.words;
        self.commands.push(spellings(words).collect());
        self.program(words, command.has_input, depth);
        for (name, value) in words.iter().skip(1).filter_map(|word| word.split_once('=')) {
            let name = name.strip_suffix("%%").unwrap_or(name);
            if LINE_VARIABLES.contains(&name) || UNKNOWN_VARIABLES.contains(&name) || name.starts_with("BASH_FUNC_") {
                self.assignment(name, value, depth);
            }
        }
        let asks = name(words) == "command" && words.get(1).is_some_and(|word| matches!(word.as_str(), "-v" | "-V"));
        if rows(name(words)).any(|takes| matches!(takes, Takes::Words)) && !asks {
            self.runner(words, command.has_input, depth);
        }
    }

    /// Every rest of the words of a program that runs others may be the command.
    fn runner(&mut self, words: &[String], has_input: bool, depth: usize) {
        let find = name(words) == "find";
        let inputs = words.iter().position(|word| rows(base(word)).any(|takes| takes == Takes::WordsAndInput));
        if words.len() > LOOKED_AT && !find && inputs.is_none() {
            self.unsure("it runs a command with too many words");
        }
        let replaced = inputs.map(|at| placeholders(&words[at..])).unwrap_or_default();
        let near = 1..words.len().min(LOOKED_AT);
        // Behind these words a command begins, wherever they stand.
        let far = (LOOKED_AT..words.len()).filter(|at| FIND_RUNS.contains(&words[at - 1].as_str())).take(LOOKED_AT);
        for at in near.chain(far) {
            let Some(from) = inputs.filter(|from| *from < at) else {
                let rest = &words[at..];
                self.inside.extend(spellings(rest));
                self.program(rest, has_input, depth);
                continue;
            };
            let end =
                words.iter().position(|word| word.starts_with(":::")).filter(|end| *end > from).unwrap_or(words.len());
            let mut rest = words[at.min(end)..end].to_vec();
            if rest.is_empty() {
                continue;
            }
            for word in &mut rest {
                if replaced.iter().any(|mark| word.contains(mark.as_str())) {
                    *word = ANY.to_string();
                }
            }
            if rows(name(&rest)).any(|takes| takes == Takes::Words) && is_all_options(&rest[1..]) {
                self.unsure("a program runs a command that it reads");
            }
            rest.push(ANY.to_string());
            self.inside.extend(spellings(&rest));
            self.program(&rest, true, depth);
        }
    }

    /// Looks for what a program runs by its options, and for lines that it reads.
    fn program(&mut self, words: &[String], has_input: bool, depth: usize) {
        let arguments = words.get(1..).unwrap_or_default();
        let inner = depth + 1;
        match name(words) {
            "eval" => return self.read_inner(&arguments.join(" "), inner),
            "trap" => {
                let lines = arguments.iter().filter(|word| word.contains(' ') || !word.starts_with('-'));
                lines.for_each(|text| self.read_inner(text, inner));
            }
            "alias" => {
                for (_, text) in arguments.iter().filter_map(|word| word.split_once('=')) {
                    let before = self.commands.len();
                    self.read_inner(text, inner);
                    // The words behind the alias belong to its last command.
                    let last = self.commands[before..].last().into_iter().flatten();
                    let longer: Vec<String> = last.map(|text| format!("{text} {ANY}")).collect();
                    self.inside.extend(longer);
                    if text.ends_with([' ', '\t']) {
                        self.unsure("the word behind an alias may be one too");
                    }
                }
            }
            "source" | "." => {
                let script = arguments.iter().find(|word| !word.starts_with("--"));
                if !script.is_some_and(|script| !script.contains(ANY) && !is_device(script)) {
                    self.unsure("it reads commands");
                }
            }
            _ => {}
        }
        for takes in rows(name(words)) {
            match takes {
                Takes::Words | Takes::WordsAndInput => {}
                Takes::Shell => self.shell(words, inner),
                Takes::Lines => {
                    for word in
                        arguments.iter().filter(|word| word.contains([' ', '\t', '\n', ';', '|', '&', '`', '(']))
                    {
                        self.read_inner(word, inner);
                        if let Some((_, value)) = word.split_once('=') {
                            self.read_inner(value, inner);
                        }
                    }
                }
                Takes::LinesOf(options) => {
                    for value in values(arguments, options) {
                        self.read_inner(value.strip_prefix("exec=").unwrap_or(value), inner);
                    }
                }
                Takes::Unknown(beginnings) => {
                    if arguments.iter().any(|word| beginnings.iter().any(|begin| word.starts_with(begin))) {
                        self.unsure("a program has an argument by which it may run commands");
                    }
                }
                Takes::UnknownOptions(options) => {
                    if !values(arguments, options).is_empty() {
                        self.unsure("a program has an option by which it may run commands");
                    }
                }
                Takes::Code(options) => {
                    let code = arguments.join(" ");
                    // `open` of these starts a program where the name has a bar.
                    let opens =
                        name(words).starts_with(['p', 'r']) && !name(words).starts_with("py") && code.contains("open");
                    let starts = opens || code.contains(ANY) || STARTS.iter().any(|word| code.contains(word));
                    if starts && !values(arguments, options).is_empty() {
                        self.unsure("code of another language may start programs");
                    }
                }
                Takes::Reads if has_input => self.unsure("a program runs commands that it reads"),
                Takes::ReadsWithoutFile if has_input => {
                    if !arguments.iter().any(|word| !word.starts_with('-') && !is_device(word)) {
                        self.unsure("a program runs code that it reads");
                    }
                }
                Takes::ReadsByName => {
                    if arguments.iter().any(|word| word == "-" || word.ends_with("f-") || is_device(word)) {
                        self.unsure("a program runs commands that it reads");
                    }
                }
                Takes::Reads | Takes::ReadsWithoutFile => {}
                Takes::Always => self.unsure("a program may run any command"),
                Takes::Evaluates => self.evaluation(name(words), arguments),
                Takes::Sed => self.sed(arguments),
                Takes::Awk => {
                    let text = arguments.join(" ").replace("||", " ");
                    if text.contains(['|', ANY]) && !only_files(arguments)
                        || text.contains("system")
                        || text.contains("@load")
                        || text.contains("getline")
                    {
                        self.unsure("a program of awk may run commands");
                    }
                }
                Takes::Git => self.git(arguments, inner),
            }
        }
    }

    /// A shell: its `-c`, its script, or its standard input.
    fn shell(&mut self, words: &[String], inner: usize) {
        let arguments = &words[1..];
        let is_flag = |word: &&String| word.starts_with(['-', '+']) && !word.starts_with("--");
        let own = ["--rcfile", "--init-file", "--command", "--init-command"];
        if arguments.iter().any(|word| own.iter().any(|option| word.starts_with(option))) {
            return self.unsure("a shell reads a file of commands first");
        }
        if let Some(at) = arguments.iter().position(|word| is_flag(&word) && word.contains('c')) {
            return match arguments[at + 1..].iter().find(|word| !is_flag(word)) {
                Some(text) => self.read_inner(text, inner),
                None => self.unsure("a shell reads commands"),
            };
        }
        if name(words) == "su" {
            return;
        }
        // A script is not read; standard input and what an expansion gives cannot be.
        let script = arguments.iter().find(|word| !word.starts_with(['-', '+']));
        let seen = script.is_some_and(|script| !script.contains(ANY) && !is_device(script));
        let asks = arguments.iter().any(|word| word == "--version" || word == "--help");
        let by_input = arguments.iter().any(|word| is_flag(&word) && word.contains('s'));
        if !asks && (!seen || by_input) {
            self.unsure("a shell reads commands");
        }
    }

    /// A builtin whose words may be expressions.
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

    fn sed(&mut self, arguments: &[String]) {
        let mut scripts = values(arguments, &["-e", "--expression"]);
        if values(arguments, &["-f", "--file"]).iter().any(|file| file.contains(ANY) || is_device(file)) {
            self.unsure("sed reads its script");
        }
        if scripts.is_empty() && values(arguments, &["-f", "--file"]).is_empty() {
            scripts.extend(arguments.iter().find(|word| !word.starts_with('-')).map(String::as_str));
        }
        let length = !values(arguments, &["-l", "--line-length"]).is_empty();
        if length || scripts.iter().any(|script| script.contains(ANY) || sed::may_run(script)) {
            self.unsure("a script of sed may run commands");
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
                self.unsure("git gets a setting by which it may run commands");
            }
            at += 1 + usize::from(GIT_VALUES.contains(&word.as_str()));
        }
        let Some(command) = arguments.get(at) else { return };
        let rest = &arguments[at..];
        let known = GIT_COMMANDS.contains(&format!(" {command} "));
        if !known {
            // An alias, or a program of somebody else.
            self.inside.push(format!("git {ANY}"));
        } else if at > 0 {
            self.inside.push(format!("git {}", rest.join(" ")));
        }
        let behind = |word: &str| rest.iter().position(|other| other == word).map(|at| &rest[at + 1..]);
        match command.as_str() {
            "config" => {
                let keys = rest[1..].iter().filter(|word| !word.starts_with('-') && word.contains('.'));
                let sets = rest[1..].iter().filter(|word| !word.starts_with('-')).count() > 1;
                if sets && keys.clone().any(|key| !is_harmless(key))
                    || keys.clone().any(|key| key.starts_with("alias.") && sets)
                {
                    self.unsure("git keeps a setting by which it may run commands");
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

/// Returns whether words may all be options, their values and variables, so that the command itself follows them.
fn is_all_options(words: &[String]) -> bool {
    let mut behind_option = false;
    words.iter().all(|word| {
        let is_option = word.starts_with('-');
        let known =
            is_option || behind_option || word.contains('=') || word.starts_with(|first: char| first.is_ascii_digit());
        behind_option = is_option;
        known
    })
}

/// Returns whether a setting of git runs nothing.
fn is_harmless(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    GIT_SETTINGS.iter().any(|begin| setting.starts_with(begin))
}

/// Returns whether the first argument of awk is its whole program, without an expansion.
fn only_files(arguments: &[String]) -> bool {
    let program = arguments.iter().find(|word| !word.starts_with('-'));
    program.is_some_and(|program| !program.replace("||", " ").contains(['|', ANY]))
        && !arguments.iter().any(|word| word.starts_with('-'))
}

fn is_device(path: &str) -> bool {
    path.starts_with("/dev/") || path.starts_with("/proc/") || path == "-"
}

fn substitutes(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

/// The rows of a program.
fn rows(program: &str) -> impl Iterator<Item = Takes> {
    RUNNERS.iter().filter(move |(names, _)| is_among(program, names)).map(|(_, takes)| *takes)
}

fn is_among(program: &str, names: &str) -> bool {
    let begins = || names.split(' ').filter_map(|name| name.strip_suffix('*')).any(|begin| program.starts_with(begin));
    // Most programs are in no row: a search in the whole text is the fast way to know.
    let listed = !program.is_empty() && names.contains(program) && names.split(' ').any(|name| name == program);
    listed || names.contains('*') && begins()
}

/// The values of options, also to those that are shortened or stand together: `--comm=x`, `-qc x`.
fn values<'a>(arguments: &'a [String], options: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let next = || arguments.get(at + 1).map_or("", String::as_str);
        for option in options {
            if let Some(long) = option.strip_prefix("--") {
                let Some(given) = word.strip_prefix("--").filter(|given| !given.is_empty()) else { continue };
                match given.split_once('=') {
                    Some((name, value)) if !name.is_empty() && long.starts_with(name) => found.push(value),
                    None if long.starts_with(given) => found.push(next()),
                    _ => {}
                }
            } else if let Some(letter) = option.strip_prefix('-').filter(|letter| letter.len() == 1) {
                if !word.starts_with("--")
                    && let Some((_, behind)) = word.strip_prefix('-').and_then(|letters| letters.split_once(letter))
                {
                    found.push(behind);
                    if !behind.is_empty() {
                        continue;
                    }
                    found.push(next());
                }
            } else if word == option {
                found.push(next());
            }
        }
    }
    found
}

/// The texts that `xargs` and its like replace by what they read.
fn placeholders(words: &[String]) -> Vec<String> {
    let mut marks = vec!["{}".to_string(), "{.}".to_string(), "{/}".to_string()];
    let by_option = words.iter().any(|word| {
        word.starts_with("-I") || word.starts_with("-i") || word.starts_with("--rep") || word.starts_with("-J")
    });
    if by_option {
        marks.extend(values(words, &["-I", "-i", "-J", "--replace"]).into_iter().map(str::to_string));
    }
    marks.retain(|mark| !mark.is_empty());
    marks
}

/// The program's name without its folders.
fn name(words: &[String]) -> &str {
    base(words.first().map_or("", String::as_str))
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The command as it is written, and with the program's name alone.
fn spellings(words: &[String]) -> impl Iterator<Item = String> + use<> {
    let whole = words.join(" ");
    let rest = words.first().map_or("", |program| &whole[program.len()..]);
    let short = words.first().filter(|program| program.contains('/')).map(|_| format!("{}{rest}", name(words)));
    // git finds its own commands as programs too.
    let git = name(words).strip_prefix("git-").map(|command| format!("git {command}{rest}"));
    [Some(whole), short, git].into_iter().flatten()
}
