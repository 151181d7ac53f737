//! Serves the core's tools over standard input and output: `serve [FOLDER]…`. All tools are read-only, and only access
//! these directories.
//!
//! An example of [`sinew_mcp::server`]. To try it: `claude mcp add sinew -- target/debug/examples/serve .`

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
    // A thread reads standard input, because a blocked read cannot be interrupted.
    runtime.shutdown_background();
    Ok(())
}
