//! Tests a table of attacks on permission rules, and of everyday calls that no rule may stop.
//!
//! Each group has a kind, the rules, what has to happen to the calls (`refused`: denied, or asked with nobody to ask;
//! `runs`), and the calls. A call is a line of bash, an object with the arguments of bash, an object with `tool` and
//! `arguments`, or a list of calls of one session: the first refusal counts. A user permits all calls but the last one.
//! `{project}` stands for the folder of the session. `tests/attacks` runs the same table against the program.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use sinew_llm::message::ToolCall;
use sinew_permissions::{CallSite, Decision, Permissions, Rules};
use sinew_tools::tool::Boxed;
use sinew_tools::{Ask, Question};

/// A user who approves the earlier calls of a session and refuses the one that is tested.
struct User {
    permits: AtomicBool,
}

impl Ask for User {
    fn answer<'a>(&'a self, _: &'a Question) -> Boxed<'a, Option<String>> {
        Box::pin(async { self.permits.load(Ordering::Relaxed).then(|| "Yes".to_string()) })
    }
}

const TABLE: &str = include_str!("attacks.json");

fn calls(value: &Value) -> Vec<ToolCall> {
    let call = |value: &Value| match value {
        Value::String(line) => crate::call("bash", json!({"command": line})),
        value => match value.get("tool") {
            Some(tool) => crate::call(tool.as_str().unwrap(), value["arguments"].clone()),
            None => crate::call("bash", value.clone()),
        },
    };
    match value {
        Value::Array(values) => values.iter().map(call).collect(),
        value => vec![call(value)],
    }
}

#[test]
fn rules_check_the_whole_call() {
    let groups: Vec<Value> = serde_json::from_str(&TABLE.replace("{project}", "/w")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut wrong, mut harmless, mut attempts) = (Vec::new(), 0, 0);
    for group in &groups {
        let (rules, warnings) = Rules::read(&group["rules"]);
        assert_eq!(warnings, Vec::<String>::new());
        let runs = match group["expected"].as_str().unwrap() {
            "runs" => true,
            "refused" => false,
            other => panic!("{other}"),
        };
        for entry in group["calls"].as_array().unwrap() {
            *if runs { &mut harmless } else { &mut attempts } += 1;
            let user = Arc::new(User { permits: AtomicBool::new(true) });
            let permissions = Permissions::new(rules.clone(), Some("/home/me".into()), Some(Arc::clone(&user) as _));
            let site = CallSite { cwd: Path::new("/w"), session: "s", has_ui: true, requester: None };
            let calls = calls(entry);
            let mut verdict = Decision::Allow;
            for (at, call) in calls.iter().enumerate() {
                user.permits.store(at + 1 < calls.len(), Ordering::Relaxed);
                verdict = runtime.block_on(permissions.judge(call, site)).unwrap();
                if verdict != Decision::Allow {
                    break;
                }
            }
            if (verdict == Decision::Allow) != runs {
                wrong.push(format!("{}: {entry}: {verdict:?}", group["kind"]));
            }
        }
    }
    assert!(harmless >= 150 && attempts >= 150, "{harmless} {attempts}");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), harmless + attempts, wrong.join("\n"));
}
