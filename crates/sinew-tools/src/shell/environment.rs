//! The environment of commands, and the list of read-only commands.

use std::ffi::OsStr;

use sinew::shell::{Environment, is_exported_function};

use crate::child::Filter;
use crate::options::HostOptions;

/// Programs that change no files, with any arguments.
const READERS: [&str; 17] = [
    "ls", "cat", "head", "tail", "rg", "grep", "wc", "pwd", "which", "true", "date", "echo", "printf", "stat", "file",
    "du", "uname",
];
/// The same for subcommands of git.
const GIT_READERS: [&str; 5] = ["status", "log", "diff", "show", "blame"];

/// An editor that fails. Programs that split it into words, run it through a shell or execute it as a name all fail.
const NO_EDITOR: &str =
    "sh -c 'echo \"No editor is available: write the file, or pass the text as an option.\" >&2; exit 1'";

/// Variables that prevent programs from waiting for input, because nobody sees their editors, pagers or prompts.
/// Programs run the values through a shell or by name.
const UNATTENDED: [(&str, &str); 12] = [
    (
        "GIT_EDITOR",
        "echo 'No editor is available: pass the text as an option, such as -m TEXT or --no-edit.' >&2; false",
    ),
    (
        "GIT_SEQUENCE_EDITOR",
        "echo 'No editor is available: set GIT_SEQUENCE_EDITOR to a command that edits the list.' >&2; false",
    ),
    ("EDITOR", NO_EDITOR),
    ("VISUAL", NO_EDITOR),
    ("HGEDITOR", NO_EDITOR),
    ("KUBE_EDITOR", NO_EDITOR),
    ("SUDO_EDITOR", NO_EDITOR),
    ("SVN_EDITOR", NO_EDITOR),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS", "false"),
];

/// Returns the user's environment without secrets, with the variables that describe the agent.
pub(crate) fn of_commands(options: &HostOptions) -> Environment {
    let settings = &options.settings;
    let filter = Filter { pass: &settings.pass_through, keys: &settings.provider_keys };
    let mut env: Environment = filter.apply(&options.environment);
    let is_given = |name: &OsStr| UNATTENDED.iter().any(|(known, _)| name == *known);
    env.retain(|(name, _)| !is_given(name) && !is_exported_function(name));
    env.extend(UNATTENDED.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    if settings.ci {
        env.push(("CI".into(), "true".into()));
    }
    env.extend(settings.env.iter().map(|(name, value)| (name.into(), value.into())));
    if let Ok(folder) = options.artifacts.folder() {
        env.push(("ARTIFACTS".into(), folder.into()));
    }
    env
}

/// Returns the variables of the user that [`of_commands`] removes, as far as a shell can set them.
pub(crate) fn withheld(options: &HostOptions) -> Vec<(String, String)> {
    let given = of_commands(options);
    let kept_back = options.environment.iter().filter(|(name, _)| !given.iter().any(|(other, _)| other == name));
    let texts = kept_back.filter_map(|(name, value)| Some((name.to_str()?.to_string(), value.to_str()?.to_string())));
    texts.filter(|(name, _)| is_variable(name)).collect()
}

/// Returns true if a shell accepts this name for a variable.
pub(crate) fn is_variable(name: &str) -> bool {
    let letter = |byte: u8| byte == b'_' || byte.is_ascii_alphabetic();
    name.bytes().next().is_some_and(letter) && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
}

/// Returns true if `command` certainly changes no files.
pub(crate) fn only_reads(command: &str) -> bool {
    if command.contains(['>', '`', '(', '\n']) {
        return false;
    }
    command.split(['|', ';', '&']).map(str::trim).filter(|simple| !simple.is_empty()).all(|simple| {
        let mut words = simple.split_whitespace();
        match words.next() {
            Some("git") => words.next().is_some_and(|word| GIT_READERS.contains(&word)),
            Some(program) => READERS.contains(&program),
            None => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_commands_that_only_read() {
        for command in ["ls -l", "git status", "cat a | grep b", "rg x; ls"] {
            assert!(only_reads(command), "{command}");
        }
        for command in ["touch a", "ls > a", "git checkout b", "cat $(touch a)", "ls && rm a", "ls\nrm a"] {
            assert!(!only_reads(command), "{command}");
        }
    }
}
