//! The sandbox of a session. The kernel enforces it for programs; tools that open files themselves check it first.

use std::fs::Metadata;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use sinew::base::Error;
use sinew::sandbox::{CallerEnvironment, FileUse, Judge, Mode, Policy, Refusal, Sandbox};

use crate::access::PathCheck;
use crate::semantics::Effects;
use crate::tool::ToolError;

/// The sandbox of a session's programs, which is compiled on first use.
#[derive(Debug)]
pub struct Confinement {
    policy: Policy,
    surroundings: CallerEnvironment,
    sandbox: OnceLock<Result<Sandbox, Error>>,
}

impl Confinement {
    /// Creates a sandbox with the limits of `policy`, without compiling it yet.
    #[must_use]
    pub fn new(policy: Policy, surroundings: CallerEnvironment) -> Arc<Confinement> {
        Arc::new(Confinement { policy, surroundings, sandbox: OnceLock::new() })
    }

    /// Returns the limits.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the sandbox. The first call compiles it and blocks; later calls return at once.
    ///
    /// # Errors
    /// Returns an error if the policy contradicts itself or the system refuses the sandbox.
    pub fn sandbox(&self) -> Result<&Sandbox, Error> {
        self.sandbox.get_or_init(|| Sandbox::prepare(&self.policy, &self.surroundings)).as_ref().map_err(Clone::clone)
    }

    /// Returns the sandbox for a new program.
    pub(crate) fn of_program(&self) -> Result<Sandbox, ToolError> {
        self.sandbox().cloned().map_err(|error| {
            ToolError::Failed(format!("The command was not run, because its sandbox could not be created: {error}"))
        })
    }

    /// Returns the check for files that a tool with these effects opens itself; `None` if it opens none.
    pub(crate) fn file_check(&self, effects: Effects) -> Option<Arc<dyn PathCheck>> {
        let file_use = match effects {
            Effects { writes_files: true, .. } => FileUse::Write,
            Effects { reads_files: true, .. } | Effects { lists_files: true, .. } => FileUse::Read,
            _ => return None,
        };
        let judge = self.sandbox().and_then(Sandbox::judge);
        Some(Arc::new(FileCheck { judge, file_use, mode: self.mode_name() }))
    }

    /// Returns the name of the mode: `workspace`, `read-only` or `rules`.
    #[must_use]
    pub fn mode_name(&self) -> &'static str {
        self.policy.mode.as_str()
    }

    /// Describes the sandbox for the model, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        let network = match self.policy.network() {
            sinew::sandbox::Network::On => "",
            sinew::sandbox::Network::Loopback => " The only network interface is loopback.",
            sinew::sandbox::Network::Off => " There is no network.",
        };
        match self.policy.mode {
            Mode::Workspace => format!(
                "Sandbox: commands and tools can write only to {} and to temporary directories.{network}",
                self.policy.roots.join(", ")
            ),
            Mode::ReadOnly => format!("Sandbox: commands and tools can write only to temporary directories.{network}"),
            Mode::Rules => "Sandbox: commands cannot access files that permission rules deny.".to_string(),
        }
    }
}

/// Describes what the sandbox refused, for the model and for the user; `None` if nothing was recorded.
pub(crate) fn describe_refusals(mode: &str, refused: &[Refusal]) -> Option<String> {
    let first = refused.first()?;
    let target = first.target.as_deref().unwrap_or("an unknown target");
    let what = match first.kind.as_str() {
        "network" => format!("a connection to {target}"),
        "socket" => format!("a connection to the socket {target}"),
        "signal" => format!("a signal to {target}"),
        kind => format!("{} {target}", if kind == "read" { "reading" } else { "writing" }),
    };
    let more = match refused.len() {
        1 => String::new(),
        count => format!(", and {} more", count - 1),
    };
    Some(format!("The sandbox ({mode}) refused {what}{more}"))
}

/// Checks the files that one call opens.
struct FileCheck {
    judge: Result<Judge, Error>,
    file_use: FileUse,
    mode: &'static str,
}

impl PathCheck for FileCheck {
    fn check(&self, path: &Path, facts: Option<&Metadata>) -> Result<(), String> {
        let judge = match &self.judge {
            Ok(judge) => judge,
            Err(error) => {
                return Err(format!("The file was not opened, because the sandbox could not be created: {error}"));
            }
        };
        match judge.refusal(path, facts, self.file_use) {
            None => Ok(()),
            Some(reason) => {
                let what = if self.file_use == FileUse::Read { "read" } else { "written" };
                Err(format!("{} cannot be {what} in the sandbox ({}): {reason}.", path.display(), self.mode))
            }
        }
    }
}
