//! The command line: flags, words, and what is wrong with them.

mod help;
mod table;

#[cfg(test)]
mod tests;

use std::ffi::OsString;

pub(crate) use help::help;
pub(crate) use table::{FLAGS, Flag, Takes};

/// What the user wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Args {
    given: Vec<(&'static Flag, Option<String>)>,
    /// Everything that is no flag, in order.
    pub(crate) words: Vec<String>,
}

impl Args {
    /// Whether a flag was given. `long` stands in [`FLAGS`].
    pub(crate) fn has(&self, long: &str) -> bool {
        self.given.iter().any(|(flag, _)| flag.long == long)
    }

    /// The last value of a flag.
    pub(crate) fn value(&self, long: &str) -> Option<&str> {
        self.given.iter().rev().find(|(flag, value)| flag.long == long && value.is_some())?.1.as_deref()
    }

    /// All values of a flag, in order.
    pub(crate) fn values<'a>(&'a self, long: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.given.iter().filter(move |(flag, _)| flag.long == long).filter_map(|(_, value)| value.as_deref())
    }

    /// The number that stands behind a flag.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn number(&self, long: &str) -> Result<Option<u64>, String> {
        let wrong = |text: &str| format!("--{long} needs a whole number, not \"{text}\"");
        self.value(long).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
    }

    /// The amount of money that stands behind a flag.
    ///
    /// # Errors
    /// It is none, or nothing could be bought for it.
    pub(crate) fn dollars(&self, long: &str) -> Result<Option<f64>, String> {
        let wrong = |text: &str| format!("--{long} needs an amount of US dollars such as 0.50, not \"{text}\"");
        let amount = |text: &str| {
            let amount = text.strip_prefix('$').unwrap_or(text).parse::<f64>().ok();
            amount.filter(|amount| amount.is_finite() && *amount > 0.0).ok_or_else(|| wrong(text))
        };
        self.value(long).map(amount).transpose()
    }

    /// Whether a program reads the answer, so that nobody is asked and it ends with it.
    pub(crate) fn is_for_programs(&self) -> bool {
        self.value("output") == Some("json") || self.has("output-schema")
    }

    /// The words behind a flag, divided by commas.
    pub(crate) fn list(&self, long: &str) -> Option<Vec<String>> {
        let text = self.value(long)?;
        Some(text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_string).collect())
    }
}

/// Reads the arguments behind the program's name.
///
/// # Errors
/// One sentence: what is wrong, and the way out.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Args, String> {
    let mut args = Args::default();
    let mut rest = Vec::new();
    for argument in arguments {
        let text = argument.into_string();
        rest.push(text.map_err(|text| format!("argument {text:?} is not valid UTF-8"))?);
    }
    let mut rest = rest.into_iter().peekable();
    while let Some(word) = rest.next() {
        if word == "--" {
            args.words.extend(rest);
            break;
        }
        if !word.starts_with('-') || word == "-" {
            args.words.push(word);
            continue;
        }
        let (name, mut value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_string())),
            _ => (word.as_str(), None),
        };
        let flag = find(name).ok_or_else(|| unknown(name))?;
        if !flag.available {
            return Err(format!("--{} is not available yet in this version", flag.long));
        }
        match flag.takes {
            Takes::Nothing if value.is_some() => return Err(format!("--{} takes no value", flag.long)),
            Takes::Nothing => {}
            Takes::Value(shape) => {
                if value.is_none() {
                    // What is a flag itself was not meant as a value; `--flag=--other` passes it all the same.
                    value = rest.next_if(|next| find(next).is_none());
                }
                if value.is_none() {
                    return Err(format!("--{} needs a value: --{} {shape}", flag.long, flag.long));
                }
            }
            Takes::Optional(_) => {
                if value.is_none() {
                    value = rest.next_if(|next| !next.starts_with('-'));
                }
            }
        }
        args.given.push((flag, value));
    }
    check(&args)?;
    Ok(args)
}

/// Flags that contradict each other, and words that are none of a list.
fn check(args: &Args) -> Result<(), String> {
    const EXCLUSIVE: [&str; 5] = ["continue", "resume", "session", "fork", "no-session"];
    let given: Vec<&str> = EXCLUSIVE.into_iter().filter(|long| args.has(long)).collect();
    if let [first, second, ..] = given[..] {
        return Err(format!("--{first} and --{second} exclude each other"));
    }
    if args.has("trust") && args.has("no-trust") {
        return Err("--trust and --no-trust exclude each other".into());
    }
    match args.value("mode") {
        None | Some("text" | "json") => {}
        // What a client says comes on standard input, one command per line.
        Some("rpc") => {
            if let Some(word) = args.words.first() {
                let what = if word.starts_with('@') { "file" } else { "message" };
                return Err(format!(
                    "--mode rpc takes no {what} ({word}): send {{\"type\":\"prompt\",\"message\":…}} on standard input"
                ));
            }
        }
        Some(other) => return Err(format!("--mode {other}: unknown mode; use text, json or rpc")),
    }
    match (args.value("output"), args.value("mode")) {
        (None | Some("text"), _) | (Some("json"), None | Some("text")) => {}
        (Some("json"), Some(mode)) => return Err(format!("--output json and --mode {mode} exclude each other")),
        (Some(other), _) => return Err(format!("--output {other}: unknown output; use text or json")),
    }
    if args.has("output-schema") && args.value("mode") == Some("rpc") {
        return Err("--output-schema and --mode rpc exclude each other".into());
    }
    args.dollars("max-cost")?;
    if let Some(level) = args.value("thinking")
        && sinew_llm::ThinkingLevel::parse(level).is_none()
    {
        return Err(format!("--thinking {level}: unknown level; use off, minimal, low, medium, high or xhigh"));
    }
    for long in ["max-turns", "max-tokens"] {
        args.number(long)?;
    }
    Ok(())
}

/// The flag that `word` names, with its dashes.
fn find(word: &str) -> Option<&'static Flag> {
    match word.strip_prefix("--") {
        Some(long) => FLAGS.iter().find(|flag| flag.long == long),
        None => {
            let short = word.strip_prefix('-').filter(|short| !short.is_empty())?;
            FLAGS.iter().find(|flag| flag.short == short)
        }
    }
}

fn unknown(name: &str) -> String {
    let bare = name.trim_start_matches('-');
    let away = |flag: &Flag| (distance(bare, flag.long), flag.long.len().abs_diff(bare.len()), flag.long);
    let nearest = FLAGS.iter().map(away).min();
    match nearest {
        // More edits than half of the word are a different word.
        Some((edits, _, long)) if edits <= bare.len().max(2) / 2 => {
            format!("unknown flag {name}; did you mean --{long}?")
        }
        _ => format!("unknown flag {name}; see sinew --help. A message that begins with a dash goes behind --"),
    }
}

/// How many characters must be added, removed, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
