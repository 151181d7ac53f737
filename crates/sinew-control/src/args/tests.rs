use std::ffi::OsString;

use super::table::{FLAGS, Flag, FlagValue, Target};
use super::*;

#[track_caller]
fn refused(line: &str, expect: &str) {
    let error = parse(line.split(' ').map(OsString::from)).unwrap_err();
    assert!(error.contains(expect), "{line}: {error}");
}

fn read(line: &str) -> Args {
    parse(line.split(' ').map(OsString::from)).unwrap()
}

#[test]
fn errors_name_the_mistake_and_the_remedy() {
    refused("--modle x", "unknown flag --modle; did you mean --model?");
    refused("--contineu", "did you mean --continue?");
    refused("--xyzzyplugh", "see sinew --help");
    refused("-x", "unknown flag -x");
    refused("--print=yes", "--print takes no value");
    refused("--model", "--model needs a value: --model PATTERN");
    refused("--model --print", "--model needs a value");
    refused("--max-turns many", "--max-turns needs a whole number, not \"many\"");
    refused("--mode xml", "unknown mode");
    refused("--mode rpc @file", "--mode rpc does not accept a file (@file): send");
    refused("--mode rpc hello", "--mode rpc does not accept a message (hello): send");
    refused("--theme a", "--theme is not available yet");
    refused("-e a", "--extension is not available yet");
    refused("--thinking loud", "unknown level");
    refused("--sandbox container", "unknown mode; use off, rules, workspace or read-only");
    refused("-c --no-session", "--continue and --no-session cannot be used together");
    refused("--trust --no-trust", "--trust and --no-trust cannot be used together");
    refused("--session=", "--session needs a value: --session PATH");
    refused("--tools=,", "--tools is empty; use --no-tools to offer no tools");
    refused("--fork a --session b", "cannot be used together");
    refused("--json-snapshots -p", "--json-snapshots needs --mode json or --mode rpc");
    refused("--output xml", "--output xml: unknown output; use text or json");
    refused("--output json --mode rpc", "--output json and --mode rpc cannot be used together");
    refused("--output-schema s.json --mode rpc", "cannot be used together");
    for amount in ["0", "-1", "nan", "inf", "a", "1,5", "1e400"] {
        refused(&format!("--max-cost={amount}"), "--max-cost needs an amount of US dollars");
    }
}

#[test]
fn values_follow_a_blank_or_an_equals_sign() {
    assert_eq!(read("--model a --model=b").model.pattern.as_deref(), Some("b"));
    assert_eq!(read("--model=--print").model.pattern.as_deref(), Some("--print"));
    assert_eq!(read("--model -x").model.pattern.as_deref(), Some("-x"));
    assert_eq!(read("--system-prompt=a=b").prompt.system.as_deref(), Some("a=b"));
    assert_eq!(read("--max-turns 7").run.max_turns, Some(7));
    assert_eq!(read("--max-cost $0.5").run.max_cost, Some(0.5));
    assert_eq!(read("--tools a,,b").tools.only, Some(vec!["a".to_string(), "b".to_string()]));
    assert_eq!(read("--allow a --allow b").tools.allow, ["a", "b"]);
    assert_eq!(read("--list-models").output.list_models.as_deref(), Some(""));
    let args = read("--resume -p");
    assert!(args.session.choice == SessionChoice::Resume(None) && args.output.print);
    assert_eq!(read("-r ab -p").session.choice, SessionChoice::Resume(Some("ab".into())));
    assert!(read("-nc").prompt.no_context_files);
    assert_eq!((read("--trust --trust").run.trust, read("--no-trust").run.trust), (Some(true), Some(false)));
}

#[test]
fn words_are_kept_in_order_and_two_dashes_end_the_flags() {
    assert_eq!(read("-p say --verbose @file -- --model x").words, ["say", "@file", "--model", "x"]);
    assert_eq!(read("-").words, ["-"]);
}

#[test]
fn each_flag_has_one_row_and_help_names_it() {
    let help = help();
    for (at, flag) in FLAGS.iter().enumerate() {
        assert!(FLAGS[..at].iter().all(|other| other.long != flag.long), "{}", flag.long);
        assert!(flag.short.is_empty() || FLAGS[..at].iter().all(|other| other.short != flag.short), "{}", flag.long);
        assert_eq!(help.contains(&format!("--{} ", flag.long)), !flag.help.is_empty(), "{}", flag.long);
    }
    assert!(help.lines().all(|line| line.chars().count() <= 130), "{help}");
}

/// Each flag sets its own field, unless it is ignored.
#[test]
fn each_flag_changes_the_arguments() {
    let given = |flag: &Flag| {
        let value = match flag.takes {
            FlagValue::Value(_) if matches!(flag.long, "mode" | "output") => "json",
            FlagValue::Value(_) if flag.long == "thinking" => "high",
            FlagValue::Value(_) if flag.long == "sandbox" => "rules",
            FlagValue::Value(_) => "7",
            // This flag requires a mode.
            _ if flag.long == "json-snapshots" => return read("--mode json --json-snapshots"),
            _ => return read(&format!("--{}", flag.long)),
        };
        read(&format!("--{} {value}", flag.long))
    };
    let flags = FLAGS.iter().filter(|flag| !matches!(flag.target, Target::Ignored | Target::Unavailable));
    let mut seen = vec![Args::default()];
    for flag in flags {
        let args = given(flag);
        assert!(!seen.contains(&args), "--{}", flag.long);
        seen.push(args);
    }
}
