//! The binding of `Sandbox`.

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use sinew::base::{Error, Result};
use sinew::sandbox::{Mode, Network, Policy, Promise, Protect, Refusal, Sandbox, Surroundings};

use crate::task;

/// A policy, and the parts of the environment that give it its meaning.
#[napi(object)]
pub(crate) struct SandboxSetup {
    pub mode: String,
    pub roots: Vec<String>,
    pub write: Vec<String>,
    pub deny_write: Vec<String>,
    pub deny_read: Vec<String>,
    pub deny_exec: Vec<String>,
    /// The protected paths; absent for the default.
    pub protect: Option<Vec<String>>,
    /// The default protection, also where the mode has none.
    pub protects_default: bool,
    /// `off`, `loopback` or `on`.
    pub network: Option<String>,
    pub unix_sockets: Option<Vec<String>>,
    pub required: Vec<String>,
    pub cwd: String,
    pub home: Option<String>,
    pub temp: Option<String>,
    pub path: Option<String>,
}

impl SandboxSetup {
    fn into_core(self) -> Result<(Policy, Surroundings)> {
        let SandboxSetup {
            mode,
            roots,
            write,
            deny_write,
            deny_read,
            deny_exec,
            protect,
            protects_default,
            network,
            unix_sockets,
            required,
            cwd,
            home,
            temp,
            path,
        } = self;
        let unknown =
            |what: &str, name: &str| Error::invalid(format!("Sandbox.create: {what}: unknown value {name:?}"));
        let network = match network.as_deref() {
            None => None,
            Some("off") => Some(Network::Off),
            Some("loopback") => Some(Network::Loopback),
            Some("on") => Some(Network::On),
            Some(name) => return Err(unknown("network", name)),
        };
        let promise = |name: &String| Promise::from_name(name).ok_or_else(|| unknown("required", name));
        let policy = Policy {
            mode: Mode::from_name(&mode).ok_or_else(|| unknown("mode", &mode))?,
            roots,
            write,
            deny_write,
            deny_read,
            deny_exec,
            protect: protect.map(Protect::Paths).or(protects_default.then_some(Protect::Default)),
            network,
            unix_sockets,
            required: required.iter().map(promise).collect::<Result<_>>()?,
        };
        let surroundings = Surroundings {
            cwd: cwd.into(),
            home: home.map(Into::into),
            temp: temp.map(Into::into),
            path: path.map(Into::into),
        };
        Ok((policy, surroundings))
    }
}

/// The state of one promise.
#[napi(object)]
pub(crate) struct SandboxPromise {
    pub name: String,
    pub held: String,
    pub by: Vec<String>,
    pub missing: Vec<String>,
}

/// A call that a sandbox refused.
#[napi(object)]
pub(crate) struct SandboxRefusal {
    pub kind: String,
    pub target: Option<String>,
}

impl From<Refusal> for SandboxRefusal {
    fn from(refusal: Refusal) -> SandboxRefusal {
        let Refusal { kind, target } = refusal;
        SandboxRefusal { kind: kind.as_str().to_string(), target }
    }
}

/// A compiled policy.
#[napi]
pub(crate) struct SandboxHandle {
    pub(crate) sandbox: Sandbox,
}

impl From<Sandbox> for SandboxHandle {
    fn from(sandbox: Sandbox) -> SandboxHandle {
        SandboxHandle { sandbox }
    }
}

#[napi]
impl SandboxHandle {
    /// What is enforced, by what, and what is missing.
    #[napi]
    pub fn status(&self) -> Vec<SandboxPromise> {
        let strings = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let status = self.sandbox.status();
        let row = |promise: Promise| {
            let state = status.of(promise);
            SandboxPromise {
                name: promise.as_str().to_string(),
                held: state.held.as_str().to_string(),
                by: strings(&state.by),
                missing: strings(&state.missing),
            }
        };
        Promise::ALL.map(row).into()
    }

    /// Refuses new commands, and releases what no command uses any more.
    #[napi]
    pub fn close(&self) {
        self.sandbox.close();
    }
}

/// Compiles a policy.
#[napi(ts_return_type = "Promise<SandboxHandle>")]
pub(crate) fn create_sandbox<'env>(env: &'env Env, setup: SandboxSetup) -> napi::Result<Object<'env>> {
    let work = move || {
        let (policy, surroundings) = setup.into_core()?;
        Sandbox::prepare(&policy, &surroundings)
    };
    task::alone(env, "sandbox", work, SandboxHandle::from)
}
