//! Sums over samples, as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{Sample, flame};

/// A report of the calls in a span of time.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkProfile {
    /// One line per path: the path, a blank and its time in microseconds, sorted by path. Input for flame-graph tools.
    pub folded: String,
    /// A Markdown table, with the longest total time first.
    pub summary: String,
    /// A flame graph; `None` if there is nothing to draw.
    pub svg: Option<String>,
    /// The total time of all calls, in milliseconds; concurrent calls count separately.
    pub total_ms: f64,
    /// The number of calls.
    pub sample_count: usize,
}

/// The calls of one path.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    count: u64,
    micros: u64,
    most: u64,
}

pub(crate) fn sum_up(samples: &[Sample]) -> WorkProfile {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for sample in samples {
        let sum = sums.entry(sample.path).or_default();
        sum.count += 1;
        sum.micros += u64::from(sample.micros);
        sum.most = sum.most.max(sample.micros.into());
    }
    let mut folded = String::new();
    for (path, sum) in &sums {
        // Writing to a String never fails.
        let _ = writeln!(folded, "{path} {}", sum.micros);
    }
    let total: u64 = sums.values().map(|sum| sum.micros).sum();
    WorkProfile {
        folded,
        summary: table(&sums, total),
        svg: flame::draw(sums.iter().map(|(path, sum)| (*path, sum.micros))),
        total_ms: total as f64 / 1e3,
        sample_count: samples.len(),
    }
}

fn table(sums: &BTreeMap<&str, Sum>, total: u64) -> String {
    let mut rows: Vec<_> = sums.iter().collect();
    rows.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.micros));
    let mut text =
        String::from("| call | count | total ms | mean ms | longest ms | share |\n|---|--:|--:|--:|--:|--:|\n");
    for (path, sum) in rows {
        let ms = |micros: f64| micros / 1e3;
        let name = path.replace('|', "\\|").replace(['\n', '\r'], " ");
        let (mean, share) = (sum.micros as f64 / sum.count as f64, sum.micros as f64 * 100.0 / total.max(1) as f64);
        let (all, most) = (ms(sum.micros as f64), ms(sum.most as f64));
        let _ = writeln!(text, "| {name} | {} | {all:.3} | {:.3} | {most:.3} | {share:.1} % |", sum.count, ms(mean));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn samples(list: &[(&'static str, u32)]) -> Vec<Sample> {
        let start = Instant::now();
        list.iter().map(|&(path, micros)| Sample { path, start, micros }).collect()
    }

    #[test]
    fn the_table_starts_with_the_longest_time() {
        let profile = sum_up(&samples(&[("glob", 500), ("search;grep", 1_000), ("search;grep", 2_000)]));
        assert_eq!(profile.folded, "glob 500\nsearch;grep 3000\n");
        let rows: Vec<&str> = profile.summary.lines().skip(2).collect();
        assert_eq!(
            rows,
            ["| search;grep | 2 | 3.000 | 1.500 | 2.000 | 85.7 % |", "| glob | 1 | 0.500 | 0.500 | 0.500 | 14.3 % |"]
        );
    }

    #[test]
    fn no_calls_give_an_empty_table_and_no_image() {
        let profile = sum_up(&[]);
        assert_eq!((profile.folded.as_str(), profile.svg, profile.total_ms), ("", None, 0.0));
        assert_eq!(profile.summary.lines().count(), 2);
        assert_eq!(sum_up(&samples(&[("a", 0)])).svg, None);
    }
}
