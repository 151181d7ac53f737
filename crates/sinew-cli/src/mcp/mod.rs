//! Implements `sinew mcp …`: manages the MCP servers that sessions use, and serves Sinew's own tools.
//!
//! | module | contents |
//! |---|---|
//! | `list` | `list` and `get` |
//! | `test` | `test` |
//! | `serve` | `serve`: Sinew's tools for other agents |
//!
//! `add`, `remove`, `enable`, `disable`, `login` and `logout` are in `sinew_control::mcp`, because `/mcp` offers some of
//! them in a session.

mod list;
mod serve;
mod test;

use sinew_agent::mcp::config::Entries;
use sinew_control::failure::Failure;
use sinew_control::mcp::{edit, login, servers};
use sinew_control::output::{print, warn};
use sinew_control::startup::Startup;

/// The names of the commands, for errors.
const COMMANDS: &str = "list, get, add, remove, enable, disable, test, login, logout, reload or serve";

pub(crate) const HELP: &str = "\
sinew mcp: manage MCP servers (Model Context Protocol)

Usage:
  sinew mcp list                             list the servers with their file and state; starts none
  sinew mcp get NAME                         show a server and its tools, if they are known
  sinew mcp add NAME -- COMMAND [ARG…]       add a program
  sinew mcp add NAME --url URL               add a server at a URL
  sinew mcp remove NAME                      remove a server from its file
  sinew mcp enable NAME | disable NAME       enable or disable a server in its file
  sinew mcp test NAME                        start a server, show every message and what it offers, and cache that
  sinew mcp reload [NAME…]                   start all servers, or these, and cache what they offer
  sinew mcp login NAME                       sign in to a server (OAuth) in a browser
  sinew mcp logout NAME                      delete the tokens, and revoke them if the server supports it
  sinew mcp serve                            offer grep, find, fuzzy_find, read, ls and html_to_markdown to other agents

Options:
  --env NAME=VALUE       with add: environment variable of the program; can be repeated
  --header 'NAME: VALUE' with add --url: header of each request; can be repeated
  --url URL              with login and logout: a server that is not in a file, for example one of an editor
  --project              write to .sinew/mcp.json of this project instead of ~/.sinew/agent/mcp.json
  --output json          with list and get: print JSON
  --root DIR             with serve: offer files below this directory; default: the working directory; can be repeated
  --tools A,B            with serve: offer only these tools
  --allow edit,bash      with serve: also offer tools that change files, or run commands
  --http [ADDR]          with serve: listen on a free port, or on PORT of this machine, and print the token at the start
  --token-env NAME       with serve --http: use the value of this environment variable as token

Examples:
  sinew mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  sinew mcp add tracker --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${TRACKER_TOKEN}'
  sinew mcp test files

Servers are read from these files; if several define the same server, the first one wins: --mcp-config PATH,
.sinew/mcp.json and .mcp.json of a project that you trust, ~/.sinew/agent/mcp.json. Comments are allowed, and commands
keep them. ${NAME} is replaced by an environment variable; ${NAME:-x} has a default. --no-mcp disables all servers.

A known server is started by the first call to one of its tools. Models find tools with tool_search. Tools are named
mcp_SERVER_TOOL, also in permissions: --deny 'mcp_tracker_*'.
";

/// Runs the command that the words after `mcp` name.
///
/// # Errors
/// Returns an error if the command does not exist, or if it fails.
pub(crate) fn run(startup: &Startup, warnings: &[String], words: &[&str]) -> Result<u8, Failure> {
    if !matches!(words, ["add", ..]) {
        let mcp = &startup.args.mcp;
        let given = [
            ("--url", mcp.url.is_some() && !matches!(words, ["login" | "logout", ..])),
            ("--header", !mcp.headers.is_empty()),
            ("--env", !mcp.env.is_empty()),
            ("--", mcp.command.is_some()),
        ];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format!("sinew mcp: {flag} only works with add: sinew mcp add NAME …")));
        }
    }
    match *words {
        [] => print(HELP),
        ["list"] => list::list(startup, &read(startup, warnings)?),
        ["get", name] => list::get(startup, &read(startup, warnings)?, name),
        ["test", name] => test::run(startup, warnings, name),
        ["add", name] => edit::add(startup, name),
        ["remove" | "rm", name] => edit::remove(startup, &read(startup, warnings)?, name),
        ["enable", name] => edit::switch(startup, &read(startup, warnings)?, name, true),
        ["disable", name] => edit::switch(startup, &read(startup, warnings)?, name, false),
        ["reload", ref names @ ..] => test::reload(startup, warnings, names),
        ["login", name] => login::login(startup, warnings, name),
        ["logout", name] => login::logout(startup, warnings, name),
        ["serve"] => serve::run(startup, warnings),
        ["serve", other, ..] => Err(Failure::usage(format!("sinew mcp serve {other}: use --root DIR"))),
        [command @ ("get" | "add" | "remove" | "rm" | "enable" | "disable" | "test" | "login" | "logout")] => {
            Err(Failure::usage(format!("sinew mcp {command} needs a name: sinew mcp {command} NAME")))
        }
        ["add", _, other, ..] => Err(Failure::usage(format!(
            "sinew mcp add: unexpected argument {other:?}; put the program after --: sinew mcp add NAME -- COMMAND ARG…"
        ))),
        [command @ ("list" | "get" | "remove" | "rm" | "enable" | "disable" | "test" | "login" | "logout"), ..] => {
            Err(Failure::usage(format!("sinew mcp {command}: too many arguments; see sinew mcp")))
        }
        [other, ..] => Err(Failure::usage(format!("sinew mcp {other}: unknown command; use {COMMANDS}"))),
    }
}

/// Reads the files and prints warnings about them.
fn read(startup: &Startup, warnings: &[String]) -> Result<Entries, Failure> {
    let entries = servers::entries(startup, &servers::keys(startup)?)?;
    warn(warnings);
    warn(&entries.warnings);
    Ok(entries)
}
