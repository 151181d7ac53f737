//! The common part of both transports: the state of a connection, and the answers to the server's requests.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sinew_jsonrpc::{Id, Limits, RpcError, message};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::AbortHandle;

use crate::host::{ClientHost, Elicitation, ElicitationAnswer, read_elicitation, secret_field};
use crate::model::ServerInfo;

/// The number of changes of each list since the connection was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// `tools/list`.
    pub tools: u64,
    /// `resources/list`.
    pub resources: u64,
    /// `prompts/list`.
    pub prompts: u64,
}

/// The progress of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Increases with each report.
    pub progress: f64,
    /// The final value; `None` if it is unknown.
    pub total: Option<f64>,
    /// A message for the user.
    pub message: Option<String>,
}

/// Receives progress reports. Called on the reading task, so it must return quickly.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// The progress receiver of a waiting call.
#[derive(Clone)]
pub(crate) struct Watcher {
    pub(crate) touched: Arc<Notify>,
    pub(crate) sink: Option<ProgressSink>,
}

/// The maximum number of open questions of one server.
const OPEN_QUESTIONS: usize = 8;

/// The state of a connection.
pub(crate) struct Core {
    pub(crate) host: Arc<dyn ClientHost>,
    pub(crate) limits: Limits,
    pub(crate) info: OnceLock<ServerInfo>,
    pub(crate) changes: watch::Sender<Changes>,
    /// The number of open questions to the user.
    pub(crate) asking: watch::Sender<usize>,
    questions: Mutex<HashMap<Id, AbortHandle>>,
}

impl Core {
    pub(crate) fn new(host: Arc<dyn ClientHost>, limits: Limits) -> Arc<Core> {
        Arc::new(Core {
            host,
            limits,
            info: OnceLock::new(),
            changes: watch::Sender::default(),
            asking: watch::Sender::default(),
            questions: Mutex::default(),
        })
    }

    /// Handles a notification. `watcher` returns the call of a progress token.
    pub(crate) fn notified(
        &self,
        method: &str,
        params: Option<&RawValue>,
        watcher: impl FnOnce(i64) -> Option<Watcher>,
    ) {
        match method {
            "notifications/progress" => {
                let params = tree(params);
                let Some(watcher) = number(&params["progressToken"]).and_then(watcher) else { return };
                watcher.touched.notify_one();
                if let (Some(sink), Some(progress)) = (watcher.sink, params["progress"].as_f64()) {
                    let message = params["message"].as_str().map(str::to_string);
                    sink(Progress { progress, total: params["total"].as_f64(), message });
                }
            }
            "notifications/tools/list_changed" => self.changes.send_modify(|changes| changes.tools += 1),
            "notifications/resources/list_changed" => self.changes.send_modify(|changes| changes.resources += 1),
            "notifications/prompts/list_changed" => self.changes.send_modify(|changes| changes.prompts += 1),
            "notifications/cancelled" => {
                let params = tree(params);
                let id = match &params["requestId"] {
                    Value::String(text) => Id::Text(text.as_str().into()),
                    number => Id::Number(number.as_i64().unwrap_or_default()),
                };
                if let Some(question) = self.questions().remove(&id) {
                    question.abort();
                }
            }
            // Log messages, updates of unsubscribed resources, and notifications of later revisions.
            _ => {}
        }
    }

    /// Answers a request of the server through `reply`: immediately, except for questions to the user. If the server
    /// does not read and the queue is full, the answer is dropped.
    pub(crate) fn requested(
        self: &Arc<Self>,
        id: Id,
        method: &str,
        params: Option<&RawValue>,
        reply: &mpsc::Sender<Vec<u8>>,
    ) {
        let answer = match method {
            "ping" => Ok(json!({})),
            "roots/list" => Ok(json!({ "roots": self.host.roots() })),
            "elicitation/create" if self.host.can_ask() => match read_elicitation(&tree(params)) {
                Ok(question) => return self.ask_for_server(id, question, reply.clone()),
                Err(reason) => Err(RpcError::invalid_params(reason)),
            },
            _ => Err(RpcError::method_not_found(method)),
        };
        let _ = reply.try_send(match answer {
            Ok(result) => message::encode_result(&id, &result),
            Err(error) => message::encode_error(Some(&id), &error),
        });
    }

    fn ask_for_server(self: &Arc<Self>, id: Id, question: Elicitation, reply: mpsc::Sender<Vec<u8>>) {
        let mut questions = self.questions();
        questions.retain(|_, question| !question.is_finished());
        if questions.len() >= OPEN_QUESTIONS || questions.contains_key(&id) {
            let error = RpcError::new(RpcError::INVALID_REQUEST, "too many open questions");
            let _ = reply.try_send(message::encode_error(Some(&id), &error));
            return;
        }
        let core = Arc::clone(self);
        let key = id.clone();
        let task = tokio::spawn(async move {
            let answer = core.ask(question).await;
            let _ = reply.send(message::encode_result(&id, &answer.to_json())).await;
        });
        questions.insert(key, task.abort_handle());
    }

    /// Asks the user. Forms that ask for secrets are declined without asking.
    pub(crate) async fn ask(&self, question: Elicitation) -> ElicitationAnswer {
        if let Some(field) = secret_field(&question) {
            self.host.log(&format!("declined a form of the server: its field \"{field}\" asks for a secret"));
            return ElicitationAnswer::Decline;
        }
        let _open = OpenQuestion::new(&self.asking);
        self.host.elicit(question).await
    }

    fn questions(&self) -> MutexGuard<'_, HashMap<Id, AbortHandle>> {
        self.questions.lock()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        for (_, question) in self.questions().drain() {
            question.abort();
        }
    }
}

/// An open question. Dropping it decreases the number of open questions.
struct OpenQuestion<'a>(&'a watch::Sender<usize>);

impl<'a> OpenQuestion<'a> {
    fn new(asking: &'a watch::Sender<usize>) -> OpenQuestion<'a> {
        asking.send_modify(|count| *count += 1);
        OpenQuestion(asking)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

fn tree(params: Option<&RawValue>) -> Value {
    params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default()
}

/// Reads a progress token of this client; some servers return it as a string.
fn number(token: &Value) -> Option<i64> {
    token.as_i64().or_else(|| Id::Text(token.as_str()?.into()).to_number())
}
