//! Lends the core's tools over standard streams: `serve [FOLDER]…`. Every tool only reads, and only below the folders.
//!
//! It shows how [`sinew_mcp::server`] is used; `claude mcp add sinew -- target/debug/examples/serve .` tries it.

mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use sinew_mcp::server::{ServerOptions, serve};
use sinew_pool::Pool;
use sinew_walk::ScanCache;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut roots: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if roots.is_empty() {
        roots.push(std::env::current_dir()?);
    }
    let roots = roots.iter().map(std::fs::canonicalize).collect::<Result<Vec<PathBuf>, _>>()?;
    let folder = Arc::new(tools::Folder { roots, cache: ScanCache::default(), pool: Pool::for_machine("serve") });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = serve(tools::all(&folder), ServerOptions::default(), tokio::io::stdin(), tokio::io::stdout());
    runtime.block_on(served)?;
    // Standard input is read in a thread that no one can wake.
    runtime.shutdown_background();
    Ok(())
}
