//! The tools of a session in a temporary directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sinew::base::CancelToken;
use sinew::shell::Supervisor;
use sinew_llm::http::HttpConfig;
use sinew_llm::message::text_of;
use sinew_session::artifacts::Artifacts;
use sinew_tools::tool::{Call, Tool, ToolError, ToolOutput, Updates};
use sinew_tools::{Host, HostOptions, Notice, Searches, Settings, builtin};

pub(crate) struct Stage {
    pub(crate) host: Arc<Host>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) artifacts: Arc<Artifacts>,
    pub(crate) runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.host.close();
    }
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Stage {
        Stage::changed(|options| options.settings = settings)
    }

    /// Creates a stage with changed options of the host.
    pub(crate) fn changed(change: impl FnOnce(&mut HostOptions)) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let cwd = real(folder.path()).join("work");
        std::fs::create_dir(&cwd).unwrap();
        let artifacts = Arc::new(Artifacts::in_folder(cwd.parent().unwrap().join("artifacts")));
        let mut options = HostOptions {
            cwd,
            home: Some(folder.path().to_path_buf()),
            searches: Arc::new(Searches::new(Arc::new(sinew::Sinew::new()), Vec::new())),
            supervisor: Supervisor::new(std::env::current_exe().unwrap()),
            environment: [
                ("PATH", "/usr/local/bin:/usr/bin:/bin"),
                ("HOME", "/tmp"),
                ("USER", "me"),
                ("LC_ALL", "C.UTF-8"),
                ("MY_API_KEY", "secret"),
                ("GITHUB_TOKEN", "kept"),
            ]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec(),
            artifacts: Arc::clone(&artifacts),
            http: HttpConfig::default(),
            ask: None,
            requester: None,
            console: None,
            shells: Arc::default(),
            settings: Settings::default(),
        };
        change(&mut options);
        let host = Host::new(options);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Stage { tools: builtin(&host), host, artifacts, runtime, folder }
    }

    /// Returns the next notification of the session.
    pub(crate) fn notice(&self) -> Notice {
        self.runtime.block_on(self.host.notice())
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        real(self.folder.path()).join("work")
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.cwd().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.cwd().join(name)).unwrap()).unwrap()
    }

    /// Calls a tool like the agent loop: repairs and validates the arguments, then runs the call.
    pub(crate) fn output(&self, name: &str, arguments: Value, cancel: CancelToken) -> ToolOutput {
        let tool = self.tools.iter().find(|tool| tool.name() == name).unwrap();
        let arguments = tool.prepare(arguments);
        let faults = sinew_tools::schema::validate(&tool.parameters(), &arguments);
        if !faults.is_empty() {
            return ToolOutput::error(faults.join("\n"));
        }
        let cwd = self.cwd();
        let (id, session, updates) = ("1".to_string(), "s".to_string(), Updates::none());
        let call = Call { id, arguments, cwd, session, cancel, updates };
        match self.runtime.block_on(tool.execute(call)) {
            Ok(output) => output,
            Err(ToolError::Failed(text)) => ToolOutput::error(text),
            Err(ToolError::Aborted) => ToolOutput::error("Operation aborted"),
        }
    }

    /// Returns the text of a call's result, and whether it is an error.
    pub(crate) fn call(&self, name: &str, arguments: Value) -> (String, bool) {
        let output = self.output(name, arguments, CancelToken::never());
        (text_of(&output.content), output.is_error)
    }

    #[track_caller]
    pub(crate) fn ok(&self, name: &str, arguments: Value, expect: &str) {
        assert_eq!(self.call(name, arguments), (expect.to_string(), false));
    }

    #[track_caller]
    pub(crate) fn fails(&self, name: &str, arguments: Value, expect: &str) {
        assert_eq!(self.call(name, arguments), (expect.to_string(), true));
    }
}

/// Returns a path with links resolved, without the prefix of verbatim paths on Windows.
fn real(path: &Path) -> PathBuf {
    let path = path.canonicalize().unwrap();
    path.to_str().and_then(|path| path.strip_prefix(r"\\?\")).map_or(path.clone(), PathBuf::from)
}

/// Checks that a directory contains exactly `names`.
#[track_caller]
pub(crate) fn holds(folder: &Path, names: &[&str]) {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, names);
}
