use proptest::prelude::*;
use serde_json::json;

use super::*;

thread_local! {
    /// The number of times that arguments were parsed in this thread.
    pub(crate) static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    /// The number of bytes parsed by the tolerant parser.
    pub(crate) static BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[track_caller]
fn check(text: &str, expect: Value) {
    assert_eq!(parse(text), expect, "{text}");
}

#[test]
fn closes_open_values() {
    check(r#"{"a":[1,{"b":"c"#, json!({"a": [1, {"b": "c"}]}));
    check(r#"{"path":"src/"#, json!({"path": "src/"}));
    check(r#"{"a":1,"#, json!({"a": 1}));
    check(r#"{"a":1,"b"#, json!({"a": 1}));
    check(r#"{"a":1,"b":"#, json!({"a": 1}));
    check(r#"{"a":true"#, json!({"a": true}));
    check(r#"{"a":tru"#, json!({}));
    check(r#"{"a":"x\"#, json!({"a": "x"}));
    check(r#"{"a":"x\u00"#, json!({"a": "x"}));
    check(r#"{"a":"x\ud83d\ude"#, json!({"a": "x"}));
    check(r#"{"a":"x\ud83d\ude00"#, json!({"a": "x😀"}));
}

#[test]
fn drops_a_number_that_may_continue() {
    check(r#"{"a":12"#, json!({}));
    check(r#"{"a":[12,3"#, json!({"a": [12]}));
    check(r#"{"a":12 "#, json!({"a": 12}));
}

#[test]
fn never_returns_a_part_of_a_number() {
    let whole = r#"{"a":[-12.5e+7,0.25,-0,1E9],"b":-1}"#;
    let full: Value = serde_json::from_str(whole).unwrap();
    for end in 0..whole.len() {
        let part = parse(&whole[..end]);
        assert!(begins(&part, &full), "{} gave {part}", &whole[..end]);
    }
    check(&whole[..17], json!({"a": [-12.5e7]}));
}

#[test]
fn deep_nesting_neither_overflows_nor_fails() {
    for depth in [100, 127, 128, 10_000, 200_000] {
        for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
            let start = format!("{{\"a\":1,\"b\":{}", open.repeat(depth));
            let cut = parse(&start);
            assert!(cut == json!({}) || cut["a"] == json!(1), "{depth} {open}");
            let whole = format!("{start}1{}}}", close.repeat(depth));
            assert!(parse(&whole).is_object());
            // Beyond the supported depth: rejected with a reason for the model.
            assert_eq!(parse_strict(&whole).is_ok(), depth < 127, "{depth} {open}");
        }
    }
}

#[test]
fn returns_an_empty_object_for_other_values() {
    for text in ["", "  ", "nonsense", "[1]", "\"a\"", "}{", "]", "{]", "{\"a\":\"\\é"] {
        let value = parse(text);
        assert!(value.is_object(), "{text}");
    }
    check("{\"a\":\"b\nc\"}", json!({"a": "b\nc"}));
    check("{\"a\":1}{\"b\":2}", json!({"a": 1}));
}

#[test]
fn strict_parsing_accepts_only_objects() {
    assert_eq!(parse_strict(" "), Ok(json!({})));
    assert_eq!(parse_strict("null"), Ok(json!({})));
    assert_eq!(parse_strict("[1]"), Err("expected an object".into()));
    assert!(parse_strict("{\"a\":").is_err());
    assert!(parse_strict("{}{}").is_err());
}

#[test]
fn accepts_arguments_that_were_sent_twice() {
    for (text, expect) in [
        ("", Some(json!({}))),
        ("{}{}", Some(json!({}))),
        ("{}{\"a\":1}", Some(json!({"a": 1}))),
        ("{\"a\":1} {\"a\": 1}", Some(json!({"a": 1}))),
        ("{\"a\":1}{}", Some(json!({"a": 1}))),
        ("{\"a\":1}{\"a\":2}", None),
        ("{\"a\":1}{\"a\"", None),
        ("{\"a\":{\"a\":1}", None),
        ("{\"a\":1}[]", None),
        ("{\"a\":1}]", None),
    ] {
        assert_eq!(parse_sent(text).ok(), expect, "{text}");
        let filled = parse_strict(text).is_ok_and(|value| value != json!({}));
        assert_eq!(is_filled(text), filled, "{text}");
    }
}

/// Returns true if `part` is a prefix of `whole` in meaning.
fn begins(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(p, w)| begins(p, w))
        }
        (Value::Object(part), Value::Object(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|((pk, p), (wk, w))| pk == wk && begins(p, w))
        }
        _ => part == whole,
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[\"\\\\\n\t\u{1F600}é/]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"\\\\😀]{0,4}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_prefix_parses_to_a_prefix(items in prop::collection::btree_map("[a-z]{1,3}", any_json(), 0..4), pretty: bool) {
        let whole = Value::Object(items.into_iter().collect());
        let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
        // The same with all characters beyond ASCII escaped.
        let ascii: String = text.chars().map(|c| if c.is_ascii() { c.to_string() } else {
            c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }).collect();
        for text in [text, ascii] {
            for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
                let part = parse(&text[..end]);
                prop_assert!(begins(&part, &whole), "{} gave {part}", &text[..end]);
            }
            prop_assert_eq!(parse(&text), whole.clone());
        }
    }

    #[test]
    fn any_text_parses_to_an_object(text in "[\\PC{}\\[\\]\",:\\\\u0-9]{0,40}") {
        prop_assert!(parse(&text).is_object());
    }
}
