//! The editor's files: unsaved texts count for tools, and what tools write goes through the editor where it offers that.

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

/// The time that a tool waits for the editor before the disk counts.
const PATIENCE: Duration = Duration::from_secs(1);
/// Silences in a row after which the editor is no longer asked.
const SILENCES: u32 = 3;
/// Changes whose calls have not ended yet.
const CHANGES: usize = 64;

/// The abilities that the editor lends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lent {
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// The files of one session at its editor.
pub(super) struct ClientFiles {
    wire: Wire,
    session: acp::SessionId,
    root: PathBuf,
    lent: Lent,
    changes: Changes,
    runtime: Handle,
    silences: AtomicU32,
}

impl ClientFiles {
    pub(super) fn new(wire: Wire, session: acp::SessionId, root: PathBuf, lent: Lent, changes: Changes) -> ClientFiles {
        ClientFiles { wire, session, root, lent, changes, runtime: Handle::current(), silences: AtomicU32::new(0) }
    }

    /// Asks the editor; none where it refuses or is silent.
    fn ask<R: DeserializeOwned>(&self, method: &str, params: &impl Serialize) -> Option<R> {
        if self.silences.load(Ordering::Relaxed) >= SILENCES {
            return None;
        }
        let asked = async { tokio::time::timeout(PATIENCE, self.wire.request(method, params)).await };
        let answered: Result<Result<R, RpcError>, _> = self.runtime.block_on(asked);
        match answered {
            Ok(answer) => {
                self.silences.store(0, Ordering::Relaxed);
                // A file that the editor does not know, or may not touch: the disk counts.
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

    fn changed(&self, path: &Path, old: Option<&[u8]>, new: &[u8]) {
        let change = FileChange { path: path.to_path_buf(), old: old.map(<[u8]>::to_vec), new: new.to_vec() };
        let mut changes = self.changes.lock();
        changes.push_back(change);
        if changes.len() > CHANGES {
            changes.pop_front();
        }
    }
}
