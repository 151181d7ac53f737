//! Ranks the lines of a file: `rank_speed FILE QUERY`. Prints the best ten and the time of one thread.
#![allow(clippy::print_stdout, reason = "a program for people")]
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, query] = args.as_slice() else { return println!("rank_speed FILE QUERY") };
    let Ok(text) = std::fs::read_to_string(file) else { return println!("cannot read {file}") };
    let paths: Vec<&str> = text.lines().collect();
    let query = sinew_fuzzy::Query::new(query);
    let mut matcher = sinew_fuzzy::Matcher::new(&query);
    let start = Instant::now();
    let mut found: Vec<(i32, usize, &str)> =
        paths.iter().filter_map(|path| Some((-matcher.score(path)?, path.len(), *path))).collect();
    let time = start.elapsed();
    found.sort_unstable();
    println!("{} of {} paths in {time:?}", found.len(), paths.len());
    for (score, _, path) in found.iter().take(10) {
        println!("{:5}  {path}", -score);
    }
}
