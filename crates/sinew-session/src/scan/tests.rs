use proptest::prelude::*;

use super::*;

/// Checks that the scanner and `serde_json` read the same head.
#[track_caller]
fn agrees(line: &[u8]) -> bool {
    let Some(found) = head(line) else { return false };
    let text = String::from_utf8_lossy(line);
    assert_eq!(serde_json::from_slice::<Head<'_>>(line).ok(), Some(found), "{text}");
    true
}

#[test]
fn the_scanner_reads_plain_lines() {
    for line in [
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"a \"b\"\n\u00e9 é","timestamp":1}}"#,
        r#"{ "message" : { "a" : [ 1 , -0.5e+3 , true , false , null , [ ] , { } ] } , "id" : "a" , "type" : "b" }"#,
        r#"{"type":"é","id":"","parentId":"x","other":-0}"#,
        r#"{"id":"a","type":"b","deep":[[[[{"a":[{}]}]]]]}"#,
    ] {
        assert!(agrees(line.as_bytes()), "{line}");
    }
}

#[test]
fn lines_that_are_not_json_entries_are_not_accepted() {
    let deep = format!(r#"{{"type":"a","id":"b","c":{}{}}}"#, "[".repeat(100), "]".repeat(100));
    for line in [
        "",
        "{}",
        "{",
        r#"{"type":"a"}"#,
        r#"{"type":"a","id":"b"}x"#,
        r#"{"type":"a","id":"b",}"#,
        r#"{"type":"a","id":"b","id":"c"}"#,
        r#"{"type":"a","id":"b","parentId":null,"parentId":null}"#,
        r#"{"type":"a","id":5}"#,
        r#"{"type":"a","id":"b","parentId":1}"#,
        r#"{"type":"a","id":"b","c":01}"#,
        r#"{"type":"a","id":"b","c":1.}"#,
        r#"{"type":"a","id":"b","c":-}"#,
        r#"{"type":"a","id":"b","c":1e}"#,
        r#"{"type":"a","id":"b","c":[1,]}"#,
        r#"{"type":"a","id":"b","c":[1}"#,
        r#"{"type":"a","id":"b","c":{"d"}}"#,
        r#"{"type":"a","id":"b","c":{"d":1]}"#,
        r#"{"type":"a","id":"b","c":nul}"#,
        r#"{"type":"a","id":"b","c":"\x"}"#,
        r#"{"type":"a","id":"b","c":"\u12g4"}"#,
        r#"{"type":"a","id":"b","c":"d}"#,
        "{\"type\":\"a\",\"id\":\"b\",\"c\":\"\u{1}\"}",
        "[\"a\",\"b\"]",
        &deep,
    ] {
        assert!(!agrees(line.as_bytes()), "{line}");
    }
    assert!(!agrees(b"{\"type\":\"a\",\"id\":\"\xff\"}"));
}

/// Parts of valid and invalid lines.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"\"type\":\"message\"",
        b"\"id\":\"a\"",
        b"\"parentId\":null",
        b"\"parentId\":\"b\"",
        b"\"timestamp\":\"t\"",
        b"\"x\":",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\"a\"",
        b"\"\\\"\"",
        b"\"\\u00e9\"",
        b"\\",
        b"1",
        b"-0.1e5",
        b"0",
        b"true",
        b"null",
        b" ",
        b"\t",
        b"\xc3\xa9",
        b"\xff",
        b"\"a\":1",
        b"e",
        b".",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_scanner_agrees_with_the_parser(inside in line(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        agrees(&inside);
        let mut whole = br#"{"type":"message","id":"a","parentId":null,"#.to_vec();
        whole.extend(&inside);
        whole.push(b'}');
        agrees(&whole);
        // Changes one byte of a valid line.
        let mut good = br#"{"type":"message","id":"00000001","parentId":"00000000","message":{"content":[{"text":"a \"b\"\\ \u00e9\n"}],"n":[-1.5e3,0,true,null]}}"#.to_vec();
        assert!(agrees(&good));
        let at = at.index(good.len());
        good[at] = byte;
        agrees(&good);
    }

    #[test]
    fn the_end_of_a_string_is_found_at_any_offset(text in "[a-z\"\\\\\u{80}\u{7f}!#\u{105}]{0,40}", from in 0..40_usize) {
        let line = text.as_bytes();
        let from = from.min(line.len());
        let expected = line[from..].iter().position(|byte| matches!(byte, b'"' | b'\\')).map_or(line.len(), |at| from + at);
        prop_assert_eq!(stop(line, from), expected);
    }
}
