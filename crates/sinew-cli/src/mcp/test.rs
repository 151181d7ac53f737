//! Implements `sinew mcp test NAME` and `sinew mcp reload`: they start servers and cache their lists for later starts.

use std::sync::Arc;
use std::time::Instant;

use sinew_agent::mcp::config::{EntryStatus, Transport};
use sinew_control::failure::Failure;
use sinew_control::mcp::servers::{self, find, keys, ready};
use sinew_control::output::{print, tell, warn};
use sinew_control::startup::Startup;
use sinew_control::sys::signals;
use sinew_session::clock::SystemClock;

/// The maximum number of tools that are listed by name.
const NAMED: usize = 50;

pub(super) fn run(startup: &Startup, warnings: &[String], name: &str) -> Result<u8, Failure> {
    let manager = ready(startup, warnings, "test", name, true)?;
    let entries = manager.entries();
    if let EntryStatus::Ready(config) = &find(&entries, "test", name)?.standing {
        // The first start of a server may download packages for a while.
        tell(&match &config.transport {
            Transport::Stdio { command, .. } => format!("Starting {command} …"),
            Transport::Http { url, .. } => format!("Connecting to {url} …"),
        });
    }
    let runtime = sinew_control::startup::runtime(2)?;
    runtime.block_on(async {
        let begun = Instant::now();
        let connecting = manager.connect(name);
        let connection = tokio::select! {
            biased;
            connection = connecting => connection,
            code = signals() => return Ok(code),
        };
        let connection =
            connection.map_err(|reason| Failure::failed(format!("Failed to connect to \"{name}\": {reason}")))?;
        let state = manager.state(name);
        let facts = connection.facts();
        let count = state.and_then(|state| state.tools).unwrap_or_default();
        let mut out = format!("connected in {} ms: protocol {}\n", begun.elapsed().as_millis(), facts.version);
        let begun = Instant::now();
        match connection.list_tools().await {
            Ok(listing) => {
                out.push_str(&format!("listed in {} ms: {count} tools\n", begun.elapsed().as_millis()));
                let rest = listing.items.len().saturating_sub(NAMED);
                for tool in listing.items.iter().take(NAMED) {
                    out.push_str(&format!("  {}\n", tool.name));
                }
                if rest > 0 {
                    out.push_str(&format!("  and {rest} more\n"));
                }
                listing.notes.iter().for_each(|note| tell(&format!("Note: {note}")));
            }
            Err(error) => tell(&format!("Warning: {error}")),
        }
        if let Some(words) = connection.last_words() {
            tell(&format!("Last line on its stderr: {words}"));
        }
        // The runtime drops tasks that have not begun, so wait for the cache.
        manager.written().await;
        print(&out)
    })
}

/// Starts the named servers, or all, at the same time, and caches their lists.
pub(super) fn reload(startup: &Startup, warnings: &[String], names: &[&str]) -> Result<u8, Failure> {
    let mut told = warnings.to_vec();
    let keys = keys(startup)?;
    let manager = servers::manager(
        startup,
        &keys,
        servers::ServerPrompter::default(),
        Arc::new(SystemClock),
        Vec::new(),
        &mut told,
    )?;
    warn(&told);
    let entries = manager.entries();
    for name in names {
        find(&entries, "reload", name)?;
    }
    let names: Vec<String> = match names {
        [] => manager.names(),
        names => names.iter().map(ToString::to_string).collect(),
    };
    let runtime = sinew_control::startup::runtime(2)?;
    runtime.block_on(async {
        let manager = &manager;
        let starts = names.iter().map(|name| async move { (name, manager.connect(name).await.map(drop)) });
        let started = tokio::select! {
            biased;
            started = futures_util::future::join_all(starts) => started,
            code = signals() => return Ok(code),
        };
        let mut out = String::new();
        let mut code = 0;
        for (name, outcome) in started {
            match outcome {
                Ok(()) => {
                    let count = manager.state(name).and_then(|state| state.tools).unwrap_or_default();
                    out.push_str(&format!("{name:20} {count} tools\n"));
                }
                Err(reason) => {
                    tell(&format!("Warning: {name}: {reason}"));
                    code = 1;
                }
            }
        }
        manager.written().await;
        print(&out)?;
        Ok(code)
    })
}
