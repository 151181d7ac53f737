//! Tests the prompt after a run that did not finish: a strict server accepts it.

use std::sync::Mutex;

use serde_json::Value;
use sinew_agent::agent::Stop;
use sinew_testkit::provider::overflow::RECORDED;
use sinew_testkit::provider::{Reply, Server, Step, order};
use tokio::sync::mpsc;

use crate::served::replies::{APIS, ModelAnswer, ScriptedCall, calls, events, reply, text};
use crate::served::test_env::{TestEnv, strict, user};

const TWO: &[ScriptedCall<'_>] = &[("call_1", "echo", r#"{"say":"a"}"#), ("call_2", "echo", r#"{"say":"b"}"#)];

/// Sends another prompt, in the same process and after a resume.
async fn goes_on(env: TestEnv, api: &str, server: &Server, what: &str) {
    let outcome = env.prompt("again").await;
    assert_eq!(outcome.stop, Stop::Done, "{what}: {:?}", outcome.answer.and_then(|answer| answer.error_message));
    let env = env.resumed(api, server).await;
    let outcome = env.prompt("and again").await;
    assert_eq!(
        outcome.stop,
        Stop::Done,
        "{what}, resumed: {:?}",
        outcome.answer.and_then(|answer| answer.error_message)
    );
}

fn tail(api: &str, first: Vec<Reply>) -> Server {
    strict(first.into_iter().chain([text(api, "fine"), text(api, "still fine")]).collect())
}

#[tokio::test]
async fn the_next_prompt_is_accepted_after_an_error_at_every_point() {
    for api in APIS {
        let said = ModelAnswer { text: "Let me see.", calls: TWO, cut: false };
        let whole = events(api, said);
        for end in 0..whole.len() {
            let reply = Reply::stream(whole[..end].concat()).then(Step::Cut);
            let server = tail(api, vec![calls(api, &TWO[..1]), reply]);
            let env = TestEnv::new(api, &server, |settings| settings.retry.enabled = false);
            let outcome = env.prompt("go").await;
            // An answer without the final events may count as complete, but no call may be lost.
            let what = format!("{api}, after {end} of {}", whole.len());
            assert!(matches!(outcome.stop, Stop::Failed(_) | Stop::Done), "{what}: {:?}", outcome.stop);
            goes_on(env, api, &server, &what).await;
        }
    }
}

#[tokio::test]
async fn the_next_prompt_is_accepted_after_an_abort_while_tools_run() {
    for api in APIS {
        let batch = [TWO[0], ("call_3", "waits", "{}"), TWO[1]];
        let server = tail(api, vec![calls(api, &batch)]);
        let env = TestEnv::new(api, &server, |_| ());
        let abort = async {
            env.begun.notified().await;
            env.agent.abort();
        };
        let (outcome, ()) = tokio::join!(env.prompt("go"), abort);
        assert_eq!(outcome.stop, Stop::Aborted, "{api}");
        assert_eq!(env.results(), ["1 bytes", "Operation aborted", "1 bytes"], "{api}");
        goes_on(env, api, &server, api).await;
    }
}

/// A strict server that sends `sent` events of an answer, signals it, and then stalls; later requests receive a text.
fn holding(api: &'static str, sent: usize) -> (Server, mpsc::UnboundedReceiver<()>) {
    let said = ModelAnswer { text: "Let me see.", calls: TWO, cut: false };
    let whole = events(api, said);
    let first = Mutex::new(Some(Reply::stream(whole[..sent].concat()).then(Step::Hold)));
    let (tell, told) = mpsc::unbounded_channel();
    let server = Server::start(move |request| {
        let reply = order::refusal(request).or_else(|| first.lock().unwrap().take());
        // The test may be over.
        let _ = tell.send(());
        reply.unwrap_or_else(|| text(api, "fine"))
    });
    (server, told)
}

#[tokio::test]
async fn an_abort_ends_a_hanging_request_and_leaves_nothing_running() {
    for api in APIS {
        let whole = events(api, ModelAnswer { text: "Let me see.", calls: TWO, cut: false }).len();
        for sent in [0, 1, whole / 2, whole - 2] {
            let (server, mut asked) = holding(api, sent);
            let env = TestEnv::new(api, &server, |_| ());
            let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
            let abort = async {
                asked.recv().await.unwrap();
                env.agent.abort();
            };
            let (outcome, ()) = tokio::join!(env.agent.prompt(vec![user("go")], None), abort);
            let what = format!("{api}, after {sent} of {whole}");
            assert_eq!(outcome.unwrap().stop, Stop::Aborted, "{what}");
            // The task of the connection ends, and closes the connection.
            while tokio::runtime::Handle::current().metrics().num_alive_tasks() > before {
                tokio::task::yield_now().await;
            }
            goes_on(env, api, &server, &what).await;
        }
    }
}

#[tokio::test]
async fn the_next_prompt_is_accepted_after_the_turn_limit() {
    for api in APIS {
        let server = tail(api, vec![calls(api, TWO)]);
        let env = TestEnv::new(api, &server, |settings| settings.run.max_turns = 1);
        assert_eq!(env.prompt("go").await.stop, Stop::TurnLimit(1), "{api}");
        goes_on(env, api, &server, api).await;
    }
}

#[tokio::test]
async fn calls_truncated_by_the_output_limit_get_an_error_and_the_run_continues() {
    for api in APIS {
        let cut = reply(api, ModelAnswer { text: "So:", calls: TWO, cut: true });
        let server = tail(api, vec![cut, text(api, "smaller")]);
        let env = TestEnv::new(api, &server, |_| ());
        assert_eq!(env.prompt("go").await.stop, Stop::Done, "{api}");
        assert!(env.results().iter().all(|said| said.starts_with("The reply was cut off")), "{api}");
        goes_on(env, api, &server, api).await;
    }
}

/// After an incomplete call, the model is informed and may use its maximum output.
#[tokio::test]
async fn a_call_truncated_by_the_output_limit_is_retried_at_most_twice() {
    let half: &[ScriptedCall<'_>] = &[("call_1", "echo", r#"{"say":"a"#)];
    let whole_and_half: &[ScriptedCall<'_>] = &[TWO[0], ("call_2", "echo", r#"{"say":"b"#)];
    for api in APIS {
        // In the protocol of Google, a call is either complete or missing.
        let all = if api == "google-generative-ai" { vec![TWO] } else { vec![half, whole_and_half, TWO] };
        for calls_of in all {
            for cuts in 1..=3 {
                let cut = || reply(api, ModelAnswer { text: "So:", calls: calls_of, cut: true });
                let then = [calls(api, &TWO[..1]), text(api, "done")];
                let replies = (0..cuts).map(|_| cut()).chain(if cuts < 3 { then.to_vec() } else { Vec::new() });
                let server = tail(api, replies.collect());
                let env = TestEnv::new(api, &server, |_| ());
                let outcome = env.prompt("go").await;
                let what = format!("{api}, {cuts} times {calls_of:?}");
                assert_eq!(outcome.stop, if cuts < 3 { Stop::Done } else { Stop::CallCut }, "{what}");
                let ran = env.results().iter().filter(|text| !text.starts_with("The reply was cut off")).count();
                assert_eq!(ran, usize::from(cuts < 3), "{what}: {:?}", env.results());
                let sent: Vec<Value> = server.requests().iter().map(|request| request.json()).collect();
                assert_eq!(sent.len(), if cuts < 3 { cuts + 2 } else { 3 }, "{what}");
                let told = sent[1].to_string();
                assert!(told.contains("cut off by the output limit"), "{what}: {told}");
                let limit = |body: &Value| {
                    let places = ["/max_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens"];
                    places.iter().find_map(|place| body.pointer(place)).and_then(Value::as_u64)
                };
                assert_eq!(limit(&sent[1]), Some(64_000), "{what}: {told}");
                assert_eq!(limit(&sent[0]), (api == "anthropic-messages").then_some(32_000), "{what}");
                goes_on(env, api, &server, &what).await;
            }
        }
    }
}

#[tokio::test]
async fn an_output_limit_set_by_the_user_is_not_raised() {
    let api = "anthropic-messages";
    let cut = reply(api, ModelAnswer { text: "", calls: &[("c", "echo", r#"{"say":"#)], cut: true });
    let server = strict(vec![cut, text(api, "done")]);
    let env = TestEnv::new(api, &server, |settings| settings.max_tokens = Some(100));
    assert_eq!(env.prompt("go").await.stop, Stop::Done);
    let limits: Vec<_> = server.requests().iter().map(|request| request.json()["max_tokens"].clone()).collect();
    assert_eq!(limits, [100, 100]);
}

/// For every wording of a context overflow, the context is compacted and the prompt is answered.
#[tokio::test]
async fn a_context_overflow_of_any_provider_is_compacted_and_the_run_continues() {
    for recorded in RECORDED {
        let api = if recorded.provider == "anthropic" { "anthropic-messages" } else { "openai-completions" };
        let first = text(api, "a long answer");
        let server = strict(vec![first, recorded.reply(), text(api, "the summary"), text(api, "fine")]);
        let env = TestEnv::new(api, &server, |settings| {
            settings.retry.enabled = false;
            settings.compaction.limits.keep_recent = 4;
        });
        assert_eq!(env.prompt("go").await.stop, Stop::Done, "{recorded:?}");
        let outcome = env.prompt("on").await;
        assert_eq!(outcome.stop, Stop::Done, "{recorded:?}");
        assert_eq!(outcome.answer.unwrap().text(), "fine", "{recorded:?}");
        assert_eq!(server.requests().len(), 4, "{recorded:?}");
        let last = String::from_utf8(server.requests()[3].body.clone()).unwrap();
        assert!(last.contains("<summary>"), "{recorded:?}: {last}");
    }
}
