//! Invalid content with valid checksums: what a bug, or another program, could have written.

use proptest::prelude::*;

use super::{FileKind, FileRecord, Segment, SegmentFiles, SegmentId};
use crate::lookup::Reach;
use crate::page::reseal;
use crate::plan::Plan;
use crate::postings::PostingsBuilder;

const ID: SegmentId = SegmentId { index: *b"0123456789abcdef", number: 3 };
const PATTERNS: &[&str] = &["abc", "one.*two", "(?i)main", "xyz[0-9]+q", "[a&&b]", "filler of", "zz|ab", "a"];

/// Boundary values of a field.
const BORDERS: &[u64] =
    &[0, 1, 1 << 16, 1 << 18, (1 << 24) - 1, (1 << 31) - 1, u32::MAX as u64, (1 << 40) - 1, 1 << 40, u64::MAX];

/// Creates a segment with every form of list, and several pages in each section.
fn sample() -> Vec<u8> {
    let mut builder = PostingsBuilder::new();
    let mut files = SegmentFiles::default();
    for number in 0..300_u32 {
        let kind = FileKind::ALL[number as usize % 11 % 3];
        match kind {
            FileKind::Text => builder.add(format!("abc one two {number} main xyz{number}q\n").repeat(9).as_bytes()),
            _ => builder.add_without_grams(),
        };
        let path = format!("src/{}/file{number}", number / 3);
        files.push(FileRecord { path: path.as_bytes(), kind, stamp: number.into() }).unwrap();
    }
    builder.build().write_segment(&files, ID).unwrap()
}

/// Bytes to insert: small numbers, boundary values, and arbitrary ones.
fn planted() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(&[0_u8, 1, 2, 3, 4, 5, 0x7F, 0x80, 0xFF][..]).prop_map(|byte| vec![byte]),
        prop::sample::select(BORDERS).prop_map(|number| number.to_le_bytes().to_vec()),
        prop::sample::select(BORDERS).prop_map(|number| (number as u32).to_le_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..12),
    ]
}

/// Generates the position of the insertion: anywhere, or in the head, which contains all offsets.
fn place() -> impl Strategy<Value = usize> {
    prop_oneof![3 => any::<usize>(), 1 => 0..super::HEAD]
}

proptest! {
    // PROPTEST_CASES sets the number of cases.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invalid_content_yields_an_error_or_files_of_the_segment(
        plants in prop::collection::vec((place(), planted()), 1..6),
        kept in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        thread_local!(static SAMPLE: Vec<u8> = sample());
        let bytes = SAMPLE.with(|sample| reseal(sample, ID.number, |content| {
            for (at, bytes) in &plants {
                let at = at % content.len();
                let end = content.len().min(at + bytes.len());
                content[at..end].copy_from_slice(&bytes[..end - at]);
            }
            if let Some(kept) = kept {
                content.truncate(kept.index(content.len()));
            }
        }));
        let Ok(segment) = Segment::open(bytes, ID) else { return Ok(()) };
        for pattern in PATTERNS {
            let plan = Plan::of(&regex_syntax::parse(pattern).unwrap());
            for reach in [Reach::Line, Reach::File] {
                if let Ok(found) = segment.candidates(&plan, reach) {
                    // The file must exist in the segment.
                    prop_assert!(found.files.iter().all(|file| file < segment.files().len()), "{}", pattern);
                }
            }
        }
    }
}
