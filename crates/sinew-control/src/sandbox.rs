//! Builds the sandbox policy of sessions from settings, flags and permission rules.

use std::path::Path;
use std::sync::Arc;

use sinew::sandbox::{CallerEnvironment, Mode, Network, OWN_FILES, Policy, Promise, Status};
use sinew_permissions::{DeniedFiles, Rules, Verdict};
use sinew_tools::{Confinement, OUTSIDE_PERMISSION, OutsideSandbox};

use crate::config::work_tree;
use crate::failure::Failure;
use crate::settings::{SandboxMode, SandboxNetwork};
use crate::startup::Startup;

/// Those of [`OWN_FILES`] that start programs or configure security. With `rules`, programs can read them, because a rule
/// may allow it, and cannot create them. Sinew itself creates the others while commands run.
const GUARDS: [&str; 3] = ["settings.json", "hooks.json", "mcp.json"];

/// The sandboxes of a program's sessions.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The sandbox of sessions that save no artifacts, or whose policy does not depend on them; `None` if the sandbox
    /// is off. It is shared, so that the check at the start and all sessions prepare it once.
    session: Option<Arc<Confinement>>,
    /// The policy of children that work in copies of a directory.
    view: Policy,
    /// The sandbox of plan mode.
    plan: Arc<Confinement>,
    surroundings: CallerEnvironment,
    /// The verdict of the rules on running a refused command outside of the sandbox.
    outside: Verdict,
}

impl Limits {
    /// Builds the limits from settings, flags and rules.
    pub fn new(startup: &Startup, rules: &Rules) -> Limits {
        let denied = rules.denied_files();
        let settings = &startup.settings.sandbox;
        let lists = [&denied.read, &denied.write, &settings.deny_read, &settings.deny_write, &settings.deny_exec];
        let names_files = lists.iter().any(|list| !list.is_empty());
        let mode = match settings.mode {
            Some(SandboxMode::Off) => None,
            // Other systems have no sandbox, so the rules for commands are the only protection.
            None => (names_files && cfg!(target_os = "linux")).then_some(Mode::Rules),
            Some(SandboxMode::Rules) => Some(Mode::Rules),
            Some(SandboxMode::Workspace) => Some(Mode::Workspace),
            Some(SandboxMode::ReadOnly) => Some(Mode::ReadOnly),
        };
        let surroundings = CallerEnvironment {
            cwd: startup.paths.cwd.clone(),
            home: std::env::home_dir(),
            temp: startup.environment.os("TMPDIR").map(Into::into),
            path: startup.environment.os("PATH"),
            git_variables: CallerEnvironment::read_git_variables(|name| startup.environment.os(name)),
        };
        let policy = |mode| policy(startup, &denied, &surroundings, mode);
        let outside = rules.verdict_on(OUTSIDE_PERMISSION.0, OUTSIDE_PERMISSION.1);
        let plan = Confinement::new(policy(Mode::ReadOnly), surroundings.clone());
        let session = mode.map(|mode| Confinement::new(policy(mode), surroundings.clone()));
        // A copy isolates only if programs cannot write anywhere else, whatever limits the session itself.
        let view = policy(mode.filter(|mode| *mode == Mode::ReadOnly).unwrap_or(Mode::Workspace));
        Limits { session, view, plan, surroundings, outside }
    }

    /// Returns the sandbox of a session, whose programs may write to its artifacts; `None` if the sandbox is off.
    pub fn of_session(&self, artifacts: Option<&Path>) -> Option<Arc<Confinement>> {
        let shared = self.session.as_ref()?;
        let Some(folder) = artifacts.filter(|_| shared.policy().mode == Mode::Workspace) else {
            return Some(Arc::clone(shared));
        };
        let mut policy = shared.policy().clone();
        policy.write.push(folder.to_string_lossy().into_owned());
        Some(Confinement::new(policy, self.surroundings.clone()))
    }

    /// Returns the sandbox of a child that works in `cwd` in the copy `path` of the directory `root`: programs can only
    /// write to the copy and to directories for temporary files, and rules about files of the directory also apply in
    /// the copy.
    pub(crate) fn of_view(&self, path: &Path, root: &Path, cwd: &Path, artifacts: Option<&Path>) -> Arc<Confinement> {
        let mut policy = self.view.clone();
        for list in [&mut policy.deny_read, &mut policy.deny_write, &mut policy.deny_exec] {
            let moved: Vec<String> = list.iter().flat_map(|pattern| in_both(pattern, path, root)).collect();
            list.extend(moved);
        }
        if policy.mode == Mode::Workspace {
            policy.roots = vec![path.to_string_lossy().into_owned()];
            policy.write.extend(artifacts.map(|folder| folder.to_string_lossy().into_owned()));
        }
        policy.deny_write.push(root.to_string_lossy().into_owned());
        Confinement::new(policy, CallerEnvironment { cwd: cwd.to_path_buf(), ..self.surroundings.clone() })
    }

    /// Returns how to proceed after the sandbox refused a command. A rule for `sandbox(off)` has priority over the
    /// setting.
    pub(crate) fn outside(&self, setting: OutsideSandbox) -> OutsideSandbox {
        match (self.outside, setting) {
            (Verdict::Denied, _) | (_, OutsideSandbox::Deny) => OutsideSandbox::Deny,
            (Verdict::Allowed, _) => OutsideSandbox::Allow,
            (Verdict::Asked, setting) => setting,
        }
    }

    /// Returns the sandbox of plan mode.
    pub fn of_plan(&self) -> Arc<Confinement> {
        Arc::clone(&self.plan)
    }

    /// Tests the sandbox that a flag or a setting selects, before anything runs. A sandbox that is only needed for
    /// rules is compiled with the first command.
    ///
    /// # Errors
    /// Returns an error if the policy contradicts itself, or if the system cannot enforce it and `sandbox.fallback` is
    /// off.
    pub(crate) fn check(&self, startup: &Startup, warnings: &mut Vec<String>) -> Result<(), Failure> {
        let settings = &startup.settings.sandbox;
        let Some(confinement) = self.of_session(None) else { return Ok(()) };
        if settings.mode.is_none() {
            // Nobody asked for the sandbox of the rules, so the session begins without it.
            warnings.extend(match confinement.sandbox() {
                Ok(sandbox) => unenforced(sandbox.status(), confinement.policy(), Promise::Read)
                    .map(|reason| format!("commands can read files that rules deny: {reason}")),
                Err(error) => Some(format!("the sandbox of the rules is off: {}", error.message())),
            });
            return Ok(());
        }
        let mode = confinement.mode_name();
        let sandbox = confinement.sandbox().map_err(|error| {
            let reason = error.message().trim_start_matches("Sandbox.create: ").to_string();
            Failure::config(format!("--sandbox {mode}: {reason}"))
        })?;
        let promise = if confinement.policy().mode == Mode::Rules { Promise::Read } else { Promise::Write };
        let weak = unenforced(sandbox.status(), confinement.policy(), promise);
        match weak {
            None => {}
            Some(reason) if settings.fallback => warnings.push(format!("the sandbox is not enforced: {reason}")),
            Some(reason) => {
                return Err(Failure::config(format!(
                    "--sandbox {mode}: the system cannot enforce it: {reason}. Use --sandbox-fallback to run without it, or --sandbox off"
                )));
            }
        }
        Ok(())
    }
}

/// Returns the patterns that mean in the project and in its copy what a pattern means in the project.
fn in_both(pattern: &str, copy: &Path, root: &Path) -> Vec<String> {
    let written = Path::new(pattern);
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    match written.strip_prefix(root) {
        Ok(rest) => vec![text(copy.join(rest))],
        Err(_) if written.is_absolute() || pattern.starts_with('~') => Vec::new(),
        // The pattern itself is relative to the copy.
        Err(_) => vec![text(root.join(pattern)), text(root.join("**").join(pattern))],
    }
}

/// Returns the reason why a guarantee of the policy is not enforced; `None` if it is.
fn unenforced(status: &Status, policy: &Policy, promise: Promise) -> Option<String> {
    let is_made = promise == Promise::Write || !policy.deny_read.is_empty();
    status.unenforced().into_iter().find(|(of, _)| is_made && *of == promise).map(|(_, reason)| reason)
}

/// Returns the policy of a mode.
fn policy(startup: &Startup, denied: &DeniedFiles, surroundings: &CallerEnvironment, mode: Mode) -> Policy {
    let Startup { paths, settings, .. } = startup;
    let settings = &settings.sandbox;
    let own = |names: &[&str]| -> Vec<String> {
        [&paths.agent, &paths.home]
            .iter()
            .flat_map(|folder| names.iter().map(move |name| folder.join(name).to_string_lossy().into_owned()))
            .collect()
    };
    let is_hidden = |name: &&str| mode != Mode::Rules || !GUARDS.contains(name);
    let hidden: Vec<&str> = OWN_FILES.into_iter().filter(is_hidden).collect();
    let mut policy = Policy::new(mode);
    policy.deny_read = [&denied.read[..], &settings.deny_read, &own(&hidden)].concat();
    policy.deny_write = [&denied.write[..], &settings.deny_write].concat();
    policy.deny_exec.clone_from(&settings.deny_exec);
    policy.network = settings.network.map(|network| match network {
        SandboxNetwork::Off => Network::Off,
        SandboxNetwork::On => Network::On,
        SandboxNetwork::Loopback => Network::Loopback,
    });
    let root = || work_tree(&paths.cwd, surroundings.home.as_deref());
    match mode {
        Mode::Rules => policy.deny_write.extend(own(&GUARDS)),
        Mode::Workspace => {
            policy.write.clone_from(&settings.write);
            policy.roots = vec![root().to_string_lossy().into_owned()];
        }
        // A project in a directory for temporary files is protected anyway.
        Mode::ReadOnly => {
            let root = Some(root()).filter(|root| is_below_temporary(root, surroundings));
            policy.deny_write.extend(root.map(|root| root.to_string_lossy().into_owned()));
        }
    }
    policy
}

/// Returns true if a directory is in a directory for temporary files, to which programs may write in every mode.
fn is_below_temporary(root: &Path, surroundings: &CallerEnvironment) -> bool {
    let temps = surroundings.temporary_directories();
    temps.into_iter().any(|temp| root != temp && root.starts_with(temp.canonicalize().unwrap_or(temp)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::startup;

    /// Returns the limits of a program with these flags.
    fn limits(cwd: &Path, flags: &[&str]) -> Limits {
        let startup = startup(cwd, flags, crate::settings::Values::default());
        let (rules, warnings) = Rules::read(&serde_json::json!({"deny": ["read(.env)"]}));
        assert!(warnings.is_empty(), "{warnings:?}");
        Limits::new(&startup, &rules)
    }

    #[test]
    fn the_start_and_all_sessions_prepare_one_sandbox() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        let limits = limits(&cwd, &[]);
        let (one, two) = (cwd.join("one"), cwd.join("two"));
        // Each of these is prepared once: the check at the start, a session without and two with artifacts.
        let asked = [None, None, Some(&*one), Some(&*two)].map(|artifacts| limits.of_session(artifacts));
        let mut sandboxes: Vec<_> = asked.iter().flatten().map(Arc::as_ptr).collect();
        assert_eq!(sandboxes.len(), if cfg!(target_os = "linux") { 4 } else { 0 });
        sandboxes.dedup();
        assert!(sandboxes.len() <= 1, "{} sandboxes are prepared", sandboxes.len());
    }

    #[test]
    fn a_child_in_a_copy_can_only_write_to_the_copy() {
        for (mode, expect) in [
            (None, Mode::Workspace),
            (Some("off"), Mode::Workspace),
            (Some("rules"), Mode::Workspace),
            (Some("workspace"), Mode::Workspace),
            (Some("read-only"), Mode::ReadOnly),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let cwd = folder.path().canonicalize().unwrap();
            let mut values = crate::settings::Values::default();
            if let Some(mode) = mode {
                values.set("sandbox", serde_json::json!({"mode": mode}));
            }
            let limits = Limits::new(&startup(&cwd, &[], values), &Rules::default());
            let copy = cwd.join("copy");
            let confinement = limits.of_view(&copy, &cwd, &copy, None);
            let policy = confinement.policy();
            assert_eq!(policy.mode, expect, "{mode:?}");
            let roots: Vec<String> =
                (expect == Mode::Workspace).then(|| copy.display().to_string()).into_iter().collect();
            assert_eq!(policy.roots, roots, "{mode:?}");
        }
    }
}
