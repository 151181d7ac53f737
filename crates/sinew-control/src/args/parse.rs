//! Parses the command line with the table of flags.
//!
//! `clap` (4.6, derive, these flags) was measured: it adds 0.15 ms to each start (median and minimum of 400 starts,
//! interleaved) and 414 KB to the program. It does not do the hard part: a value may begin with a dash unless it is a
//! flag itself (`--system-prompt "- be brief"` is an error in clap), `-nc` is one flag, flags that this version does
//! not support are reported as such, and each error names the remedy in one line. We would have to write all of that
//! around it.

use std::ffi::OsString;

use super::table::{FLAGS, Flag, FlagValue, Target, find};
use super::{Args, Mode, SessionChoice, mcp};

/// Parses the arguments after the program's name.
///
/// # Errors
/// Returns one sentence that says what is wrong and how to fix it.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Args, String> {
    let mut args = Args::default();
    let mut rest = Vec::new();
    for argument in arguments {
        let text = argument.into_string();
        rest.push(text.map_err(|text| format!("argument {text:?} is not valid UTF-8"))?);
    }
    let mut rest = rest.into_iter().peekable();
    while let Some(word) = rest.next() {
        // After `sinew mcp`, its own flags are accepted too, and the program of a server follows `--`.
        let in_mcp = !args.output.print && args.words.first().is_some_and(|word| word == "mcp");
        let more = if in_mcp { mcp::FLAGS } else { &[] };
        if word == "--" && in_mcp {
            args.mcp.command = Some(rest.collect());
            break;
        }
        if word == "--" && !args.output.print && args.words.first().is_some_and(|word| word == "undo") {
            args.session.undo_paths = rest.collect();
            break;
        }
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
        let flag = find(name, more).ok_or_else(|| unknown(name, more))?;
        let long = flag.long;
        match flag.takes {
            _ if matches!(flag.target, Target::Unavailable) => {}
            FlagValue::Nothing if value.is_some() => return Err(format!("--{long} takes no value")),
            FlagValue::Nothing => {}
            FlagValue::Value(shape) => {
                if value.is_none() {
                    // A word that is a flag is not a value; `--flag=--other` passes it anyway.
                    value = rest.next_if(|next| find(next, more).is_none());
                }
                if value.is_none() {
                    return Err(format!("--{long} needs a value: --{long} {shape}"));
                }
            }
            FlagValue::Optional(_) => {
                if value.is_none() {
                    value = rest.next_if(|next| !next.starts_with('-'));
                }
            }
        }
        fill(&mut args, flag, value)?;
    }
    check(&args)?;
    Ok(args)
}

/// Stores the value of a flag in its field.
fn fill(args: &mut Args, flag: &Flag, value: Option<String>) -> Result<(), String> {
    let long = flag.long;
    let text = |value: Option<String>| value.unwrap_or_default();
    match flag.target {
        Target::Switch(field) => *field(args) = true,
        Target::Text(field) => *field(args) = Some(text(value)),
        Target::Texts(field) => field(args).push(text(value)),
        Target::List(field) => {
            let words = text(value);
            let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
            *field(args) = Some(words.map(str::to_string).collect());
        }
        Target::Number(field) => {
            let text = text(value);
            let number = text.parse().map_err(|_| format!("--{long} needs a whole number, not \"{text}\""))?;
            *field(args) = Some(number);
        }
        Target::Parsed(parse) => parse(args, &text(value))?,
        Target::Session(choice) => match args.session.choice.flag() {
            Some(other) if other != long => return Err(format!("--{other} and --{long} cannot be used together")),
            _ => args.session.choice = choice(value),
        },
        Target::Trust(trusted) => match args.run.trust {
            Some(before) if before != trusted => return Err("--trust and --no-trust cannot be used together".into()),
            _ => args.run.trust = Some(trusted),
        },
        Target::Ignored => {}
        Target::Unavailable => return Err(format!("--{long} is not available yet in this version")),
    }
    Ok(())
}

/// Rejects flags that contradict each other.
fn check(args: &Args) -> Result<(), String> {
    if args.session.choice == SessionChoice::File(String::new()) {
        return Err("--session needs a value: --session PATH".into());
    }
    for (flag, list) in [("tools", &args.tools.only), ("exclude-tools", &args.tools.without)] {
        if list.as_ref().is_some_and(Vec::is_empty) {
            return Err(format!("--{flag} is empty; use --no-tools to offer no tools"));
        }
    }
    if args.output.object
        && let Some(mode @ (Mode::Json | Mode::Rpc | Mode::Acp)) = args.output.mode
    {
        return Err(format!("--output json and --mode {} cannot be used together", mode.as_str()));
    }
    let mode = args.mode();
    if args.output.snapshots && !matches!(mode, Mode::Json | Mode::Rpc) {
        return Err("--json-snapshots needs --mode json or --mode rpc".into());
    }
    if !matches!(mode, Mode::Rpc | Mode::Acp) {
        return Ok(());
    }
    if args.output.schema.is_some() {
        return Err(format!("--output-schema and --mode {} cannot be used together", mode.as_str()));
    }
    if mode == Mode::Acp
        && let Some(flag) = args.session.choice.flag()
        && args.session.choice != SessionChoice::InMemory
    {
        return Err(format!("--{flag} and --mode acp cannot be used together: the editor chooses sessions"));
    }
    // In these modes standard input contains the commands of a client, one per line.
    match args.words.first() {
        None => Ok(()),
        Some(word) => {
            let what = if word.starts_with('@') { "file" } else { "message" };
            let way = match mode {
                Mode::Acp => "the editor sends prompts",
                _ => "send {\"type\":\"prompt\",\"message\":…} on standard input",
            };
            Err(format!("--mode {} does not accept a {what} ({word}): {way}", mode.as_str()))
        }
    }
}

fn unknown(name: &str, more: &'static [Flag]) -> String {
    let bare = name.trim_start_matches('-');
    let away = |flag: &Flag| (strsim::osa_distance(bare, flag.long), flag.long.len().abs_diff(bare.len()), flag.long);
    match more.iter().chain(FLAGS).map(away).min() {
        // If more than half of the letters differ, it is a different word.
        Some((edits, _, long)) if edits <= bare.len().max(2) / 2 => {
            format!("unknown flag {name}; did you mean --{long}?")
        }
        _ => format!("unknown flag {name}; see sinew --help. Put a message that begins with a dash after --"),
    }
}
