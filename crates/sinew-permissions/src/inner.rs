//! Finds the commands that a program runs from its arguments.

use super::line::{LOOKED_AT, Line};
use super::pattern::{ANY, is_listed};
use super::runners::{BUILTINS, COMMANDS_AT, CommandPosition, DATA, TOLD};
use super::words::{base, has_value_behind, name, placeholders, rows, runs_nothing, spellings};

/// The words of `find` after which a command begins.
const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

impl Line {
    /// Records the arguments of a program that is not known to treat them as data.
    pub(super) fn told(&mut self, words: &[String], has_input: bool, depth: usize) {
        let program = name(words);
        if words.len() < 2 || is_listed(program, DATA) && !runs_told(words) || runs_nothing(words) {
            return;
        }
        if rows(program).any(|takes| takes == CommandPosition::Words) {
            return self.told.push(without_data(words));
        }
        self.told.push(words[1..].join(" "));
        if rows(program).all(|takes| takes == CommandPosition::Reads) {
            self.inline(&words[1..], has_input);
        }
        for at in 1..words.len().min(LOOKED_AT) {
            let inner = base(&words[at]);
            let needs_input = rows(inner).any(|takes| takes == CommandPosition::Always);
            // A single word is usually the name of something else: `make python3`.
            let alone = at + 1 == words.len() || needs_input;
            if rows(inner).next().is_none() || alone && !has_input || is_listed(inner, BUILTINS) {
                continue;
            }
            self.program(&words[at..], has_input, depth);
            if rows(inner).any(|takes| takes == CommandPosition::Words) {
                self.runner(&words[at..], has_input, depth);
            }
        }
    }

    /// Treats every remainder of a runner's words as the command that it may run.
    pub(super) fn runner(&mut self, words: &[String], has_input: bool, depth: usize) {
        let find = name(words) == "find";
        let inputs =
            words.iter().position(|word| rows(base(word)).any(|takes| takes == CommandPosition::WordsAndInput));
        if words.len() > LOOKED_AT && !find && inputs.is_none() {
            self.unsure("it runs a command with too many words");
        }
        let replaced = inputs.map(|at| placeholders(&words[at..])).unwrap_or_default();
        let is_replaced = |word: &String| replaced.iter().any(|mark| word.contains(mark.as_str()));
        // A program that treats its arguments as data, and whose place is known, is the only command.
        let only = data_at(words).filter(|at| !is_replaced(&words[*at]));
        let may_begin = |at: &usize| only.map_or(!find || may_begin(words, *at), |only| *at == only);
        let near = (1..words.len().min(LOOKED_AT)).filter(may_begin);
        // After these words a command begins, at any position.
        let far = (LOOKED_AT..words.len()).filter(|at| FIND_RUNS.contains(&words[at - 1].as_str())).take(LOOKED_AT);
        for at in near.chain(far) {
            let Some(from) = inputs.filter(|from| *from < at) else {
                let rest = &words[at..];
                self.inside.extend(spellings(rest));
                let builtin = is_listed(name(words), "command builtin");
                // Elsewhere `.` is a folder.
                if builtin || rest[0] != "." {
                    self.program(rest, has_input, depth);
                }
                if builtin {
                    self.sets(rest, depth);
                }
                continue;
            };
            let end =
                words.iter().position(|word| word.starts_with(":::")).filter(|end| *end > from).unwrap_or(words.len());
            let mut rest = words[at.min(end)..end].to_vec();
            if rest.is_empty() {
                continue;
            }
            for word in &mut rest {
                if is_replaced(word) {
                    *word = ANY.to_string();
                }
            }
            // Its first argument is a subcommand, which may run the others.
            let whole = rest.len() == 1 && TOLD.iter().any(|(programs, _)| is_listed(name(&rest), programs));
            let runs = rows(name(&rest)).any(|takes| takes == CommandPosition::Words);
            if whole || runs && is_all_options(&rest[1..]) {
                self.unsure("a program runs a command from its input");
            }
            rest.push(ANY.to_string());
            self.inside.extend(spellings(&rest));
            self.program(&rest, true, depth);
        }
    }
}

/// Returns the position of the command of a runner whose options are all known.
fn command_at(words: &[String]) -> Option<usize> {
    let row = COMMANDS_AT.iter().find(|row| is_listed(name(words), row.names))?;
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        if word.starts_with("--") || word.len() < 2 {
            return None;
        }
        let valued = word.char_indices().skip(1).find(|(_, letter)| !row.flags.contains(*letter));
        if valued.is_some_and(|(_, letter)| !row.valued.contains(letter)) {
            return None;
        }
        at += 1 + usize::from(has_value_behind(word, row.valued, "--"));
    }
    if row.variables {
        at += words[at.min(words.len())..].iter().take_while(|word| word.contains('=')).count();
    }
    at += row.operands;
    words.get(..at).filter(|before| !before.iter().any(|word| word.contains(ANY))).map(|_| at)
}

/// Returns the position of the command of a runner if the command treats its arguments as data.
fn data_at(words: &[String]) -> Option<usize> {
    command_at(words).filter(|at| is_data(&words[*at..]))
}

/// Returns whether a command of `find` may begin at a position. The command may be an unknown runner of others.
fn may_begin(words: &[String], at: usize) -> bool {
    let head = words[..at].iter().rposition(|word| FIND_RUNS.contains(&word.as_str())).map(|run| run + 1);
    let runs = head
        .is_some_and(|head| head == at || !is_data(&words[head..]) && !words[head..at].iter().any(|word| word == ";"));
    runs || words[at - 1].contains(ANY) || words[at].contains(ANY)
}

/// Returns the arguments of a runner without those of programs that treat them as data.
fn without_data(words: &[String]) -> String {
    if name(words) != "find" {
        return words[1..data_at(words).unwrap_or(words.len())].join(" ");
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut hidden = false;
    for at in 1..words.len() {
        hidden &= !matches!(words[at].as_str(), ";" | "+") && !words[at].contains(ANY);
        if !hidden {
            kept.push(&words[at]);
        }
        hidden |= FIND_RUNS.contains(&words[at].as_str()) && words.get(at + 1).is_some() && is_data(&words[at + 1..]);
    }
    kept.join(" ")
}

/// Returns whether a command runs none of its arguments.
fn is_data(words: &[String]) -> bool {
    let program = name(words);
    is_listed(program, DATA) && !runs_told(words) && !rows(program).any(|takes| takes == CommandPosition::Words)
}

/// Returns whether a program that treats its arguments as data has a subcommand that runs them.
fn runs_told(words: &[String]) -> bool {
    let program = name(words);
    TOLD.iter().any(|(programs, listed)| {
        is_listed(program, programs) && words.iter().skip(1).any(|word| is_listed(word, listed))
    })
}

/// Returns whether all words may be options, their values and variables, so that the command follows them.
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
