//! Measures how fast answers are parsed: events alone, and complete answers over a socket, in each protocol.
//! `cargo run --profile quick -p sinew-llm --example stream_speed`
#![allow(clippy::print_stdout, reason = "a measurement prints what it measured")]
#![allow(clippy::unwrap_used, reason = "a failed measurement panics")]

use std::time::Instant;

use serde_json::{Value, json};
use sinew_llm::http::HttpClient;
use sinew_llm::sse::SseDecoder;
use sinew_llm::{LlmMessage, Model, Request, wire};
use sinew_testkit::provider::{Reply, Server, Step};
use tokio_util::sync::CancellationToken;

/// The approximate number of bytes of one read from a socket.
const PIECE: usize = 16 * 1024;

/// The events before a piece of text, the piece, and the events after it.
fn events(api: &str, text: &str) -> [Vec<Value>; 3] {
    match api {
        "anthropic-messages" => [
            vec![json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})],
            vec![json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})],
            vec![
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
                json!({"type": "message_stop"}),
            ],
        ],
        "openai-completions" => [
            vec![],
            vec![json!({"id": "chatcmpl-9sKcH1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})],
            vec![json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})],
        ],
        "openai-responses" => [
            vec![json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}})],
            vec![
                json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text}),
            ],
            vec![json!({"type": "response.completed", "response": {"status": "completed"}})],
        ],
        _ => [
            vec![],
            vec![json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}]})],
            vec![json!({"candidates": [{"finishReason": "STOP"}]})],
        ],
    }
}

fn written(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn decoder(name: &str, event: &str, count: usize) {
    let body = event.repeat(count).into_bytes();
    let best = (0..5).map(|_| {
        let (mut decoder, mut seen, begun) = (SseDecoder::new(), 0, Instant::now());
        for piece in body.chunks(PIECE) {
            decoder.feed(piece, |event| seen += usize::from(!event.data.is_empty())).unwrap();
        }
        assert_eq!(seen, count);
        begun.elapsed().as_secs_f64()
    });
    let best = best.fold(f64::MAX, f64::min);
    let (rate, events) = (body.len() as f64 / 1e6 / best, count as f64 / 1e6 / best);
    println!("{name:32} {rate:7.0} MB/s {events:7.2} M events/s");
}

async fn answer(api: &str, piece: &str, count: usize) -> f64 {
    let [before, one, after] = events(api, piece);
    let (one, batch) = (written(&one), 100);
    let mut steps = vec![Step::Send(written(&before).into_bytes())];
    steps.extend((0..count / batch).map(|_| Step::Send(one.repeat(batch).into_bytes())));
    steps.push(Step::Send(written(&after).into_bytes()));
    let bytes: usize = one.len() * count;
    let server = Server::replies(vec![Reply { steps, ..Reply::stream("") }]);
    let model = Model { id: "m".into(), api: api.into(), base_url: server.url(), ..Model::default() };
    let request = Request { model, messages: vec![LlmMessage::user("hi").into()], ..Request::default() };
    let provider = wire::provider(api, HttpClient::default()).unwrap();
    let begun = Instant::now();
    let message = provider.stream(request, CancellationToken::new()).result().await;
    let took = begun.elapsed().as_secs_f64();
    assert_eq!((message.error, message.content.len()), (None, 1), "{api}");
    let (rate, events) = (bytes as f64 / 1e6 / took, count as f64 / 1e6 / took);
    println!("{api:24} {:>7} {rate:7.0} MB/s {events:7.2} M events/s", count);
    took
}

#[tokio::main]
async fn main() {
    for api in ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"] {
        decoder(&format!("decode {api}"), &written(&events(api, "hello ")[1]), 400_000);
    }
    decoder("decode, 4 KB each", &written(&events("anthropic-messages", &"lorem ".repeat(680))[1]), 20_000);
    for api in ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"] {
        let once = answer(api, "hello ", 200_000).await;
        let twice = answer(api, "hello ", 400_000).await;
        println!("{:24} twice the data: {:.2} times as long", "", twice / once);
    }
}
