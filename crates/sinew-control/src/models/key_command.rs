//! Runs commands that print a key: the values that begin with `!` in auth.json and models.json.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use sinew_llm::credentials::CommandRunner;
use sinew_llm::models::Registry;
use sinew_tools::child::Filter;

use super::key_names;
use crate::config::Environment;
use crate::settings::Settings;
use crate::sys;

/// The time limit of a command that prints a key.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// Returns the function that runs the command after a `!`, without the keys of providers in its environment.
pub(super) fn runner(environment: &Environment, registry: &Registry, settings: &Settings, cwd: &Path) -> CommandRunner {
    let keys = key_names(environment, registry);
    let variables = Filter { pass: &settings.env.pass_through, keys: &keys }.apply(environment.variables());
    let cwd = cwd.to_path_buf();
    Arc::new(move |command: &str| {
        let mut child = sys::shell(command);
        child.current_dir(&cwd).env_clear().envs(variables.iter().cloned());
        child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::group(&mut child);
        let child = child.spawn().map_err(|error| format!("failed to start: {error}"))?;
        let pid = child.id();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(child.wait_with_output()));
        let Ok(output) = told.recv_timeout(COMMAND_LIMIT) else {
            sys::kill_group(pid);
            return Err(format!("no answer within {} s", COMMAND_LIMIT.as_secs()));
        };
        let output = output.map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
            let said = said.map(|line| format!(": {}", line.chars().take(200).collect::<String>()));
            return Err(format!("it ended with {}{}", output.status, said.unwrap_or_default()));
        }
        let text = String::from_utf8(output.stdout).map_err(|_| "its output is not UTF-8".to_string())?;
        match text.trim() {
            "" => Err("it printed nothing".into()),
            text => Ok(text.to_string()),
        }
    })
}
