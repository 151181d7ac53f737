//! Searches a directory: `cargo run -p sinew --example search -- PATTERN [DIRECTORY]`.
//!
//! Prints at most 100 matching lines as `path:line: text`, and after at most ten seconds what it has not searched is an
//! error. If no file contains the pattern, prints the files whose path resembles it.

#![allow(clippy::print_stdout, reason = "a program that prints what it finds")]

use std::time::Duration;

use sinew::Sinew;
use sinew::base::{CancelToken, Result};
use sinew::search::{FindOptions, GrepOptions, fuzzy_find, grep};

const MAX_MATCHES: u32 = 100;
const TIMEOUT: Duration = Duration::from_secs(10);

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(pattern) = arguments.next() else {
        println!("usage: search PATTERN [DIRECTORY]");
        return std::process::ExitCode::from(2);
    };
    let directory = arguments.next().unwrap_or_else(|| ".".into());
    match search(&pattern, &directory) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn search(pattern: &str, directory: &str) -> Result<()> {
    // One handle owns the threads and the caches that all calls share.
    let sinew = Sinew::new();
    let cancel = CancelToken::never().with_timeout(TIMEOUT);

    let options = GrepOptions { max_count: Some(MAX_MATCHES), ..GrepOptions::new(pattern, directory) };
    let found = grep(&options, &sinew.cache, &sinew.pool, &cancel, None)?;
    for row in found.rows() {
        println!("{}:{}: {}", row.path, row.line_number, row.line);
    }
    if found.limit_reached {
        println!("more than {MAX_MATCHES} matches: use a narrower pattern");
    }
    for warning in &found.warnings {
        println!("warning: {warning}");
    }
    if found.total_matches == 0 {
        let similar = fuzzy_find(&FindOptions::new(directory, pattern), &sinew.cache, &sinew.pool, &cancel)?;
        println!("no matches in {} files", found.files_searched);
        for entry in similar.matches.iter().take(5) {
            println!("similar path: {}", entry.path);
        }
    }
    Ok(())
}
