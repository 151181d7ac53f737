//! Compares the lexers with the TextMate grammars: `agreement [--worst N] LANG FILE…`.
//!
//! Prints the share of non-blank bytes that get the same category, and the tokens that differ most.
#![allow(clippy::print_stdout, reason = "a measuring tool prints")]

use std::collections::HashMap;
use std::time::Instant;

use marks::{decode, palette};
use sinew_highlight::{Category, highlight, highlight_by_grammar};

#[path = "../tests/all/marks/mod.rs"]
mod marks;

fn main() {
    let mut args = std::env::args().skip(1).peekable();
    let worst =
        if args.next_if_eq("--worst").is_some() { args.next().and_then(|count| count.parse().ok()) } else { None };
    let Some(lang) = args.next() else { return };
    let (mut same, mut all, mut bytes, mut time) = (0u64, 0u64, 0usize, 0f64);
    let mut differ: HashMap<(Category, Category, String), u64> = HashMap::new();
    for path in args {
        let Ok(code) = std::fs::read_to_string(&path) else { continue };
        // A line that the grammar path leaves plain for its length says nothing about the lexer.
        let code: String = code.split_inclusive('\n').filter(|line| line.len() < 1000).collect();
        let start = Instant::now();
        let ours = highlight(&code, &lang, &palette());
        time += start.elapsed().as_secs_f64();
        bytes += code.len();
        let (text, ours) = decode(&ours);
        let (_, theirs) = decode(&highlight_by_grammar(&code, &lang, &palette()));
        assert!(text == code, "{path}: the lexer changed the text");
        let mut at = 0;
        while at < code.len() {
            let start = at;
            let (a, b) = (ours[at], theirs[at]);
            while at < code.len() && ours[at] == a && theirs[at] == b && !code.as_bytes()[at].is_ascii_whitespace() {
                at += 1;
            }
            let size = (at - start) as u64;
            all += size;
            if a == b {
                same += size;
            } else if size > 0 {
                let token = String::from_utf8_lossy(&code.as_bytes()[start..at]).chars().take(40).collect();
                *differ.entry((a, b, token)).or_default() += size;
            }
            if at == start {
                at += 1;
            }
        }
    }
    println!(
        "{lang}: {:.2} % of {all} bytes agree, {:.0} MB/s",
        100.0 * same as f64 / all.max(1) as f64,
        bytes as f64 / time / 1e6
    );
    let Some(worst) = worst else { return };
    let mut pairs: HashMap<(Category, Category), u64> = HashMap::new();
    for ((a, b, _), size) in &differ {
        *pairs.entry((*a, *b)).or_default() += size;
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|&(_, size)| std::cmp::Reverse(size));
    for ((a, b), size) in pairs.into_iter().take(worst) {
        let mut tokens: Vec<_> = differ.iter().filter(|(key, _)| (key.0, key.1) == (a, b)).collect();
        tokens.sort_by_key(|&(_, size)| std::cmp::Reverse(size));
        let tokens: Vec<_> = tokens.iter().take(14).map(|((_, _, token), size)| format!("{token} {size}")).collect();
        println!(
            "  {:.2} % we {} they {}: {}",
            100.0 * size as f64 / all as f64,
            a.name(),
            b.name(),
            tokens.join(" | ")
        );
    }
}
