//! Turns of scripts for sessions with subagents, each of which has a lane of its own.

use serde_json::{Value, json};

/// A turn of a lane.
pub(crate) fn turn(lane: &str, fields: Value) -> Value {
    let mut turn = json!({"type": "turn", "lane": lane});
    turn.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    turn
}

/// A call of a lane's model.
pub(crate) fn calls(lane: &str, name: &str, arguments: Value) -> Value {
    turn(lane, json!({"content": [{"toolCall": {"name": name, "arguments": arguments}}]}))
}

/// The call that hands in a result.
pub(crate) fn submits(lane: &str, result: impl Into<Value>) -> Value {
    calls(lane, "submit_result", json!({"result": result.into()}))
}

/// An answer of a lane's model.
pub(crate) fn says(lane: &str, said: &str) -> Value {
    turn(lane, json!({"content": [{"text": said}]}))
}
