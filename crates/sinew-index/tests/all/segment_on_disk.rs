//! Tests that a segment gives the same answers as the index in memory, and that damage is detected or harmless.

use std::io::ErrorKind;

use proptest::prelude::*;
use sinew_index::{FileKind, FileRecord, Plan, Postings, PostingsBuilder, Reach, Segment, SegmentFiles, SegmentId};

const ID: SegmentId = SegmentId { index: *b"0123456789abcdef", number: 3 };

fn plan(pattern: &str) -> Plan {
    Plan::of(&regex_syntax::parse(pattern).expect("a pattern of the tests"))
}

fn collected(texts: &[Vec<u8>]) -> (PostingsBuilder, SegmentFiles) {
    let mut builder = PostingsBuilder::new();
    let mut files = SegmentFiles::default();
    for (number, text) in texts.iter().enumerate() {
        let kind = if text.contains(&0) { FileKind::Binary } else { FileKind::Text };
        match kind {
            FileKind::Text => builder.add(text),
            _ => builder.add_without_grams(),
        };
        let path = format!("src/{}/file{number}", number / 3);
        let added = files.push(FileRecord { path: path.as_bytes(), kind, stamp: number as u64 * 977 });
        assert_eq!(added, Some(number as u32));
    }
    (builder, files)
}

fn index(texts: &[Vec<u8>]) -> (Postings, SegmentFiles) {
    let (builder, files) = collected(texts);
    (builder.build(), files)
}

fn written(texts: &[Vec<u8>]) -> (Postings, SegmentFiles, Vec<u8>) {
    let (postings, files) = index(texts);
    let bytes = postings.write_segment(&files, ID).expect("one record for each file");
    (postings, files, bytes)
}

const PATTERNS: &[&str] =
    &["abc", "ab", "a", "(?i)main|line", "one.*two", "xyz[0-9]+q", "[a&&b]", "filler of", "zz|ab"];

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(&["abc", "ab", "zz", "one ", "two\n", "main", "\0", "xyz1q", "\n"][..]), 0..12)
            .prop_map(|words| words.concat().into_bytes()),
        1 => (1usize..3_000).prop_map(|lines| b"filler of a line\n".repeat(lines)),
        1 => (1usize..3_000).prop_map(|words| b"filler without an end ".repeat(words)),
    ]
}

/// Runs at least this many cases; `PROPTEST_CASES` can request more.
fn at_least(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(cases), ..config }
}

proptest! {
    #![proptest_config(at_least(100))]

    #[test]
    fn a_segment_answers_like_the_index_in_memory(texts in prop::collection::vec(text(), 0..40)) {
        let (postings, files, bytes) = written(&texts);
        let segment = Segment::open(bytes, ID).unwrap();
        prop_assert_eq!(segment.files(), &files);
        let (builder, files) = collected(&texts);
        prop_assert_eq!(builder.write_segment(&files, ID).unwrap(), written(&texts).2);
        for pattern in PATTERNS {
            for reach in [Reach::Line, Reach::File] {
                let plan = plan(pattern);
                prop_assert_eq!(segment.candidates(&plan, reach).unwrap(), postings.candidates(&plan, reach), "{}", pattern);
            }
        }
    }

    #[test]
    fn rejects_arbitrary_bytes_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..9_000)) {
        prop_assert!(Segment::open(bytes, ID).is_err());
    }
}

fn sample() -> (Postings, Vec<u8>) {
    let texts: Vec<Vec<u8>> =
        (0..40).map(|at| format!("abc one two {at} main xyz{at}q\n").repeat(at * 40 + 1).into_bytes()).collect();
    let (postings, _, bytes) = written(&texts);
    (postings, bytes)
}

/// Opens damaged bytes and checks that each plan yields an error or the correct answer.
#[track_caller]
fn is_found_or_harmless(bytes: Vec<u8>, postings: &Postings, plans: &[Plan]) {
    let Ok(segment) = Segment::open(bytes, ID) else { return };
    for plan in plans {
        if let Ok(found) = segment.candidates(plan, Reach::Line) {
            assert_eq!(found, postings.candidates(plan, Reach::Line), "{plan}");
        }
    }
}

#[test]
fn every_flipped_byte_is_detected_or_harmless() {
    let (postings, bytes) = sample();
    let plans: Vec<Plan> = PATTERNS.iter().map(|pattern| plan(pattern)).collect();
    // The step has no common factor with the page size, so that all pages and offsets are covered.
    for at in (0..bytes.len()).step_by(61) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        is_found_or_harmless(flipped, &postings, &plans);
    }
}

#[test]
fn every_truncation_is_detected_or_harmless() {
    let (postings, bytes) = sample();
    let plans: Vec<Plan> = PATTERNS.iter().map(|pattern| plan(pattern)).collect();
    for end in (0..bytes.len()).step_by(127) {
        is_found_or_harmless(bytes[..end].to_vec(), &postings, &plans);
    }
}

#[test]
fn rejects_a_segment_with_another_id() {
    let (_, bytes) = sample();
    for id in [SegmentId { number: 4, ..ID }, SegmentId { index: [0; 16], ..ID }] {
        assert_eq!(Segment::open(bytes.clone(), id).map(drop).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}

#[test]
fn records_must_match_the_files() {
    let (postings, _) = index(&[b"one\n".to_vec(), b"two\n".to_vec()]);
    let (_, files) = index(&[b"one\n".to_vec()]);
    let error = postings.write_segment(&files, ID).unwrap_err();
    assert_eq!(error.to_string(), "a segment of 2 files cannot be written with 1 records");
}
