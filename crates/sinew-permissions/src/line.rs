//! The commands that a bash line runs, as texts that are compared with rules.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::pattern::{ANY, Fit, Pattern, is_listed};
use super::runners::{CommandPosition, DATA};
use super::syntax::{self, Input, Script, SimpleWords, UnreadableLine, Variable};
use super::variables::{Effect, effect};
use super::words::{base, name, rows, runs_nothing, spellings};
use super::{escapes, paths};

/// The state of a session's shell, derived from the lines that ran in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellState {
    /// The folders in which it may be, in addition to the session's.
    folders: Vec<PathBuf>,
    /// Whether it may be in an unknown folder.
    somewhere: bool,
    /// Whether a variable may contain a substitution, which an expression would run.
    dormant: bool,
    /// Whether a function or a trap evaluates expressions.
    evaluates: bool,
    /// Whether its standard input, or another file descriptor, comes from a line.
    has_input: bool,
    /// The variables that its programs see.
    exported: BTreeSet<String>,
    /// Whether all variables are exported.
    exports_all: bool,
    /// Whether arguments `name=value` are variables of the program: `set -k`.
    keywords: bool,
    /// Whether a command may have another meaning than in a new shell.
    changed: bool,
}

impl ShellState {
    /// Returns the state of a shell whose folders are the results of `original`.
    pub(super) fn moved(&self, original: impl Fn(&Path) -> PathBuf) -> ShellState {
        ShellState { folders: self.folders.iter().map(|folder| original(folder)).collect(), ..self.clone() }
    }
}

/// The folder, variables and shell state with which a line runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineContext<'a> {
    /// The folder of the session.
    pub(super) cwd: &'a Path,
    /// The folder of this call, if it has its own.
    pub(super) folder: Option<&'a Path>,
    /// The variables of this call.
    pub(super) env: &'a [(String, String)],
    pub(super) shell: &'a ShellState,
}

/// A parsed bash line.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Each simple command, in its equivalent spellings.
    pub(super) commands: Vec<Vec<String>>,
    /// The same commands for rules that allow, in which a plain `~` is not replaced.
    written: Vec<String>,
    /// For each of them, the options by which it writes a file, works in another folder or runs a program.
    escapes: Vec<Vec<String>>,
    /// Commands that other programs run: `sudo`, `xargs`.
    pub(super) inside: Vec<String>,
    /// Further spellings of commands that are compared with rules that deny: `git push` for `git -C x push`.
    pub(super) respelled: Vec<String>,
    /// The arguments of programs that may run them, and values that programs see.
    pub(super) told: Vec<String>,
    /// The files of redirections.
    files: Vec<String>,
    /// The input of the current command.
    pub(super) input: Input,
    /// Whether the program that runs the current line has an input.
    pub(super) inherits: bool,
    /// Why a part of the line cannot be known before it runs.
    unknown: Option<String>,
    assigns: bool,
    loops: bool,
    pub(super) writes: bool,
    /// Whether it runs in a folder other than the session's.
    moved: bool,
    dormant: bool,
    pub(super) evaluates: bool,
    /// Whether it creates links or pipes, so that a path may point elsewhere when the line runs.
    links: bool,
    /// Whether it stores a text in the shell.
    keeps: bool,
    /// Whether its last command is `set +a`.
    ends_exports: bool,
    /// The folders in which its commands may run.
    folders: Vec<PathBuf>,
    /// Whether one of its commands may run in an unknown folder.
    somewhere: bool,
    /// The state of the shell after the line.
    after: ShellState,
}

/// The maximum number of words of a runner that are checked; after them only the commands of `find` are.
pub(super) const LOOKED_AT: usize = 64;
/// The maximum depth of nested lines: `bash -c 'bash -c …'`.
const DEEPEST: usize = 8;
/// The maximum number of commands of one line, including those that others run.
const MOST: usize = 20_000;
/// The maximum number of folders that are tracked for a shell.
const FOLDERS: usize = 32;
/// The operators between the commands of a line.
const SEPARATORS: [char; 3] = ['|', '&', ';'];
/// The operators before the file of a redirection.
const REDIRECTIONS: [char; 2] = ['<', '>'];
/// Commands after which the shell may interpret later lines differently.
const CHANGES: &str = "alias unalias source . eval set shopt trap hash enable unset exec bind complete";
/// Commands that store texts in the shell.
const KEEPS: &str = "read mapfile readarray getopts printf set declare typeset local readonly export let trap";

impl Line {
    pub(super) fn read(text: &str, around: LineContext<'_>) -> Line {
        let LineContext { cwd, folder, env, shell } = around;
        let mut line = Line { after: shell.clone(), ..Line::default() };
        match folder {
            Some(folder) => {
                line.folders.push(folder.to_path_buf());
                line.moved = paths::real(folder) != paths::real(cwd);
                if line.moved {
                    line.commands.push(vec![format!("cd {}", folder.display())]);
                }
            }
            None => {
                line.folders.push(cwd.to_path_buf());
                line.folders.extend(shell.folders.iter().cloned());
                line.somewhere = shell.somewhere;
                line.moved = line.somewhere || !shell.folders.is_empty();
            }
        }
        for (name, value) in env {
            line.assigns = true;
            line.variable(name, value, true, 0);
        }
        line.read_inner(text, 0);
        if line.evaluates && (line.dormant || shell.dormant) || line.dormant && shell.evaluates {
            line.unsure("text with a substitution in it may be evaluated");
        }
        line.leave(around);
        line
    }

    /// Records the effect of the line on the shell.
    fn leave(&mut self, around: LineContext<'_>) {
        let LineContext { cwd, folder, shell, .. } = around;
        self.after.dormant |= self.dormant && self.keeps;
        self.after.exports_all &= !self.ends_exports;
        if folder.is_some() {
            // The folder of a single call does not move the shell.
            (self.after.folders, self.after.somewhere) = (shell.folders.clone(), shell.somewhere);
        } else if let [only] = &self.commands[..]
            && let Some(target) = only.first().and_then(|command| command.strip_prefix("cd "))
            && !target.contains(ANY)
            && paths::real(Path::new(target)) == paths::real(cwd)
        {
            (self.after.folders, self.after.somewhere) = (Vec::new(), false);
        }
    }

    /// Returns the state of the shell after the line.
    pub(super) fn after(&self) -> &ShellState {
        &self.after
    }

    /// Returns why the line cannot be read reliably, for reasons other than an expansion.
    pub(super) fn unknown(&self) -> Option<&str> {
        self.unknown.as_deref()
    }

    /// Returns the commands, and those that they run, in all spellings.
    fn texts(&self) -> impl Iterator<Item = &String> {
        self.commands.iter().flatten().chain(&self.inside).chain(&self.respelled)
    }

    /// Returns whether one of the commands matches.
    pub(super) fn fit(&self, pattern: &Pattern) -> Fit {
        if self.texts().any(|text| pattern.fits(text)) {
            Fit::Yes
        } else if self.unknown.is_some()
            || self.texts().any(|text| pattern.may_fit(text))
            || self.told.iter().any(|text| pattern.is_named_in(text))
        {
            Fit::Maybe
        } else {
            Fit::No
        }
    }

    /// Returns whether a pattern with operators or redirections, such as `curl * | sh` or `echo * > /etc/*`, has all its
    /// commands and files in the line, in any order.
    pub(super) fn has_parts(&self, inner: &str) -> bool {
        if !inner.contains(SEPARATORS) && !inner.contains(REDIRECTIONS) {
            return false;
        }
        let (mut commands, mut files) = (0, 0);
        let inner = inner.replace("2>&1", "").replace("&>", ">").replace(">&", ">").replace(" 2>", " >");
        for section in inner.split(SEPARATORS) {
            let mut parts = section.split(REDIRECTIONS).map(str::trim);
            if let Some(command) = parts.next().filter(|command| !command.is_empty()) {
                let pattern = Pattern::text(command);
                if !self.texts().any(|text| pattern.may_fit(text)) {
                    return false;
                }
                commands += 1;
            }
            for file in parts.filter(|file| !file.is_empty()) {
                let pattern = Pattern::text(file);
                if !self.files.iter().any(|text| pattern.may_fit(text)) {
                    return false;
                }
                files += 1;
            }
        }
        commands + files > 0 && commands <= self.commands.len()
    }

    /// Returns whether all commands match and the line has no other effect: it sets no variable, writes no file, and
    /// does not change the shell.
    pub(super) fn covered(&self, pattern: &Pattern) -> bool {
        let alone = self.unknown.is_none() && self.inside.is_empty() && !self.written.is_empty();
        let plain = !self.assigns && !self.loops && !self.writes && !self.moved && !self.after.changed;
        let contained = self.escapes.iter().all(|options| pattern.names_all(options));
        alone && plain && contained && self.written.iter().all(|text| pattern.fits(text))
    }

    pub(super) fn unsure(&mut self, reason: impl Into<String>) {
        if self.unknown.is_none() {
            self.unknown = Some(reason.into());
        }
    }

    pub(super) fn read_inner(&mut self, text: &str, depth: usize) {
        if depth > DEEPEST || self.commands.len() + self.inside.len() > MOST {
            return self.unsure("it nests too deep");
        }
        if text.contains(ANY) {
            return self.unsure("a nested line is only known when it runs");
        }
        let script = match syntax::read(text) {
            Ok(script) => script,
            Err(UnreadableLine(reason)) => return self.unsure(reason),
        };
        let Script { commands, assignments, dormant, evaluates, loops, writes, defines, files } = script;
        self.files.extend(files);
        self.dormant |= dormant;
        self.evaluates |= evaluates;
        self.assigns |= !assignments.is_empty();
        self.loops |= loops;
        self.writes |= writes;
        self.after.changed |= defines;
        self.keeps |= defines || !assignments.is_empty();
        let traps = commands.iter().any(|command| name(&command.words) == "trap");
        self.after.evaluates |= evaluates && (defines || traps);
        let is_link = |command: &SimpleWords| is_listed(name(&command.words), "ln link mkfifo mknod mount cp mv");
        self.links |= commands.iter().any(is_link);
        for command in commands.iter().filter(|command| name(&command.words) == "set") {
            command.words.iter().skip(1).for_each(|word| self.shell_options(word));
        }
        let ends =
            |command: &SimpleWords| name(&command.words) == "set" && command.words.iter().any(|word| word == "+a");
        self.ends_exports = commands.last().is_some_and(ends);
        for command in &commands {
            self.exports(command);
        }
        for Variable { name, value, exported } in &assignments {
            self.variable(name, value, *exported, depth);
        }
        for command in &commands {
            self.command(command, depth);
        }
    }

    /// Records an option of a shell, or of `set`, that turns arguments or variables into variables of programs.
    pub(super) fn shell_options(&mut self, word: &str) {
        let has = |letter: char| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
        self.after.exports_all |= has('a') || word == "allexport";
        self.after.keywords |= has('k') || word == "keyword";
    }

    pub(super) fn has_keywords(&self) -> bool {
        self.after.keywords
    }

    /// Records the variables that a line exports, including those that it sets in another place.
    fn exports(&mut self, command: &SimpleWords) {
        let words = &command.words;
        let declares = is_listed(name(words), "declare typeset local readonly");
        let by_option = words.iter().any(|word| word.starts_with('-') && word.contains('x'));
        if name(words) == "export" || declares && by_option {
            let names = words.iter().skip(1).filter(|word| !word.starts_with('-'));
            self.after.exported.extend(names.map(|word| word.split(['=', '+']).next().unwrap_or_default().to_string()));
        }
    }

    /// Records a variable that the line sets, or passes to a program.
    pub(super) fn variable(&mut self, name: &str, value: &str, exported: bool, depth: usize) {
        let is_name = !name.is_empty() && !name.contains(['=', ANY]);
        let exported = exported || self.after.exports_all || self.after.exported.contains(name);
        match effect(name, value, exported) {
            Effect::Line => {
                self.after.changed = true;
                self.read_inner(value, depth + 1);
                // The program that reads the variable appends arguments.
                if !value.trim().is_empty() && !value.contains(ANY) {
                    self.inside.push(format!("{} {ANY}", value.trim()));
                }
            }
            Effect::Obeyed => {
                self.after.changed = true;
                let shown = if is_name { name } else { "with an unknown name" };
                self.unsure(format!("programs may change their behavior because of the variable {shown}"));
            }
            Effect::Harmless => {
                self.after.changed |= name == "PATH";
                if exported {
                    self.told.push(value.to_string());
                }
                if substitutes(value) {
                    self.unsure("it stores a substitution in a variable");
                }
            }
        }
        // Literal characters in the value may become part of a substitution that is assembled later.
        self.dormant |= value.contains(['$', '`']);
    }

    fn command(&mut self, command: &SimpleWords, depth: usize) {
        let words = &command.words;
        let program = name(words);
        self.commands.push(spellings(words).collect());
        self.written.push(command.written.join(" "));
        self.escapes.push(escapes::escapes(&command.written));
        self.input = command.input.clone();
        let has_input = command.has_input || self.after.has_input || self.inherits;
        if !command.apart {
            self.after.changed |= is_listed(program, CHANGES);
            self.after.has_input |= program == "exec" && command.has_input;
        }
        self.keeps |= is_listed(program, KEEPS);
        if is_listed(program, "cd pushd") {
            self.change_folder(words, command.apart);
        }
        self.program(words, has_input, depth);
        self.sets(words, depth);
        let asks = program == "command" && words.get(1).is_some_and(|word| matches!(word.as_str(), "-v" | "-V"));
        if asks {
            return;
        }
        if rows(program).any(|takes| matches!(takes, CommandPosition::Words)) && !runs_nothing(words) {
            self.runner(words, has_input, depth);
        }
        if command.has_here && is_unlisted(program) {
            self.unsure("a program that is not known may run commands that it reads");
        }
        self.told(words, has_input, depth);
    }

    /// Records the folders in which later commands may run.
    fn change_folder(&mut self, words: &[String], apart: bool) {
        let target = words.iter().skip(1).find(|word| !word.starts_with('-') && !word.starts_with('+'));
        let known = target.filter(|target| !target.contains(ANY)).map(Path::new);
        let Some(target) = known.filter(|_| self.folders.len() < FOLDERS) else {
            self.somewhere = true;
            self.after.somewhere |= !apart;
            return;
        };
        let mut reached: Vec<PathBuf> = self.folders.iter().map(|folder| folder.join(target)).collect();
        reached.dedup();
        for folder in reached {
            if !apart && !self.after.folders.contains(&folder) {
                self.after.folders.push(folder.clone());
            }
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
    }

    /// Returns whether one of the folders in which the line may run has a file.
    pub(super) fn has_file(&self, file: &str) -> bool {
        self.folders.iter().any(|folder| folder.join(file).is_file())
    }

    /// Returns whether a file of commands is a plain file in each folder in which the line may run.
    pub(super) fn is_plain_file(&self, file: &str, has_input: bool) -> bool {
        if file.contains(ANY) {
            return !has_input && !file.starts_with("/dev");
        }
        if file == "-" || self.folders.iter().any(|folder| paths::is_special(&folder.join(file))) {
            return false;
        }
        let missing = self.folders.iter().all(|folder| !folder.join(file).exists());
        let end = base(file);
        let like_device = end == "stdin" || end.bytes().all(|byte| byte.is_ascii_digit());
        let elsewhere = (self.somewhere || has_input) && !file.starts_with('/');
        !(elsewhere && like_device || has_input && missing && self.links)
    }
}

/// Returns whether no table says how a program treats its arguments and its input.
fn is_unlisted(program: &str) -> bool {
    rows(program).next().is_none() && !is_listed(program, DATA)
}

pub(super) fn substitutes(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}
