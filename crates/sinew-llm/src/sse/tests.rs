use proptest::prelude::*;

use super::*;

fn decode(chunks: &[&[u8]]) -> (Vec<SseEvent>, Option<SseEvent>) {
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk, |event| events.push(event)).unwrap();
    }
    (events, decoder.finish())
}

/// Checks the data of all events, whether passed at once, byte by byte, or split anywhere.
#[track_caller]
fn check(stream: &[u8], expect: &[&str]) {
    let (whole, rest) = decode(&[stream]);
    assert_eq!(whole.iter().map(|event| event.data.as_str()).collect::<Vec<_>>(), expect);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(decode(&bytes), (whole.clone(), rest.clone()), "byte by byte");
    for cut in 0..=stream.len() {
        let (a, b) = stream.split_at(cut);
        assert_eq!(decode(&[a, b"", b]), (whole.clone(), rest.clone()), "cut at {cut}");
    }
}

#[test]
fn lines_end_with_lf_cr_or_crlf() {
    check(b"data: a\n\ndata: b\r\rdata: c\r\n\r\n", &["a", "b", "c"]);
    check(b"data: a\r\ndata: b\n\r\n", &["a\nb"]);
}

#[test]
fn drops_only_the_first_byte_order_mark_and_one_space() {
    check(b"\xEF\xBB\xBFdata:  a\n\ndata:b\n\ndata\n\ndata:\n\n", &[" a", "b", "", ""]);
    check(b"\n\xEF\xBB\xBFdata: a\n\n", &[]);
}

#[test]
fn drops_comments_and_events_without_data() {
    check(b": ping\n\nevent: x\n\nid: 1\n\n:\ndata: a\n: more\ndata: b\n\nfoo: bar\n\n", &["a\nb"]);
}

#[test]
fn characters_may_be_split_between_chunks() {
    check("data: grüße 😀 東\n\n".as_bytes(), &["grüße 😀 東"]);
    check(b"data: \xFF\n\n", &["\u{FFFD}"]);
}

#[test]
fn parses_fields() {
    let (events, _) = decode(&[b"id: 7\nevent: e\nretry: 250\ndata: a\n\nid: 8\0\nretry: x\ndata: b\n\n"]);
    let first = SseEvent { event: Some("e".into()), data: "a".into(), id: Some("7".into()), retry: Some(250) };
    let second = SseEvent { event: None, data: "b".into(), id: Some("7".into()), retry: None };
    assert_eq!(events, [first, second]);
}

#[test]
fn reports_an_unfinished_event_at_the_end() {
    assert_eq!(decode(&[b"data: a\n\ndata: [DO"]).1.unwrap().data, "[DO");
    assert_eq!(decode(&[b"data: a\n"]).1.unwrap().data, "a");
    assert_eq!(decode(&[b"data: a\n\n: x"]).1, None);
}

#[test]
fn limits_the_size_of_an_event_over_all_its_lines() {
    let mut decoder = SseDecoder::new();
    let line = [&b"data: "[..], &vec![b'x'; 1 << 20], b"\n"].concat();
    let fed = (0..).find(|_| decoder.feed(&line, |_| {}).is_err()).unwrap();
    assert_eq!(fed, 15);
    let mut decoder = SseDecoder::new();
    let endless = vec![b'x'; 1 << 20];
    assert!((0..17).any(|_| decoder.feed(&endless, |_| {}).is_err()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn chunk_boundaries_do_not_matter(stream in "((data|event|id|:|x)(: ?[a-zé😀:]{0,5})?(\n|\r|\r\n){1,3}){0,8}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let bytes = stream.as_bytes();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decode(&chunks), decode(&[bytes]));
    }
}
