//! Compiles a policy, and prepares commands.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use sinew_base::{Error, ErrorCode, Result};
use tempfile::NamedTempFile;

use super::application::Application;
use super::entry::Entry;
use super::filter::{Architecture, FilterOptions, generate};
use super::landlock::{Abi, Ruleset};
use super::layout::{Layout, Search};
use super::mounts;
use super::namespace::{NamespaceSet, Namespaces, StepError, try_in_child};
use super::notify::Connections;
use super::readable::{Readable, closable};
use super::rules::Rules;
use super::strength::{Mechanisms, status};
use super::take_back::{HoldingFolder, take_back};
use crate::{CallerEnvironment, Enforcement, Mode, Network, Policy, Refusal, Status};

/// A compiled policy. Clones share it, and it can be used from several threads at the same time.
#[derive(Debug, Clone)]
pub struct Sandbox {
    status: Arc<Status>,
    prepared: Arc<Mutex<Option<Arc<PreparedSandbox>>>>,
}

impl PartialEq for Sandbox {
    fn eq(&self, other: &Sandbox) -> bool {
        Arc::ptr_eq(&self.prepared, &other.prepared)
    }
}

impl Eq for Sandbox {}

impl Sandbox {
    /// Compiles a policy, creates its namespaces and masks, and tests them once. Reads the directories of globs, and
    /// searches the roots for repositories.
    ///
    /// # Errors
    /// Returns an error that names the entry if the policy contradicts itself, or if a root is missing, a link or too
    /// wide; and if a promise of [`Policy::required`] cannot be enforced on this system.
    pub fn prepare(policy: &Policy, surroundings: &CallerEnvironment) -> Result<Sandbox> {
        let Some(architecture) = Architecture::of_program() else {
            return Err(Error::new(
                ErrorCode::Unsupported,
                "Sandbox.create: sandboxes are supported on x86-64 and arm64 only",
            ));
        };
        let prepared = PreparedSandbox::new(policy, surroundings, architecture)?;
        let status = Arc::new(prepared.1);
        check_required(policy, &status, prepared.0.refused.as_deref())?;
        Ok(Sandbox { status, prepared: Arc::new(Mutex::new(Some(Arc::new(prepared.0)))) })
    }

    /// Returns what is enforced, by which mechanism, and what is missing.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Prepares one command: mounts lost masks again, and covers paths that globs match now.
    ///
    /// # Errors
    /// Returns an error if the sandbox is closed, or if the system refuses a mount.
    pub fn enter(&self) -> Result<Entry> {
        let Some(prepared) = self.prepared() else {
            return Err(Error::new(ErrorCode::InvalidState, "Sandbox: the sandbox is closed"));
        };
        prepared.arrive()?;
        Ok(Entry::new(prepared))
    }

    /// Returns the part that commands enter; `None` after [`Sandbox::close`].
    pub(super) fn prepared(&self) -> Option<Arc<PreparedSandbox>> {
        self.prepared.lock().clone()
    }

    /// Closes the sandbox. Running commands keep theirs; new ones are refused. Closing it again has no effect.
    pub fn close(&self) {
        *self.prepared.lock() = None;
    }

    /// Returns true after [`Sandbox::close`].
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.prepared.lock().is_none()
    }
}

fn check_required(policy: &Policy, status: &Status, refused: Option<&str>) -> Result<()> {
    for promise in &policy.required {
        let state = status.of(*promise);
        if state.held != Enforcement::Enforced {
            let reasons = state.missing.iter().copied().chain(refused).collect::<Vec<_>>().join("; ");
            let (name, held) = (promise.as_str(), state.held.as_str());
            let text =
                format!("Sandbox.create: required: {name:?} is {held} with this policy on this system: {reasons}");
            return Err(Error::new(ErrorCode::Unsupported, text));
        }
    }
    Ok(())
}

/// A sandbox that commands can enter.
#[derive(Debug)]
pub(super) struct PreparedSandbox {
    pub(super) application: Application,
    namespaces: Option<Namespaces>,
    /// The reason why the system refuses namespaces.
    refused: Option<String>,
    rules: Rules,
    temp: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    search: Search,
    layout: Layout,
    /// The files that programs can read, if Landlock alone limits reading.
    readable: Option<Readable>,
    /// The paths whose covers were mounted.
    mounted: BTreeSet<PathBuf>,
    /// The number of running commands.
    running: usize,
    holding: HoldingFolder,
}

impl State {
    /// Moves away protected paths that are new since the layout was computed. Returns one refusal for each.
    fn take_back(&mut self, rules: &Rules) -> Vec<Refusal> {
        let new_matches = self.layout.new_matches(rules, &mut self.search.scan);
        take_back(&self.layout, &new_matches, &mut self.holding)
    }
}

impl PreparedSandbox {
    fn new(
        policy: &Policy,
        surroundings: &CallerEnvironment,
        architecture: Architecture,
    ) -> Result<(PreparedSandbox, Status)> {
        let rules = Rules::new(policy, surroundings)?;
        let mut search = Search::new(rules.globs().cloned().collect());
        let layout = Layout::new(&rules, &mut search, true);
        let temp = surroundings.temp.clone().unwrap_or_else(|| "/tmp".into());
        let is_limited = policy.mode != Mode::Rules;
        let has_covers = !(rules.deny_read.is_empty()
            && rules.deny_write.is_empty()
            && rules.deny_exec.is_empty()
            && rules.protected.is_empty())
            || rules.protects_repositories;
        let abi = if is_limited { Abi::of_kernel() } else { Abi(0) };
        let landlock = |cause: io::Error| Error::io("Sandbox.create: failed to make Landlock rules", &cause);
        let mut ruleset = if abi.0 > 0 { Some(Ruleset::new(abi, false).map_err(landlock)?) } else { None };
        let wants_namespaces = is_limited || has_covers || policy.network() != Network::On;
        let (namespaces, refused) = match wants_namespaces {
            true => match make_namespaces(policy, &rules, &layout, ruleset.as_ref(), &temp) {
                Ok(namespaces) => (Some(namespaces), None),
                Err(reason) => (None, Some(reason)),
            },
            false => (None, None),
        };
        let mut readable = None;
        if namespaces.is_none() && ruleset.is_some() {
            let (alone, files) = landlock_alone(abi, &rules, &layout).map_err(landlock)?;
            (ruleset, readable) = (Some(alone), files);
        }
        let is_needed = wants_namespaces || policy.limits_sockets();
        let mut granted = Mechanisms {
            namespaces: namespaces.is_some(),
            landlock: abi,
            limits_reads: readable.is_some(),
            notification: policy.limits_sockets(),
        };
        let mut application = application(policy, &rules, surroundings, architecture, granted)?;
        if is_needed {
            let copy = |fd: &OwnedFd| fd.try_clone();
            if let Some(namespaces) = &namespaces {
                let failed = |cause| Error::io("Sandbox.create: failed to keep the namespaces", &cause);
                application.user = namespaces.user.as_ref().map(copy).transpose().map_err(failed)?;
                application.mount = Some(copy(&namespaces.mount).map_err(failed)?);
                application.network = namespaces.network.as_ref().map(copy).transpose().map_err(failed)?;
                application.ipc = namespaces.ipc.as_ref().map(copy).transpose().map_err(failed)?;
            }
            application.ruleset = ruleset.map(|ruleset| ruleset.fd);
            if try_application(&application).is_err() && application.connections.is_some() {
                // An outer sandbox already answers the calls.
                granted.notification = false;
                application.connections = None;
                application.filter = generate(architecture, &filter_options(policy, granted));
            }
            try_application(&application)
                .map_err(|cause| Error::io("Sandbox.create: the system refuses the sandbox", &cause))?;
        } else {
            application.filter.clear();
        }
        let status = status(policy, &rules, &layout, granted);
        let state = State {
            search,
            mounted: layout.covers.keys().cloned().collect(),
            layout,
            readable,
            running: 0,
            holding: HoldingFolder::new(temp.clone()),
        };
        Ok((PreparedSandbox { application, namespaces, refused, rules, temp, state: Mutex::new(state) }, status))
    }

    /// Begins a command. If no command is running, protected paths that are new were created by the user, and are
    /// covered.
    pub(super) fn arrive(&self) -> Result<()> {
        let mut state = self.state.lock();
        if state.running > 0 {
            // These refusals are dropped: the check at the end of the running commands finds only later paths.
            state.take_back(&self.rules);
        }
        self.cover(&mut state)?;
        state.running += 1;
        Ok(())
    }

    /// Ends a command, and moves away protected paths that commands created. Returns one refusal for each.
    pub(super) fn leave(&self) -> Vec<Refusal> {
        let mut state = self.state.lock();
        state.running -= 1;
        state.take_back(&self.rules)
    }

    /// Moves away protected paths that commands created so far. Returns one refusal for each.
    pub(super) fn take_back(&self) -> Vec<Refusal> {
        self.state.lock().take_back(&self.rules)
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the paths that the rules cover in the current file system.
    pub(super) fn layout(&self) -> Layout {
        Layout::new(&self.rules, &mut self.state.lock().search, false)
    }

    /// Covers paths that changed.
    pub(super) fn refresh(&self) -> Result<()> {
        self.cover(&mut self.state.lock())
    }

    fn cover(&self, state: &mut State) -> Result<()> {
        let State { search, layout, readable, mounted, .. } = state;
        *layout = Layout::new(&self.rules, search, false);
        if let Some(readable) = readable {
            readable.refresh(&closable(&self.rules, layout));
        }
        let Some(namespaces) = &self.namespaces else { return Ok(()) };
        let is_open = |path: &Path| !(mounted.contains(path) && namespaces.is_covered(path) != Some(false));
        let open: BTreeSet<PathBuf> = layout.covers.keys().filter(|path| is_open(path)).cloned().collect();
        if open.is_empty() {
            return Ok(());
        }
        let mask = mask(&self.temp)?;
        let steps = mounts::covers(layout, mask.path(), |path| open.contains(path));
        namespaces
            .change(&steps)
            .map_err(|StepError { cause, .. }| Error::io("Sandbox: failed to cover a path that changed", &cause))?;
        mounted.extend(open);
        Ok(())
    }
}

/// Creates an empty file that cannot be opened. Its mounts remain when the file is deleted.
fn mask(temp: &Path) -> Result<NamedTempFile> {
    let make = || {
        let file = tempfile::Builder::new().prefix(".sinew-mask-").tempfile_in(temp)?;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o000))?;
        Ok(file)
    };
    make().map_err(|cause| Error::io(format!("Sandbox: failed to make a mask in {temp:?}"), &cause))
}

/// Creates the namespaces, or returns the reason why the system refuses them.
fn make_namespaces(
    policy: &Policy,
    rules: &Rules,
    layout: &Layout,
    ruleset: Option<&Ruleset>,
    temp: &Path,
) -> std::result::Result<Namespaces, String> {
    let mask = mask(temp).map_err(|error| error.to_string())?;
    let mut steps = mounts::base(rules, policy.network(), mask.path());
    steps.extend(mounts::covers(layout, mask.path(), |_| true));
    let wanted =
        |user| NamespaceSet { user, network: policy.network() != Network::On, ipc: policy.mode != Mode::Rules };
    // Root does not need a user namespace if the system refuses it.
    Namespaces::create(wanted(true), &steps, ruleset)
        .or_else(|error| match rustix::process::geteuid().is_root() {
            true => Namespaces::create(wanted(false), &steps, ruleset),
            false => Err(error),
        })
        .map_err(|StepError { step, cause }| match steps.get(step) {
            Some(step) => format!("the system refuses mounts: {step:?}: {cause}"),
            None => format!("the system refuses namespaces: {cause}"),
        })
}

/// Creates the Landlock rules of a system that refuses namespaces, and the files that programs can read, if a denied path
/// can be closed.
fn landlock_alone(abi: Abi, rules: &Rules, layout: &Layout) -> io::Result<(Ruleset, Option<Readable>)> {
    let denied = closable(rules, layout);
    let ruleset = Ruleset::new(abi, !denied.is_empty())?;
    for path in mounts::allowed(rules) {
        match ruleset.allow(&path) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let readable = if denied.is_empty() { None } else { Some(Readable::new(ruleset.try_clone()?, rules, &denied)) };
    Ok((ruleset, readable))
}

fn filter_options(policy: &Policy, granted: Mechanisms) -> FilterOptions {
    let is_limited = policy.mode != Mode::Rules;
    let is_closed = policy.network() != Network::On;
    FilterOptions {
        others: is_limited,
        tracing: is_limited && granted.landlock.0 == 0,
        families: is_closed,
        internet: is_closed && !granted.namespaces,
        datagrams: policy.limits_sockets(),
        connect: granted.notification,
        sends: granted.notification && granted.namespaces && policy.network() == Network::Off,
    }
}

fn application(
    policy: &Policy,
    rules: &Rules,
    surroundings: &CallerEnvironment,
    architecture: Architecture,
    granted: Mechanisms,
) -> Result<Application> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_err(|_| Error::new(ErrorCode::Internal, "Sandbox.create: the clock is before 1970"))?;
    let areas = match policy.mode {
        Mode::Rules => rules.roots.iter().cloned().chain(surroundings.temporary_directories()).collect(),
        _ => rules.writable.clone(),
    };
    let connections = granted.notification.then(|| Connections {
        network: policy.network(),
        is_private: granted.namespaces && policy.network() != Network::On,
        limits_sockets: true,
        sockets: rules.sockets.clone(),
        areas,
        created: (now.as_secs().cast_signed(), now.subsec_nanos()),
    });
    Ok(Application {
        user: None,
        mount: None,
        network: None,
        ipc: None,
        ruleset: None,
        filter: generate(architecture, &filter_options(policy, granted)),
        connections,
    })
}

/// Applies a sandbox to a child, which then exits.
fn try_application(application: &Application) -> io::Result<()> {
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let result = try_in_child(|| application.apply(3, Some(theirs.as_fd())));
    drop(ours);
    result
}
