//! Tests of valid and invalid messages.

use proptest::prelude::*;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use sinew_jsonrpc::message::{encode_error, encode_notification, encode_request, encode_result, parse};
use sinew_jsonrpc::{Id, Message, RpcError};

fn show(message: Message) -> String {
    let raw = |raw: Option<Box<RawValue>>| raw.map_or_else(String::new, |raw| raw.get().to_string());
    match message {
        Message::Request { id, method, params } => format!("request {id} {method} {}", raw(params)),
        Message::Notification { method, params } => format!("notification {method} {}", raw(params)),
        Message::Response { id, outcome: Ok(result) } => format!("result {id:?} {result}"),
        Message::Response { id, outcome: Err(error) } => {
            format!("error {id:?} {error} {}", raw(error.data.clone()))
        }
    }
}

#[track_caller]
fn check(bytes: impl AsRef<[u8]>, expect: &[&str]) {
    let found: Vec<String> = parse(bytes.as_ref(), 128).unwrap().into_iter().map(show).collect();
    assert_eq!(found, expect);
}

#[track_caller]
fn check_bad(bytes: impl AsRef<[u8]>, expect: &str) {
    let reason = parse(bytes.as_ref(), 128).unwrap_err();
    assert!(reason.contains(expect), "{reason:?} does not contain {expect:?}");
}

#[test]
fn classifies_messages_by_their_members() {
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b" : 1}}"#, &[r#"request 1 a {"b" : 1}"#]);
    check(r#"{"id":"x","method":"a"}"#, &["request x a "]);
    check(r#"{"method":"a","params":null,"future":[1]}"#, &["notification a "]);
    check(r#"{"id":1,"result":null}"#, &["result Some(Number(1)) null"]);
    check(r#"{"id":5.0,"result":1}"#, &["result Some(Number(5)) 1"]);
    check(r#"{"id":1,"error":{"code":-32000,"message":"no","data":[1]}}"#, &["error Some(Number(1)) -32000: no [1]"]);
    check(r#"{"id":null,"error":{"code":-32700}}"#, &["error None -32700:  "]);
    check(r#"[{"method":"a"},{"id":2,"result":{}}]"#, &["notification a ", "result Some(Number(2)) {}"]);
}

#[test]
fn reports_why_a_message_is_invalid() {
    check_bad("hello", "expected value");
    check_bad("{}", "neither method");
    check_bad("[]", "empty batch");
    check_bad("[1]", "invalid type");
    check_bad("{} {}", "trailing characters");
    check_bad(r#"{"id":1,"method":"a"}{"id":2,"method":"b"}"#, "trailing characters");
    check_bad(r#"{"id":1,"result":1,"error":{"code":1}}"#, "more than one");
    check_bad(r#"{"id":null,"method":"a"}"#, "id is null");
    check_bad(r#"{"id":{},"method":"a"}"#, "neither string nor whole number");
    check_bad(r#"{"id":1.5,"result":1}"#, "neither string nor whole number");
    check_bad(r#"{"id":1,"id":2,"result":1}"#, "duplicate field");
    check_bad(b"{\"method\":\"\xFF\"}", "unicode");
    check_bad(b"{\"id\":1,\"result\":\"\xFF\"}", "unicode");
}

#[test]
fn rejects_nesting_beyond_the_limit() {
    let nested =
        |levels: usize| format!(r#"{{"method":"[[[[","params":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
    assert!(parse(nested(128).as_bytes(), 128).is_ok());
    check_bad(nested(129), "nested more than 128");
    check_bad("[".repeat(1_000_000), "nested more than 128");
}

#[test]
fn encodes_only_the_members_of_a_message() {
    let params = to_raw_value(&json!({"a": [1]})).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert_eq!(
        text(encode_request(&Id::Number(1), "m", Some(&params))),
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}"#
    );
    assert_eq!(text(encode_notification("m", None::<&()>)), r#"{"jsonrpc":"2.0","method":"m"}"#);
    assert_eq!(text(encode_result(&Id::Text("x".into()), &json!({}))), r#"{"jsonrpc":"2.0","id":"x","result":{}}"#);
    assert_eq!(
        text(encode_error(None, &RpcError::new(-32700, "no"))),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#
    );
}

proptest! {
    #[test]
    fn parses_any_bytes_without_panicking(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes, 128);
    }

    #[test]
    fn encoded_messages_round_trip(id in prop_oneof![
        any::<i64>().prop_map(Id::Number),
        any::<String>().prop_map(|text| Id::Text(text.into())),
    ], method in any::<String>(), text in any::<String>()) {
        let params = json!({ "text": text });
        let found = parse(&encode_request(&id, &method, Some(&params)), 128).unwrap().remove(0);
        let Message::Request { id: read, method: name, params: Some(raw) } = found else { panic!("no request") };
        prop_assert_eq!((read, name), (id, method));
        prop_assert_eq!(serde_json::from_str::<Value>(raw.get()).unwrap(), params);
    }
}

#[test]
fn accepts_lone_surrogates() {
    check(
        r#"{"id":1,"result":{"a":"\ud83d b","\ude00":"\ud83d\ude00"}}"#,
        &[r#"result Some(Number(1)) {"a":"\ufffd b","\ufffd":"\ud83d\ude00"}"#],
    );
    check(r#"[{"method":"a\ud83d","params":["\ude00"]}]"#, &["notification a\u{FFFD} [\"\\ufffd\"]"]);
    check(
        r#"{"id":"x\ud83d","error":{"code":1,"message":"no \ud83d"}}"#,
        &["error Some(Text(\"x\u{FFFD}\")) 1: no \u{FFFD} "],
    );
}
