//! Carries the directory and the exported variables of the user's shell over to the shell of the session.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sinew::base::CancelToken;
use sinew::shell::{RunOptions, RunResult, Shell};

use super::environment::is_variable;
use super::session::{SessionShell, quoted};
use crate::tool::ToolError;

/// The maximum time for a shell to print its environment or to make a change.
const SHORT: Duration = Duration::from_secs(5);

/// Variables that every shell sets by itself.
const OWN: [&str; 6] = ["_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES"];

/// The directory and the exported variables of a shell.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    folder: Option<PathBuf>,
    variables: BTreeMap<String, String>,
}

impl Exports {
    /// Moves a shell to `folder` and returns what it exports.
    ///
    /// # Errors
    /// Returns an error if the shell cannot be started.
    pub(crate) fn after_moving(shell: &Shell, folder: &Path) -> Result<Exports, ToolError> {
        exports(shell, format!("builtin cd -- {}; ", quoted(&folder.to_string_lossy())))
    }

    /// Returns what a shell exports.
    ///
    /// # Errors
    /// Returns an error if the shell cannot be started.
    pub(crate) fn of(shell: &Shell) -> Result<Exports, ToolError> {
        exports(shell, String::new())
    }

    /// Returns the script that changes these exports to `later` in another shell; `None` if nothing changed. `hides`
    /// returns true for the names of variables that the other shell must not get.
    pub(crate) fn script_to(&self, later: &Exports, hides: impl Fn(&str) -> bool) -> Option<String> {
        let folder = later.folder.iter().filter(|now| self.folder.as_ref() != Some(now));
        let folder = folder.map(|now| format!("builtin cd -- {}", quoted(&now.to_string_lossy())));
        let is_carried = |name: &str| is_variable(name) && !OWN.contains(&name) && !hides(name);
        let set = later.variables.iter().filter(|(name, value)| self.variables.get(*name) != Some(value));
        let set = set.filter(|(name, _)| is_carried(name));
        let set = set.map(|(name, value)| format!("export {name}={}", quoted(value)));
        let removed = self.variables.keys().filter(|name| !later.variables.contains_key(*name) && is_carried(name));
        let lines: Vec<String> = folder.chain(set).chain(removed.map(|name| format!("unset -v {name}"))).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

fn exports(shell: &Shell, before: String) -> Result<Exports, ToolError> {
    let mut text = String::new();
    let result = run_shortly(shell, before + "command env -0", |chunk| text.push_str(&chunk))?;
    let pairs = text.split('\0').filter_map(|line| line.split_once('='));
    let variables = pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Ok(Exports { folder: result.working_dir, variables })
}

/// Runs a script of our own that ends soon.
fn run_shortly(shell: &Shell, command: String, mut on_text: impl FnMut(String)) -> Result<RunResult, ToolError> {
    let run = RunOptions { command, ..RunOptions::default() };
    let cancel = CancelToken::never().with_timeout(SHORT);
    Ok(shell.run(&run, &cancel, &mut |chunk| {
        on_text(chunk);
        ControlFlow::Continue(())
    })?)
}

impl SessionShell {
    /// Runs a script that changes the shell. The caller has the turn.
    ///
    /// # Errors
    /// Returns an error if the shell cannot be started.
    pub(crate) fn change(&self, script: String) -> Result<(), ToolError> {
        let result = run_shortly(&*self.open()?, script, drop)?;
        self.ended(&result, true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_changes_the_directory_and_the_variables_that_are_not_hidden() {
        let exports = |folder: &str, pairs: &[(&str, &str)]| Exports {
            folder: Some(folder.into()),
            variables: pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        };
        let before = exports("/a", &[("SAME", "1"), ("OLD", "1"), ("GONE", "1"), ("SHLVL", "1")]);
        assert_eq!(before.script_to(&before, |_| false), None);
        let pairs =
            [("SAME", "1"), ("OLD", "it's\nnew"), ("MY_TOKEN", "x"), ("BASH_FUNC_f%%", "() { :; }"), ("SHLVL", "2")];
        let script = before.script_to(&exports("/b c", &pairs), |name| name == "MY_TOKEN");
        assert_eq!(script.unwrap(), "builtin cd -- '/b c'\nexport OLD='it'\\''s\nnew'\nunset -v GONE");
    }
}
