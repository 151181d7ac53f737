//! The flags of `sinew mcp`.

use super::table::FlagValue::{Nothing, Optional, Value};
use super::table::Target::{Switch, Text, Texts};
use super::table::{Flag, Group, flag};

/// The values of the flags of `sinew mcp`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpArgs {
    /// The URL of a server.
    pub url: Option<String>,
    /// `NAME: VALUE`, sent with each request.
    pub headers: Vec<String>,
    /// `NAME=VALUE` pairs, variables for the program of a server.
    pub env: Vec<String>,
    /// Writes to the project's `.sinew/mcp.json` instead of the user's file.
    pub(crate) project: bool,
    /// The directories that `serve` gives access to.
    pub roots: Vec<String>,
    /// The address on which `serve` listens instead of reading standard input; empty for a free port of this machine.
    pub http: Option<String>,
    /// The name of the variable with the token of `serve --http`.
    pub token_env: Option<String>,
    /// The program of a server and its arguments, after `--`.
    pub command: Option<Vec<String>>,
}

/// The flags in the order of the help. The help of `sinew mcp` describes them.
// One flag per row, even if the line is long.
#[rustfmt::skip]
pub(super) static FLAGS: &[Flag] = &[
    flag(Group::Mcp, "", "url", Value("URL"), Text(|args| &mut args.mcp.url), "URL of a server"),
    flag(Group::Mcp, "", "header", Value("NAME: VALUE"), Texts(|args| &mut args.mcp.headers), "header of each request; can be repeated"),
    flag(Group::Mcp, "", "env", Value("NAME=VALUE"), Texts(|args| &mut args.mcp.env), "environment variable of the program; can be repeated"),
    flag(Group::Mcp, "", "root", Value("DIR"), Texts(|args| &mut args.mcp.roots), "directory whose files `serve` offers; can be repeated"),
    flag(Group::Mcp, "", "http", Optional("ADDR"), Text(|args| &mut args.mcp.http), "`serve` over HTTP"),
    flag(Group::Mcp, "", "token-env", Value("NAME"), Text(|args| &mut args.mcp.token_env), "environment variable with the token of `serve --http`"),
    flag(Group::Mcp, "", "project", Nothing, Switch(|args| &mut args.mcp.project), "write to .sinew/mcp.json of this project"),
];
