//! What a line of bash runs, as texts that rules are compared with.

use super::Fit;
use super::command::{self, Commands, Words};
use super::pattern::{ANY, Pattern};

/// A line of bash.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Each simple command, in its spellings.
    commands: Vec<Vec<String>>,
    /// Commands that others run: `sudo`, `xargs`.
    inside: Vec<String>,
    /// Something of the line cannot be known by reading it.
    unknown: bool,
    assigns: bool,
}

/// Programs that run the rest of their words.
const RUNNERS: [&str; 32] = [
    "sudo",
    "doas",
    "env",
    "nice",
    "nohup",
    "time",
    "timeout",
    "command",
    "builtin",
    "exec",
    "setsid",
    "stdbuf",
    "ionice",
    "chrt",
    "taskset",
    "unshare",
    "nsenter",
    "chroot",
    "xargs",
    "parallel",
    "find",
    "busybox",
    "watch",
    "strace",
    "ltrace",
    "flock",
    "unbuffer",
    "caffeinate",
    "systemd-run",
    "runuser",
    "fd",
    "entr",
];
/// Programs that read commands from an argument, a file or standard input.
const SHELLS: [&str; 8] = ["bash", "sh", "dash", "zsh", "ksh", "ash", "fish", "rbash"];
/// Words of a runner at most; behind them nothing is looked for.
const LOOKED_AT: usize = 64;
/// Lines in lines: `bash -c 'bash -c …'`.
const DEEPEST: usize = 8;

impl Line {
    pub(super) fn read(text: &str) -> Line {
        let mut line = Line::default();
        line.read_inner(text, 0);
        line
    }

    fn read_inner(&mut self, text: &str, depth: usize) {
        if depth > DEEPEST || text.contains(ANY) {
            self.unknown = true;
            return;
        }
        let Ok(Commands { simple, assigns }) = command::read(text) else {
            self.unknown = true;
            return;
        };
        self.assigns |= assigns;
        for words in simple {
            let spellings = spellings(&words);
            self.commands.push(spellings);
            self.look(&words, depth);
            if RUNNERS.contains(&name(&words)) {
                let rest = words.len().min(LOOKED_AT);
                self.unknown |= words.len() > LOOKED_AT && name(&words) != "find" && name(&words) != "xargs";
                for at in 1..rest {
                    self.inside.extend(spellings_of(&words[at..]));
                    self.look(&words[at..], depth);
                }
                // Behind these words a command begins, wherever they stand.
                for at in (LOOKED_AT..words.len()).filter(|at| RUNS.contains(&words[at - 1].as_str())).take(LOOKED_AT) {
                    self.inside.extend(spellings_of(&words[at..]));
                    self.look(&words[at..], depth);
                }
            }
        }
    }

    /// Looks for lines that a command reads.
    fn look(&mut self, words: &[String], depth: usize) {
        let program = name(words);
        let arguments = words.get(1..).unwrap_or_default();
        let read = |line: &mut Line, text: &str| line.read_inner(text, depth + 1);
        if SHELLS.contains(&program) || program == "su" {
            let is_flag = |word: &&String| word.starts_with(['-', '+']) && !word.starts_with("--");
            let with_c = arguments.iter().position(|word| is_flag(&word) && word.contains('c'));
            match with_c {
                Some(at) => match arguments[at + 1..].iter().find(|word| !is_flag(word)) {
                    Some(text) => read(self, &text.clone()),
                    None => self.unknown = true,
                },
                // A script is not read; standard input and what an expansion gives cannot be.
                None => {
                    let script = arguments.iter().find(|word| !word.starts_with(['-', '+']));
                    let seen = script.is_some_and(|script| !script.contains(ANY) && !script.starts_with("/dev/"));
                    let asks = arguments.iter().any(|word| word == "--version" || word == "--help");
                    self.unknown |= program != "su" && !asks && (!seen || arguments.iter().any(|word| word == "-s"));
                }
            }
            return;
        }
        match program {
            "eval" => read(self, &arguments.join(" ")),
            "trap" => arguments.iter().take(1).for_each(|text| read(self, text)),
            "alias" => {
                let values = arguments.iter().filter_map(|word| word.split_once('='));
                values.for_each(|(_, text)| read(self, text));
            }
            "source" | "." => {
                let seen = |script: &String| !script.contains(ANY) && !script.starts_with("/dev/");
                self.unknown |= !arguments.first().is_some_and(seen);
            }
            "env" if arguments.iter().any(|word| word.starts_with("-S") || word.starts_with("--split-string")) => {
                self.unknown = true;
            }
            "complete" | "bind" | "enable" | "fc" => self.unknown = true,
            _ => {}
        }
    }

    /// Whether one of the commands fits.
    pub(super) fn fit(&self, pattern: &Pattern) -> Fit {
        let texts = || self.commands.iter().flatten().chain(&self.inside);
        if texts().any(|text| pattern.fits(text)) {
            Fit::Yes
        } else if self.unknown || texts().any(|text| pattern.may_fit(text)) {
            Fit::Maybe
        } else {
            Fit::No
        }
    }

    /// Whether all commands fit and nothing else happens.
    pub(super) fn covered(&self, pattern: &Pattern) -> bool {
        let plain = !self.unknown && !self.assigns && self.inside.is_empty() && !self.commands.is_empty();
        plain && self.commands.iter().all(|spellings| spellings.first().is_some_and(|text| pattern.fits(text)))
    }
}

const RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// The program's name without its folders.
fn name(words: &[String]) -> &str {
    let program = words.first().map_or("", String::as_str);
    program.rsplit('/').next().unwrap_or(program)
}

fn spellings(words: &Words) -> Vec<String> {
    spellings_of(words).collect()
}

/// The command as it is written, and with the program's name alone.
fn spellings_of(words: &[String]) -> impl Iterator<Item = String> + use<> {
    let whole = words.join(" ");
    let short = words.first().filter(|program| program.contains('/')).map(|program| {
        let rest = &whole[program.len()..];
        format!("{}{rest}", name(words))
    });
    [Some(whole), short].into_iter().flatten()
}
