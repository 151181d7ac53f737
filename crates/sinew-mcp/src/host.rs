//! Requests of a server to whoever runs the client.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::McpError;

/// A future that a trait object returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers what a server asks. Every method has a default that gives nothing away.
pub trait ClientHost: Send + Sync + 'static {
    /// Returns true if a person can be asked. Only then is the capability declared.
    fn can_ask(&self) -> bool {
        false
    }

    /// Hears that the server is about to start, which waits for it.
    fn starting(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Asks the person. The clocks of the server's calls stand still meanwhile; dropping the future withdraws the
    /// question.
    fn elicit(&self, question: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        let _ = question;
        Box::pin(std::future::ready(ElicitationAnswer::Cancel))
    }

    /// The folders of the session, for servers from before 2026-07-28.
    fn roots(&self) -> Vec<Root> {
        Vec::new()
    }

    /// Hears of the end of a request of ours: its method, why it failed where it did, and its time.
    fn exchanged(&self, method: &str, failure: Option<&McpError>, took: Duration) {
        let _ = (method, failure, took);
    }

    /// Takes a line for the log: text that is no protocol, answers that nobody waits for.
    fn log(&self, line: &str) {
        let _ = line;
    }
}

/// A host that answers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl ClientHost for NoHost {}

/// A folder that the session works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Root {
    /// `file:///home/me/project`.
    pub uri: String,
    /// For people.
    pub name: String,
}

/// A question of a server to the person. It comes from elsewhere: to be shown with the server's name, sanitised.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicitation {
    /// Some fields to fill in.
    Form {
        /// The subject, in the server's words.
        message: String,
        /// A schema of an object with flat properties, in the server's words.
        schema: Value,
    },
    /// An address to be opened by the person, never fetched by us.
    Url {
        /// The subject, in the server's words.
        message: String,
        /// The address.
        url: String,
        /// Names the question when the server tells that it is done.
        id: String,
    },
}

impl Elicitation {
    /// The subject, in the server's words.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Elicitation::Form { message, .. } | Elicitation::Url { message, .. } => message,
        }
    }
}

/// The answer of the person.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// Yes, with the fields of the form (none for an address).
    Accept(Map<String, Value>),
    /// No.
    Decline,
    /// No answer.
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

/// The first field of a form that asks for a secret, by its name or title. Secrets do not go through forms: the
/// protocol has addresses for them.
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
    fn fields_that_ask_for_secrets_are_found_030() {
        check_secret(json!({"name": {}, "apiKey": {}}), Some("apiKey"));
        for name in ["api_key", "API-Key", "githubToken", "user password", "clientSecret", "pin"] {
            check_secret(json!({ name: {} }), Some(name));
            check_secret(json!({"field": {"title": name}}), Some("field"));
        }
        check_secret(json!({"name": {"title": "Name"}, "email": {}, "spinner": {}, "keyboard": {}}), None);
        check_secret(json!({"x": {"format": "password"}}), Some("x"));
    }

    #[test]
    fn questions_are_read_and_bad_ones_named() {
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
