//! MCP servers (Model Context Protocol) in an agent.
//!
//! | module | contents |
//! |---|---|
//! | [`config`], `shapes`, `expand` | the configuration files, also those of other programs, and `${VAR}` in them |
//! | [`cache`] | the facts that servers reported in earlier processes |
//! | [`manager`], `server` | the servers and the transitions between their states |
//! | [`connect`] | the interface of connections |
//! | [`tools`], `search` | the tools of a session: those that are part of requests, and the search for all others |
//! | `read`, `prompts` | resources for the tool `read`, prompts for slash commands |
//! | `native` | search results for providers that load tools by themselves |
//! | `tokens` | the number of tokens that the tools of servers use |
//! | `result` | results of servers, formatted for the model |
//! | [`elicit`] | a server's questions to the user |
//! | `hooked` | the extension points of servers |
//! | [`extension`] | the start of servers after the first request |
//!
//! The MCP part of a request depends only on the configuration files and the cache, and is decided when the session
//! starts. It does not change when servers start, stop or change their tools.

pub mod cache;
pub mod config;
pub mod connect;
pub mod elicit;
mod expand;
pub mod extension;
mod hooked;
pub mod manager;
mod native;
mod prompts;
mod read;
mod result;
mod roots;
mod search;
mod server;
mod shapes;
mod tokens;
pub mod tools;

pub use expand::Variables;
pub use hooked::ServerHooks;
pub use manager::{Manager, ManagerParts, Status};
pub use prompts::ListedPrompt;
pub use sinew_mcp::oauth::{Login, Logins, Logout};
pub use tokens::{ServerTokens, ServersTokens};
pub use tools::{SessionParts, SessionServers, semantics_of};
