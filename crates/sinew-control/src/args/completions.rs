//! Generates the completion scripts for shells from the table of flags.

use super::table::{FLAGS, Flag, FlagValue};

/// The commands and their subcommands.
pub const COMMANDS: &[(&str, &[&str])] = &[
    ("sessions", &["list", "rm", "gc"]),
    ("index", &["status", "remove", "prune"]),
    ("undo", &["redo", "gc"]),
    ("config", &["get", "set", "unset", "list", "path"]),
    ("doctor", &[]),
    ("mcp", &["list", "get", "add", "remove", "enable", "disable", "test", "reload", "login", "logout", "serve"]),
    ("login", &[]),
    ("logout", &[]),
    ("completions", &["bash", "zsh", "fish"]),
    ("help", &["sessions", "index", "undo", "config", "doctor", "mcp", "login", "logout"]),
    ("version", &[]),
    ("man", &[]),
];

// `mapfile` would be simpler; the bash of macOS (3.2) does not have it.
const BASH_HEAD: &str = "\
# Completion of sinew for bash. In ~/.bashrc: eval \"$(sinew completions bash)\"
_sinew() {
  local IFS=$'\\n' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
";

const ZSH_HEAD: &str = "\
#compdef sinew
# Completion of sinew for zsh. In ~/.zshrc after compinit: eval \"$(sinew completions zsh)\"
_sinew() {
";

/// As a file in `fpath` the text is the body of the function; if `eval` reads it, it registers the function.
const ZSH_TAIL: &str = "\
}
if [[ $funcstack[1] == _sinew ]]; then _sinew \"$@\"; else compdef _sinew sinew; fi
";

const FISH_HEAD: &str = "\
# Completion of sinew for fish: sinew completions fish > ~/.config/fish/completions/sinew.fish
";

/// The values of a flag, as a shell can complete them.
enum Values {
    Nothing,
    Words(Vec<&'static str>),
    Files,
    Folders,
    /// Any text.
    Free,
}

/// Returns the completion script for `shell`; `None` if the shell is not supported.
pub fn completions(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash()),
        "zsh" => Some(zsh()),
        "fish" => Some(fish()),
        _ => None,
    }
}

fn shown() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().filter(|flag| !flag.help.is_empty())
}

fn commands() -> String {
    COMMANDS.iter().map(|(command, _)| *command).collect::<Vec<_>>().join(" ")
}

/// Returns the commands that have subcommands, which are joined to one text.
fn with_words() -> impl Iterator<Item = (&'static str, String)> {
    COMMANDS.iter().filter(|(_, words)| !words.is_empty()).map(|(command, words)| (*command, words.join(" ")))
}

/// Derives the values from the placeholder in `--help`: words in lower case are literal values.
fn values(flag: &Flag) -> Values {
    let (FlagValue::Value(shape) | FlagValue::Optional(shape)) = flag.takes else { return Values::Nothing };
    let words: Vec<&str> = shape.split('|').collect();
    if words.iter().all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase())) {
        return Values::Words(words);
    }
    match shape {
        "DIR" => Values::Folders,
        _ if ["FILE", "PATH", "IN"].iter().any(|word| shape.contains(word)) => Values::Files,
        _ => Values::Free,
    }
}

/// Returns the names of a flag with their dashes.
fn names(flag: &Flag) -> Vec<String> {
    let short = (!flag.short.is_empty()).then(|| format!("-{}", flag.short));
    short.into_iter().chain([format!("--{}", flag.long)]).collect()
}

fn bash() -> String {
    let choose = |words: &str| format!("-W $'{}'", words.replace(' ', "\\n"));
    let reply = |how: &str| format!("COMPREPLY=($(compgen {how} -- \"$cur\"))");
    let mut out = format!("{BASH_HEAD}  case $prev in\n");
    for flag in shown() {
        let how = match values(flag) {
            Values::Nothing => continue,
            Values::Words(words) => reply(&choose(&words.join(" "))),
            Values::Files => reply("-f"),
            Values::Folders => reply("-d"),
            // An optional value may be missing, so the next word can be anything.
            Values::Free if matches!(flag.takes, FlagValue::Optional(_)) => continue,
            Values::Free => ":".into(),
        };
        out += &format!("    {}) {how}; return ;;\n", names(flag).join("|"));
    }
    out += "  esac\n  case $COMP_CWORD:$prev in\n";
    for (command, words) in with_words() {
        out += &format!("    2:{command}) {}; return ;;\n", reply(&choose(&words)));
    }
    let flags = shown().flat_map(names).collect::<Vec<_>>().join(" ");
    out += "  esac\n  case $COMP_CWORD:$cur in\n";
    out += &format!("    *:-*) {} ;;\n", reply(&choose(&flags)));
    out += "    *:@*) COMPREPLY=($(compgen -f -P @ -- \"${cur#@}\")) ;;\n";
    out += &format!("    1:*) {} ;;\n", reply(&choose(&commands())));
    out + "  esac\n}\ncomplete -o default -F _sinew sinew\n"
}

fn zsh() -> String {
    let mut out = format!("{ZSH_HEAD}  case \"$CURRENT:${{words[2]}}\" in\n");
    for (command, words) in with_words() {
        out += &format!("    3:{command}) compadd -- {words}; return ;;\n");
    }
    out += "  esac\n  _arguments -s \\\n";
    for flag in shown() {
        let action = match values(flag) {
            Values::Nothing => String::new(),
            Values::Words(words) => format!(":value:({})", words.join(" ")),
            Values::Files => ":file:_files".into(),
            Values::Folders => ":folder:_files -/".into(),
            Values::Free => ":value: ".into(),
        };
        let optional = if matches!(flag.takes, FlagValue::Optional(_)) { ":" } else { "" };
        // These characters are special within the brackets of `_arguments`.
        let help = flag.help.replace('[', "\\[").replace(']', "\\]").replace(':', "\\:");
        for name in names(flag) {
            out += &format!("    {} \\\n", quoted(&format!("*{name}[{help}]{optional}{action}")));
        }
    }
    out + &format!("    '1: :({})' \\\n    '*:file:_files'\n{ZSH_TAIL}", commands())
}

fn fish() -> String {
    let mut out = format!("{FISH_HEAD}complete -c sinew -n __fish_use_subcommand -a '{}'\n", commands());
    for (command, words) in with_words() {
        out += &format!("complete -c sinew -f -n '__fish_seen_subcommand_from {command}' -a '{words}'\n");
    }
    for flag in shown() {
        let short = match flag.short.len() {
            0 => String::new(),
            1 => format!(" -s {}", flag.short),
            _ => format!(" -o {}", flag.short),
        };
        let value = match values(flag) {
            Values::Nothing => String::new(),
            Values::Words(words) => format!(" -x -a '{}'", words.join(" ")),
            Values::Files => " -r -F".into(),
            Values::Folders => " -x -a '(__fish_complete_directories)'".into(),
            Values::Free if matches!(flag.takes, FlagValue::Optional(_)) => String::new(),
            Values::Free => " -x".into(),
        };
        out += &format!("complete -c sinew{short} -l {}{value} -d {}\n", flag.long, quoted(flag.help));
    }
    out
}

/// Quotes a word for zsh and fish.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
