//! Tests of calls and their answers: late, repeated, unknown, too large, missing.

use proptest::prelude::*;
use sinew_jsonrpc::frame::SkippedMessage;
use sinew_jsonrpc::{Event, Frame, Limits, LineDecoder, Peer};

fn receive(peer: &mut Peer<&'static str>, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    peer.receive(bytes, |event| found.push(show(event)));
    found
}

fn show(event: Event<&'static str>) -> String {
    match event {
        Event::Answer { id, waiter, outcome: Ok(result) } => format!("{waiter} {id} {result}"),
        Event::Answer { id, waiter, outcome: Err(error) } => format!("{waiter} {id} error {error}"),
        Event::Request { id, method, .. } => format!("request {id} {method}"),
        Event::Notification { method, .. } => format!("notification {method}"),
        Event::Unclaimed { id, .. } => format!("unclaimed {id:?}"),
        Event::Bad { fatal, .. } => format!("bad{}", if fatal { ", the last" } else { "" }),
    }
}

#[test]
fn an_answer_reaches_its_call_once() {
    let mut peer = Peer::new(Limits::default());
    let (one, bytes) = peer.call("m", None::<&()>, "first").unwrap();
    assert_eq!(bytes, br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#);
    let (two, _) = peer.call("m", None::<&()>, "second").unwrap();
    assert_eq!((one, two), (1, 2));
    assert_eq!(receive(&mut peer, br#"{"id":2,"result":{}}"#), ["second 2 {}"]);
    assert_eq!(receive(&mut peer, br#"{"id":2,"result":{}}"#), ["unclaimed Some(Number(2))"]);
    assert_eq!(receive(&mut peer, br#"{"id":77,"result":{}}"#), ["unclaimed Some(Number(77))"]);
    for other in ["one", "01", "+1", " 1", "1.0"] {
        let answer = format!(r#"{{"id":"{other}","result":{{}}}}"#);
        assert_eq!(receive(&mut peer, answer.as_bytes()), [format!(r#"unclaimed Some(Text("{other}"))"#)]);
    }
    assert_eq!(receive(&mut peer, br#"{"id":1,"error":{"code":-1,"message":"no"}}"#), ["first 1 error -1: no"]);
    assert_eq!(peer.waiting(), 0);
}

#[test]
fn accepts_an_id_that_is_returned_as_a_string() {
    let mut peer = Peer::new(Limits::default());
    for name in ["first", "second", "third", "fourth"] {
        peer.call("m", None::<&()>, name).unwrap();
    }
    assert_eq!(receive(&mut peer, br#"{"id":"2","result":{}}"#), ["second 2 {}"]);
    assert_eq!(receive(&mut peer, br#"{"id":"2","result":{}}"#), [r#"unclaimed Some(Text("2"))"#]);
    assert_eq!(receive(&mut peer, br#"{"id":"1","error":{"code":-1,"message":"no"}}"#), ["first 1 error -1: no"]);
    for (head, tail, id) in
        [(r#"{"jsonrpc":"2.0","id":"3","result":["#, "]}", 3), ("{\"result\":[", r#"],"id":"4","jsonrpc":"2.0"}"#, 4)]
    {
        let skipped = SkippedMessage { bytes: 1 << 30, head: head.into(), tail: tail.into() };
        assert!(matches!(peer.receive_skipped(&skipped), Event::Answer { id: found, .. } if found == id), "{head}");
    }
}

#[test]
fn drops_the_late_answer_to_a_cancelled_call() {
    let mut peer = Peer::new(Limits::default());
    let (id, _) = peer.call("m", None::<&()>, "call").unwrap();
    assert_eq!(peer.give_up(id), Some("call"));
    assert_eq!(peer.give_up(id), None);
    assert_eq!(receive(&mut peer, br#"{"id":1,"result":{}}"#), ["unclaimed Some(Number(1))"]);
}

#[test]
fn a_full_table_returns_the_value_of_the_call() {
    let mut peer = Peer::new(Limits { waiting_calls: 2, ..Limits::default() });
    for name in ["a", "b"] {
        peer.register(name).unwrap();
    }
    let refused = peer.register("c").unwrap_err();
    assert_eq!((refused.waiter, refused.waiting), ("c", 2));
    assert_eq!(peer.close(), [(1, "a"), (2, "b")]);
}

#[test]
fn the_hundredth_invalid_line_in_a_row_ends_the_connection() {
    let mut peer: Peer<&str> = Peer::new(Limits::default());
    for round in 0..3 {
        for _ in 0..99 {
            assert_eq!(receive(&mut peer, b"Listening on port 1"), ["bad"], "round {round}");
        }
        assert_eq!(receive(&mut peer, br#"{"method":"m"}"#), ["notification m"]);
    }
    for _ in 0..99 {
        receive(&mut peer, b"x");
    }
    assert_eq!(receive(&mut peer, b"x"), ["bad, the last"]);
}

#[track_caller]
fn check_too_large(front: &str, back: &str, expect: &str) {
    let mut peer = Peer::new(Limits::default().with_message_bytes(1000));
    for _ in 0..12 {
        peer.register("call").unwrap();
    }
    let mut decoder = LineDecoder::new(1000);
    let mut found = Vec::new();
    decoder.push(format!("{front}{}{back}\n", "x".repeat(5000)).as_bytes(), |frame| match frame {
        Frame::TooLarge(skipped) => found.push(show(peer.receive_skipped(skipped))),
        other => panic!("{other:?}"),
    });
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(expect), "{found:?}");
}

#[test]
fn a_too_large_answer_fails_its_call_at_once() {
    let error = |id: u32| format!("call {id} error -32603: The answer was a message of ");
    check_too_large(r#"{"jsonrpc":"2.0","id":12,"result":{"text":""#, r#""}}"#, &error(12));
    check_too_large(r#"{ "jsonrpc": "2.0", "id": 3, "result": {"text":""#, r#""}}"#, &error(3));
    check_too_large(r#"{"result":{"text":""#, r#""},"jsonrpc":"2.0","id":12}"#, &error(12));
    check_too_large(r#"{"result":{"text":""#, r#""},"id":4,"jsonrpc":"2.0"}"#, &error(4));
    check_too_large(r#"{"result":{"text":""#, r#""},"jsonrpc":"2.0","id":99}"#, "bad");
    check_too_large(r#"{"result":{"text":""#, r#"","id":4}}"#, "bad");
    check_too_large(r#"{"method":"m","params":{"text":""#, r#""}}"#, "bad");
}

#[test]
fn finds_the_id_of_any_skipped_message_without_panicking() {
    let mut peer: Peer<&str> = Peer::new(Limits::default());
    for sample in [&b""[..], b"}", b"5}", br#"{"id":"#, br#"{"id":5"#, b"\xFF\xFF}", br#","id":,"jsonrpc":"2.0"}"#] {
        let skipped = SkippedMessage { bytes: 99, head: sample.to_vec(), tail: sample.to_vec() };
        assert!(matches!(peer.receive_skipped(&skipped), Event::Bad { .. }), "{sample:?}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Call,
    Answer(i64),
    GiveUp(i64),
    Noise,
}

proptest! {
    /// Every registered call is returned exactly once, whatever happens in which order.
    #[test]
    fn every_call_is_returned_once(steps in proptest::collection::vec(prop_oneof![
        3 => Just(Step::Call),
        3 => (0_i64..40).prop_map(Step::Answer),
        1 => (0_i64..40).prop_map(Step::GiveUp),
        1 => Just(Step::Noise),
    ], 0..200)) {
        let mut peer: Peer<i64> = Peer::new(Limits { waiting_calls: 5, ..Limits::default() });
        let (mut taken, mut returned) = (Vec::new(), Vec::new());
        let mut name = 0;
        for step in steps {
            match step {
                Step::Call => {
                    name += 1;
                    match peer.register(name) {
                        Ok(_) => taken.push(name),
                        Err(refused) => prop_assert_eq!(refused.waiter, name),
                    }
                }
                Step::Answer(id) => peer.receive(format!(r#"{{"id":{id},"result":1}}"#).as_bytes(), |event| {
                    if let Event::Answer { waiter, .. } = event {
                        returned.push(waiter);
                    }
                }),
                Step::GiveUp(id) => returned.extend(peer.give_up(id)),
                Step::Noise => peer.receive(b"noise", |_| {}),
            }
            prop_assert!(peer.waiting() <= 5);
        }
        returned.extend(peer.close().into_iter().map(|(_, waiter)| waiter));
        returned.sort_unstable();
        prop_assert_eq!(returned, taken);
    }
}
