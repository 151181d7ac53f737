//! A speed bump against accidents: it knows some commands in plain form. It is no sandbox, and trivial quoting
//! passes it.

use std::sync::LazyLock;

use regex::Regex;

use crate::settings::GuardSettings;

/// The verdict of the guard on a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The rule that refuses it.
    pub(super) rule: Option<String>,
    /// Rules of the user that could not be read.
    pub(super) warnings: Vec<String>,
}

/// Compares `command` with the rules.
pub(super) fn check(settings: &GuardSettings, command: &str) -> Verdict {
    let mut verdict = Verdict::default();
    if !settings.enabled || settings.allow.iter().any(|allowed| allowed.trim() == command.trim()) {
        return verdict;
    }
    verdict.rule = accident(command).map(String::from);
    for rule in &settings.deny {
        match Regex::new(rule) {
            Ok(regex) if verdict.rule.is_none() && regex.is_match(command) => verdict.rule = Some(rule.clone()),
            Ok(_) => {}
            Err(error) => {
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                verdict.warnings.push(format!("bashGuard.deny: \"{rule}\" is skipped: {reason}"));
            }
        }
    }
    verdict
}

const DISK: &str = r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk)";
static TO_DISK: LazyLock<Regex> = LazyLock::new(|| Regex::new(&format!(r">\s*{DISK}")).expect("a constant pattern"));
static DD_TO_DISK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("^[\"']?of=[\"']?{DISK}")).expect("a constant pattern"));

/// The rule of a command that is an accident in almost every case.
fn accident(command: &str) -> Option<&'static str> {
    let lower = command.to_lowercase();
    let dense: String = lower.split_whitespace().collect();
    if dense.contains(":(){:|:&};:") {
        return Some("fork bomb");
    }
    if TO_DISK.is_match(&lower) {
        return Some("write to a disk");
    }
    lower
        .split(['\n', ';', '&', '|', '(', ')', '{', '}', '`'])
        .find_map(|simple| {
            // A brace that belongs to a variable is no border.
            let words: Vec<&str> = simple.split_whitespace().collect();
            of_words(&words)
        })
        .or_else(|| lower.contains("${home}").then(|| accident_of_home(&lower)).flatten())
}

/// `${HOME}` has braces, which otherwise divide commands.
fn accident_of_home(lower: &str) -> Option<&'static str> {
    let plain = lower.replace("${home}", "$home");
    plain.split(['\n', ';', '&', '|', '(', ')']).find_map(|simple| {
        let words: Vec<&str> = simple.split_whitespace().collect();
        of_words(&words)
    })
}

/// Programs that run the rest of their line.
const RUNNERS: [&str; 9] = ["sudo", "doas", "env", "time", "nohup", "command", "exec", "builtin", "nice"];

fn of_words(words: &[&str]) -> Option<&'static str> {
    let start =
        words.iter().position(|word| !RUNNERS.contains(word) && !word.contains('=') && !word.starts_with('-'))?;
    let (program, arguments) = words[start..].split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let short = |letter: char| {
        arguments.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    let has = |wanted: &str| arguments.contains(&wanted);
    match program {
        "rm" if (short('r') || has("--recursive"))
            && (short('f') || has("--force"))
            && arguments.iter().any(|word| is_all(word)) =>
        {
            Some("rm -rf of everything")
        }
        "dd" if arguments.iter().any(|word| DD_TO_DISK.is_match(word)) => Some("dd to a disk"),
        "chmod" if (has("777") || has("0777") || has("a+rwx")) && arguments.iter().any(|word| is_root(word)) => {
            Some("chmod 777 /")
        }
        "git" if has("push") && (has("--force") || short_after_push(arguments)) => Some("git push --force"),
        _ if program.starts_with("mkfs") => Some("mkfs"),
        _ => None,
    }
}

/// Returns true if `push` has a short flag with f.
fn short_after_push(arguments: &[&str]) -> bool {
    arguments
        .iter()
        .skip_while(|word| **word != "push")
        .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('f'))
}

fn bare(word: &str) -> String {
    let word: String = word.chars().filter(|character| !matches!(character, '"' | '\'')).collect();
    let mut word = word.as_str();
    while let Some(rest) = ["/*", "/.", "/"].iter().find_map(|end| word.strip_suffix(end)) {
        word = rest;
    }
    word.to_string()
}

fn is_root(word: &str) -> bool {
    word.contains('/') && bare(word).is_empty()
}

fn is_all(word: &str) -> bool {
    is_root(word) || ["~", "$home"].contains(&bare(word).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accidents_are_refused_in_any_spacing_and_order() {
        for command in [
            "rm -rf /",
            "rm   -fr   /",
            "rm -r -f /*",
            "rm -Rf ~",
            "sudo rm -f -r $HOME",
            "rm --recursive --force \"$HOME\"/",
            "rm -rf ${HOME}",
            "cd x && rm -rf /",
            "/bin/rm -rf --no-preserve-root /",
            ":(){ :|:& };:",
            ":()  {  :  |  : & } ; :",
            "dd if=/dev/zero of=/dev/sda bs=1M",
            "mkfs.ext4 /dev/sda1",
            "mkfs -t ext4 x",
            "echo x > /dev/sda",
            "cat a >/dev/nvme0n1",
            "chmod 777 /",
            "chmod -R 777 /",
            "git push --force",
            "git  push origin main -f",
            "git -C x push -uf origin",
        ] {
            assert!(accident(command).is_some(), "{command}");
        }
    }

    #[test]
    fn what_is_meant_passes() {
        for command in [
            "rm -rf ./target",
            "rm -rf /tmp/x",
            "rm -r /",
            "rm file",
            "rm -rf ~/project/target",
            "git push --force-with-lease",
            "git push origin feature",
            "git log -f push-notes",
            "dd if=/dev/sda of=disk.img",
            "chmod 777 ./a",
            "echo rm -rf /",
            "echo x > /dev/null",
            "",
        ] {
            assert_eq!(accident(command), None, "{command}");
        }
    }

    #[test]
    fn the_user_adds_and_takes_away() {
        let settings = GuardSettings {
            enabled: true,
            deny: vec!["terraform\\s+destroy".into(), "(".into()],
            allow: vec!["git push --force".into()],
        };
        assert_eq!(check(&settings, "git push --force "), Verdict::default());
        let verdict = check(&settings, "terraform  destroy");
        assert_eq!(verdict.rule.as_deref(), Some("terraform\\s+destroy"));
        assert_eq!(verdict.warnings, ["bashGuard.deny: \"(\" is skipped: error: unclosed group"]);
        let off = GuardSettings { enabled: false, ..settings };
        assert_eq!(check(&off, "rm -rf /").rule, None);
    }
}
