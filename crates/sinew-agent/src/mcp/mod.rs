//! Servers of the Model Context Protocol in an agent.
//!
//! | module | holds |
//! |---|---|
//! | [`config`], `expand` | the files that name servers, and `${VAR}` in them |
//! | [`cache`] | what servers told of themselves in earlier processes |
//! | [`manager`], `server` | which servers there are, which run, and how each gets from one state to the next |
//! | [`connect`] | a connection as the manager sees it |
//! | [`tools`], `search` | the tools of a session: those in front of requests, and the search for all others |
//! | `read`, `prompts` | resources for the tool `read`, prompts for slash commands |
//! | `native` | what a search found, for providers that load tools by themselves |
//! | `tokens` | what the tools of servers cost a context |
//! | `result` | what a server answers, as a model reads it |
//! | [`elicit`] | what a server asks of the person |
//! | `hooked` | what extensions are told and asked of servers |
//! | [`extension`] | the moment behind the first request |
//!
//! What stands in front of a request is a function of files and cache, decided when the session begins. Which servers
//! run, in which order they come and go and what they offer later changes nothing in it.

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
mod search;
mod server;
mod tokens;
pub mod tools;

pub use expand::Variables;
pub use hooked::ServerHooks;
pub use manager::{Manager, ManagerParts, Status};
pub use prompts::ListedPrompt;
pub use sinew_mcp::oauth::{Login, Logins, Logout};
pub use tokens::{ServerTokens, ServersTokens};
pub use tools::{SessionParts, SessionServers, semantics_of};
