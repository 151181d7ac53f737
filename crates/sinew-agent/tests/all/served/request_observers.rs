//! Tests extensions that observe requests and answers as they are transmitted.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use sinew_agent::agent::Stop;
use sinew_agent::extension::{Context, Extension, Point};
use sinew_tools::tool::Boxed;

use crate::served::replies::{APIS, text};
use crate::served::test_env::{TestEnv, strict};

/// Adds a field to each request and records the points.
#[derive(Default)]
struct Adds {
    seen: Mutex<Vec<Point>>,
}

impl Extension for Adds {
    fn name(&self) -> Cow<'static, str> {
        "adds".into()
    }

    fn is_at(&self, _point: &str) -> bool {
        true
    }

    fn on_point<'a>(
        &'a self,
        point: &'a Point,
        _context: &'a Context,
    ) -> Boxed<'a, Result<Option<Map<String, Value>>, String>> {
        Box::pin(async move {
            self.seen.lock().unwrap().push(point.clone());
            if point.name != "before_provider_request" {
                return Ok(None);
            }
            let mut payload = point.fields["payload"].clone();
            payload["added"] = true.into();
            Ok(Some(Map::from_iter([("payload".to_string(), payload)])))
        })
    }
}

#[tokio::test]
async fn extensions_change_requests_and_see_the_responses() {
    for api in APIS {
        let server = strict(vec![text(api, "fine")]);
        let adds = Arc::new(Adds::default());
        let env = TestEnv::with_extensions(api, &server, vec![Arc::clone(&adds) as _]);
        assert_eq!(env.prompt("go").await.stop, Stop::Done, "{api}");
        assert_eq!(server.requests()[0].json()["added"], true, "{api}");
        let seen = adds.seen.lock().unwrap();
        let names: Vec<&str> = seen.iter().map(|point| point.name).collect();
        let expect = ["session_start", "before_agent_start", "before_provider_request", "after_provider_response"];
        assert_eq!(names, expect, "{api}");
        assert!(seen[2].fields["payload"].to_string().contains("go"), "{api}");
        assert_eq!(seen[3].fields["status"], 200, "{api}");
        assert_eq!(seen[3].fields["headers"]["content-type"], "text/event-stream", "{api}");
    }
}
