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
fn wrong_lines_say_what_is_wrong() {
    refused("--modle x", "unknown flag --modle; did you mean --model?");
    refused("--contineu", "did you mean --continue?");
    refused("--xyzzyplugh", "see sinew --help");
    refused("-x", "unknown flag -x");
    refused("--print=yes", "--print takes no value");
    refused("--model", "--model needs a value: --model PATTERN");
    refused("--model --print", "--model needs a value");
    refused("--max-turns many", "--max-turns needs a whole number, not \"many\"");
    refused("--mode xml", "unknown mode");
    refused("--mode rpc @file", "--mode rpc takes no file (@file): send");
    refused("--mode rpc hello", "--mode rpc takes no message (hello): send");
    refused("--theme a", "--theme is not available yet");
    refused("-e a", "--extension is not available yet");
    refused("--thinking loud", "unknown level");
    refused("-c --no-session", "exclude each other");
    refused("--fork a --session b", "exclude each other");
    refused("--output xml", "--output xml: unknown output; use text or json");
    refused("--output json --mode rpc", "--output json and --mode rpc exclude each other");
    refused("--output-schema s.json --mode rpc", "exclude each other");
    for amount in ["0", "-1", "nan", "inf", "a", "1,5", "1e400"] {
        refused(&format!("--max-cost={amount}"), "--max-cost needs an amount of US dollars");
    }
}

#[test]
fn values_stand_behind_a_blank_or_an_equals_sign() {
    assert_eq!(read("--model a --model=b").value("model"), Some("b"));
    assert_eq!(read("--model=--print").value("model"), Some("--print"));
    assert_eq!(read("--system-prompt=a=b").value("system-prompt"), Some("a=b"));
    assert_eq!(read("--max-turns 7").number("max-turns"), Ok(Some(7)));
    assert_eq!(read("--max-cost $0.5").dollars("max-cost"), Ok(Some(0.5)));
    assert_eq!(read("--tools a,,b").list("tools"), Some(vec!["a".to_string(), "b".to_string()]));
    let args = read("--resume -p");
    assert!(args.has("resume") && args.has("print") && args.value("resume").is_none());
    assert_eq!(read("-r ab -p").value("resume"), Some("ab"));
    assert!(read("-nc").has("no-context-files"));
}

#[test]
fn words_are_kept_in_order_and_two_dashes_end_the_flags() {
    assert_eq!(read("-p say --verbose @file -- --model x").words, ["say", "@file", "--model", "x"]);
    assert_eq!(read("-").words, ["-"]);
}

#[test]
fn each_flag_stands_once_and_help_names_it() {
    let help = help();
    for (at, flag) in FLAGS.iter().enumerate() {
        assert!(FLAGS[..at].iter().all(|other| other.long != flag.long), "{}", flag.long);
        assert!(flag.short.is_empty() || FLAGS[..at].iter().all(|other| other.short != flag.short), "{}", flag.long);
        assert_eq!(help.contains(&format!("--{} ", flag.long)), flag.listed, "{}", flag.long);
    }
    assert!(help.lines().all(|line| line.chars().count() <= 130), "{help}");
}
