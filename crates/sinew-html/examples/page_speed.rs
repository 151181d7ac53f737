//! Converts an HTML file to Markdown repeatedly and prints the shortest time: `page_speed FILE [TIMES]`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, times @ ..] = args.as_slice() else { return println!("page_speed FILE [TIMES]") };
    let Ok(text) = std::fs::read_to_string(file) else { return println!("cannot read {file}") };
    let times = times.first().and_then(|times| times.parse().ok()).unwrap_or(10);
    let units: Vec<u16> = text.encode_utf16().collect();
    let (options, cancel) = (sinew_html::Options::default(), sinew_base::CancelToken::never());
    let run = || {
        let start = Instant::now();
        let made = sinew_html::utf16_to_markdown(&units, &options, &cancel);
        (start.elapsed(), made.map_or(0, |made| made.len()))
    };
    if let Some((time, length)) = (0..times).map(|_| run()).min() {
        println!("{} bytes to {length} in {time:?}", text.len());
    }
}
