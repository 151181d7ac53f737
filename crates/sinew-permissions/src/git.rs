//! Finds the commands that git runs because of its settings, aliases and subcommands.

use super::line::{LOOKED_AT, Line};
use super::pattern::{ANY, is_listed};
use super::runners::{GIT_COMMANDS, GIT_EXTERNAL, GIT_LINES, GIT_SETTINGS, GIT_VALUES};
use super::words::{is_line, spellings, values};

impl Line {
    /// Checks the settings, the subcommand and the options of a call of git.
    pub(super) fn git(&mut self, arguments: &[String], inner: usize) {
        let mut at = 0;
        while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
            let (option, value) =
                word.split_once('=').map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
            let value = value.or_else(|| arguments.get(at + 1).map(String::as_str)).unwrap_or_default();
            if let Some(setting) = word.strip_prefix("-c") {
                self.git_setting(if setting.is_empty() { value } else { setting }, inner);
            }
            if option == "--config-env" || option == "--exec-path" && word.contains('=') {
                self.unsure("a setting of the call may make git run commands");
            }
            at += 1 + usize::from(GIT_VALUES.contains(&word.as_str()));
        }
        let Some(command) = arguments.get(at) else { return };
        let rest = &arguments[at..];
        if !GIT_COMMANDS.contains(&format!(" {command} ")) && !is_listed(command, GIT_EXTERNAL) {
            self.respelled.push(format!("git {ANY}"));
            self.unsure("git has a command that is not known, which may be an alias for any command");
        } else if at > 0 {
            self.respelled.push(format!("git {}", rest.join(" ")));
        }
        match command.as_str() {
            "clone" | "init" => {
                let settings = values(rest, &["-c", "--config"]).into_iter().filter(|setting| !setting.is_empty());
                settings.filter(|_| command == "clone").for_each(|setting| self.git_setting(setting, inner));
                // The hooks of a template run later.
                if values(rest, &["--template"]).iter().any(|folder| !folder.is_empty()) {
                    self.unsure("git gets a template, whose hooks may run commands");
                }
            }
            "config" => self.git_config(rest),
            "bisect" | "submodule" | "for-each-repo" => self.git_runs(command, rest, inner),
            _ => {}
        }
    }

    /// Checks a setting `name=value` of a single call.
    fn git_setting(&mut self, setting: &str, inner: usize) {
        match setting.split_once('=') {
            Some((key, value)) if is_listed(&key.to_ascii_lowercase(), GIT_LINES) => {
                self.read_inner(value, inner);
                // git appends arguments.
                if !value.trim().is_empty() && !value.contains(ANY) {
                    self.inside.push(format!("{} {ANY}", value.trim()));
                }
            }
            _ if is_harmless(setting) => {}
            _ => self.unsure("a setting of the call may make git run commands"),
        }
    }

    /// Checks a setting that is stored.
    fn git_config(&mut self, rest: &[String]) {
        // A section with harmless names may become one whose names run commands.
        if rest.iter().any(|word| word == "rename-section" || word.starts_with("--ren")) {
            self.unsure("git renames a section of its settings");
        }
        let words = rest[1..].iter().filter(|word| !word.starts_with('-'));
        let sets = words.clone().count() > 1;
        let keys = words.filter(|word| word.contains('.'));
        // If no option has a value, the first word is the key.
        let valued = rest.iter().any(|word| {
            let option = word.split('=').next().unwrap_or_default();
            word.starts_with("-f") || is_listed(option, "--file --blob --type --default --comment --value")
        });
        let count = if valued { usize::MAX } else { 1 };
        if sets && keys.take(count).any(|key| !is_harmless(key)) {
            self.unsure("a saved setting may make git run commands later");
        }
    }

    /// Finds the command that a subcommand runs: `git bisect run x`.
    fn git_runs(&mut self, command: &str, rest: &[String], inner: usize) {
        let behind = |word: &str| rest.iter().position(|other| other == word).map(|at| &rest[at + 1..]);
        let run = behind("run").or_else(|| behind("foreach")).or((command == "for-each-repo").then_some(rest));
        let words = run.unwrap_or_default();
        for at in 0..words.len().min(LOOKED_AT) {
            self.inside.extend(spellings(&words[at..]));
            self.program(&words[at..], false, inner);
            if is_line(&words[at]) {
                self.read_inner(&words[at], inner);
            }
        }
    }
}

/// Returns whether a git setting never runs a program.
fn is_harmless(setting: &str) -> bool {
    let key = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    is_listed(&key, GIT_SETTINGS)
}
