//! Tests every way in which an answer can fail, at every event of the stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use sinew_llm::message::StopReason;
use sinew_llm::scripted::{Script, ScriptedProvider, Variables};
use sinew_tools::tool::ToolOutput;

use super::tests::TestEnv;
use crate::test_tools::tool;

fn faults() -> Vec<Value> {
    let mut faults: Vec<Value> = [400, 401, 403, 404, 413, 429, 500, 503, 529]
        .iter()
        .map(|status| json!({"kind": "http", "status": status}))
        .collect();
    for kind in ["connect", "network", "idle", "malformed", "truncated", "overflow", "refusal"] {
        faults.push(json!({ "kind": kind }));
    }
    faults.push(json!({"kind": "error", "message": "no"}));
    faults
}

#[tokio::test(start_paused = true)]
async fn a_run_is_balanced_for_every_fault_at_every_point() {
    let turn = json!({"type": "turn", "chunk": 3, "content": [
        {"thinking": "let me see"},
        {"text": "I look."},
        {"toolCall": {"name": "once", "arguments": {"say": "x"}}},
    ]});
    for fault in faults() {
        // The failure comes after none, some or all events, in the first and in the second turn; `None` is a failure
        // without a stream.
        for after in [None, Some(0), Some(1), Some(4), Some(6), Some(8), Some(11), Some(99)] {
            for good in 0..2 {
                let failing = match after {
                    None => {
                        let mut line = fault.clone();
                        line["type"] = "fault".into();
                        line
                    }
                    Some(after) => {
                        let mut line = turn.clone();
                        line["fault"] = fault.clone();
                        line["fault"]["after"] = after.into();
                        line
                    }
                };
                let lines: Vec<String> =
                    std::iter::repeat_n(&turn, good).chain([&failing]).map(Value::to_string).collect();
                let script = Script::parse(&lines.join("\n"), &Variables::default()).unwrap();
                let ran = Arc::new(AtomicUsize::new(0));
                let count = Arc::clone(&ran);
                let once = tool("once", move |_| {
                    count.fetch_add(1, Ordering::SeqCst);
                    Box::pin(async { Ok(ToolOutput::text("done")) })
                });
                let env = TestEnv::new(vec![], vec![once]);
                let ended = env.run_with(&ScriptedProvider::new(script), &mut Vec::new()).await;
                let answer = ended.answer.unwrap();
                assert_eq!(answer.stop_reason, StopReason::Error, "{fault} {after:?}");
                assert!(answer.error.is_some(), "{fault} {after:?}");
                assert_eq!(ran.load(Ordering::SeqCst), good, "a call of a failed answer ran: {fault} {after:?}");
                assert_eq!(ended.turns as usize, good + 1);
            }
        }
    }
}
