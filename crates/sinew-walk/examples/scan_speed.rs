//! Measures scans of a directory: `scan_speed FOLDER [path|full]`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let root = args.next().unwrap_or_else(|| ".".into());
    let mut options = sinew_walk::ScanOptions::new(root);
    for arg in args {
        match arg.as_str() {
            "full" => options.detail = sinew_walk::Detail::Full,
            "all" => options.gitignore = false,
            _ => {}
        }
    }
    let pool = sinew_pool::Pool::for_machine("walk");
    let mut times = Vec::new();
    let mut count = 0;
    for _ in 0..15 {
        let start = Instant::now();
        let scan = sinew_walk::scan(&options, &pool, &sinew_base::CancelToken::never());
        times.push(start.elapsed());
        count = scan.map_or(0, |scan| scan.len());
    }
    times.sort();
    println!("{count} entries, median {:?}, best {:?}", times[times.len() / 2], times[0]);
}
