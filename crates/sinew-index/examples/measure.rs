//! Indexes the text files of a directory in memory. Prints the size of the lists, and how many files remain to be
//! searched for each pattern.
//!
//! `cargo run --release -p sinew-index --example measure -- FOLDER PATTERN…`
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use sinew_index::{FileKind, FileRecord, Plan, PostingsBuilder, Reach, Segment, SegmentFiles, SegmentId};

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let Some(folder) = arguments.next() else {
        return Err(io::Error::other("usage: measure FOLDER PATTERN…"));
    };
    let mut paths = Vec::new();
    collect(Path::new(&folder), &mut paths)?;
    paths.sort();

    let mut builder = PostingsBuilder::new();
    let mut files = SegmentFiles::default();
    let mut bytes = 0;
    let mut building = Duration::ZERO;
    for path in paths {
        let Ok(text) = fs::read(&path) else { continue };
        if text.contains(&0) {
            continue;
        }
        bytes += text.len();
        let begin = Instant::now();
        builder.add(&text);
        building += begin.elapsed();
        files.push(FileRecord { path: path.as_os_str().as_encoded_bytes(), kind: FileKind::Text, stamp: 0 });
    }
    let begin = Instant::now();
    let postings = builder.build();
    building += begin.elapsed();
    let id = SegmentId { index: [0; 16], number: 0 };
    let segment = postings.write_segment(&files, id)?;
    println!("{} files, {} documents, {:.1} MB of text", postings.files(), postings.documents(), bytes as f64 / 1e6);
    println!("built in {building:.2?}: {:.0} MB/s", bytes as f64 / 1e6 / building.as_secs_f64());
    let share = |part: usize| 100.0 * part as f64 / bytes.max(1) as f64;
    println!("lists {:.2} % of the text, segment {:.2} %", share(postings.list_bytes()), share(segment.len()));

    let segment = Segment::open(segment, id)?;
    for pattern in arguments {
        let form = regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).crlf(true).build().parse(&pattern);
        let plan = Plan::of(&form.map_err(io::Error::other)?);
        let begin = Instant::now();
        let candidates = segment.candidates(&plan, Reach::Line)?.files;
        println!("{pattern}: {} files left in {:.0?}; plan: {plan}", candidates.len(), begin.elapsed());
    }
    Ok(())
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        match entry.path() {
            path if kind.is_dir() => collect(&path, paths)?,
            path if kind.is_file() => paths.push(path),
            _ => {}
        }
    }
    Ok(())
}
