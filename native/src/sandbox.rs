//! The binding of `Sandbox`.

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use sinew::sandbox::{Promise, Refusal, Sandbox};

use crate::sandbox_request::SandboxSetup;
use crate::task;

/// The state of one guarantee.
#[napi(object)]
pub(crate) struct SandboxPromise {
    pub name: String,
    pub held: String,
    pub by: Vec<String>,
    pub missing: Vec<String>,
}

/// A call that a sandbox denied.
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
    /// Returns which guarantees are enforced and by which mechanism, and which are missing.
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

    /// Rejects new commands, and releases resources that running commands do not use.
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
