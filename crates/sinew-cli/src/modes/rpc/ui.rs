//! Questions to the user of the client.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew_tools::tool::Boxed;
use sinew_tools::{Approval, ApprovalRequest, Ask, Question};
use tokio::sync::oneshot;

use super::frames::FrameSender;
use super::waiting::WaitingCalls;

/// The questions that the user of the client has not answered yet.
pub(super) struct Ui {
    /// The time limit of the model's questions in milliseconds. The client is informed of it; the tool enforces it.
    timeout_ms: Option<u64>,
    requests: WaitingCalls<oneshot::Sender<UiResponse>>,
}

/// The fields of `extension_ui_response`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UiResponse {
    value: Option<Value>,
    confirmed: Option<bool>,
    cancelled: bool,
    timed_out: bool,
}

impl Ui {
    pub(super) fn new(out: FrameSender, timeout_seconds: u64) -> Ui {
        let timeout_ms = (timeout_seconds > 0).then(|| timeout_seconds.saturating_mul(1_000));
        let cancel = |id: &str, target: &str| request(id, "cancel", json!({"targetId": target}));
        Ui { timeout_ms, requests: WaitingCalls::new(out, "ui", cancel) }
    }

    /// Handles a response. Unknown ids are ignored; an invalid response counts as cancelled.
    pub(super) fn answer(&self, mut fields: Map<String, Value>) {
        let Some(Value::String(id)) = fields.remove("id") else { return };
        let Some(waiting) = self.requests.take(&id) else { return };
        let answered = UiResponse::deserialize(Value::Object(fields));
        // The receiver may have been dropped.
        let _ = waiting.send(answered.unwrap_or_else(|_| UiResponse { cancelled: true, ..UiResponse::default() }));
    }

    /// Cancels all pending and future questions, because no more answers will arrive.
    pub(super) fn close(&self) {
        self.requests.close().for_each(drop);
    }

    /// Sends a message that requires no answer.
    pub(super) async fn tell(&self, method: &str, fields: Value) {
        self.requests.send(&request(&self.requests.fresh_id(), method, fields)).await;
    }

    /// Asks a question and waits for the answer; returns `None` if there will be none.
    async fn request(&self, method: &str, fields: Value) -> Option<UiResponse> {
        let (send, answered) = oneshot::channel();
        let waiting = self.requests.register(send)?;
        self.requests.send(&request(&waiting.id, method, fields)).await;
        answered.await.ok()
    }

    /// Asks for a yes or no. Without an answer, it is no.
    async fn confirmed(&self, fields: Value) -> bool {
        let answered = self.request("confirm", fields).await;
        answered.is_some_and(|answered| answered.confirmed == Some(true) && !answered.cancelled)
    }

    async fn one(&self, question: &Question) -> Option<String> {
        let mut fields = Map::new();
        fields.insert("title".into(), question.question.clone().into());
        let method = if question.options.is_empty() { "input" } else { "select" };
        if !question.options.is_empty() {
            let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
            fields.insert("options".into(), json!(labels));
            if question.options.iter().any(|option| option.description.is_some()) {
                let told: Vec<Option<&str>> =
                    question.options.iter().map(|option| option.description.as_deref()).collect();
                fields.insert("descriptions".into(), json!(told));
            }
            if question.multi {
                fields.insert("multi".into(), true.into());
            }
            if let Some(recommended) = question.recommended {
                fields.insert("recommended".into(), recommended.into());
            }
        }
        if let Some(timeout) = self.timeout_ms {
            fields.insert("timeout".into(), timeout.into());
        }
        let answered = self.request(method, Value::Object(fields)).await?;
        match answered.value {
            _ if answered.timed_out => Some(question.unanswered()),
            _ if answered.cancelled => None,
            Some(Value::Array(list)) => {
                let texts = list.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_string));
                Some(texts.collect::<Vec<_>>().join(", "))
            }
            Some(Value::String(text)) => Some(text),
            Some(other) => Some(other.to_string()),
            None => None,
        }
    }
}

impl Ask for Ui {
    fn answer<'a>(&'a self, question: &'a Question) -> Boxed<'a, Option<String>> {
        Box::pin(self.one(question))
    }

    fn confirm<'a>(&'a self, title: &'a str, message: &'a str) -> Boxed<'a, bool> {
        Box::pin(self.confirmed(json!({"title": title, "message": message})))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> Boxed<'a, Approval> {
        Box::pin(async move {
            let (title, message) = request.confirmation();
            let mut fields = json!({"title": title, "message": message});
            if let Some(requester) = &request.requester {
                fields["subagent"] = requester.facts();
            }
            match self.confirmed(fields).await {
                true => Approval::Once,
                false => Approval::No(None),
            }
        })
    }
}

fn request(id: &str, method: &str, fields: Value) -> Value {
    let mut frame = json!({"type": "extension_ui_request", "id": id, "method": method});
    if let (Value::Object(frame), Value::Object(fields)) = (&mut frame, fields) {
        frame.extend(fields);
    }
    frame
}
