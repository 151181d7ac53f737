//! Tests of answers whose parts arrive in another order, and of answers that end without a reason.

use serde_json::{Value, json};
use sinew_llm::{ErrorKind, StopReason};
use sinew_testkit::provider::{Reply, Step};

use crate::exchange::{ask, sse};
use crate::quirks::told;

const ANTHROPIC: &str = "anthropic-messages";
const CHAT: &str = "openai-completions";
const RESPONSES: &str = "openai-responses";
const GOOGLE: &str = "google-generative-ai";

/// Returns the calls of an answer: id, name and arguments; or its error.
async fn calls(api: &str, events: &[Value]) -> Result<Vec<(String, String, Value)>, ErrorKind> {
    let message = ask(api, Reply::stream(sse(events))).await;
    if let Some(error) = message.error {
        return Err(error.kind);
    }
    assert_eq!(message.stop_reason, StopReason::ToolUse, "{api}");
    assert!(message.tool_calls().all(|call| call.invalid_arguments.is_none()), "{api}: {:?}", message.content);
    Ok(message.tool_calls().map(|call| (call.id.clone(), call.name.clone(), call.arguments.clone())).collect())
}

fn call(id: &str, name: &str, arguments: Value) -> (String, String, Value) {
    (id.into(), name.into(), arguments)
}

fn pieces(calls: &[Value]) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
}

#[tokio::test]
async fn arguments_may_arrive_before_the_id_and_the_name() {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let arguments = |at: u64, text: &str| json!({"index": at, "function": {"arguments": text}});
    let named = |at: u64, id: &str, name: &str| json!({"index": at, "id": id, "function": {"name": name}});
    let (first, second) = (json!({"a": 1}), json!({"b": 2}));
    let expect = Ok(vec![call("c1", "ls", first.clone()), call("c2", "pwd", second.clone())]);
    let one_by_one = [
        pieces(&[arguments(0, "{\"a\"")]),
        pieces(&[named(0, "c1", "ls")]),
        pieces(&[arguments(0, ":1}")]),
        pieces(&[arguments(1, "{\"b\":2}")]),
        pieces(&[named(1, "c2", "pwd")]),
        end.clone(),
    ];
    assert_eq!(calls(CHAT, &one_by_one).await, expect);
    let interleaved = [
        pieces(&[arguments(0, "{\"a\""), arguments(1, "{\"b\":")]),
        pieces(&[arguments(1, "2}"), arguments(0, ":1}")]),
        pieces(&[json!({"index": 0, "id": "c1"}), json!({"index": 1, "id": "c2"})]),
        pieces(&[named(0, "", "ls"), named(1, "", "pwd")]),
        end.clone(),
    ];
    assert_eq!(calls(CHAT, &interleaved).await, expect);
    let backwards = [
        pieces(&[arguments(0, "{\"a\":1}"), arguments(1, "{\"b\":2}")]),
        pieces(&[named(1, "c2", "pwd")]),
        pieces(&[named(0, "c1", "ls")]),
        end.clone(),
    ];
    assert_eq!(calls(CHAT, &backwards).await, expect);
    // All calls are numbered 0 and distinguished by their ids; then no numbers at all.
    for number in [json!(0), Value::Null] {
        let piece = |id: &str, name: &str, text: &str| {
            pieces(&[json!({"index": number, "id": id, "function": {"name": name, "arguments": text}})])
        };
        let events = [piece("", "", "{\"a\":"), piece("c1", "ls", "1}"), piece("c2", "pwd", "{\"b\":2}"), end.clone()];
        assert_eq!(calls(CHAT, &events).await, expect, "{number}");
    }
    // A missing name becomes an empty one.
    let unnamed = calls(CHAT, &[pieces(&[arguments(0, "{\"a\":1}")]), end]).await.unwrap();
    assert_eq!((unnamed.len(), unnamed[0].1.as_str(), &unnamed[0].2), (1, "", &first));

    let delta = |at: u64, text: &str| json!({"type": "response.function_call_arguments.delta", "output_index": at, "delta": text});
    let item = |kind: &str, at: u64, id: &str, name: &str| json!({"type": kind, "output_index": at, "item": {"type": "function_call", "call_id": id, "name": name, "arguments": ""}});
    let completed = json!({"type": "response.completed", "response": {"status": "completed"}});
    let events = [
        delta(0, "{\"a\""),
        item("response.output_item.added", 0, "", ""),
        delta(0, ":1}"),
        item("response.output_item.done", 0, "c1", "ls"),
        delta(1, "{\"b\":"),
        item("response.output_item.added", 1, "c2", "pwd"),
        delta(1, "2}"),
        item("response.output_item.done", 1, "c2", "pwd"),
        completed,
    ];
    assert_eq!(calls(RESPONSES, &events).await, expect);
}

#[tokio::test]
async fn limits_the_number_of_calls_without_a_name() {
    let many: Vec<Value> = (0..30_000).map(|at| json!({"index": at, "function": {"arguments": "{}"}})).collect();
    assert_eq!(calls(CHAT, &[pieces(&many)]).await, Err(ErrorKind::Malformed));
}

/// The events of a call with these arguments, without an end; and the events of a text after it.
fn unended(api: &str, arguments: &str) -> (Vec<Value>, Vec<Value>) {
    match api {
        ANTHROPIC => (
            vec![
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "ls", "input": {}}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": arguments}}),
            ],
            vec![json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "and"}})],
        ),
        CHAT => (
            vec![pieces(&[json!({"index": 0, "id": "c", "function": {"name": "ls", "arguments": arguments}})])],
            vec![json!({"choices": [{"index": 0, "delta": {"content": "and"}}]})],
        ),
        _ => (
            vec![
                json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "name": "ls"}}),
                json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": arguments}),
            ],
            vec![
                json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message"}}),
                json!({"type": "response.output_text.delta", "output_index": 1, "delta": "and"}),
            ],
        ),
    }
}

#[tokio::test]
async fn a_complete_call_at_the_end_of_a_stream_needs_no_reason() {
    for api in [ANTHROPIC, CHAT, RESPONSES] {
        let (whole, text) = unended(api, "{\"a\":1}");
        assert_eq!(calls(api, &whole).await, Ok(vec![call("c", "ls", json!({"a": 1}))]), "{api}");
        // A text after it may be incomplete, arguments are incomplete, and a broken connection may have lost another
        // call.
        assert_eq!(calls(api, &[whole.clone(), text].concat()).await, Err(ErrorKind::Malformed), "{api}");
        for cut in ["", "{\"a\":", "{\"a\":1"] {
            assert_eq!(calls(api, &unended(api, cut).0).await, Err(ErrorKind::Malformed), "{api} {cut:?}");
        }
        let broken = ask(api, Reply::stream(sse(&whole)).then(Step::Cut)).await;
        assert_eq!(broken.error.unwrap().kind, ErrorKind::Network, "{api}");
    }
    let part = |part: Value| json!({"candidates": [{"content": {"parts": [part]}}]});
    let google = part(json!({"functionCall": {"name": "ls", "args": {"a": 1}}}));
    let called = calls(GOOGLE, std::slice::from_ref(&google)).await.unwrap();
    assert_eq!((called[0].1.as_str(), &called[0].2), ("ls", &json!({"a": 1})));
    assert_eq!(calls(GOOGLE, &[google, part(json!({"text": "and"}))]).await, Err(ErrorKind::Malformed));
}

#[tokio::test]
async fn reports_a_paused_answer() {
    for (reason, paused) in [("pause_turn", true), ("end_turn", false)] {
        let events = [
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ];
        let message = ask(ANTHROPIC, Reply::stream(sse(&events))).await;
        assert_eq!((message.stop_reason, message.paused), (StopReason::Stop, paused));
    }
}

/// Checks a table of answers: a label, the events, and the message on one line, with `!` after invalid arguments.
async fn reads(api: &str, table: Vec<(&str, Vec<Value>, &str)>) {
    let mut wrong = Vec::new();
    for (label, events, expect) in table {
        let got = told(&ask(api, Reply::stream(sse(&events))).await);
        if got != expect {
            wrong.push(format!("{api}: {label}: expected {expect}, got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const LS: &str = "{\"a\":1}";

/// An event of an item; without `output_index` if `at` is null, and without `item_id` if `id` is empty.
fn of_item(kind: &str, at: &Value, id: &str, key: &str, value: Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}"), key: value});
    if !at.is_null() {
        event["output_index"] = at.clone();
    }
    if !id.is_empty() {
        event["item_id"] = id.into();
    }
    event
}

fn function(id: &str, call: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": id, "call_id": call, "name": name, "arguments": arguments})
}

fn said(id: &str, text: &str) -> Value {
    json!({"type": "message", "id": id, "content": [{"type": "output_text", "text": text}]})
}

fn completed(output: &[Value]) -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": output}})
}

#[tokio::test]
async fn finds_the_arguments_of_items_in_any_order() {
    let added = |at: Value, item: Value| of_item("output_item.added", &at, "", "item", item);
    let done = |at: Value, item: Value| of_item("output_item.done", &at, "", "item", item);
    let more =
        |at: Value, id: &str, text: &str| of_item("function_call_arguments.delta", &at, id, "delta", text.into());
    let whole =
        |at: Value, id: &str, text: &str| of_item("function_call_arguments.done", &at, id, "arguments", text.into());
    let (ls, pwd) = (|text: &str| function("i1", "c1", "ls", text), |text: &str| function("i2", "c2", "pwd", text));
    let (zero, one, none) = (json!(0), json!(1), Value::Null);
    let (first, both) = ("ls({\"a\":1}) toolUse", "ls({\"a\":1}) pwd({\"b\":2}) toolUse");
    let end = completed(&[]);
    let mut table = vec![
        (
            "only done, before the item",
            vec![whole(zero.clone(), "i1", LS), added(zero.clone(), ls("")), end.clone()],
            first,
        ),
        (
            "deltas and done before the item",
            vec![
                more(zero.clone(), "i1", "{\"a\""),
                more(zero.clone(), "i1", ":1}"),
                whole(zero.clone(), "i1", LS),
                added(zero.clone(), ls("")),
                done(zero.clone(), ls(LS)),
                end.clone(),
            ],
            first,
        ),
        (
            "before the items, by id",
            vec![
                more(none.clone(), "i2", "{\"b\":"),
                more(none.clone(), "i1", LS),
                more(none.clone(), "i2", "2}"),
                added(none.clone(), ls("")),
                added(none.clone(), pwd("")),
                done(none.clone(), ls("")),
                done(none.clone(), pwd("")),
                end.clone(),
            ],
            both,
        ),
        (
            "the done of the item is whole",
            vec![
                added(zero.clone(), ls("")),
                more(zero.clone(), "i1", "{\"a\":"),
                done(zero.clone(), ls(LS)),
                end.clone(),
            ],
            first,
        ),
        (
            "the done of the item differs",
            vec![
                added(zero.clone(), ls("")),
                more(zero.clone(), "i1", "{\"a\":2}"),
                done(zero.clone(), ls(LS)),
                end.clone(),
            ],
            first,
        ),
        (
            "the done of the item is cut",
            vec![
                added(zero.clone(), ls("")),
                more(zero.clone(), "i1", LS),
                done(zero.clone(), ls("{\"a\"")),
                end.clone(),
            ],
            first,
        ),
        (
            "done after a lost delta",
            vec![
                added(zero.clone(), ls("")),
                more(zero.clone(), "i1", ":1}"),
                whole(zero.clone(), "i1", LS),
                done(zero.clone(), ls("")),
                end.clone(),
            ],
            first,
        ),
        ("whole in the first event", vec![added(zero.clone(), ls(LS)), end.clone()], first),
        (
            "whole in the first event and again",
            vec![
                added(zero.clone(), ls(LS)),
                more(zero.clone(), "i1", LS),
                whole(zero.clone(), "i1", LS),
                done(zero.clone(), ls(LS)),
                end.clone(),
            ],
            first,
        ),
        ("whole in the answer", vec![added(zero.clone(), ls("")), completed(&[ls(LS)])], first),
        (
            "only in the answer, after a text",
            vec![
                added(zero.clone(), said("i0", "")),
                done(zero.clone(), said("i0", "hm")),
                completed(&[said("i0", "hm"), ls(LS)]),
            ],
            "hm ls({\"a\":1}) toolUse",
        ),
        ("never", vec![added(zero.clone(), ls("")), end.clone()], "ls({}!) toolUse"),
        (
            "without an item that has a name",
            vec![more(zero.clone(), "i1", LS), added(one.clone(), pwd("")), done(one.clone(), pwd("{}")), end.clone()],
            "pwd({}) toolUse",
        ),
        (
            "empty, and the call has ended",
            vec![added(zero.clone(), ls("")), done(zero.clone(), ls("")), end.clone()],
            "ls({}) toolUse",
        ),
        (
            "cut",
            vec![
                added(zero.clone(), ls("")),
                more(zero.clone(), "i1", "{\"a\":1"),
                done(zero.clone(), ls("{\"a\":1")),
                end.clone(),
            ],
            "ls({}!) toolUse",
        ),
        (
            "cut and not ended",
            vec![added(zero.clone(), ls("")), more(zero.clone(), "i1", "{\"a\":\"b"), end.clone()],
            "ls({\"a\":\"b\"}!) toolUse",
        ),
        (
            "repeated items",
            vec![
                added(zero.clone(), ls("")),
                added(zero.clone(), ls("")),
                more(zero.clone(), "i1", LS),
                done(zero.clone(), ls(LS)),
                done(zero.clone(), ls(LS)),
                completed(&[ls(LS)]),
            ],
            first,
        ),
        (
            "other ids in each event",
            vec![
                added(zero.clone(), ls("")),
                more(zero.clone(), "x", "{\"a\""),
                more(zero.clone(), "y", ":1}"),
                done(zero.clone(), function("z", "c1", "ls", LS)),
                completed(&[function("w", "c1", "ls", LS)]),
            ],
            first,
        ),
        (
            "an object",
            vec![
                done(
                    zero.clone(),
                    json!({"type": "function_call", "call_id": "c1", "name": "ls", "arguments": {"a": 1}}),
                ),
                end.clone(),
            ],
            first,
        ),
    ];
    // Numbers that are right, all 0, and missing.
    for numbers in [[zero.clone(), one.clone()], [zero.clone(), zero.clone()], [none.clone(), none.clone()]] {
        let [m, n] = numbers;
        let (m, n) = (|| m.clone(), || n.clone());
        table.push((
            "one by one",
            vec![
                added(m(), ls("")),
                more(m(), "i1", LS),
                done(m(), ls(LS)),
                added(n(), pwd("")),
                more(n(), "i2", "{\"b\":2}"),
                done(n(), pwd("{\"b\":2}")),
                end.clone(),
            ],
            both,
        ));
        table.push((
            "interleaved",
            vec![
                added(m(), ls("")),
                added(n(), pwd("")),
                more(n(), "i2", "{\"b\":"),
                more(m(), "i1", LS),
                more(n(), "i2", "2}"),
                done(n(), pwd("")),
                done(m(), ls("")),
                end.clone(),
            ],
            both,
        ));
        table.push(("only done events", vec![done(m(), ls(LS)), done(n(), pwd("{\"b\":2}")), end.clone()], both));
        table.push((
            "a text before",
            vec![
                added(m(), json!({"type": "message", "id": "i0"})),
                of_item("output_text.delta", &m(), "i0", "delta", "hm".into()),
                done(m(), said("i0", "hm")),
                added(n(), ls("")),
                more(n(), "i1", LS),
                done(n(), ls(LS)),
                end.clone(),
            ],
            "hm ls({\"a\":1}) toolUse",
        ));
    }
    reads(RESPONSES, table).await;
}

#[tokio::test]
async fn loses_and_doubles_no_words_of_items() {
    let added =
        |at: u64, id: &str| of_item("output_item.added", &at.into(), "", "item", json!({"type": "message", "id": id}));
    let done = |at: u64, item: Value| of_item("output_item.done", &at.into(), "", "item", item);
    let more = |at: u64, id: &str, text: &str| of_item("output_text.delta", &at.into(), id, "delta", text.into());
    let whole = |at: u64, id: &str, text: &str| of_item("output_text.done", &at.into(), id, "text", text.into());
    let cut = |output: &[Value]| json!({"type": "response.incomplete", "response": {"status": "incomplete", "output": output}});
    let mut call = function("i", "c", "ls", "");
    call["status"] = "incomplete".into();
    let thought = of_item("reasoning_summary_text.delta", &json!(0), "r", "delta", "hm".into());
    let part = |at: u64, mut event: Value| {
        event["content_index"] = at.into();
        event
    };
    let parts = json!({"type": "message", "id": "m", "content": [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}]});
    let table = vec![
        ("no item", vec![more(0, "m", "a"), more(0, "m", "b"), completed(&[])], "ab stop"),
        (
            "no item until its end",
            vec![more(0, "m", "a"), done(0, said("m", "a")), completed(&[said("m", "a")])],
            "a stop",
        ),
        ("no item with a thought", vec![thought, more(0, "m", "a"), completed(&[said("m", "a")])], "[hm] a stop"),
        ("only the done of a text", vec![added(0, "m"), whole(0, "m", "a"), completed(&[])], "a stop"),
        ("a done of a text without an item", vec![whole(0, "m", "a"), completed(&[])], "a stop"),
        (
            "all that repeats it",
            vec![
                added(0, "m"),
                more(0, "m", "a"),
                whole(0, "m", "a"),
                done(0, said("m", "a")),
                completed(&[said("m", "a")]),
            ],
            "a stop",
        ),
        (
            "a delta is missing at the end",
            vec![added(0, "m"), more(0, "m", "a"), done(0, said("m", "ab")), completed(&[])],
            "ab stop",
        ),
        (
            "the second part has no deltas",
            vec![
                added(0, "m"),
                part(0, more(0, "m", "a")),
                part(0, whole(0, "m", "a")),
                part(1, whole(0, "m", "b")),
                done(0, parts),
                completed(&[]),
            ],
            "ab stop",
        ),
        (
            "two items with one number",
            vec![
                added(0, "m"),
                more(0, "m", "a"),
                done(0, said("m", "a")),
                added(0, "n"),
                more(0, "n", "b"),
                done(0, said("n", "b")),
                completed(&[said("m", "a"), said("n", "b")]),
            ],
            "a b stop",
        ),
        ("only in the answer", vec![added(0, "m"), completed(&[said("m", "a"), said("n", "b")])], "a b stop"),
        ("only in an answer that was cut", vec![cut(&[said("m", "a")])], "a length"),
        ("a call without arguments in an answer that was cut", vec![cut(&[said("m", "a"), call])], "a length"),
    ];
    reads(RESPONSES, table).await;
}

#[tokio::test]
async fn reads_arguments_in_every_form() {
    let part = |part: Value| json!({"candidates": [{"content": {"parts": [part]}}]});
    let google =
        |call: Value| vec![part(json!({"functionCall": call})), json!({"candidates": [{"finishReason": "STOP"}]})];
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let chat = |arguments: Value| {
        vec![pieces(&[json!({"index": 0, "id": "c", "function": {"name": "ls", "arguments": arguments}})]), end.clone()]
    };
    let stop = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ];
    let anthropic = |input: Value| {
        [vec![json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "ls", "input": input}})], stop.to_vec()].concat()
    };
    let responses = |arguments: Value| {
        vec![
            of_item(
                "output_item.done",
                &json!(0),
                "",
                "item",
                json!({"type": "function_call", "call_id": "c", "name": "ls", "arguments": arguments}),
            ),
            completed(&[]),
        ]
    };
    for (arguments, expect) in [
        (json!({"a": 1}), "ls({\"a\":1}) toolUse"),
        (json!(LS), "ls({\"a\":1}) toolUse"),
        (json!({}), "ls({}) toolUse"),
        (json!(""), "ls({}) toolUse"),
        (Value::Null, "ls({}) toolUse"),
        (json!("{\"a\":\"b"), "ls({\"a\":\"b\"}!) toolUse"),
        (json!("a=1"), "ls({}!) toolUse"),
        (json!([1]), "ls({}!) toolUse"),
        (json!(true), "ls({}!) toolUse"),
    ] {
        let label = arguments.to_string();
        reads(GOOGLE, vec![(&label, google(json!({"name": "ls", "args": arguments.clone()})), expect)]).await;
        reads(CHAT, vec![(&label, chat(arguments.clone()), expect)]).await;
        reads(ANTHROPIC, vec![(&label, anthropic(arguments.clone()), expect)]).await;
        reads(RESPONSES, vec![(&label, responses(arguments), expect)]).await;
    }
    let pieces = json!({"name": "ls", "partialArgs": [{"jsonPath": "$.a", "numberValue": 1}], "willContinue": true});
    let both = part(json!({"text": "hm", "functionCall": {"name": "ls", "args": {"a": 1}}}));
    let table = vec![
        ("in pieces that were not requested", google(pieces), "ls({}!) toolUse"),
        (
            "a text in the same part",
            vec![both, json!({"candidates": [{"finishReason": "STOP"}]})],
            "hm ls({\"a\":1}) toolUse",
        ),
    ];
    reads(GOOGLE, table).await;
}

#[tokio::test]
async fn finds_the_arguments_of_chat_calls_in_any_order() {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let piece = |index: Value, id: &str, name: &str, text: &str| {
        let mut call = json!({"id": id, "function": {"name": name, "arguments": text}});
        if !index.is_null() {
            call["index"] = index;
        }
        pieces(&[call])
    };
    let (zero, one, none) = (json!(0), json!(1), Value::Null);
    let (first, both) = ("ls({\"a\":1}) toolUse", "ls({\"a\":1}) pwd({\"b\":2}) toolUse");
    let call = json!([{"index": 0, "id": "c", "function": {"name": "ls", "arguments": LS}}]);
    let said = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let message = json!({"choices": [{"index": 0, "message": {"content": "hm", "tool_calls": call}, "finish_reason": "tool_calls"}]});
    let mut null = message.clone();
    null["choices"][0]["delta"] = Value::Null;
    let table = vec![
        (
            "whole after the deltas",
            vec![piece(zero.clone(), "c", "ls", LS), piece(zero.clone(), "c", "ls", LS), end.clone()],
            first,
        ),
        (
            "an empty object first",
            vec![piece(zero.clone(), "c", "ls", "{}"), piece(zero.clone(), "", "", LS), end.clone()],
            first,
        ),
        (
            "two different objects",
            vec![piece(zero.clone(), "c", "ls", LS), piece(zero.clone(), "c", "", "{\"a\":2}"), end.clone()],
            "ls({\"a\":1}!) toolUse",
        ),
        (
            "the message after the deltas",
            vec![said("hm"), piece(zero.clone(), "c", "ls", LS), message.clone()],
            "hm ls({\"a\":1}) toolUse",
        ),
        ("the message instead of a delta", vec![null], "hm ls({\"a\":1}) toolUse"),
        (
            "another id in each piece",
            vec![piece(zero.clone(), "c", "ls", "{\"a\""), piece(zero.clone(), "d", "", ":1}"), end.clone()],
            first,
        ),
        (
            "a number only in the first piece",
            vec![piece(zero.clone(), "c", "ls", "{\"a\""), piece(none.clone(), "", "", ":1}"), end.clone()],
            first,
        ),
        (
            "no number in the first piece",
            vec![piece(none.clone(), "c", "ls", "{\"a\""), piece(zero.clone(), "", "", ":1}"), end.clone()],
            first,
        ),
        (
            "one number and no ids",
            vec![piece(zero.clone(), "", "ls", LS), piece(zero.clone(), "", "pwd", "{\"b\":2}"), end.clone()],
            both,
        ),
        (
            "one number, one name and no ids",
            vec![piece(zero.clone(), "", "ls", LS), piece(zero.clone(), "", "ls", "{\"b\":2}"), end.clone()],
            "ls({\"a\":1}) ls({\"b\":2}) toolUse",
        ),
        (
            "a name in each piece and no ids",
            vec![piece(zero.clone(), "", "ls", "{\"a\""), piece(zero.clone(), "", "ls", ":1}"), end.clone()],
            first,
        ),
        (
            "a name in each piece, and neither numbers nor ids",
            vec![
                piece(none.clone(), "", "ls", "{\"a\""),
                piece(none.clone(), "", "ls", ":1}"),
                piece(none.clone(), "", "ls", "{}"),
                end.clone(),
            ],
            "ls({\"a\":1}) ls({}) toolUse",
        ),
        (
            "a late id",
            vec![
                piece(zero.clone(), "", "ls", "{\"a\""),
                piece(one.clone(), "", "pwd", "{\"b\""),
                piece(one.clone(), "d", "", ":2}"),
                piece(zero.clone(), "c", "", ":1}"),
                end.clone(),
            ],
            both,
        ),
        (
            "interleaved without numbers",
            vec![
                piece(none.clone(), "c", "ls", "{\"a\""),
                piece(none.clone(), "d", "pwd", "{\"b\""),
                piece(none.clone(), "c", "", ":1}"),
                piece(none.clone(), "d", "", ":2}"),
                end.clone(),
            ],
            both,
        ),
    ];
    reads(CHAT, table).await;
}

#[tokio::test]
async fn finds_the_arguments_of_blocks_in_any_order() {
    let start = |at: u64, id: &str, name: &str, input: Value| json!({"type": "content_block_start", "index": at, "content_block": {"type": "tool_use", "id": id, "name": name, "input": input}});
    let add = |at: u64, text: Value| json!({"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": text}});
    let say = |at: u64, text: &str| json!({"type": "content_block_delta", "index": at, "delta": {"type": "text_delta", "text": text}});
    let stop = |at: u64| json!({"type": "content_block_stop", "index": at});
    let without = |mut event: Value| {
        event.as_object_mut().unwrap().remove("index");
        event
    };
    let end = |reason: &str| {
        vec![json!({"type": "message_delta", "delta": {"stop_reason": reason}}), json!({"type": "message_stop"})]
    };
    let ended = |events: &[Value]| [events.to_vec(), end("tool_use")].concat();
    let ls = |input: Value| start(0, "c1", "ls", input);
    let (first, both) = ("ls({\"a\":1}) toolUse", "ls({\"a\":1}) pwd({\"b\":2}) toolUse");
    let whole = json!({"a": 1});
    let table = vec![
        ("with the start, and never stopped", ended(&[ls(whole.clone())]), first),
        ("with the start and again", ended(&[ls(whole.clone()), add(0, LS.into()), stop(0)]), first),
        ("with the start, and cut", ended(&[ls(whole.clone()), add(0, "{\"a\":".into()), stop(0)]), first),
        ("an object in a delta", ended(&[ls(json!({})), add(0, whole.clone()), stop(0)]), first),
        ("before the start", ended(&[add(0, "{\"a\"".into()), ls(json!({})), add(0, ":1}".into()), stop(0)]), first),
        ("one number", ended(&[ls(whole.clone()), start(0, "c2", "pwd", json!({"b": 2})), stop(0)]), both),
        (
            "one number, in deltas",
            ended(&[
                ls(json!({})),
                add(0, LS.into()),
                start(0, "c2", "pwd", json!({})),
                add(0, "{\"b\":2}".into()),
                stop(0),
            ]),
            both,
        ),
        (
            "no numbers",
            ended(&[
                without(ls(json!({}))),
                without(add(0, LS.into())),
                without(stop(0)),
                without(start(0, "c2", "pwd", json!({}))),
                without(add(0, "{\"b\":2}".into())),
                without(stop(0)),
            ]),
            both,
        ),
        (
            "no number in the deltas",
            ended(&[
                ls(whole.clone()),
                stop(0),
                start(1, "c2", "pwd", json!({})),
                without(add(1, "{\"b\":2}".into())),
                without(stop(1)),
            ]),
            both,
        ),
        ("never", ended(&[ls(json!({}))]), "ls({}!) toolUse"),
        ("empty, and the call has stopped", ended(&[ls(json!({})), stop(0)]), "ls({}) toolUse"),
        ("a text without a start", [vec![say(0, "a"), say(0, "b"), stop(0)], end("end_turn")].concat(), "ab stop"),
    ];
    reads(ANTHROPIC, table).await;
}
