//! Commands of the user.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_tools::tool::Updates;

use super::client::{Fields, Rpc, fields};
use super::reply::Answer;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bash {
    command: String,
    #[serde(default)]
    exclude_from_context: bool,
}

pub(super) async fn bash(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Bash { command, exclude_from_context } = fields("bash", given)?;
    let Some(run) = rpc.control.bash(&command, exclude_from_context, Updates::none()).await? else {
        return Ok(Some(json!({"output": "", "cancelled": true, "truncated": false})));
    };
    let mut told = json!({"output": run.output});
    if let Value::Object(told) = &mut told {
        if let Some(code) = run.exit_code {
            told.insert("exitCode".into(), code.into());
        }
        told.insert("cancelled".into(), run.cancelled.into());
        told.insert("truncated".into(), run.truncated.into());
        if let Some(path) = run.full_output_path {
            told.insert("fullOutputPath".into(), path.into());
        }
    }
    Ok(Some(told))
}

pub(super) async fn abort(rpc: Arc<Rpc>, _: Fields) -> Answer {
    rpc.control.abort_bash();
    Ok(None)
}
