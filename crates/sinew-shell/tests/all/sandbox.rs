//! Tests of shells, programs and terminals in a sandbox.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use sinew_base::{CancelToken, ErrorCode};
use sinew_sandbox::{CallerEnvironment, Mode, Policy, Refusal, RefusalKind, Sandbox};
use sinew_shell::{Engine, RunOptions, RunResult, Shell, ShellOptions, StreamOptions, execute_streams};
use tempfile::TempDir;

use crate::support::{options, supervisor};

/// A project with a secret file, and a directory next to it. Both are outside of the temporary directories, if
/// possible.
struct Project {
    _folder: TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl Project {
    fn new() -> Option<Project> {
        let candidates = [env!("CARGO_TARGET_TMPDIR"), "/srv", "/opt"];
        let is_temporary = |path: &Path| path.starts_with("/tmp") || path.starts_with("/var/tmp");
        let folder = candidates.iter().find_map(|base| {
            let base = Path::new(base).canonicalize().ok().filter(|base| !is_temporary(base))?;
            tempfile::Builder::new().prefix("sinew-shell-sandbox-").tempdir_in(base).ok()
        })?;
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(root.join(".env"), "hidden").unwrap();
        std::fs::write(root.join("plain"), "plain").unwrap();
        Some(Project { _folder: folder, root, outside })
    }

    fn sandbox(&self) -> Sandbox {
        let policy = Policy {
            roots: vec![self.root.to_str().unwrap().into()],
            deny_read: vec!["**/.env".into()],
            ..Policy::new(Mode::Workspace)
        };
        let surroundings = CallerEnvironment { cwd: self.root.clone(), ..CallerEnvironment::default() };
        Sandbox::prepare(&policy, &surroundings).unwrap()
    }

    fn options(&self, engine: Engine) -> ShellOptions {
        ShellOptions { cwd: Some(self.root.clone()), sandbox: Some(self.sandbox()), ..options(engine) }
    }

    /// A script that tries what the sandbox refuses and what it allows.
    fn script(&self) -> String {
        format!(
            "cat plain; echo; cat .env; echo x > {out}/new; chmod 700 {out}; echo made > made; cat made; \
             exec 3<>/dev/tcp/127.0.0.1/9",
            out = self.outside.display()
        )
    }

    fn check(&self, text: &str) {
        assert!(text.contains("plain\n") && text.contains("made\n"), "{text}");
        assert!(!text.contains("hidden"), "{text}");
        assert!(!self.outside.join("new").exists(), "{text}");
        assert_eq!(std::fs::read_to_string(self.root.join("made")).unwrap(), "made\n");
    }
}

fn run(shell: &ShellOptions, run: &RunOptions, argv: Option<Vec<String>>) -> sinew_base::Result<(RunResult, String)> {
    let mut text = String::new();
    let streams = StreamOptions { argv, ..StreamOptions::default() };
    let result = execute_streams(&supervisor(), shell, run, &streams, &CancelToken::never(), &mut |chunk| {
        text.push_str(&chunk.into_text());
        ControlFlow::Continue(())
    })?;
    Ok((result, text))
}

fn command(text: &str) -> RunOptions {
    RunOptions { command: text.to_string(), ..RunOptions::default() }
}

#[test]
fn a_program_and_a_script_run_inside() {
    let Some(project) = Project::new() else { return };
    for engine in [Engine::Bash, Engine::Brush] {
        let options = project.options(engine);
        let (_, text) = run(&options, &command(&project.script()), None).unwrap();
        project.check(&text);
        let argv = ["cat", ".env"].map(String::from).to_vec();
        let (result, text) = run(&options, &RunOptions::default(), Some(argv)).unwrap();
        assert!(!text.contains("hidden"), "{text}");
        assert!(result.exit_code.is_some(), "{result:?}");
    }
}

#[test]
fn lists_refused_connections_and_created_paths() {
    let Some(project) = Project::new() else { return };
    let script = "exec 3<>/dev/tcp/127.0.0.1/9; echo '{}' > .mcp.json";
    let (result, text) = run(&project.options(Engine::Bash), &command(script), None).unwrap();
    let refusals = [
        Refusal { kind: RefusalKind::Network, target: Some("127.0.0.1:9".into()) },
        Refusal { kind: RefusalKind::Write, target: project.root.join(".mcp.json").to_str().map(String::from) },
    ];
    assert_eq!(result.refused, refusals, "{text}");
    assert!(!project.root.join(".mcp.json").exists());
}

#[test]
fn a_session_keeps_its_state_and_its_sandbox() {
    let Some(project) = Project::new() else { return };
    for engine in [Engine::Bash, Engine::Brush] {
        let shell = Shell::new(supervisor(), project.options(engine));
        let (result, text) = shell.output("x=kept; echo first").unwrap();
        assert_eq!((result.exit_code, text.as_str()), (Some(0), "first\n"), "{engine:?} {result:?}");
        let (_, text) = shell.output(&project.script().replace("exec 3", "true 3")).unwrap();
        project.check(&text);
        // A file that starts to match between two commands is denied.
        std::fs::create_dir_all(project.root.join("deep")).unwrap();
        std::fs::write(project.root.join("deep/.env"), "hidden").unwrap();
        let (result, text) = shell.output("echo $x; cat deep/.env; echo '{}' > .mcp.json").unwrap();
        assert!(text.contains("kept") && !text.contains("hidden"), "{text}");
        assert_eq!(result.refused.len(), 1, "{result:?}");
        // A file that is created between two commands was created by the user.
        std::fs::write(project.root.join(".mcp.json"), "mine").unwrap();
        let (_, text) = shell.output("echo evil > .mcp.json; cat .mcp.json").unwrap();
        assert!(text.ends_with("mine"), "{text}");
        std::fs::remove_file(project.root.join(".mcp.json")).unwrap();
        shell.close();
    }
}

#[test]
fn a_command_can_signal_a_job_of_an_earlier_one() {
    let Some(project) = Project::new() else { return };
    let shell = Shell::new(supervisor(), project.options(Engine::Bash));
    shell.output("sleep 60 > /dev/null 2>&1 & echo $! > pid").unwrap();
    let (result, text) = shell.output("kill $(cat pid) && echo works").unwrap();
    assert_eq!((result.exit_code, text.as_str()), (Some(0), "works\n"));
    shell.close();
}

#[test]
fn a_closed_sandbox_is_an_error() {
    let Some(project) = Project::new() else { return };
    let options = project.options(Engine::Bash);
    options.sandbox.as_ref().unwrap().close();
    let error = run(&options, &command("true"), None).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidState, "{error}");
}
