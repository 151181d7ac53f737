//! Implements `sinew mcp serve`: serves Sinew's tools to other agents, over standard input and output or over HTTP.
//!
//! | module | contents |
//! |---|---|
//! | `roots` | checks which files the tools may open |
//! | `confine` | the same restriction by the kernel |
//! | `rooted_tool` | tools of the agent as tools of the protocol |
//! | `finders` | the two tools that only this server has |
//! | `pipes` | standard input and output |
//! | `web` | the address and the token of `--http` |

#[cfg(target_os = "linux")]
mod confine;
mod finders;
mod pipes;
mod rooted_tool;
mod roots;
mod web;

use std::path::PathBuf;
use std::sync::Arc;

use sinew_control::failure::Failure;
use sinew_control::models;
use sinew_control::output;
use sinew_control::startup::Startup;
use sinew_mcp::server::{ServedTool, ServerOptions, Service, serve};
use sinew_session::artifacts::Artifacts;
use sinew_tools::semantics::{OutputView, Semantics, ToolKind};
use sinew_tools::tool::Tool;
use sinew_tools::{Host, HostOptions, Searches, Shells};

use roots::Roots;
use web::HttpEndpoint;

/// The values of `--allow`: tools that change files, and commands.
const EDITS: &str = "edit";
const COMMANDS: &str = "bash";
const ALLOWED: [&str; 2] = [EDITS, COMMANDS];

/// Returns the position of a tool in the list for clients, and the value of `--allow` that it needs. Returns `None` if
/// it is not served, because it uses the session, the network or earlier calls.
fn served(tool: &dyn Tool) -> Option<(u8, Option<&'static str>)> {
    let Semantics { kind, presentation, .. } = tool.semantics();
    match (kind, presentation.output) {
        (ToolKind::Search, _) => Some((0, None)),
        (ToolKind::Read, _) => Some((1, None)),
        (ToolKind::Edit, OutputView::Diff) => Some((2, Some(EDITS))),
        (ToolKind::Execute, OutputView::Terminal) => Some((3, Some(COMMANDS))),
        _ => None,
    }
}

/// Serves until standard input ends, or over HTTP until a signal arrives; returns the exit code.
///
/// # Errors
/// Returns an error if a root is not a directory, a flag names an unknown tool, the server cannot listen on the
/// address, or the client on standard input does not speak the protocol.
pub(super) fn run(startup: &Startup, warnings: &[String]) -> Result<u8, Failure> {
    output::warn(warnings);
    startup.check_settings()?;
    let roots = Roots::find(startup)?;
    let place = HttpEndpoint::find(startup)?;
    let allowed = allowed(startup)?;
    let searches = Arc::new(searches(startup, &roots));
    // Commands of `bash` run with the user's permissions, which no directory limits.
    #[cfg(target_os = "linux")]
    let _held = match allowed.contains(&COMMANDS) {
        true => Vec::new(),
        false => {
            let (network, index) = (place.is_some(), startup.settings.search.is_indexed());
            let limits = confine::Limits { edit: allowed.contains(&EDITS), network, index };
            confine::run(&roots, searches.sinew(), &limits)?
        }
    };
    let failed = |error: std::io::Error| Failure::failed(format!("failed to serve tools: {error}"));
    // The protocol needs one thread, because tools run on their own threads.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let served = runtime.block_on(async {
        let host = host(startup, roots.first(), &searches);
        host.set_path_policies(vec![Arc::new(roots.clone())]);
        let tools = tools(startup, &host, &searches, &roots, &allowed)?;
        let options = ServerOptions { instructions: Some(roots.instructions()), ..ServerOptions::default() };
        let close = || tokio::task::spawn_blocking(move || host.close());
        let Some(place) = place else {
            let (input, out) = pipes::open();
            let served = serve(tools, options, input, out.stream).await;
            // If a shell does not stop, its keeper terminates it.
            let _ = close().await;
            out.written.await;
            return served.map(|()| 0).map_err(failed);
        };
        let served = place.serve(Service::new(tools, options)).await;
        let _ = close().await;
        served
    });
    // The thread that reads standard input cannot be woken up.
    runtime.shutdown_background();
    served
}

/// Returns the values of `--allow`.
fn allowed(startup: &Startup) -> Result<Vec<&str>, Failure> {
    let given = startup.args.tools.allow.iter().flat_map(|list| list.split(','));
    let allowed: Vec<&str> = given.map(str::trim).collect();
    match allowed.iter().find(|name| !ALLOWED.contains(name)) {
        Some(unknown) => Err(Failure::usage(format!("--allow {unknown}: mcp serve knows {}", ALLOWED.join(" and ")))),
        None => Ok(allowed),
    }
}

/// Returns the tools that the flags enable, in a fixed order.
fn tools(
    startup: &Startup,
    host: &Arc<Host>,
    searches: &Arc<Searches>,
    roots: &Roots,
    allowed: &[&str],
) -> Result<Vec<Arc<dyn ServedTool>>, Failure> {
    let gate = Arc::default();
    let builtin = sinew_tools::builtin(host);
    let mut lent: Vec<(u8, Arc<dyn Tool>)> = builtin
        .into_iter()
        .filter_map(|tool| {
            let (place, needs) = served(&*tool)?;
            needs.is_none_or(|needs| allowed.contains(&needs)).then_some((place, tool))
        })
        .collect();
    // Tools that return contents are listed before the others.
    lent.sort_by_key(|(place, tool)| (*place, !tool.semantics().effects.reads_files));
    let lent = lent.into_iter().map(|(_, tool)| rooted_tool::tool(tool, roots.clone(), Arc::clone(&gate)));
    let mut tools: Vec<Arc<dyn ServedTool>> = lent.collect();
    // Listed after `find`, which is similar.
    let at = tools.len().min(2);
    tools.insert(at, finders::fuzzy_find(Arc::clone(searches), roots.clone()));
    tools.push(finders::html_to_markdown());
    let Some(only) = &startup.args.tools.only else { return Ok(tools) };
    if let Some(unknown) = only.iter().find(|name| tools.iter().all(|tool| tool.name() != **name)) {
        let known: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
        return Err(Failure::usage(format!("--tools {unknown}: unknown tool; known: {}", known.join(", "))));
    }
    tools.retain(|tool| only.iter().any(|name| name == tool.name()));
    Ok(tools)
}

/// Returns a search service that indexes the roots, and no directory above them.
fn searches(startup: &Startup, roots: &Roots) -> Searches {
    let sinew = Arc::new(startup.new_sinew());
    Searches::new(sinew, if startup.settings.search.is_indexed() { roots.all() } else { Vec::new() })
}

/// Builds the host of the tools: as in a session, but without questions, network and session files.
fn host(startup: &Startup, cwd: PathBuf, searches: &Arc<Searches>) -> Arc<Host> {
    let Startup { environment, settings, .. } = startup;
    Host::new(HostOptions {
        cwd,
        home: None,
        searches: Arc::clone(searches),
        supervisor: sinew::shell::Supervisor::new(std::env::current_exe().unwrap_or_else(|_| "sinew".into())),
        environment: environment.variables().to_vec(),
        artifacts: Arc::new(Artifacts::temporary()),
        http: models::http(environment, settings),
        ask: None,
        requester: None,
        console: None,
        shells: Arc::new(Shells::default()),
        settings: sinew_tools::Settings {
            ci: !environment.is_on("SINEW_BASH_NO_CI"),
            provider_keys: environment.keys.clone(),
            fetch: false,
            ..settings.tools()
        },
    })
}
