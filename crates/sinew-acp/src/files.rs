//! The editor's files: tools see unsaved texts, and write through the editor if it supports that.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sinew_jsonrpc::RpcError;
use sinew_tools::Editor;
use tokio::runtime::Handle;

use super::map::Changes;
use super::tool_call::FileChange;
use super::wire::Wire;

/// The time limit of a request to the editor, after which the file on disk is used.
const PATIENCE: Duration = Duration::from_secs(1);
/// The number of consecutive timeouts after which the editor is not asked any more.
const SILENCES: u32 = 3;
/// The maximum number of changes whose calls have not ended yet.
const CHANGES: usize = 64;

/// The file requests that the editor supports.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientFileSupport {
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// The files of one session in the editor.
pub(super) struct ClientFiles {
    wire: Wire,
    session: acp::SessionId,
    root: PathBuf,
    lent: ClientFileSupport,
    changes: Changes,
    runtime: Handle,
    silences: AtomicU32,
    /// The number of undos so far.
    undos: AtomicU32,
}

impl ClientFiles {
    pub(super) fn new(
        wire: Wire,
        session: acp::SessionId,
        root: PathBuf,
        lent: ClientFileSupport,
        changes: Changes,
    ) -> ClientFiles {
        ClientFiles {
            wire,
            session,
            root,
            lent,
            changes,
            runtime: Handle::current(),
            silences: AtomicU32::new(0),
            undos: AtomicU32::new(0),
        }
    }

    /// Sends a request to the editor; returns `None` if it refuses or does not answer.
    fn ask<R: DeserializeOwned>(&self, method: &str, params: &impl Serialize) -> Option<R> {
        if self.silences.load(Ordering::Relaxed) >= SILENCES {
            return None;
        }
        let asked = async { tokio::time::timeout(PATIENCE, self.wire.request(method, params)).await };
        let answered: Result<Result<R, RpcError>, _> = self.runtime.block_on(asked);
        match answered {
            Ok(answer) => {
                self.silences.store(0, Ordering::Relaxed);
                // If the editor does not know the file or may not access it, the file on disk is used.
                answer.ok()
            }
            Err(_) => {
                self.silences.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }
}

impl Editor for ClientFiles {
    fn read(&self, path: &Path) -> Option<String> {
        if !self.lent.reads || !path.starts_with(&self.root) {
            return None;
        }
        let request = acp::ReadTextFileRequest::new(self.session.clone(), path);
        let answer: acp::ReadTextFileResponse = self.ask("fs/read_text_file", &request)?;
        Some(answer.content)
    }

    fn write(&self, path: &Path, text: &str) -> bool {
        if !self.lent.writes || !path.starts_with(&self.root) {
            return false;
        }
        let request = acp::WriteTextFileRequest::new(self.session.clone(), path, text);
        self.ask::<acp::WriteTextFileResponse>("fs/write_text_file", &request).is_some()
    }

    fn restored(&self, paths: &[PathBuf]) {
        let id = acp::ToolCallId::new(format!("undo{}", self.undos.fetch_add(1, Ordering::Relaxed)));
        let locations = paths.iter().map(acp::ToolCallLocation::new).collect();
        let call = acp::ToolCall::new(id, "Undo")
            .kind(acp::ToolKind::Edit)
            .status(acp::ToolCallStatus::Completed)
            .locations(locations);
        self.runtime.block_on(self.wire.update(&self.session, acp::SessionUpdate::ToolCall(call)));
    }

    fn changed(&self, path: &Path, old: Option<&[u8]>, new: &[u8]) {
        let change = FileChange { path: path.to_path_buf(), old: old.map(<[u8]>::to_vec), new: new.to_vec() };
        let mut changes = self.changes.lock();
        changes.push_back(change);
        if changes.len() > CHANGES {
            changes.pop_front();
        }
    }
}
