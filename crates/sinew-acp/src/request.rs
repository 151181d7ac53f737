//! Parses the parameters of requests, and reports errors with a JSON pointer.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use serde_path_to_error::Segment;
use sinew_jsonrpc::RpcError;

/// Parses parameters.
///
/// # Errors
/// Returns an error with the position and the reason if they do not match the type.
pub(super) fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, RpcError> {
    let text = params.map_or("{}", RawValue::get);
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let mut pointer: String = error
            .path()
            .iter()
            .map(|segment| match segment {
                Segment::Seq { index } => format!("/{index}"),
                Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
                Segment::Enum { .. } | Segment::Unknown => String::new(),
            })
            .collect();
        let reason = error.inner().to_string();
        // Extends the pointer to the missing field.
        if let Some(field) = reason.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
            pointer.push_str(&format!("/{field}"));
        }
        RpcError::invalid_params(format!("{pointer}: {reason}"))
    })
}

/// Parses parameters without the elements of the list `key` that are not an `E`, such as one of a later version of the
/// protocol. Returns those elements too.
///
/// # Errors
/// Returns an error with the position and the reason if the other parameters do not match the type.
pub(super) fn read_known<T: DeserializeOwned, E: DeserializeOwned>(
    params: Option<&RawValue>,
    key: &str,
) -> Result<(T, Vec<Value>), RpcError> {
    let mut unknown = Vec::new();
    let parsed = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
    let Some(mut value) = parsed else { return Ok((read(params)?, unknown)) };
    if let Some(Value::Array(list)) = value.get_mut(key) {
        let (known, others) = std::mem::take(list).into_iter().partition(|element| E::deserialize(element).is_ok());
        (*list, unknown) = (known, others);
    }
    if unknown.is_empty() {
        return Ok((read(params)?, unknown));
    }
    let known = serde_json::value::to_raw_value(&value).map_err(|error| RpcError::invalid_params(error.to_string()))?;
    Ok((read(Some(&known))?, unknown))
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1 as acp;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(params: &serde_json::Value, begins: &str) {
        let params = serde_json::value::to_raw_value(params).unwrap();
        let error = read::<acp::NewSessionRequest>(Some(&params)).unwrap_err();
        assert_eq!(error.code, RpcError::INVALID_PARAMS);
        assert!(error.message.starts_with(begins), "{}", error.message);
    }

    #[test]
    fn errors_begin_with_a_json_pointer() {
        check(&json!({"mcpServers": []}), "/cwd: missing field `cwd`");
        check(&json!({"cwd": "/"}), "/mcpServers: missing field `mcpServers`");
        check(&json!({"cwd": 5, "mcpServers": []}), "/cwd: invalid type");
        check(&json!({"cwd": "/", "mcpServers": [{"name": "x"}]}), "/mcpServers/0: ");
        let params = json!({"cwd": "/", "mcpServers": [
            {"type": "ws", "name": "a", "url": "ws://x"},
            {"name": "b", "command": "/b", "args": [], "env": []},
        ]});
        let params = serde_json::value::to_raw_value(&params).unwrap();
        let (asked, unknown) =
            read_known::<acp::NewSessionRequest, acp::McpServer>(Some(&params), "mcpServers").unwrap();
        assert_eq!((asked.mcp_servers.len(), &unknown[0]["name"]), (1, &json!("a")));
    }
}
