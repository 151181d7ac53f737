//! A connection as the manager sees it, so that its laws can be tested without processes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use sinew_mcp::era::Era;
use sinew_mcp::{CallOptions, Changes, Client, ClientHost, Definition, Listing, McpError, ToolResult};
use sinew_tools::tool::Boxed;
use tokio::sync::watch;

use super::config::ServerConfig;

/// What a connection knows of its server when it stands.
#[derive(Debug, Clone)]
pub struct Facts {
    /// How the server is spoken to.
    pub era: Era,
    /// Whether that is a fact of the server.
    pub era_certain: bool,
    /// The revision of the protocol.
    pub version: String,
    /// Its own words about itself.
    pub instructions: Option<String>,
    /// Whether it has tools.
    pub has_tools: bool,
    /// Whether it has prompts.
    pub has_prompts: bool,
}

/// One connection to a server. Dropping the future of a call gives the call up and tells the server.
pub trait Connection: Send + Sync {
    /// What is known of the server.
    fn facts(&self) -> Facts;

    /// The process of the server, where it is one.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// The last line that the server wrote to its standard error.
    fn last_words(&self) -> Option<String> {
        None
    }

    /// Why it is of no use any more; None while it is.
    fn closed(&self) -> Option<String>;

    /// Counts the changes of the server's lists.
    fn changes(&self) -> watch::Receiver<Changes>;

    /// All tools.
    fn list_tools(&self) -> Boxed<'_, Result<Listing, McpError>>;

    /// All prompts.
    fn list_prompts(&self) -> Boxed<'_, Result<Listing, McpError>>;

    /// Calls a tool.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        options: &'a CallOptions,
    ) -> Boxed<'a, Result<ToolResult, McpError>>;

    /// Asks whether it still answers.
    fn probe(&self, limit: Duration) -> Boxed<'_, Result<(), McpError>>;
}

/// Makes connections.
pub trait Connector: Send + Sync {
    /// Connects to a server. `era` is what is known of it. Dropping the future ends what was started.
    fn connect(
        &self,
        config: Arc<ServerConfig>,
        era: Option<Era>,
        host: Arc<dyn ClientHost>,
    ) -> Boxed<'static, Result<Arc<dyn Connection>, McpError>>;
}

impl Connection for Client {
    fn facts(&self) -> Facts {
        let info = self.info();
        Facts {
            era: info.era,
            era_certain: info.era_certain,
            version: info.version.to_string(),
            instructions: info.instructions.clone(),
            has_tools: info.offers("tools"),
            has_prompts: info.offers("prompts"),
        }
    }

    #[cfg(unix)]
    fn pid(&self) -> Option<u32> {
        Client::pid(self)
    }

    #[cfg(unix)]
    fn last_words(&self) -> Option<String> {
        let tail = self.stderr_tail();
        tail.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_string)
    }

    fn closed(&self) -> Option<String> {
        self.closed_reason()
    }

    fn changes(&self) -> watch::Receiver<Changes> {
        Client::changes(self)
    }

    fn list_tools(&self) -> Boxed<'_, Result<Listing, McpError>> {
        Box::pin(Client::list_tools(self))
    }

    fn list_prompts(&self) -> Boxed<'_, Result<Listing, McpError>> {
        Box::pin(Client::list_prompts(self))
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        options: &'a CallOptions,
    ) -> Boxed<'a, Result<ToolResult, McpError>> {
        Box::pin(self.call_tool(tool, arguments, options))
    }

    fn probe(&self, limit: Duration) -> Boxed<'_, Result<(), McpError>> {
        Box::pin(Client::probe(self, limit))
    }
}

/// Connects by programs and addresses.
#[cfg(unix)]
pub struct RealConnector {
    /// The program that takes the role of a keeper.
    pub keeper: std::path::PathBuf,
    /// The variables of every server.
    pub environment: sinew_tools::child::Variables,
    /// The folder of the session.
    pub cwd: std::path::PathBuf,
    /// How addresses are reached.
    pub http: sinew_llm::http::HttpConfig,
}

#[cfg(unix)]
impl Connector for RealConnector {
    fn connect(
        &self,
        config: Arc<ServerConfig>,
        era: Option<Era>,
        host: Arc<dyn ClientHost>,
    ) -> Boxed<'static, Result<Arc<dyn Connection>, McpError>> {
        use super::config::Transport;
        use sinew_mcp::ClientOptions;
        use sinew_mcp::http::{HttpServer, http_config};
        use sinew_mcp::stdio::StdioServer;
        use sinew_process::kept::KeptProgram;

        let options = ClientOptions { host, era, start_limit: config.start_limit, ..ClientOptions::default() };
        match &config.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let mut variables = self.environment.clone();
                variables.retain(|(name, _)| env.iter().all(|(own, _)| name.to_str() != Some(own)));
                variables.extend(env.iter().map(|(name, value)| (name.into(), value.into())));
                let cwd = cwd.as_ref().map_or_else(|| self.cwd.clone(), |cwd| self.cwd.join(cwd));
                let program = KeptProgram {
                    program: command.into(),
                    args: args.iter().map(Into::into).collect(),
                    env: variables,
                    cwd: Some(cwd),
                };
                let server = StdioServer { keeper: self.keeper.clone(), program };
                Box::pin(async move {
                    let client = Client::start(&server, &options).await?;
                    Ok(Arc::new(client) as Arc<dyn Connection>)
                })
            }
            Transport::Http { url, headers } => {
                let (url, headers, http) = (url.parse(), headers.clone(), http_config(self.http.clone()));
                Box::pin(async move {
                    let url = url.map_err(|error| McpError::Start(format!("the address is none: {error}")))?;
                    let http = sinew_llm::http::HttpClient::new(http);
                    let client = Client::connect_http(&HttpServer { url, headers, http }, &options).await?;
                    Ok(Arc::new(client) as Arc<dyn Connection>)
                })
            }
        }
    }
}

/// The definitions of a list that `takes` lets through.
pub(super) fn taken(list: Vec<Definition>, config: &ServerConfig) -> Vec<Definition> {
    list.into_iter().filter(|tool| config.tools.takes(&tool.name)).collect()
}
