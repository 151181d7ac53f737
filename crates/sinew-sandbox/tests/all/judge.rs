//! Tests that the judge of files agrees with the kernel's decision about a program in the sandbox.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::play;
use sinew_sandbox::{CallerEnvironment, Enforcement, FileUse, Mode, Policy, Sandbox};

const FILES: [&str; 9] = [
    "w/plain",
    "w/.env",
    "w/deep/.env",
    "w/sub/kept",
    "w/.npmrc",
    "w/secret/key",
    "w/tool.cfg",
    "out/file",
    "out/shared",
];

/// Returns true if a program in the sandbox can use a file.
fn works(sandbox: &Sandbox, script: &str, path: &Path) -> bool {
    let entry = sandbox.enter().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(path).current_dir("/").stderr(std::process::Stdio::null());
    entry.attach(&mut command).unwrap();
    command.stdout(std::process::Stdio::null()).status().unwrap().success()
}

fn policies(root: &str) -> [Policy; 3] {
    let denied = || vec!["**/.env".to_string(), "secret".into(), format!("{root}/linked")];
    [
        Policy {
            roots: vec![root.into()],
            deny_read: denied(),
            deny_write: vec!["sub".into()],
            ..Policy::new(Mode::Workspace)
        },
        Policy { deny_read: vec![format!("{root}/**/.env")], ..Policy::new(Mode::ReadOnly) },
        Policy {
            roots: vec![root.into()],
            deny_read: denied(),
            deny_write: vec!["*.cfg".into()],
            ..Policy::new(Mode::Rules)
        },
    ]
}

#[test]
fn decides_about_each_file_like_the_kernel() {
    let folder = play::folder();
    let top = folder.path().canonicalize().unwrap();
    for file in FILES {
        fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
        fs::write(top.join(file), "text").unwrap();
    }
    fs::hard_link(top.join("w/.env"), top.join("w/other-name")).unwrap();
    symlink(top.join("out/shared"), top.join("w/linked")).unwrap();
    let surroundings =
        CallerEnvironment { cwd: "/".into(), home: Some(top.join("out")), ..CallerEnvironment::default() };
    for policy in policies(&top.join("w").to_string_lossy()) {
        let sandbox = Sandbox::prepare(&policy, &surroundings).unwrap();
        if sandbox.status().read.held == Enforcement::Advisory {
            continue;
        }
        let judge = sandbox.judge().unwrap();
        for file in FILES.iter().chain(&["w/other-name"]) {
            let path = top.join(file);
            let data = path.symlink_metadata().unwrap();
            let reads = works(&sandbox, "grep -q text \"$1\"", &path);
            let refused = judge.refusal(&path, Some(&data), FileUse::Read);
            assert_eq!(refused.is_none(), reads, "{:?}: reading {file}: {refused:?}", policy.mode);
            // A tool that writes a file shows its previous content, so it may only write files that it can also read.
            let writes = reads && works(&sandbox, ": >> \"$1\"", &path);
            let refused = judge.refusal(&path, Some(&data), FileUse::Write);
            assert_eq!(refused.is_none(), writes, "{:?}: writing {file}: {refused:?}", policy.mode);
        }
        for (file, works_in) in
            [("w/new", [true, false, true]), ("w/x/.env", [true, false, true]), ("out/new", [false, false, true])]
        {
            let number = [Mode::Workspace, Mode::ReadOnly, Mode::Rules].iter().position(|mode| *mode == policy.mode);
            let refused = judge.refusal(&top.join(file), None, FileUse::Write);
            assert_eq!(refused.is_none(), works_in[number.unwrap()], "{:?}: creating {file}: {refused:?}", policy.mode);
        }
        sandbox.close();
        assert!(sandbox.judge().is_err());
    }
}
