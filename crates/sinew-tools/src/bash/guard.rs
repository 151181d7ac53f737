//! A protection against accidents that recognises some commands in plain form. It is not a sandbox: simple quoting
//! bypasses it.

mod words;

use std::sync::LazyLock;

use regex::Regex;

use crate::settings::GuardSettings;

/// The verdict of the guard on a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The rule that refuses it; `None` if none does.
    pub(super) rule: Option<String>,
    /// Errors in the user's rules.
    pub(super) warnings: Vec<String>,
}

/// Checks `command` against the rules.
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

const DISK: &str = "^[\"']?(of=)?[\"']?/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk)";
static DISK_NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(DISK).expect("a constant pattern"));

/// Returns the rule for a command that is almost always an accident; `None` for other commands.
fn accident(command: &str) -> Option<&'static str> {
    let line = words::read(&command.to_lowercase());
    let dense: String = line.code.split_whitespace().collect();
    if dense.contains(":(){:|:&};:") {
        return Some("fork bomb");
    }
    if line.targets.iter().any(|target| !target.starts_with("of=") && DISK_NAME.is_match(target)) {
        return Some("write to a disk");
    }
    line.commands.iter().find_map(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        of_words(&words)
    })
}

/// Programs that run the rest of their command line.
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
        "dd" if arguments.iter().any(|word| word.contains("of=") && DISK_NAME.is_match(word)) => Some("dd to a disk"),
        "chmod" if (has("777") || has("0777") || has("a+rwx")) && arguments.iter().any(|word| is_root(word)) => {
            Some("chmod 777 /")
        }
        "git" if has("push") && (has("--force") || short_after_push(arguments)) => Some("git push --force"),
        _ if program.starts_with("mkfs") => Some("mkfs"),
        _ => None,
    }
}

/// Returns true if `push` has a short flag that contains `f`.
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
    is_root(word) || ["~", "$home", "${home}"].contains(&bare(word).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destructive_commands_are_refused_in_any_spacing_and_order() {
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
            "git commit -m x; rm -rf /",
            "echo \"$(rm -rf /)\"",
            "echo `rm -rf /`",
            "echo \"a `rm -rf ~` b\"",
            "echo 'a' && rm -rf '/'",
            "echo x > \"/dev/sda\"",
            "echo x >| /dev/sda",
            "bash <<EOF\nrm -rf /\nEOF",
            "cat <<EOF | sh\nrm -rf /\nEOF",
            "cat <<EOF\nx\nEOF\nrm -rf /",
            "(cd x; rm -rf /)",
            "if true; then rm -rf /; fi",
            "dd if=x of=\"/dev/sda\"",
        ] {
            assert!(accident(command).is_some(), "{command}");
        }
    }

    #[test]
    fn intended_commands_pass() {
        for command in [
            "rm -rf ./target",
            "rm -rf /tmp/x",
            "rm -r /",
            "rm file",
            "rm -rf ~/project/target",
            "git push --force-with-lease",
            "git push origin feature",
            "git log -f push-notes",
            "git commit -m 'docs; rm -rf / is bad'",
            "git commit -m \"a && rm -rf / (b) > /dev/sda\"",
            "git commit -m \"it's; rm -rf / is bad\"",
            "echo a\\; rm -rf / b",
            "ls # then rm -rf /",
            "ls\n# rm -rf /\nls",
            "cat > notes.md <<EOF\nrm -rf /\nEOF",
            "git commit -F - <<'END'\nrm -rf / is bad\ndd of=/dev/sda\nEND\nls",
            "rg ':(){ :|:& };:' docs",
            "printf '%s' 'mkfs.ext4'",
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
    fn settings_add_and_remove_guard_patterns() {
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
