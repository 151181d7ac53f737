//! Measures searches of a directory, plain and through an indexed workspace, and prints how many files were opened.
//!
//! `cargo run --release -p sinew-search --example workspace -- FOLDER PATTERN…`
#![allow(clippy::print_stdout, reason = "an example that reports")]
#![cfg_attr(not(target_os = "linux"), expect(unused, reason = "only Linux has an index"))]

use std::time::{Duration, Instant};

use sinew_base::{CancelToken, Result};
use sinew_pool::Pool;

/// The number of times each search is measured; the median is printed.
const RUNS: usize = 9;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this example needs Linux: other systems have no index");
}

#[cfg(target_os = "linux")]
fn main() -> Result<()> {
    use sinew_search::{GrepOptions, WorkspaceOptions, Workspaces, grep};
    use sinew_walk::ScanCache;

    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or_else(|| sinew_base::Error::invalid("usage: workspace FOLDER PATTERN…"))?;
    let (pool, never, none) = (Pool::for_machine("example"), CancelToken::never(), ScanCache::default());
    let workspaces = Workspaces::default();
    let open = |sweep| workspaces.open(&folder, &WorkspaceOptions { sweep, ..WorkspaceOptions::default() });
    let kept = [("watched", open(false)?), ("swept", open(true)?)];
    for (mode, workspace) in &kept {
        let started = Instant::now();
        let status = workspace.ready(&pool, &never)?;
        println!("{mode}: built in {:?}, {:?}", started.elapsed(), status.index);
    }
    for pattern in arguments {
        let plain = GrepOptions::new(&pattern, &folder);
        let plain = median(|| grep(&plain, &none, &pool, &never, None).map(drop))?;
        println!("{pattern:?}: plain {plain:?}");
        for (mode, workspace) in &kept {
            let options = GrepOptions::new(&pattern, "");
            let time = median(|| workspace.grep(&options, &pool, &never, None).map(drop))?;
            let last = workspace.status().last;
            let ratio = time.as_secs_f64() / plain.as_secs_f64();
            println!("    {mode}: {time:?}, {ratio:.3} of plain, {} files opened, {}", last.opened, last.plan);
        }
    }
    Ok(())
}

fn median(mut run: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        run()?;
        times.push(started.elapsed());
    }
    times.sort();
    Ok(times[RUNS / 2])
}
