//! The extension points of servers: `mcp_server_start` and `mcp_elicitation`.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sinew_mcp::{Elicitation, ElicitationAnswer};

use crate::extension::{Context, Extension, Point};
use crate::hook_points::{asked, fault_lines, text_of};

const START: &str = "mcp_server_start";
const ELICITATION: &str = "mcp_elicitation";

/// The extensions that are called when a server starts or asks a question.
pub struct ServerHooks {
    /// The extensions, in load order.
    pub extensions: Vec<Arc<dyn Extension>>,
    /// The facts that they receive.
    pub context: Context,
}

impl ServerHooks {
    /// Returns true if an extension may answer the questions of servers.
    #[must_use]
    pub fn can_answer(&self) -> bool {
        self.extensions.iter().any(|extension| extension.is_at(ELICITATION))
    }

    /// Announces that a server is about to start. Returns the failures.
    pub(super) async fn start(&self, server: &str) -> Vec<String> {
        let point = Point::new(START, json!({"server": server}));
        fault_lines(asked(&self.extensions, point, &self.context, |_, _| ControlFlow::Continue(())).await)
    }

    /// Returns the first answer of an extension, and the failures.
    pub(super) async fn answer(
        &self,
        server: &str,
        question: &Elicitation,
    ) -> (Option<ElicitationAnswer>, Vec<String>) {
        let fields = match question {
            Elicitation::Form { message, schema } => {
                json!({"server": server, "mode": "form", "message": message, "requestedSchema": schema})
            }
            Elicitation::Url { message, url, .. } => {
                json!({"server": server, "mode": "url", "message": message, "url": url})
            }
        };
        let mut given = None;
        let mut unknown = Vec::new();
        let take = |_: &mut Point, answer: Map<String, Value>| {
            let content = answer.get("content").and_then(Value::as_object).cloned().unwrap_or_default();
            given = match text_of(&answer, "action").as_deref() {
                Some("accept") => Some(ElicitationAnswer::Accept(content)),
                Some("decline") => Some(ElicitationAnswer::Decline),
                Some("cancel") => Some(ElicitationAnswer::Cancel),
                Some(action) => {
                    unknown.push(format!("{ELICITATION}: action {action:?} is unknown; use accept, decline or cancel"));
                    None
                }
                None => None,
            };
            if given.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut faults =
            fault_lines(asked(&self.extensions, Point::new(ELICITATION, fields), &self.context, take).await);
        faults.append(&mut unknown);
        (given, faults)
    }
}
