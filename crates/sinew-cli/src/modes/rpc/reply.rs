//! The response to a command.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sinew_control::actions::ControlError;
use sinew_llm::error::ErrorInfo;

use super::frames::FrameSender;

/// The result of a command; `None` if it has no data.
pub(super) type Answer = Result<Option<Value>, ControlError>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(rename = "type")]
    kind: &'static str,
    command: &'a str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_info: Option<&'a ErrorInfo>,
}

/// Answers a command exactly once. If it is dropped without an answer, for example by a panic, it sends an error.
pub(super) struct Reply {
    out: FrameSender,
    /// The id from the command, unchanged; `None` if it had none.
    id: Option<Value>,
    command: String,
    answered: bool,
}

impl Reply {
    pub(super) fn new(out: FrameSender, id: Option<Value>, command: impl Into<String>) -> Reply {
        Reply { out, id, command: command.into(), answered: false }
    }

    /// Sends the answer; resolves when it is written.
    pub(super) async fn send(mut self, answer: Answer) {
        self.answered = true;
        write(&self.out, self.id.as_ref(), &self.command, &answer).await;
    }

    /// Does the same for data that is already JSON, which may be nested deeper than a [`Value`] can be.
    pub(super) async fn send_text(mut self, answer: Result<Box<RawValue>, ControlError>) {
        self.answered = true;
        write(&self.out, self.id.as_ref(), &self.command, &answer.map(Some)).await;
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let (out, id, command) = (self.out.clone(), self.id.take(), std::mem::take(&mut self.command));
        // Without a runtime the writer does not exist any more.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let answer: Answer = Err(format!("{command}: stopped before it finished").into());
                write(&out, id.as_ref(), &command, &answer).await;
            });
        }
    }
}

async fn write<T: Serialize>(
    out: &FrameSender,
    id: Option<&Value>,
    command: &str,
    answer: &Result<Option<T>, ControlError>,
) {
    let (data, error) = match answer {
        Ok(data) => (data.as_ref(), None),
        Err(error) => (None, Some(error)),
    };
    let response = Response {
        id,
        kind: "response",
        command,
        success: error.is_none(),
        data,
        error: error.map(|error| error.message.as_str()),
        error_info: error.and_then(|error| error.info.as_ref()),
    };
    out.send(&response).await;
}
