use ::http::HeaderMap;

use sinew_testkit::provider::overflow::RECORDED;

use super::classify::{RequestContext, from_response, from_stream};
use super::*;

const NOW: i64 = 1_700_000_000_000;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (::http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

fn context() -> RequestContext<'static> {
    RequestContext {
        provider: "acme",
        model: "m1",
        base_url: "https://api.acme.test/v1",
        secrets: vec!["topsecretkey"],
    }
}

#[track_caller]
fn check(status: u16, body: &str, kind: ErrorKind, retryable: bool) {
    let info = from_response(&context(), status, &HeaderMap::new(), body, NOW);
    assert_eq!((info.kind, info.retryable, info.status), (kind, retryable, Some(status)), "{body}");
}

#[test]
fn classifies_errors_by_status_and_body() {
    use ErrorKind::*;
    check(401, r#"{"error":{"message":"no"}}"#, Auth, false);
    check(403, "", Permission, false);
    check(451, "", Permission, false);
    check(404, "", NotFound, false);
    check(429, r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#, RateLimit, true);
    check(429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#, UsageLimit, false);
    check(429, r#"{"error":{"message":"You have hit your usage limit."}}"#, UsageLimit, false);
    check(402, "", UsageLimit, false);
    check(529, "", Overloaded, true);
    check(503, "", Overloaded, true);
    check(500, "", Server, true);
    check(502, "<html><title>Bad Gateway</title></html>", Server, true);
    check(504, "", Server, true);
    check(599, "", Server, true);
    check(408, "", Timeout, true);
    check(413, "", ContextOverflow, false);
    check(400, r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#, ContextOverflow, false);
    check(
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
        ContextOverflow,
        false,
    );
    check(400, r#"{"error":{"message":"Your credit balance is too low"}}"#, UsageLimit, false);
    check(400, r#"{"error":{"status":"INVALID_ARGUMENT","message":"API key not valid."}}"#, Auth, false);
    check(400, r#"{"error":{"message":"bad field"}}"#, InvalidRequest, false);
    check(422, r#"{"detail":"bad field"}"#, InvalidRequest, false);
}

#[test]
fn recognizes_every_recorded_overflow() {
    for recorded in RECORDED {
        let info = match recorded.body.split_once("data: ") {
            Some((_, data)) => from_stream(&context(), &serde_json::from_str(data).unwrap()),
            None => from_response(&context(), recorded.status, &HeaderMap::new(), recorded.body, NOW),
        };
        assert_eq!((info.kind, info.retryable), (ErrorKind::ContextOverflow, false), "{recorded:?}");
    }
    for (provider, _) in overflow::WORDS {
        assert!(RECORDED.iter().any(|recorded| recorded.provider == *provider), "no answer of {provider} is recorded");
    }
}

#[test]
fn other_messages_about_lengths_and_tokens_are_not_overflows() {
    use ErrorKind::*;
    check(400, r#"{"error":{"message":"tools.0.name exceeds the maximum length of 64"}}"#, InvalidRequest, false);
    check(400, r#"{"error":{"message":"max_tokens is above the model's output limit"}}"#, InvalidRequest, false);
    check(400, r#"{"error":{"code":1210,"message":"Incorrect parameter"}}"#, InvalidRequest, false);
    check(429, r#"{"message":"ThrottlingException: Too many tokens, please wait"}"#, RateLimit, true);
    check(402, r#"{"error":{"message":"Prompt tokens limit exceeded: 36163 > 29652"}}"#, UsageLimit, false);
    for text in [
        "Too many input tokens per minute. Max input tokens per minute: 40000",
        "Request too large for model on tokens per min (TPM): Limit 30000, Requested 41000",
        "This request would exceed your rate limit of 40,000 input tokens per minute",
        "The number of input tokens per day cannot exceed the limit of your plan",
        "You have exceeded the configured limit of input tokens per minute",
        "Requested tokens (41000) exceed the limit of 40000 tokens per minute",
    ] {
        let body = serde_json::json!({"error": {"message": text}}).to_string();
        check(429, &body, RateLimit, true);
        check(400, &body, InvalidRequest, false);
    }
    for text in [
        "`max_new_tokens` must be <= 512. Given: 1024",
        "`temperature` must have less than 3 digits",
        "`stop` must have less than 5 entries",
        "the model is longer than the path allows",
        "max_tokens exceeds the model limit of 4096 output tokens",
    ] {
        check(400, &serde_json::json!({"error": {"message": text}}).to_string(), InvalidRequest, false);
    }
    check(401, "", Auth, false);
    check(422, "", InvalidRequest, false);
    check(503, r#"{"error":{"message":"The model is overloaded"}}"#, Overloaded, true);
}

#[test]
fn classifies_errors_inside_a_stream_by_their_type() {
    let kind = |json: serde_json::Value| from_stream(&context(), &json).kind;
    assert_eq!(
        kind(serde_json::json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})),
        ErrorKind::Overloaded
    );
    assert_eq!(kind(serde_json::json!({"type": "api_error", "message": "x"})), ErrorKind::Server);
    assert_eq!(kind(serde_json::json!({"code": 429, "message": "x"})), ErrorKind::RateLimit);
    assert_eq!(
        kind(serde_json::json!({"message": "This model's maximum context length is 8192 tokens"})),
        ErrorKind::ContextOverflow
    );
    assert_eq!(kind(serde_json::json!("what")), ErrorKind::Server);
}

#[track_caller]
fn waits(name: &'static str, value: &str, ms: Option<u64>) {
    let info = from_response(&context(), 429, &headers(&[(name, value)]), "{}", NOW);
    assert_eq!(info.retry_after_ms, ms, "{name}: {value}");
}

#[test]
fn parses_every_form_of_retry_delay() {
    waits("retry-after", "7", Some(7000));
    waits("retry-after", "1.5", Some(1500));
    waits("retry-after-ms", "250", Some(250));
    waits("retry-after", "Tue, 14 Nov 2023 22:13:30 GMT", Some(10_000));
    waits("retry-after", "Tue, 14 Nov 2000 22:13:30 GMT", Some(0));
    waits("retry-after", "soon", None);
    waits("retry-after", "-5", None);
    waits("x-ratelimit-reset", "1700000005", Some(5000));
    waits("x-ratelimit-reset-tokens", "1m30.5s", Some(90_500));
    waits("x-ratelimit-reset-requests", "120ms", Some(120));
    let body = r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"31s"}]}}"#;
    assert_eq!(from_response(&context(), 429, &HeaderMap::new(), body, NOW).retry_after_ms, Some(31_000));
}

#[test]
fn the_message_names_provider_status_wait_and_request() {
    let headers = headers(&[("retry-after", "7"), ("request-id", "req_1")]);
    let info = from_response(&context(), 429, &headers, r#"{"error":{"message":"slow down"}}"#, NOW);
    assert_eq!(info.message, "acme: slow down (HTTP 429, retry after 7s, request req_1)");
    let body = r#"{"error":{"message":"slow down"},"request_id":"req_2"}"#;
    let info = from_response(&context(), 500, &HeaderMap::new(), body, NOW);
    assert_eq!(
        (info.request_id.as_deref(), info.message.as_str()),
        (Some("req_2"), "acme: slow down (HTTP 500, request req_2)")
    );
    let info = from_response(&context(), 404, &HeaderMap::new(), "", NOW);
    assert!(
        info.message.contains("\"m1\" at https://api.acme.test/v1") && info.message.contains("/v1)"),
        "{}",
        info.message
    );
    let info = from_response(&context(), 502, &HeaderMap::new(), "<!DOCTYPE html><title>Bad\n gateway</title>", NOW);
    assert_eq!(info.message, "acme: the server answered with a web page: Bad gateway (HTTP 502)");
}

#[test]
fn bodies_are_cut_and_contain_no_key() {
    let body = format!("bad key topsecretkey, sk-proj-abcdefghijkl and Bearer abcdefghijkl {}", "x".repeat(5000));
    let info = from_response(&context(), 401, &HeaderMap::new(), &body, NOW);
    assert!(info.message.starts_with("acme: bad key ***, *** and Bearer *** xxx"), "{}", info.message);
    assert!(info.message.chars().count() < 2050);
}

#[test]
fn keeps_words_that_only_look_like_keys() {
    assert_eq!(mask("task-force sk-1 the sky", &["abc"]), "task-force sk-1 the sky");
    check_mask("no key=\"a b+c/d\" in a%20b%2Bc%2Fd or a+b%2bc%2fd", &["a b+c/d"], "no key=\"***\" in *** or ***");
    check_mask("POST https://h/v1?alt=sse&key=0123456789abc: 400", &[], "POST https://h/v1?alt=sse&key=***: 400");
    check_mask("{\"x-api-key\": \"0123456789abc\", \"a\": 1}", &[], "{\"x-api-key\": \"***\", \"a\": 1}");
    check_mask(
        "Authorization: Basic dXNlcjp+wYXNz/w==, X-Goog-Api-Key: 0123456789",
        &[],
        "Authorization: Basic ***, X-Goog-Api-Key: ***",
    );
    check_mask("see https://me:pass@host/v1 and mail me@host", &[], "see https://***@host/v1 and mail me@host");
    let plain = "the key: yesterday, token: expected, a password: short, http://h/a@b?x=1";
    check_mask(plain, &[], plain);
}

#[track_caller]
fn check_mask(text: &str, secrets: &[&str], expect: &str) {
    assert_eq!(mask(text, secrets), expect);
}

#[test]
fn masks_a_key_that_a_server_echoes() {
    let key = "top/secret+key";
    let context = RequestContext { secrets: vec![key], base_url: "https://me:topsecretword@h/v1", ..context() };
    let encoded: String = url::form_urlencoded::byte_serialize(key.as_bytes()).collect();
    let body =
        serde_json::json!({"error": {"message": format!("bad {key} and {encoded}"), "type": key}, "request_id": key});
    for status in [400, 401, 404, 429, 500, 529] {
        let echoed = headers(&[("x-request-id", key)]);
        let info = from_response(&context, status, &echoed, &body.to_string(), NOW);
        let plain = from_response(&context, status, &HeaderMap::new(), &format!("<p>{encoded}"), NOW);
        for shown in [format!("{info:?}"), format!("{plain:?}"), serde_json::to_string(&info).unwrap()] {
            for secret in [key, &encoded, "topsecretword"] {
                assert!(!shown.contains(secret), "{status}: {shown}");
            }
        }
    }
}

#[test]
fn uses_a_reset_time_only_if_nothing_remains() {
    let wait = |status: u16, pairs: &[(&'static str, &str)]| {
        from_response(&context(), status, &headers(pairs), "", NOW).retry_after_ms
    };
    let requests = ("x-ratelimit-reset-requests", "1s");
    let tokens = ("x-ratelimit-reset-tokens", "6m0s");
    assert_eq!(wait(429, &[requests, tokens]), Some(360_000));
    assert_eq!(
        wait(429, &[requests, ("x-ratelimit-remaining-requests", "0"), tokens, ("x-ratelimit-remaining-tokens", "9")]),
        Some(1000)
    );
    assert_eq!(wait(500, &[requests, tokens]), None);
    assert_eq!(wait(500, &[("retry-after", "2")]), Some(2000));
}
