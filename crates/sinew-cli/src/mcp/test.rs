//! `sinew mcp test NAME`: starts a server, says what it offers, and remembers it for later starts.

use std::sync::Arc;
use std::time::Instant;

use sinew_agent::mcp::config::Standing;
use sinew_session::clock::SystemClock;

use super::{find, keys, servers};
use crate::failure::Failure;
use crate::output::{print, tell, warn};
use crate::signals::signals;
use crate::startup::Startup;

/// Tools that are named one by one.
const NAMED: usize = 50;

pub(super) fn run(startup: &Startup, warnings: &[String], name: &str) -> Result<u8, Failure> {
    let mut told = warnings.to_vec();
    let keys = keys(startup)?;
    let clock = Arc::new(SystemClock);
    let manager = servers::manager(startup, &keys, None, clock, Vec::new(), &mut told)?;
    warn(&told);
    let entry = find(manager.entries(), "test", name)?;
    match &entry.standing {
        Standing::Ready(_) => {}
        Standing::Disabled => {
            return Err(Failure::failed(format!("Server \"{name}\" is disabled. Run sinew mcp enable {name} first.")));
        }
        Standing::Invalid(reason) => return Err(Failure::config(format!("{name}: {reason}"))),
        Standing::Untrusted => {
            return Err(Failure::failed(format!(
                "Server \"{name}\" comes with a project that is not trusted: read {} and use --trust",
                entry.file.display()
            )));
        }
        // Another entry of the name counts.
        Standing::Shadowed(_) => {}
    }
    let runtime = crate::startup::runtime(2)?;
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
        let took = begun.elapsed().as_millis();
        let mut out = format!("connected in {took} ms: protocol {}, {count} tools\n", facts.version);
        match connection.list_tools().await {
            Ok(listing) => {
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
        print(&out)
    })
    // What it offers is written to the cache while the runtime ends.
}
