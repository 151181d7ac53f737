//! Tests that the status of a sandbox names the gaps that a program could use.

use std::path::Path;

use crate::play;
use sinew_base::ErrorCode;
use sinew_sandbox::{CallerEnvironment, Enforcement, Mode, Policy, Promise, Sandbox};

fn prepare(root: &Path, deny_read: &str, required: &[Promise]) -> sinew_base::Result<Sandbox> {
    let policy = Policy {
        roots: vec![root.to_str().unwrap().into()],
        deny_read: vec![deny_read.into()],
        required: required.to_vec(),
        ..Policy::new(Mode::Rules)
    };
    Sandbox::prepare(&policy, &CallerEnvironment { cwd: root.to_path_buf(), ..CallerEnvironment::default() })
}

#[test]
fn a_denied_path_that_does_not_exist_yet_makes_reading_partial() {
    let folder = play::folder();
    let root = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
    for name in ["missing", "no-directory/missing", "dangling"] {
        let sandbox = prepare(&root, name, &[]).unwrap();
        let read = &sandbox.status().read;
        if !read.by.is_empty() {
            assert_eq!(read.held, Enforcement::Partial, "{name}: {read:?}");
            assert!(read.missing.iter().any(|gap| gap.contains("created during a command")), "{name}: {read:?}");
        }
        assert_eq!(prepare(&root, name, &[Promise::Read]).unwrap_err().code(), ErrorCode::Unsupported, "{name}");
    }
}
