//! The requests that a server sends to the client's host.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::McpError;

/// A future that a trait object returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers requests of the server. The default methods reveal nothing about the host.
pub trait ClientHost: Send + Sync + 'static {
    /// Returns true if a user can be asked. The capability is only declared in this case.
    fn can_ask(&self) -> bool {
        false
    }

    /// Called before the server starts; the start waits for the future.
    fn starting(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Asks the user. The time limits of the server's calls are paused meanwhile; dropping the future withdraws the
    /// question.
    fn elicit(&self, question: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        let _ = question;
        Box::pin(std::future::ready(ElicitationAnswer::Cancel))
    }

    /// Returns the directories of the session, for servers from before 2026-07-28.
    fn roots(&self) -> Vec<Root> {
        Vec::new()
    }

    /// Called when a request ends, with its method, its error if it failed, and its duration.
    fn exchanged(&self, method: &str, failure: Option<&McpError>, took: Duration) {
        let _ = (method, failure, took);
    }

    /// Receives a line for the log: text that is not a protocol message, or an unexpected answer.
    fn log(&self, line: &str) {
        let _ = line;
    }
}

/// A host that answers no requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl ClientHost for NoHost {}

/// A directory of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Root {
    /// The URI, such as `file:///home/me/project`.
    pub uri: String,
    /// The name for the user.
    pub name: String,
}

/// A question of a server to the user. The text is untrusted: show it sanitised, with the server's name.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicitation {
    /// Asks for some fields.
    Form {
        /// The text of the question, from the server.
        message: String,
        /// The schema, written by the server: an object with flat properties.
        schema: Value,
    },
    /// Asks the user to open a URL; the client never fetches it.
    Url {
        /// The text of the question, from the server.
        message: String,
        /// The URL.
        url: String,
        /// Identifies the question when the server reports that it is complete.
        id: String,
    },
}

impl Elicitation {
    /// Returns the text of the question, from the server.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Elicitation::Form { message, .. } | Elicitation::Url { message, .. } => message,
        }
    }
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// The user agreed; the fields of the form, empty for a URL.
    Accept(Map<String, Value>),
    /// The user refused.
    Decline,
    /// The user did not answer.
    Cancel,
}

impl ElicitationAnswer {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            ElicitationAnswer::Accept(fields) if fields.is_empty() => serde_json::json!({"action": "accept"}),
            ElicitationAnswer::Accept(fields) => serde_json::json!({"action": "accept", "content": fields}),
            ElicitationAnswer::Decline => serde_json::json!({"action": "decline"}),
            ElicitationAnswer::Cancel => serde_json::json!({"action": "cancel"}),
        }
    }
}

/// Reads the parameters of `elicitation/create`. The error is for the server.
pub(crate) fn read_elicitation(params: &Value) -> Result<Elicitation, String> {
    let text = |key: &str| params[key].as_str().map(str::to_string);
    let message = text("message").ok_or("elicitation/create: /message must be a string")?;
    match params["mode"].as_str().unwrap_or("form") {
        "form" => {
            let schema = params["requestedSchema"].clone();
            if !schema.is_object() {
                return Err("elicitation/create: /requestedSchema must be an object".to_string());
            }
            Ok(Elicitation::Form { message, schema })
        }
        "url" => {
            let url = text("url").ok_or("elicitation/create: /url must be a string")?;
            Ok(Elicitation::Url { message, url, id: text("elicitationId").unwrap_or_default() })
        }
        other => Err(format!("elicitation/create: /mode \"{other}\" is not known; known are form and url")),
    }
}

/// Returns the first field of a form that asks for a secret, judged by its name or title. The protocol does not allow
/// secrets in forms: servers must use a URL for them.
pub(crate) fn secret_field(question: &Elicitation) -> Option<String> {
    let Elicitation::Form { schema, .. } = question else { return None };
    let fields = schema["properties"].as_object()?;
    fields
        .iter()
        .find(|(name, field)| {
            looks_secret(name) || field["title"].as_str().is_some_and(looks_secret) || field["format"] == "password"
        })
        .map(|(name, _)| name.clone())
}

fn looks_secret(name: &str) -> bool {
    const MARKS: &[&str] = &[
        "password",
        "passwd",
        "passphrase",
        "secret",
        "apikey",
        "token",
        "credential",
        "privatekey",
        "accesskey",
        "authkey",
        "sshkey",
        "cvv",
        "cardnumber",
        "pincode",
    ];
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect();
    plain == "pin" || MARKS.iter().any(|mark| plain.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check_secret(properties: Value, expect: Option<&str>) {
        let form = Elicitation::Form { message: String::new(), schema: json!({ "properties": properties }) };
        assert_eq!(secret_field(&form).as_deref(), expect);
    }

    #[test]
    fn finds_form_fields_that_ask_for_secrets() {
        check_secret(json!({"name": {}, "apiKey": {}}), Some("apiKey"));
        for name in ["api_key", "API-Key", "githubToken", "user password", "clientSecret", "pin"] {
            check_secret(json!({ name: {} }), Some(name));
            check_secret(json!({"field": {"title": name}}), Some("field"));
        }
        check_secret(json!({"name": {"title": "Name"}, "email": {}, "spinner": {}, "keyboard": {}}), None);
        check_secret(json!({"x": {"format": "password"}}), Some("x"));
    }

    #[test]
    fn parses_questions_and_rejects_invalid_ones() {
        let form = read_elicitation(&json!({"message": "m", "requestedSchema": {"type": "object"}})).unwrap();
        assert_eq!(form, Elicitation::Form { message: "m".into(), schema: json!({"type": "object"}) });
        let url = read_elicitation(&json!({"mode": "url", "message": "m", "url": "u", "elicitationId": "7"})).unwrap();
        assert_eq!(url, Elicitation::Url { message: "m".into(), url: "u".into(), id: "7".into() });
        for (bad, place) in [
            (json!({}), "/message"),
            (json!({"message": "m"}), "/requestedSchema"),
            (json!({"message": "m", "mode": "url"}), "/url"),
            (json!({"message": "m", "mode": "x"}), "/mode"),
        ] {
            assert!(read_elicitation(&bad).unwrap_err().contains(place));
        }
    }
}
