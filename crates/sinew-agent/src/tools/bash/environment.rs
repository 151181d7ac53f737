//! What commands get to know, and which of them change nothing.

use sinew::shell::Environment;

use crate::tools::HostOptions;

/// Names that end like this are secrets.
const SECRETS: [&str; 5] = ["_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_OAUTH_TOKEN"];
/// Programs that change no file, however they are called.
const READERS: [&str; 17] = [
    "ls", "cat", "head", "tail", "rg", "grep", "wc", "pwd", "which", "true", "date", "echo", "printf", "stat", "file",
    "du", "uname",
];
/// The same for commands of git.
const GIT_READERS: [&str; 5] = ["status", "log", "diff", "show", "blame"];

/// The user's environment without secrets, with what tells programs where they run.
pub(super) fn of_commands(options: &HostOptions) -> Environment {
    let settings = &options.settings;
    let secret = |name: &str| {
        let upper = name.to_ascii_uppercase();
        SECRETS.iter().any(|end| upper.ends_with(end)) || settings.provider_keys.iter().any(|key| key == name)
    };
    let mut env: Environment = options
        .environment
        .iter()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            settings.pass_through.iter().any(|passed| *passed == name) || !secret(&name)
        })
        .cloned()
        .collect();
    if settings.ci {
        env.push(("CI".into(), "true".into()));
    }
    if let Ok(folder) = options.artifacts.folder() {
        env.push(("ARTIFACTS".into(), folder.into()));
    }
    env
}

/// Whether `command` certainly changes no file.
pub(super) fn only_reads(command: &str) -> bool {
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
    fn readers_are_known() {
        for command in ["ls -l", "git status", "cat a | grep b", "rg x; ls"] {
            assert!(only_reads(command), "{command}");
        }
        for command in ["touch a", "ls > a", "git checkout b", "cat $(touch a)", "ls && rm a", "ls\nrm a"] {
            assert!(!only_reads(command), "{command}");
        }
    }
}
