//! Tests models and servers that violate the protocol: each case ends in a clear message and a session that continues.

use std::sync::Arc;

use serde_json::json;
use sinew_agent::agent::{Snapshots, Stop};
use sinew_agent::event::Event;
use sinew_llm::error::ErrorKind;
use sinew_testkit::provider::{Framing, Reply, Step};

use crate::served::replies::{APIS, ModelAnswer, calls, events, reply, text};
use crate::served::test_env::{TestEnv, strict};

/// Checks that after `first` each call gets a result that begins with these texts, and that the model continues.
async fn answered(api: &str, first: Reply, expect: &[&str]) {
    let server = strict(vec![first, text(api, "ok"), text(api, "fine")]);
    let env = TestEnv::new(api, &server, |_| ());
    let outcome = env.prompt("go").await;
    assert_eq!(outcome.stop, Stop::Done, "{api}: {:?}", outcome.answer.and_then(|answer| answer.error_message));
    let results = env.results();
    assert_eq!(results.len(), expect.len(), "{api}: {results:?}");
    for (result, expect) in results.iter().zip(expect) {
        assert!(result.starts_with(expect), "{api}: {result:?} is not {expect:?}");
    }
    assert_eq!(env.resumed(api, &server).await.prompt("more").await.stop, Stop::Done, "{api}");
}

#[tokio::test]
async fn calls_to_unknown_tools_get_an_error_result() {
    for api in APIS {
        answered(api, calls(api, &[("c1", "fly", "{}")]), &["Tool fly not found. Available: echo, waits"]).await;
    }
}

/// No server accepts such a name in a later request, although the call stays in the conversation.
#[tokio::test]
async fn invalid_tool_names_get_an_error_result() {
    let long = "long".repeat(100);
    for api in APIS {
        let names = ["", "multi_tool_use.parallel", "日本 x", "-a", "7z", &long];
        let made: Vec<_> = names.iter().map(|name| (*name, *name, r#"{"say":"a"}"#)).collect();
        let expect: Vec<String> = names.iter().map(|name| format!("Tool {name} not found.")).collect();
        answered(api, calls(api, &made), &expect.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
}

#[tokio::test]
async fn malformed_arguments_get_an_error_result() {
    for api in APIS {
        let broken = [("c1", "echo", r#"{"say": "a", oops}"#), ("c2", "echo", r#"{"say": "cut he"#)];
        answered(api, calls(api, &broken), &["Invalid JSON in tool arguments: "; 2]).await;
        // Valid JSON, but not an object.
        let list = [("c1", "echo", r#"["a"]"#), ("c2", "echo", "7")];
        answered(api, calls(api, &list), &["Invalid JSON in tool arguments: "; 2]).await;
        let misfit = [("c1", "echo", r#"{"say": 1}"#), ("c2", "echo", r#"{"shout": "a"}"#)];
        answered(api, calls(api, &misfit), &["Validation failed for tool \"echo\":"; 2]).await;
    }
}

#[tokio::test]
async fn duplicate_and_missing_call_ids_get_their_own_results() {
    for api in APIS {
        for id in ["same", "", "functions.echo:0/é"] {
            let twice = [(id, "echo", r#"{"say":"a"}"#), (id, "echo", r#"{"say":"bb"}"#)];
            answered(api, calls(api, &twice), &["1 bytes", "2 bytes"]).await;
        }
    }
}

/// Some servers restart the ids of calls with each answer.
#[tokio::test]
async fn a_reused_call_id_gets_its_own_result() {
    for api in APIS {
        let call = |say: &str| calls(api, &[("call_0", "echo", &format!(r#"{{"say":"{say}"}}"#))]);
        let server = strict(vec![call("a"), call("bb"), text(api, "ok"), call("ccc"), text(api, "fine")]);
        let env = TestEnv::new(api, &server, |_| ());
        assert_eq!(env.prompt("go").await.stop, Stop::Done, "{api}");
        let env = env.resumed(api, &server).await;
        assert_eq!(env.prompt("more").await.stop, Stop::Done, "{api}");
        assert_eq!(env.results(), ["1 bytes", "2 bytes", "3 bytes"], "{api}");
    }
}

#[tokio::test]
async fn two_hundred_calls_in_one_turn_get_results_in_order() {
    for api in APIS {
        let (ids, said): (Vec<String>, Vec<String>) =
            (0..200).map(|at| (format!("c{at}"), format!(r#"{{"say":"{}"}}"#, "x".repeat(at)))).unzip();
        let many: Vec<_> = ids.iter().zip(&said).map(|(id, said)| (id.as_str(), "echo", said.as_str())).collect();
        let expect: Vec<String> = (0..200).map(|at| format!("{at} bytes")).collect();
        let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
        answered(api, calls(api, &many), &expect).await;
    }
}

#[tokio::test]
async fn ten_megabytes_of_arguments_reach_the_tool() {
    for api in APIS {
        let large = format!(r#"{{"say":"{}"}}"#, "x".repeat(10_000_000));
        answered(api, calls(api, &[("c1", "echo", &large)]), &["10000000 bytes"]).await;
    }
}

#[tokio::test]
async fn an_empty_answer_is_requested_once_more() {
    for api in APIS {
        answered(api, text(api, ""), &[]).await;
    }
    // Thinking alone is not an answer, and neither is a stop for tool calls without calls.
    let thought = json!({"choices": [{"delta": {"reasoning_content": "hm"}, "finish_reason": "stop"}]});
    let calls = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    for event in [thought, calls] {
        answered("openai-completions", Reply::stream(format!("data: {event}\n\n")), &[]).await;
    }
}

#[tokio::test]
async fn a_second_empty_answer_fails_the_run_and_later_prompts_work() {
    for api in APIS {
        let replies = ["", " ", "fine", "", "still fine", "more"].map(|said| text(api, said));
        let server = strict(replies.into());
        let env = TestEnv::new(api, &server, |_| ());
        let mut listener = env.agent.subscribe(Snapshots::Each);
        let outcome = env.prompt("go").await;
        let Stop::Failed(error) = outcome.stop else { panic!("{api}: {:?}", outcome.stop) };
        assert!(error.kind == ErrorKind::Malformed && error.message.contains("empty twice"), "{api}: {error}");
        let warnings =
            std::iter::from_fn(|| listener.try_recv()).filter(|event| matches!(**event, Event::Warning { .. }));
        assert_eq!(warnings.count(), 1, "{api}");
        let sent = server.requests();
        assert_eq!((sent.len(), &sent[0].body), (2, &sent[1].body), "{api}");
        assert_eq!(env.prompt("again").await.stop, Stop::Done, "{api}");
        let env = env.resumed(api, &server).await;
        assert_eq!(env.prompt("again").await.answer.unwrap().text(), "still fine", "{api}");
        assert_eq!(env.prompt("more").await.stop, Stop::Done, "{api}");
    }
}

/// The limit may be reached while the model is thinking.
#[tokio::test]
async fn an_answer_that_is_empty_at_the_output_limit_fails_like_any_empty_answer() {
    for api in APIS {
        let cut = |text| reply(api, ModelAnswer { text, cut: true, ..ModelAnswer::default() });
        answered(api, cut(""), &[]).await;
        let server = strict(vec![cut(""), cut(" "), text(api, "fine"), cut(""), text(api, "")]);
        let env = TestEnv::new(api, &server, |settings| settings.max_tokens = Some(100));
        let outcome = env.prompt("go").await;
        let Stop::Failed(error) = outcome.stop else { panic!("{api}: {:?}", outcome.stop) };
        let parts = ["answer was empty, because", "the output limit of 100 tokens", "--max-tokens", "maxTokens"];
        assert!(parts.iter().all(|part| error.message.contains(part)), "{api}: {error}");
        assert!(error.kind == ErrorKind::Malformed && !error.retryable, "{api}: {error}");
        assert_eq!(env.prompt("again").await.stop, Stop::Done, "{api}");
        // The reason of the last answer is the one that is reported.
        let Stop::Failed(error) = env.prompt("again").await.stop else { panic!("{api}") };
        assert!(error.message.contains("rephrase the prompt"), "{api}: {error}");
    }
}

#[tokio::test]
async fn a_paused_answer_is_continued() {
    let api = "anthropic-messages";
    let paused = |said: &str| {
        let said = ModelAnswer { text: said, ..ModelAnswer::default() };
        Reply::stream(events(api, said).concat().replace("end_turn", "pause_turn"))
    };
    let server = strict(vec![paused("one"), paused(""), text(api, "two"), text(api, "fine")]);
    let env = TestEnv::new(api, &server, |_| ());
    let outcome = env.prompt("go").await;
    assert_eq!((outcome.stop, outcome.answer.unwrap().text().as_str()), (Stop::Done, "two"));
    let sent = String::from_utf8(server.requests()[2].body.clone()).unwrap();
    assert!(sent.contains("one") && sent.matches("Go on with your answer").count() == 2, "{sent}");
    assert_eq!(env.resumed(api, &server).await.prompt("more").await.stop, Stop::Done);
}

#[tokio::test]
async fn an_answer_that_is_paused_without_end_fails_the_run() {
    let api = "anthropic-messages";
    let paused = || {
        let said = ModelAnswer { text: "part", ..ModelAnswer::default() };
        Reply::stream(events(api, said).concat().replace("end_turn", "pause_turn"))
    };
    let pauses = |count: usize| (0..count).map(|_| paused());
    let call = || calls(api, &[("c1", "echo", r#"{"say":"a"}"#)]);
    // Ten pauses in a row are continued, and an answer without a pause begins a new count.
    let server = strict(pauses(10).chain([call()]).chain(pauses(10)).chain([text(api, "fine")]).collect());
    let env = TestEnv::new(api, &server, |_| ());
    assert_eq!(env.prompt("go").await.answer.unwrap().text(), "fine");
    let server = strict(pauses(11).chain([text(api, "more")]).collect());
    let env = TestEnv::new(api, &server, |_| ());
    let Stop::Failed(error) = env.prompt("go").await.stop else { panic!("it continued") };
    assert!(error.message.contains("11 times in a row (pause_turn)") && !error.retryable, "{error}");
    assert_eq!(server.requests().len(), 11);
    assert_eq!(env.prompt("again").await.stop, Stop::Done);
}

/// A good answer with a call lies between the empty answers.
#[tokio::test]
async fn only_empty_answers_in_a_row_fail_the_run() {
    for api in APIS {
        let call = || calls(api, &[("c1", "echo", r#"{"say":"a"}"#)]);
        let empty = || text(api, "");
        let server = strict(vec![empty(), call(), empty(), call(), empty(), text(api, "fine")]);
        let env = TestEnv::new(api, &server, |_| ());
        let outcome = env.prompt("go").await;
        assert_eq!((outcome.stop, outcome.answer.unwrap().text().as_str()), (Stop::Done, "fine"), "{api}");
        let server = strict(vec![empty(), call(), empty(), empty()]);
        let outcome = TestEnv::new(api, &server, |_| ()).prompt("go").await;
        assert!(matches!(&outcome.stop, Stop::Failed(error) if error.message.contains("empty twice")), "{api}");
    }
}

#[tokio::test]
async fn an_answer_that_its_server_broke_off_is_requested_again() {
    let api = "openai-completions";
    for reason in ["insufficient_system_resource", "network_error", "abort"] {
        let broken = events(api, ModelAnswer { text: "hal", ..ModelAnswer::default() }).concat();
        let broken = Reply::stream(broken.replace("\"stop\"", &format!("\"{reason}\"")));
        let server = strict(vec![broken, text(api, "whole")]);
        let env = TestEnv::new(api, &server, |_| ());
        let outcome = env.prompt("go").await;
        assert_eq!((outcome.stop, outcome.answer.unwrap().text().as_str()), (Stop::Done, "whole"), "{reason}");
    }
}

#[tokio::test]
async fn an_unknown_end_keeps_the_answer_and_is_reported_once() {
    let api = "openai-completions";
    let ended = |said, reason: &str| {
        let whole = events(api, ModelAnswer { text: said, ..ModelAnswer::default() }).concat();
        Reply::stream(whole.replace("\"stop\"", &format!("\"{reason}\"")))
    };
    let server = strict(vec![ended("one", "tired"), ended("two", "tired"), ended("three", "bored")]);
    let env = TestEnv::new(api, &server, |_| ());
    let mut listener = env.agent.subscribe(Snapshots::Each);
    for said in ["one", "two", "three"] {
        let outcome = env.prompt("go").await;
        assert_eq!((outcome.stop, outcome.answer.unwrap().text().as_str()), (Stop::Done, said));
    }
    let mut warnings = Vec::new();
    while let Some(event) = listener.try_recv() {
        if let Event::Warning { message } = &*event {
            warnings.push(message.clone());
        }
    }
    let named = |at: usize, reason: &str| warnings[at].contains(&format!("the unknown reason \"{reason}\""));
    assert!(warnings.len() == 2 && named(0, "tired") && named(1, "bored"), "{warnings:?}");
}

#[tokio::test]
async fn an_answer_that_fills_the_window_is_retried_after_compaction() {
    let api = "anthropic-messages";
    let filled = Reply::stream(
        events(api, ModelAnswer { text: "half", ..ModelAnswer::default() })
            .concat()
            .replace("end_turn", "model_context_window_exceeded"),
    );
    let long = "a ".repeat(100_000);
    let server = strict(vec![text(api, &long), filled, text(api, "summary"), text(api, "whole")]);
    let env = TestEnv::new(api, &server, |settings| settings.compaction.limits.keep_recent = 1);
    assert_eq!(env.prompt("go").await.stop, Stop::Done);
    let outcome = env.prompt("more and more and more").await;
    assert_eq!((outcome.stop, outcome.answer.unwrap().text().as_str()), (Stop::Done, "whole"));
    let last = String::from_utf8(server.requests()[3].body.clone()).unwrap();
    assert!(last.contains("summary") && !last.contains("half") && last.len() < long.len(), "{last:.200}");
}

#[tokio::test]
async fn a_complete_call_runs_although_the_stream_ended_early() {
    for api in APIS {
        let said = ModelAnswer { calls: &[("c1", "echo", r#"{"say":"a"}"#)], ..ModelAnswer::default() };
        let whole = events(api, said);
        // Removes the events that say why the answer ended.
        let ends = ["message_delta", "message_stop", "finish_reason", "finishReason", "usage", "completed", "[DONE]"];
        let begun: String = whole.into_iter().filter(|event| !ends.iter().any(|end| event.contains(end))).collect();
        answered(api, Reply::stream(begun), &["1 bytes"]).await;
    }
}

/// Checks the failure of a server that answers with `reply`: the error has this kind and its text contains `part`; the
/// session continues.
async fn fails(what: &str, reply: &Reply, kind: ErrorKind, part: &str) {
    for api in APIS {
        let server = strict(vec![reply.clone(), text(api, "fine"), text(api, "still fine")]);
        let env = TestEnv::new(api, &server, |settings| settings.retry.enabled = false);
        let outcome = env.prompt("go").await;
        let Stop::Failed(error) = outcome.stop else { panic!("{what}, {api}: {:?}", outcome.stop) };
        assert_eq!(error.kind, kind, "{what}, {api}: {}", error.message);
        assert!(error.message.contains(part), "{what}, {api}: {}", error.message);
        assert_eq!(env.prompt("again").await.stop, Stop::Done, "{what}, {api}");
        let env = env.resumed(api, &server).await;
        assert_eq!(env.prompt("again").await.stop, Stop::Done, "{what}, {api}");
    }
}

#[tokio::test]
async fn unusable_responses_fail_with_the_right_error_kind() {
    let page = "<!doctype html><title>Sign in to the Wi-Fi</title>";
    fails("a page", &Reply::text(200, "text/html", page), ErrorKind::Malformed, "a web page").await;
    fails("a page that says 502", &Reply::text(502, "text/html", page), ErrorKind::Server, "502").await;
    let closed = Reply { framing: Framing::Raw, steps: vec![Step::Cut], ..Reply::stream("") };
    fails("a server that closes at once", &closed, ErrorKind::Network, "").await;
    let noise = Reply {
        framing: Framing::Raw,
        steps: vec![Step::Send(b"\x16\x03\x01 noise\r\n".to_vec())],
        ..Reply::stream("")
    };
    fails("no HTTP at all", &noise, ErrorKind::Malformed, "is not valid HTTP").await;
    fails("a stream of nothing", &Reply::stream(""), ErrorKind::Malformed, "").await;
    fails("a stream of noise", &Reply::stream("data: {oops\n\n".repeat(9)), ErrorKind::Malformed, "").await;
}

/// The paused clock advances once every task waits, so that five minutes pass at once.
#[tokio::test]
async fn a_server_that_stalls_after_its_headers_times_out() {
    for api in APIS {
        let held = Reply::stream("").then(Step::Hold);
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let replies = std::sync::Mutex::new(vec![text(api, "still fine"), text(api, "fine"), held]);
        let server = sinew_testkit::provider::Server::start(move |request| {
            let reply = || replies.lock().unwrap().pop().unwrap();
            let reply = sinew_testkit::provider::order::refusal(request).unwrap_or_else(reply);
            // Sent once this request has its reply, because the next one may follow at once. The test may be over.
            let _ = tell.send(());
            reply
        });
        let env = TestEnv::new(api, &server, |settings| settings.retry.enabled = false);
        let agent = Arc::clone(&env.agent);
        let prompt = tokio::spawn(async move { agent.prompt(vec![crate::served::test_env::user("go")], None).await });
        // Not on a blocking thread, because the paused clock waits for those.
        told.recv().await.unwrap();
        tokio::time::pause();
        let outcome = prompt.await.unwrap().unwrap();
        tokio::time::resume();
        let Stop::Failed(error) = outcome.stop else { panic!("{api}: {:?}", outcome.stop) };
        assert_eq!(error.kind, ErrorKind::Timeout, "{api}: {}", error.message);
        assert_eq!(env.prompt("again").await.stop, Stop::Done, "{api}");
    }
}

#[tokio::test]
async fn skipped_events_are_reported_once_per_answer() {
    for api in APIS {
        let said = ModelAnswer { text: "fine", calls: &[], cut: false };
        let broken = || "data: {oops\n\n".to_string();
        let whole = events(api, said).into_iter().flat_map(|event| [broken(), event]).collect::<String>();
        let server = strict(vec![Reply::stream(whole)]);
        let env = TestEnv::new(api, &server, |_| ());
        let mut listener = env.agent.subscribe(Snapshots::Each);
        assert_eq!(env.prompt("go").await.stop, Stop::Done, "{api}");
        let mut told = Vec::new();
        while let Some(event) = listener.try_recv() {
            if let Event::Warning { message } = &*event {
                told.push(message.clone());
            }
        }
        let ends = "of the answer's events were skipped because they are not JSON, the first: {oops";
        assert!(told.len() == 1 && told[0].ends_with(ends), "{api}: {told:?}");
    }
}
