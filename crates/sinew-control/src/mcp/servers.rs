//! Finds the MCP servers that a session may use in the configuration files, and prepares their connections.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sinew_agent::mcp::cache::Cache;
use sinew_agent::mcp::config::{ConfigFile, Entries, Entry, EntryStatus, Origin, project_files, read};
use sinew_agent::mcp::connect::{Connector, RealConnector};
use sinew_agent::mcp::elicit::PersonHost;
use sinew_agent::mcp::{Logins, Manager, ManagerParts, ServerHooks, Variables};
use sinew_llm::http::{HttpConfig, Observer};
use sinew_session::clock::{Clock, SystemClock};
use sinew_session::files::read_text;
use sinew_session::links;
use sinew_tools::Ask;
use sinew_tools::child::Filter;

use super::trace;
use crate::config::is_missing;
use crate::failure::Failure;
use crate::models::{self, ModelSelector};
use crate::output::warn;
use crate::secrets;
use crate::startup::Startup;

/// Reads the files of flags, of the project and of the user. `keys` are the variables that contain keys of providers.
/// Starts no server.
///
/// # Errors
/// Returns an error if a file named by a flag cannot be read.
pub fn entries(startup: &Startup, keys: &[String]) -> Result<Entries, Failure> {
    let Startup { args, environment, paths, settings, trusted, .. } = startup;
    if args.resources.no_mcp || !settings.mcp.enabled {
        return Ok(Entries::default());
    }
    let mut files = Vec::new();
    for name in &args.resources.mcp_configs {
        let path = paths.resolve(name);
        let text = read_text(&path).map_err(|error| Failure::config(format!("--mcp-config {name}: {error}")))?;
        files.push(ConfigFile { path, origin: Origin::Flag, trusted: true, text });
    }
    if let Some(servers) = &startup.client_servers {
        let (path, text) = (PathBuf::from("the editor"), servers.to_string());
        files.push(ConfigFile { path, origin: Origin::Client, trusted: true, text });
    }
    let project = match settings.mcp.enable_project_config {
        true => {
            project_files(&paths.cwd, &paths.project, links::project_of(&paths.cwd, std::env::home_dir().as_deref()))
        }
        false => Vec::new(),
    };
    let project = project.into_iter().map(|path| (path, Origin::Project, *trusted));
    let own = [(paths.agent.join("mcp.json"), Origin::User, true)];
    let mut warnings = Vec::new();
    for (path, origin, trusted) in project.chain(own) {
        match read_text(&path) {
            Ok(text) => files.push(ConfigFile { path, origin, trusted, text }),
            Err(error) if is_missing(&error) => {}
            Err(error) => warnings.push(format!("{}: {error}; its servers are ignored", path.display())),
        }
    }
    let filter = Filter { pass: &settings.env.pass_through, keys };
    let timeout = environment.get("SINEW_MCP_TIMEOUT_MS").and_then(|text| match text.parse() {
        Ok(number) => Some(Duration::from_millis(number)),
        Err(_) => {
            warnings.push(format!("SINEW_MCP_TIMEOUT_MS: {text:?} is not a number of milliseconds"));
            None
        }
    });
    let variables = Variables {
        get: &|name| environment.get(name).map(str::to_string),
        hides: &|name| filter.hides(name),
        is_key: &|name| {
            keys.iter().any(|key| key == name) && !settings.env.pass_through.iter().any(|passed| passed == name)
        },
        timeout,
    };
    let mut entries = read(&files, &variables);
    warnings.append(&mut entries.warnings);
    Ok(Entries { warnings, ..entries })
}

/// Answers the requests of servers: first extensions, then the user.
#[derive(Default)]
pub struct ServerPrompter {
    pub(crate) ask: Option<Arc<dyn Ask>>,
    pub(crate) hooks: Option<Arc<ServerHooks>>,
}

/// Creates the manager of the servers. Reads the files and the cache, and starts no server.
///
/// # Errors
/// Returns the errors of [`entries`].
pub fn manager(
    startup: &Startup,
    keys: &[String],
    person: ServerPrompter,
    clock: Arc<dyn Clock>,
    reserved: Vec<String>,
    warnings: &mut Vec<String>,
) -> Result<Arc<Manager>, Failure> {
    let mut entries = entries(startup, keys)?;
    warnings.append(&mut entries.warnings);
    Ok(Manager::new(parts_of(entries, startup, keys, person, clock, reserved)))
}

/// Returns the parts of a manager for these servers.
fn parts_of(
    entries: Entries,
    startup: &Startup,
    keys: &[String],
    person: ServerPrompter,
    clock: Arc<dyn Clock>,
    reserved: Vec<String>,
) -> ManagerParts {
    let cwd = startup.paths.cwd.clone();
    let cache = match entries.list.is_empty() {
        true => Cache::in_memory(),
        false => Cache::read(startup.paths.agent.join("mcp-cache.json"), clock.now()),
    };
    let host = move |server: &str| {
        Arc::new(PersonHost::new(server, cwd.clone(), person.ask.clone()).with_hooks(person.hooks.clone())) as _
    };
    let connector = connector(startup, keys, Arc::clone(&clock), None);
    ManagerParts { entries, cache, connector, host: Box::new(host), clock, reserved }
}

/// Returns an entry for a URL that no file contains.
pub(super) fn at_address(name: &str, url: &str) -> Entries {
    let text = serde_json::json!({"mcpServers": {name: {"url": url}}}).to_string();
    let file = ConfigFile { path: PathBuf::from("--url"), origin: Origin::Client, trusted: true, text };
    let none = |_: &str| None;
    read(&[file], &Variables { get: &none, hides: &|_| false, is_key: &|_| false, timeout: None })
}

fn connector(
    startup: &Startup,
    keys: &[String],
    clock: Arc<dyn Clock>,
    observer: Option<Observer>,
) -> Arc<dyn Connector> {
    let Startup { environment, paths, settings, .. } = startup;
    let http = HttpConfig { observer, ..models::http(environment, settings) };
    let now = Arc::new(move || clock.now());
    Arc::new(RealConnector {
        logins: Logins::new(paths.agent.join("mcp-auth.json"), http.clone(), now),
        keeper: std::env::current_exe().unwrap_or_else(|_| "sinew".into()),
        environment: Filter { pass: &settings.env.pass_through, keys }.apply(environment.variables()),
        cwd: paths.cwd.clone(),
        http,
    })
}

/// Shortens a path for display: `~` replaces the home directory.
pub fn short(path: &Path) -> String {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_path_buf)) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// Returns the variables that contain keys of providers.
pub fn keys(startup: &Startup) -> Result<Vec<String>, Failure> {
    Ok(ModelSelector::read(startup, &secrets::none(), "")?.key_names())
}

/// Returns the entry in force for a name.
pub fn find<'a>(entries: &'a Entries, command: &str, name: &str) -> Result<&'a Entry, Failure> {
    let mut counting = entries.list.iter().filter(|entry| !matches!(entry.standing, EntryStatus::Shadowed(_)));
    counting.find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = entries.list.iter().map(|entry| entry.name.as_str()).collect();
        let known = match names.is_empty() {
            true => "no servers are configured; add one with sinew mcp add NAME …".to_string(),
            false => format!("known: {}", names.join(", ")),
        };
        Failure::usage(format!("sinew mcp {command}: no server named {name}; {known}"))
    })
}

/// Returns the servers if the named one can be used. With `traced`, all traffic is shown.
pub fn ready(
    startup: &Startup,
    warnings: &[String],
    command: &str,
    name: &str,
    traced: bool,
) -> Result<Arc<Manager>, Failure> {
    let mut told = warnings.to_vec();
    let keys = keys(startup)?;
    let clock = Arc::new(SystemClock);
    let mut entries = match &startup.args.mcp.url {
        Some(url) => at_address(name, url),
        None => entries(startup, &keys)?,
    };
    told.append(&mut entries.warnings);
    let mut parts = parts_of(entries, startup, &keys, ServerPrompter::default(), Arc::clone(&clock) as _, Vec::new());
    if traced {
        parts.connector = connector(startup, &keys, clock, Some(Arc::new(trace::show_request)));
        let host = parts.host;
        parts.host = Box::new(move |server| Arc::new(trace::TracingHost(host(server))));
    }
    let manager = Manager::new(parts);
    warn(&told);
    let entries = manager.entries();
    let entry = find(&entries, command, name)?;
    match &entry.standing {
        // If this one is shadowed, another entry with the same name is in force.
        EntryStatus::Ready(_) | EntryStatus::Shadowed(_) => {}
        EntryStatus::Disabled => {
            return Err(Failure::failed(format!("Server \"{name}\" is disabled. Run sinew mcp enable {name} first.")));
        }
        EntryStatus::Invalid(reason) => return Err(Failure::config(format!("{name}: {reason}"))),
        EntryStatus::Untrusted => {
            return Err(Failure::failed(format!(
                "Server \"{name}\" is from a project that is not trusted: read {} and use --trust",
                entry.file.display()
            )));
        }
    }
    Ok(manager)
}
