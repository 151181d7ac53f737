//! Commands that the sandbox refused: the result says so, and the user can let the command run again without it.

use std::sync::Arc;

use serde_json::json;
use sinew::shell::{RunOptions, execute_shell};

use super::Host;
use crate::confinement::{Confinement, describe_refusals};
use crate::question::{Approval, ApprovalRequest};
use crate::settings::OutsideSandbox;
use crate::shell::command::{Command, End, Work};
use crate::shell::session;
use crate::tool::{Call, ToolError};

/// The permission to run a refused command again outside the sandbox: the name and the pattern of its rule,
/// `sandbox(off)`.
pub const OUTSIDE_PERMISSION: (&str, &str) = ("sandbox", "off");

/// The error text of the system about files that the sandbox closes for writing.
const READ_ONLY: &str = "Read-only file system";

/// Error texts of the system that a refused program usually prints.
const REFUSED_TEXTS: [&str; 4] = [READ_ONLY, "Permission denied", "Operation not permitted", "Network is unreachable"];

/// A command that the sandbox may have refused.
pub(super) struct RefusedCommand {
    /// What was refused, in one line.
    pub(super) note: String,
    mode: &'static str,
    /// True if the sandbox recorded the refusal, or the output names a reason that is rare outside of it.
    is_clear: bool,
}

/// Returns what the sandbox refused to a command that has ended; `None` if nothing indicates a refusal.
pub(super) fn find(confinement: &Confinement, end: &End) -> Option<RefusedCommand> {
    let result = end.result.as_ref().ok()?;
    let mode = confinement.mode_name();
    if let Some(note) = describe_refusals(mode, &result.refused) {
        return Some(RefusedCommand { note, mode, is_clear: true });
    }
    let is_suspect = result.exit_code != Some(0) && REFUSED_TEXTS.iter().any(|text| end.shown.text.contains(text));
    let note = || format!("The sandbox ({mode}) may be the reason for this failure");
    let is_clear = end.shown.text.contains(READ_ONLY);
    is_suspect.then(|| RefusedCommand { note: note(), mode, is_clear })
}

impl RefusedCommand {
    /// Returns true if the command may run outside the sandbox. Asks the user unless a rule or a setting decides. On
    /// suspicion alone, only the user can decide that the command runs a second time.
    pub(super) async fn may_run_outside(&self, host: &Host, call: &Call) -> bool {
        // In plan mode, commands must not change anything.
        if host.shell.is_elsewhere() {
            return false;
        }
        match host.options.settings.outside_sandbox {
            OutsideSandbox::Deny => return false,
            OutsideSandbox::Allow => return self.is_clear,
            OutsideSandbox::Ask => {}
        }
        let Some(ask) = &host.options.ask else { return false };
        let mut arguments = call.arguments.clone();
        if self.is_clear && host.allows_outside(&arguments) {
            return true;
        }
        if let Some(fields) = arguments.as_object_mut() {
            fields.insert("refused".into(), json!(self.note));
            fields.insert("sandbox".into(), json!("off"));
        }
        let rule = format!("{}({})", OUTSIDE_PERMISSION.0, OUTSIDE_PERMISSION.1);
        let wanted = rule.clone();
        let request = ApprovalRequest {
            call: call.id.clone(),
            tool: OUTSIDE_PERMISSION.0.into(),
            arguments,
            cwd: call.cwd.clone(),
            rule: rule.clone(),
            unsure: None,
            patterns: vec![rule.clone()],
            check: Arc::new(move |given, _| match given == wanted {
                true => Ok(()),
                false => Err(format!("only the rule {wanted} allows commands to run outside the sandbox")),
            }),
            requester: host.options.requester.clone(),
        };
        let _open = host.options.requester.as_ref().map(|requester| requester.begin_question());
        match ask.approve(&request).await {
            Approval::Once => true,
            Approval::Same => {
                host.allow_outside(call.arguments.clone());
                true
            }
            Approval::Rule(given, _) if given == rule => {
                host.allow_all_outside();
                true
            }
            Approval::Rule(..) | Approval::No(_) => false,
        }
    }

    /// Returns a line for the model: what was refused and what it can do instead.
    pub(super) fn advice(&self) -> String {
        let widen = match self.mode {
            "rules" => "a permission rule denies access to the file",
            _ => "work inside it, or ask the user for sandbox.write, sandbox.network or --sandbox",
        };
        format!("{}; {widen}", self.note)
    }
}

/// Runs a command in a separate shell without a sandbox. The shell does not get the state of the session's shell,
/// because a program in the sandbox may have defined anything there.
pub(super) fn work(host: &Host, run: RunOptions) -> Result<Work, ToolError> {
    let set = session::setup(&host.options, host.shell.folder().as_deref(), None, None)?;
    let supervisor = host.options.supervisor.clone();
    Ok(Box::new(move |running: &Arc<Command>, cancel| {
        Ok(execute_shell(&supervisor, &set, &run, cancel, &mut |chunk| running.push(&chunk))?)
    }))
}
