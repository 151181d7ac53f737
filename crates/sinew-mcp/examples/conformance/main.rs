//! The client for the protocol's conformance suite: `conformance URL`. It connects, logs in if the server requires it
//! (acting as its own browser), lists everything and calls every tool, with the arguments of the scenario if it has
//! some.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sinew_llm::http::{HttpClient, HttpConfig};
use sinew_mcp::http::{HttpServer, http_config};
use sinew_mcp::oauth::{Challenge, LoginRequest, Logins, OAuthSettings};
use sinew_mcp::{
    BoxFuture, CallOptions, Client, ClientHost, ClientOptions, Elicitation, ElicitationAnswer, McpError, Root,
};
use sinew_testkit::oauth::browse;

/// The client metadata document that the suite knows.
const METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
/// The maximum number of logins in one exchange with the server.
const LOGINS: usize = 3;

/// Answers every form with its default values.
struct Willing;

impl ClientHost for Willing {
    fn can_ask(&self) -> bool {
        true
    }

    fn elicit(&self, question: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        let fields = match question {
            Elicitation::Form { schema, .. } => sample(&schema),
            Elicitation::Url { .. } => Map::new(),
        };
        Box::pin(std::future::ready(ElicitationAnswer::Accept(fields)))
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root { uri: "file:///tmp".into(), name: "tmp".into() }]
    }
}

/// A client that logs in when the server requires it.
struct Driver {
    server: HttpServer,
    logins: Logins,
    settings: OAuthSettings,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), String> {
    run().await.map_err(|error| error.to_string())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let url: url::Url = std::env::args().next_back().unwrap_or_default().parse()?;
    let context: Value =
        serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default()).unwrap_or_default();
    let folder = tempfile::tempdir()?;
    let text = |key: &str| context[key].as_str().map(str::to_string);
    let settings = OAuthSettings {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        metadata_url: Some(METADATA_URL.to_string()),
        ..OAuthSettings::default()
    };
    let logins = Logins::new(folder.path().join("mcp-auth.json"), HttpConfig::default(), Arc::new(|| 0));
    let (http, tokens) = (HttpClient::new(http_config(HttpConfig::default())), Some(logins.tokens(&url)));
    let driver = Driver { server: HttpServer { url, headers: Vec::new(), http, tokens }, logins, settings };
    let client = driver.connect().await?;
    if client.info().offers("tools") {
        driver.call_all(&client, &context).await?;
    }
    if client.info().offers("resources") {
        for resource in client.list_resources().await?.items {
            client.read_resource(&resource.name, &CallOptions::default()).await?;
        }
    }
    if client.info().offers("prompts") {
        for prompt in client.list_prompts().await?.items {
            client.get_prompt(&prompt.name, Map::new(), &CallOptions::default()).await?;
        }
    }
    client.close().await;
    Ok(())
}

impl Driver {
    async fn connect(&self) -> Result<Client, Box<dyn std::error::Error>> {
        let options = ClientOptions { host: Arc::new(Willing), ..ClientOptions::default() };
        for _ in 0..LOGINS {
            match Client::connect_http(&self.server, &options).await {
                Err(McpError::NeedsAuth(challenge)) => self.log_in(challenge).await?,
                connected => return Ok(connected?),
            }
        }
        Err("the server wants a login again and again".into())
    }

    /// Logs in and does what a user with a browser would do.
    async fn log_in(&self, challenge: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
        let request = LoginRequest {
            name: "conformance".to_string(),
            server: self.server.url.clone(),
            settings: self.settings.clone(),
            challenge: Some(Challenge::parse(&challenge.unwrap_or_default())),
        };
        let login = self.logins.begin(request).await.map_err(|error| error.message)?;
        let address = login.url().to_string();
        let browser = tokio::task::spawn_blocking(move || browse(&address));
        let (done, _) = tokio::join!(login.finish(std::future::pending()), browser);
        Ok(done.map_err(|error| error.message)?)
    }

    async fn call_all(&self, client: &Client, context: &Value) -> Result<(), Box<dyn std::error::Error>> {
        let mut listing = client.list_tools().await;
        for _ in 0..LOGINS {
            let Err(McpError::NeedsAuth(challenge)) = listing else { break };
            self.log_in(challenge).await?;
            listing = client.list_tools().await;
        }
        let calls: Vec<(String, Map<String, Value>)> = match context["toolCalls"].as_array() {
            Some(calls) => calls
                .iter()
                .map(|call| {
                    let arguments = call["arguments"].as_object().cloned().unwrap_or_default();
                    (call["name"].as_str().unwrap_or_default().to_string(), arguments)
                })
                .collect(),
            None => {
                let tools: Vec<(String, Value)> = listing?
                    .items
                    .iter()
                    .map(|tool| (tool.name.clone(), tool.value()["inputSchema"].clone()))
                    .collect();
                let arguments = |name: &str, schema: &Value| match name {
                    // The suite checks that the schema of the other tool arrives unchanged.
                    "json_schema_echo" => Map::from_iter([("schema".to_string(), tools[0].1.clone())]),
                    _ => sample(schema),
                };
                tools.iter().map(|(name, schema)| (name.clone(), arguments(name, schema))).collect()
            }
        };
        let calls = calls.into_iter().map(|(name, arguments)| self.call(client, name, arguments));
        for outcome in futures_util::future::join_all(calls).await {
            outcome?;
        }
        Ok(())
    }

    async fn call(
        &self,
        client: &Client,
        name: String,
        arguments: Map<String, Value>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        for _ in 0..LOGINS {
            match client.call_tool(&name, arguments.clone(), &CallOptions::default()).await {
                Err(McpError::NeedsAuth(challenge)) => self.log_in(challenge).await?,
                // The suite does not prescribe the result of the call.
                Ok(_) | Err(McpError::Rpc(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Err(format!("{name}: the server wants a login again and again").into())
    }
}

/// Returns an object that matches a schema: default values, or any value of the right type.
fn sample(schema: &Value) -> Map<String, Value> {
    let fields = schema["properties"].as_object().cloned().unwrap_or_default();
    let value = |field: &Value| match (&field["default"], field["type"].as_str(), field["enum"].get(0)) {
        (Value::Null, _, Some(first)) => first.clone(),
        (Value::Null, Some("number" | "integer"), _) => json!(1),
        (Value::Null, Some("boolean"), _) => json!(true),
        (Value::Null, Some("array"), _) => json!([]),
        (Value::Null, Some("object"), _) => json!({}),
        (Value::Null, ..) => json!("text"),
        (default, ..) => default.clone(),
    };
    fields.into_iter().map(|(name, field)| (name, value(&field))).collect()
}
