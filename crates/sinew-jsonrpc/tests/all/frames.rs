//! Tests of the decoders with streams that are split anywhere, hostile or truncated.

use proptest::prelude::*;
use sinew_jsonrpc::frame::{into_line, with_header};
use sinew_jsonrpc::{Frame, HeaderDecoder, LineDecoder};

fn text(frame: Frame<'_>) -> String {
    match frame {
        Frame::Message(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Frame::TooLarge(skipped) => format!("too large: {}", skipped.bytes),
        Frame::Broken(reason) => format!("broken: {reason}"),
    }
}

fn lines(limit: usize, pieces: &[&[u8]]) -> Vec<String> {
    let mut decoder = LineDecoder::new(limit);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.push(piece, |frame| found.push(text(frame)));
    }
    decoder.finish(|frame| found.push(text(frame)));
    found
}

fn headers(limit: usize, pieces: &[&[u8]]) -> Vec<String> {
    let mut decoder = HeaderDecoder::new(limit);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.push(piece, |frame| found.push(text(frame)));
    }
    found
}

#[track_caller]
fn check_lines(stream: &[u8], expect: &[&str]) {
    assert_eq!(lines(16, &[stream]), expect, "in one piece");
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(lines(16, &bytes), expect, "byte by byte");
}

#[track_caller]
fn check_headers(stream: &[u8], expect: &[&str]) {
    assert_eq!(headers(16, &[stream]), expect, "in one piece");
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(headers(16, &bytes), expect, "byte by byte");
}

#[test]
fn accepts_every_line_end() {
    check_lines(b"{}\n[]\r\n", &["{}", "[]"]);
    check_lines(b"{}", &["{}"]);
    check_lines(b"\n\r\n  \n{}\n", &["{}"]);
    check_lines(b"\xEF\xBB\xBF{}\n\xEF\xBB\xBF[]\n", &["{}", "[]"]);
    check_lines(b"\xFF\xFE\n{}\n", &["\u{FFFD}\u{FFFD}", "{}"]);
}

#[test]
fn skips_a_line_beyond_the_limit_and_reads_the_next() {
    check_lines(b"0123456789abcdef\n{}\n", &["0123456789abcdef", "{}"]);
    check_lines(b"0123456789abcdefg\n{}\n", &["too large: 17", "{}"]);
    check_lines(b"{}\n0123456789abcdefghi", &["{}", "too large: 19"]);
}

#[test]
fn a_gigabyte_without_a_line_end_needs_no_memory() {
    let mut decoder = LineDecoder::new(1_000_000);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..1024 {
        decoder.push(&piece, |frame| panic!("nothing ended: {}", text(frame)));
        assert!(decoder.capacity() <= 1_000_000, "{}", decoder.capacity());
    }
    let mut found = Vec::new();
    decoder.push(b"tail\n{}\n", |frame| match frame {
        Frame::TooLarge(skipped) => {
            assert_eq!((skipped.bytes, skipped.head.len(), skipped.tail.len()), ((1 << 30) + 4, 256, 256));
            assert!(skipped.tail.ends_with(b"xtail"));
        }
        other => found.push(text(other)),
    });
    assert_eq!(found, ["{}"]);
}

#[test]
fn frees_the_buffer_after_a_large_message() {
    let mut decoder = LineDecoder::new(16_000_000);
    let mut count = 0;
    for piece in [&vec![b'1'; 8_000_000][..], b"\n"] {
        decoder.push(piece, |_| count += 1);
    }
    assert_eq!(count, 1);
    assert!(decoder.capacity() <= 256 * 1024, "{}", decoder.capacity());
}

#[test]
fn reads_bodies_by_content_length() {
    check_headers(b"Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]", &["{}", "[1]"]);
    check_headers(b"content-length:2\r\nContent-Type: text/plain\r\n\r\n{}", &["{}"]);
    check_headers(b"Content-Length: 17\r\n\r\n0123456789abcdefgContent-Length: 1\r\n\r\n1", &["too large: 17", "1"]);
}

#[test]
fn an_unreadable_header_ends_the_stream() {
    let no_length = "broken: a header without a usable Content-Length";
    for header in
        ["X: 1", "Content-Length: -1", "Content-Length: 1e3", "Content-Length:", "Content-Length: 99999999999999999999"]
    {
        check_headers(format!("{header}\r\n\r\n{{}}Content-Length: 2\r\n\r\n{{}}").as_bytes(), &[no_length]);
    }
    check_headers(b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", &[no_length]);
    check_headers(&vec![b'a'; 5000], &["broken: a header of more than 4 KB"]);
    assert_eq!(headers(16, &[b"\xFF\xFF: 1\r\n\r\n"]), [no_length]);
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_matter(
        stream in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'{'), any::<u8>()], 0..200),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        limit in 1_usize..32,
    ) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        at.extend([0, stream.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(lines(limit, &pieces), lines(limit, &[&stream]));
        prop_assert_eq!(headers(limit, &pieces), headers(limit, &[&stream]));
    }

    #[test]
    fn framed_messages_round_trip(messages in proptest::collection::vec("[a-z\\[\\]{}\":, ]{1,40}", 1..8)) {
        let (mut by_line, mut by_header) = (Vec::new(), Vec::new());
        for message in &messages {
            by_line.extend(into_line(message.clone().into_bytes()));
            by_header.extend(with_header(message.as_bytes()));
        }
        let trimmed: Vec<&str> = messages.iter().map(|message| message.trim()).filter(|line| !line.is_empty()).collect();
        prop_assert_eq!(lines(1000, &[&by_line]), trimmed);
        prop_assert_eq!(headers(1000, &[&by_header]), messages);
    }
}
