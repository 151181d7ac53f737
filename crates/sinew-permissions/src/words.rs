//! The words of a command: the program, its rows in the tables, and the values of its options.

use super::interpreters;
use super::pattern::is_listed;
use super::runners::{CommandPosition, QUIET, RUNNERS};

/// Returns the rows of a program.
pub(super) fn rows(program: &str) -> impl Iterator<Item = CommandPosition> {
    let interprets = interpreters::find(program).map(|_| CommandPosition::Interpreter);
    RUNNERS.iter().filter(move |(names, _)| is_among(program, names)).map(|(_, takes)| *takes).chain(interprets)
}

/// Returns whether a shell that reads a word as a line may run something else than the word. A pattern of files may be
/// the path of any program: `/usr/bin/c*`.
pub(super) fn is_line(word: &str) -> bool {
    let braces = word.contains('{') && (word.contains(',') || word.contains(".."));
    braces || word.contains([' ', '\t', '\n', ';', '|', '&', '`', '(', '<', '>', '\'', '"', '\\', '$', '*', '?', '['])
}

fn is_among(program: &str, names: &str) -> bool {
    let begins = || names.split(' ').filter_map(|name| name.strip_suffix('*')).any(|begin| program.starts_with(begin));
    // Most programs are in no row, and one search in the whole text excludes them quickly.
    let listed = !program.is_empty() && names.contains(program) && names.split(' ').any(|name| name == program);
    listed || names.contains('*') && begins()
}

/// Returns whether a runner has a subcommand that runs none of its arguments. Options before it may have any effect.
pub(super) fn runs_nothing(words: &[String]) -> bool {
    let rows = QUIET.iter().filter(|(programs, _)| is_listed(name(words), programs));
    let is_quiet = rows.flat_map(|(_, listed)| listed.split(',')).any(|quiet| {
        let mut given = words.iter().skip(1);
        quiet.split(' ').all(|word| given.next().is_some_and(|given| given == word))
    });
    // The configuration of kubectl names programs that log in.
    is_quiet && !words.iter().any(|word| word.starts_with("--kubeconfig"))
}

/// Returns the values of options, including abbreviated and combined ones: `--comm=x`, `-qc x`.
pub(super) fn values<'a>(arguments: &'a [String], options: &[&str]) -> Vec<&'a str> {
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
            } else if word == option || word.strip_prefix('-') == Some(option) {
                found.push(next());
            } else if let Some(behind) = attached(word, option) {
                // `-exec=x`, `-TTx`
                found.push(behind.strip_prefix('=').unwrap_or(behind));
            }
        }
    }
    found
}

/// Returns the text after a long option with one dash, or the same option with two.
fn attached<'a>(word: &'a str, option: &str) -> Option<&'a str> {
    let given = word.strip_prefix(option).or_else(|| word.strip_prefix('-')?.strip_prefix(option));
    given.filter(|_| option.starts_with('-'))
}

/// Returns the placeholders that `xargs` and similar programs replace by their input.
pub(super) fn placeholders(words: &[String]) -> Vec<String> {
    let mut marks = vec!["{}".to_string(), "{.}".to_string(), "{/}".to_string()];
    let words = if name(words) == "xargs" { xargs_options(words) } else { words };
    let by_option = words.iter().any(|word| {
        word.starts_with("-I") || word.starts_with("-i") || word.starts_with("--rep") || word.starts_with("-J")
    });
    if by_option {
        marks.extend(values(words, &["-I", "-i", "-J", "--replace"]).into_iter().map(str::to_string));
    }
    marks.retain(|mark| !mark.is_empty());
    marks
}

/// Returns the options of `xargs` itself: after its command, `-i` is an option of the command.
fn xargs_options(words: &[String]) -> &[String] {
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
        at += 1 + usize::from(has_value_behind(
            word,
            "adEIJLnPRSs",
            "--arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var",
        ));
        if word == "--" {
            break;
        }
    }
    &words[..at.min(words.len())]
}

/// Returns whether the value of an option is the next word. `letters` are the one-letter options with a value, and
/// `long` lists the long ones.
pub(super) fn has_value_behind(word: &str, letters: &str, long: &str) -> bool {
    if let Some(name) = word.strip_prefix("--") {
        return !name.is_empty() && !name.contains('=') && long.split(' ').any(|option| option[2..].starts_with(name));
    }
    let valued = word.char_indices().skip(1).find(|(_, letter)| letters.contains(*letter));
    valued.is_some_and(|(at, letter)| at + letter.len_utf8() == word.len())
}

/// Returns the name of the program without its folder.
pub(super) fn name(words: &[String]) -> &str {
    base(words.first().map_or("", String::as_str))
}

pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns the command as written, and with the program's name only.
pub(super) fn spellings(words: &[String]) -> impl Iterator<Item = String> + use<> {
    let whole = words.join(" ");
    let rest = words.first().map_or("", |program| &whole[program.len()..]);
    let short = words.first().filter(|program| program.contains('/')).map(|_| format!("{}{rest}", name(words)));
    // git runs its own commands as programs too.
    let git = name(words).strip_prefix("git-").map(|command| format!("git {command}{rest}"));
    [Some(whole), short, git].into_iter().flatten()
}
