//! The state that commands use, and the fields that they read.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sinew_control::actions::{Control, ControlError};
use tokio_util::sync::CancellationToken;

use super::frames::FrameSender;
use super::host_tools::Calls;
use super::ui::Ui;

/// The only client of the process.
pub(super) struct Rpc {
    pub(super) control: Arc<Control>,
    pub(super) out: FrameSender,
    pub(super) ui: Arc<Ui>,
    pub(super) calls: Arc<Calls>,
    /// Cancelled when a command asks to quit.
    pub(super) quit: CancellationToken,
}

/// The fields of a command, without `id` and `type`.
pub(super) type Fields = Map<String, Value>;

/// Parses the fields of a command.
pub(super) fn fields<T: DeserializeOwned>(name: &str, fields: Fields) -> Result<T, ControlError> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| format!("{name}: {error}").into())
}
