//! `sinew mcp …`: servers of the Model Context Protocol, those that we use and the one that we are.
//!
//! | module | what it holds |
//! |---|---|
//! | `servers` | the servers that a session may use, from the files that name them |
//! | `list` | `list` and `get` |
//! | `edit` | `add`, `remove`, `enable` and `disable`: one entry of a file changes, and nothing else in it |
//! | `test` | `test` |
//! | `login` | `login` and `logout` |
//! | `serve` | `serve`: the core's tools for other agents |

pub(crate) mod edit;
mod list;
pub(crate) mod login;
mod serve;
pub(crate) mod servers;
mod test;
mod trace;

use sinew_agent::mcp::config::Entries;

use crate::failure::Failure;
use crate::output::{print, warn};
use crate::startup::Startup;

/// The names of the commands, for errors.
const COMMANDS: &str = "list, get, add, remove, enable, disable, test, login, logout, reload or serve";

pub(crate) const HELP: &str = "\
sinew mcp: servers of tools (Model Context Protocol)

Usage:
  sinew mcp list                             the servers, from which file, and how they stand; starts none
  sinew mcp get NAME                         one of them, with its tools as far as they are known
  sinew mcp add NAME -- COMMAND [ARG…]       add a program
  sinew mcp add NAME --url URL               add a server at an address
  sinew mcp remove NAME                      take it out of its file
  sinew mcp enable NAME | disable NAME       switch it on or off in its file
  sinew mcp test NAME                        start it, show each exchange with it and what it offers, and remember that
  sinew mcp reload [NAME…]                   start all or these servers, and remember what they offer now
  sinew mcp login NAME                       log in at a server that wants it (OAuth), in a browser
  sinew mcp logout NAME                      end that login: here, and at the server where it takes tokens back
  sinew mcp serve                            lend grep, find, fuzzy_find, read, ls and html_to_markdown to another agent

Options:
  --env NAME=VALUE       with add: a variable of the program; may be repeated
  --header 'NAME: VALUE' with add --url: sent with each request; may be repeated
  --url URL              with login and logout: an address that no file names, as a server of an editor
  --project              write to .sinew/mcp.json of this project, not to ~/.sinew/agent/mcp.json
  --output json          with list and get: as JSON
  --root DIR             with serve: a folder whose files are lent, in place of the working folder; may be repeated
  --tools A,B            with serve: lend only these tools
  --allow edit,bash      with serve: lend what changes files, or runs commands, too
  --http [ADDR]          with serve: over HTTP, at a free port or at PORT of this machine; the token is shown at the start
  --token-env NAME       with serve --http: the token is the value of this variable

Examples:
  sinew mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  sinew mcp add tracker --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${TRACKER_TOKEN}'
  sinew mcp test files

Files, the first that names a server wins: --mcp-config PATH, .sinew/mcp.json and .mcp.json of a project that you trust,
~/.sinew/agent/mcp.json. They may hold comments; commands keep them. ${NAME} is a variable of your environment,
${NAME:-x} has a default. --no-mcp uses no server.

A server that was seen once is started by the first call of one of its tools. Models find tools by tool_search; their
names are mcp_SERVER_TOOL, also in permissions: --deny 'mcp_tracker_*'.
";

/// Runs the command that the words behind `mcp` name.
///
/// # Errors
/// There is no such command, or it fails.
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
            return Err(Failure::usage(format!("sinew mcp: {flag} goes with add: sinew mcp add NAME …")));
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
            "sinew mcp add: {other:?} is too much; the program goes behind --: sinew mcp add NAME -- COMMAND ARG…"
        ))),
        [command @ ("list" | "get" | "remove" | "rm" | "enable" | "disable" | "test" | "login" | "logout"), ..] => {
            Err(Failure::usage(format!("sinew mcp {command}: too many words; see sinew mcp")))
        }
        [other, ..] => Err(Failure::usage(format!("sinew mcp {other}: unknown command; use {COMMANDS}"))),
    }
}

/// Reads the files and shows what is wrong with them.
fn read(startup: &Startup, warnings: &[String]) -> Result<Entries, Failure> {
    let entries = servers::entries(startup, &servers::keys(startup)?)?;
    warn(warnings);
    warn(&entries.warnings);
    Ok(entries)
}
