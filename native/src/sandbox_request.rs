//! The policies of `Sandbox`.

use napi_derive::napi;
use sinew::base::{Error, Result};
use sinew::sandbox::{CallerEnvironment, Mode, Network, Policy, Promise, Protect};

/// A policy, and the parts of the environment that it refers to.
#[napi(object)]
pub(crate) struct SandboxSetup {
    pub mode: String,
    pub roots: Vec<String>,
    pub write: Vec<String>,
    pub deny_write: Vec<String>,
    pub deny_read: Vec<String>,
    pub deny_exec: Vec<String>,
    /// The protected paths; the default ones if absent.
    pub protect: Option<Vec<String>>,
    /// Whether to protect the default paths even if the mode does not.
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
    pub(crate) fn into_core(self) -> Result<(Policy, CallerEnvironment)> {
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
        let surroundings = CallerEnvironment {
            cwd: cwd.into(),
            home: home.map(Into::into),
            temp: temp.map(Into::into),
            path: path.map(Into::into),
            git_variables: CallerEnvironment::read_git_variables(|name| std::env::var_os(name)),
        };
        Ok((policy, surroundings))
    }
}
