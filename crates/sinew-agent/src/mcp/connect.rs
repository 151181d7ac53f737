//! The interface of connections, which lets tests of the manager run without processes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use sinew_mcp::era::Era;
use sinew_mcp::model::{PromptMessage, Resource};
use sinew_mcp::oauth::{Login, Logout};
use sinew_mcp::{CallOptions, Changes, Client, ClientHost, Definition, Listing, McpError, ToolResult};
use sinew_tools::tool::Boxed;
use tokio::sync::watch;

use super::config::ServerConfig;

/// The facts that are known once a connection is established.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The protocol era of the server.
    pub era: Era,
    /// Whether the server itself reported its era.
    pub era_certain: bool,
    /// The protocol revision.
    pub version: String,
    /// The instructions of the server.
    pub instructions: Option<String>,
    /// Whether it has tools.
    pub has_tools: bool,
    /// Whether it has prompts.
    pub has_prompts: bool,
    /// Whether it has resources.
    pub has_resources: bool,
}

/// A connection to a server. Dropping the future of a call cancels the call and notifies the server.
pub trait Connection: Send + Sync {
    /// Returns the facts of the server.
    fn facts(&self) -> Facts;

    /// Returns the process id of the server; `None` if it is not a local process.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// Returns the last line that the server wrote to its standard error.
    fn last_words(&self) -> Option<String> {
        None
    }

    /// Returns why the connection is closed; `None` while it is open.
    fn closed(&self) -> Option<String>;

    /// Returns counters of the changes in the server's lists.
    fn changes(&self) -> watch::Receiver<Changes>;

    /// Lists all tools.
    fn list_tools(&self) -> Boxed<'_, Result<Listing, McpError>>;

    /// Lists all prompts.
    fn list_prompts(&self) -> Boxed<'_, Result<Listing, McpError>>;

    /// Lists all resources.
    fn list_resources(&self) -> Boxed<'_, Result<Listing, McpError>>;

    /// Calls a tool.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        options: &'a CallOptions,
    ) -> Boxed<'a, Result<ToolResult, McpError>>;

    /// Reads a resource.
    fn read_resource<'a>(
        &'a self,
        uri: &'a str,
        options: &'a CallOptions,
    ) -> Boxed<'a, Result<Vec<Resource>, McpError>>;

    /// Requests the messages of a prompt.
    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Value>,
        options: &'a CallOptions,
    ) -> Boxed<'a, Result<Vec<PromptMessage>, McpError>>;

    /// Checks whether the server still answers within `limit`.
    fn probe(&self, limit: Duration) -> Boxed<'_, Result<(), McpError>>;
}

/// Creates connections.
pub trait Connector: Send + Sync {
    /// Connects to a server. `era` is its known era, if any. Dropping the future ends the processes that it started.
    fn connect(
        &self,
        config: Arc<ServerConfig>,
        era: Option<Era>,
        host: Arc<dyn ClientHost>,
    ) -> Boxed<'static, Result<Arc<dyn Connection>, McpError>>;

    /// Starts a login; `None` if the server does not require one.
    fn login(&self, config: Arc<ServerConfig>) -> Boxed<'static, Result<Option<Login>, String>> {
        let text = format!("{}: logins are not available here", config.name);
        Box::pin(std::future::ready(Err(text)))
    }

    /// Removes the login at a server.
    fn logout(&self, config: Arc<ServerConfig>) -> Boxed<'static, Result<Logout, String>> {
        let text = format!("{}: logins are not available here", config.name);
        Box::pin(std::future::ready(Err(text)))
    }
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
            has_resources: info.offers("resources"),
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

    fn list_resources(&self) -> Boxed<'_, Result<Listing, McpError>> {
        Box::pin(Client::list_resources(self))
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        options: &'a CallOptions,
    ) -> Boxed<'a, Result<ToolResult, McpError>> {
        Box::pin(self.call_tool(tool, arguments, options))
    }

    fn read_resource<'a>(
        &'a self,
        uri: &'a str,
        options: &'a CallOptions,
    ) -> Boxed<'a, Result<Vec<Resource>, McpError>> {
        Box::pin(Client::read_resource(self, uri, options))
    }

    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Value>,
        options: &'a CallOptions,
    ) -> Boxed<'a, Result<Vec<PromptMessage>, McpError>> {
        Box::pin(Client::get_prompt(self, name, arguments, options))
    }

    fn probe(&self, limit: Duration) -> Boxed<'_, Result<(), McpError>> {
        Box::pin(Client::probe(self, limit))
    }
}

/// Connects to programs (on Unix) and to HTTP addresses.
pub struct RealConnector {
    /// The keeper program, which supervises the processes of servers.
    pub keeper: std::path::PathBuf,
    /// The environment variables of every server.
    pub environment: sinew_tools::child::Variables,
    /// The working directory of the session.
    pub cwd: std::path::PathBuf,
    /// The HTTP settings.
    pub http: sinew_llm::http::HttpConfig,
    /// The user's logins.
    pub logins: sinew_mcp::oauth::Logins,
}

impl RealConnector {
    /// Starts the program of an entry.
    #[cfg(unix)]
    fn start(
        &self,
        config: &ServerConfig,
        options: sinew_mcp::ClientOptions,
    ) -> Boxed<'static, Result<Arc<dyn Connection>, McpError>> {
        use super::config::Transport;

        let Transport::Stdio { command, args, env, cwd } = &config.transport else {
            let text = format!("server \"{}\" is not a program", config.name);
            return Box::pin(std::future::ready(Err(McpError::Start(text))));
        };
        let mut variables = self.environment.clone();
        variables.retain(|(name, _)| env.iter().all(|(own, _)| name.to_str() != Some(own)));
        variables.extend(env.iter().map(|(name, value)| (name.into(), value.into())));
        let cwd = cwd.as_ref().map_or_else(|| self.cwd.clone(), |cwd| self.cwd.join(cwd));
        let program = sinew_process::supervision::ProgramSpec {
            program: command.into(),
            args: args.iter().map(Into::into).collect(),
            env: variables,
            cwd: Some(cwd),
        };
        let server = sinew_mcp::stdio::StdioServer { keeper: self.keeper.clone(), program };
        Box::pin(async move {
            let client = Client::start(&server, &options).await?;
            Ok(Arc::new(client) as Arc<dyn Connection>)
        })
    }

    #[cfg(not(unix))]
    fn start(
        &self,
        config: &ServerConfig,
        _: sinew_mcp::ClientOptions,
    ) -> Boxed<'static, Result<Arc<dyn Connection>, McpError>> {
        let text = format!(
            "server \"{}\" is a program, and such servers run on Linux and macOS only; use one with an address (\"url\")",
            config.name
        );
        Box::pin(std::future::ready(Err(McpError::Start(text))))
    }

    /// Returns the HTTP server of an entry, with the user's login for it.
    fn http_server(&self, config: &ServerConfig) -> Result<sinew_mcp::http::HttpServer, String> {
        use super::config::Transport;
        use sinew_mcp::http::{HttpServer, http_config};

        let Transport::Http { url, headers } = &config.transport else {
            return Err(format!("Server \"{}\" is a program, which needs no login.", config.name));
        };
        let url: url::Url = url.parse().map_err(|error| format!("invalid URL: {error}"))?;
        // The entry's own `Authorization` header would be sent in addition to a token.
        let tokens = (!config.has_authorization()).then(|| self.logins.tokens(&url));
        let http = sinew_llm::http::HttpClient::new(http_config(self.http.clone()));
        Ok(HttpServer { url, headers: headers.clone(), http, tokens })
    }

    /// Returns the HTTP server of an entry that supports a login.
    fn login_server(&self, config: &ServerConfig) -> Result<sinew_mcp::http::HttpServer, String> {
        if config.has_authorization() {
            return Err(format!(
                "Server \"{}\" has an Authorization header in its entry; remove it to log in instead.",
                config.name
            ));
        }
        self.http_server(config)
    }
}

impl Connector for RealConnector {
    fn connect(
        &self,
        config: Arc<ServerConfig>,
        era: Option<Era>,
        host: Arc<dyn ClientHost>,
    ) -> Boxed<'static, Result<Arc<dyn Connection>, McpError>> {
        use super::config::Transport;
        use sinew_mcp::ClientOptions;

        let host = super::roots::with_roots(host, &config, &self.cwd, &self.environment);
        let options = ClientOptions { host, era, start_limit: config.start_limit, ..ClientOptions::default() };
        match &config.transport {
            Transport::Stdio { .. } => self.start(&config, options),
            Transport::Http { .. } => {
                let server = self.http_server(&config);
                Box::pin(async move {
                    let client = Client::connect_http(&server.map_err(McpError::Start)?, &options).await?;
                    Ok(Arc::new(client) as Arc<dyn Connection>)
                })
            }
        }
    }

    fn login(&self, config: Arc<ServerConfig>) -> Boxed<'static, Result<Option<Login>, String>> {
        use sinew_mcp::http::login_challenge;
        use sinew_mcp::oauth::LoginRequest;

        let (server, logins) = (self.login_server(&config), self.logins.clone());
        Box::pin(async move {
            let server = server?;
            let challenge = login_challenge(&server).await.map_err(|error| error.to_string())?;
            // A server that accepts anonymous requests may have asked for a login later.
            if challenge.is_none() && !logins.is_wanted(&server.url).map_err(|error| error.message)? {
                return Ok(None);
            }
            let (name, settings) = (config.name.clone(), config.oauth.clone());
            let request = LoginRequest { name, server: server.url, settings, challenge };
            logins.begin(request).await.map(Some).map_err(|error| error.message)
        })
    }

    fn logout(&self, config: Arc<ServerConfig>) -> Boxed<'static, Result<Logout, String>> {
        let (server, logins) = (self.login_server(&config), self.logins.clone());
        Box::pin(async move { logins.log_out(&server?.url).await.map_err(|error| error.message) })
    }
}

/// Returns the definitions of the tools that are enabled.
pub(super) fn taken(list: Vec<Definition>, config: &ServerConfig) -> Vec<Definition> {
    list.into_iter().filter(|tool| config.tools.takes(&tool.name)).collect()
}
