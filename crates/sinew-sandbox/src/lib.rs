//! Limits what a program, and everything that it starts, can read, write, connect to and signal. The kernel enforces
//! the limits.
//!
//! A [`Policy`] names the limits. [`Sandbox::prepare`] compiles it once; [`Sandbox::enter`] then prepares one command,
//! and [`Entry::apply_in_child`] applies the sandbox in the child between fork and exec. Any number of sandboxes can
//! exist in one process, and no external program is needed.
//!
//! ```no_run
//! use sinew_sandbox::{CallerEnvironment, Mode, Policy, Sandbox};
//!
//! # fn main() -> sinew_base::Result<()> {
//! let policy = Policy { roots: vec![".".into()], deny_read: vec!["**/.env".into()], ..Policy::new(Mode::Workspace) };
//! let caller = CallerEnvironment {
//!     cwd: "/work/project".into(),
//!     home: Some("/home/user".into()),
//!     ..CallerEnvironment::default()
//! };
//! let sandbox = Sandbox::prepare(&policy, &caller)?;
//! println!("{:?}", sandbox.status().write.held);
//! # Ok(())
//! # }
//! ```
//!
//! It works on Linux. On other systems [`Sandbox::prepare`] fails with [`sinew_base::ErrorCode::Unsupported`].

mod policy;
mod refusal;
mod status;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use linux::{Entry, Handoff, Judge, Sandbox, handoff};
pub use policy::{CallerEnvironment, FileUse, Mode, Network, OWN_FILES, Policy, Protect};
pub use refusal::{Refusal, RefusalKind};
pub use status::{Enforcement, Promise, PromiseStatus, Status};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Judge, Sandbox};
