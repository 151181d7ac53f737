//! Ranks the lines of a file: `rank_speed FILE QUERY [typos]`. Prints the best ten and the time of one thread.
#![allow(clippy::print_stdout, reason = "an example prints its results")]
use std::collections::BinaryHeap;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, query, typos @ ..] = args.as_slice() else { return println!("rank_speed FILE QUERY [typos]") };
    let Ok(text) = std::fs::read_to_string(file) else { return println!("cannot read {file}") };
    let paths: Vec<&str> = text.lines().collect();
    let query = sinew_fuzzy::Query::new(query);
    let mut matcher = sinew_fuzzy::Matcher::new(&query);
    if !typos.is_empty() {
        matcher = matcher.with_typos();
    }
    let start = Instant::now();
    let mut count = 0;
    // The best hundred, with the worst of them on top of the heap.
    let mut best: BinaryHeap<(i32, usize, &str)> = BinaryHeap::new();
    for path in &paths {
        let floor = if best.len() < 100 { i32::MIN } else { best.peek().map_or(i32::MIN, |worst| -worst.0) };
        let Some(score) = matcher.score_over(path.as_bytes(), floor) else { continue };
        count += 1;
        if score >= floor {
            best.push((-score, path.len(), path));
        }
        if best.len() > 100 {
            best.pop();
        }
    }
    println!("{count} of {} paths in {:?}", paths.len(), start.elapsed());
    let found = best.into_sorted_vec();
    for (score, _, path) in found.iter().take(10) {
        println!("{:5}  {path}", -score);
    }
}
