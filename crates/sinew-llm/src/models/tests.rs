use super::*;
use crate::model::ThinkingLevel;

const FILE: &str = r#"{
  // a company's gateway
  "providers": {
    "gate": {
      "baseUrl": "https://gate.test/v1/", /* "x": , } */
      "apiKey": "GATE_KEY", "authHeader": true, "headers": {"X-Team": "platform", "X-B": "p"},
      "models": [ {"id": "big", "contextWindow": 500000, "headers": {"x-b": "m"}, "compat": {"supportsStore": true}}, {"id": "small"}, ],
      "modelOverrides": {"big": {"compat": {"requiresToolResultName": true}}, "later": {"maxTokens": 7}},
    },
    "anthropic": {"baseUrl": "https://proxy.test", "modelOverrides": {"claude-opus-4-1": {"contextWindow": 9}}},
  },
}"#;

fn registry() -> Registry {
    let mut registry = Registry::builtin(None);
    registry.merge_file(FILE, "models.json").unwrap();
    registry
}

#[test]
fn a_file_adds_and_changes_models() {
    let mut registry = registry();
    let big = registry.find("gate", "big").unwrap();
    assert_eq!((big.context_window, big.max_tokens, big.api.as_str()), (500_000, 16_384, "openai-completions"));
    assert_eq!(big.base_url, "https://gate.test/v1");
    assert_eq!(big.headers, [("X-Team".to_string(), "platform".to_string()), ("x-b".to_string(), "m".to_string())]);
    assert_eq!((big.compat.supports_store, big.compat.requires_tool_result_name), (Some(true), Some(true)));
    let opus = registry.find("anthropic", "claude-opus-4-1").unwrap();
    assert_eq!((opus.base_url.as_str(), opus.context_window, opus.max_tokens), ("https://proxy.test", 9, 32_000));

    let found = |id: &str| DiscoveredModel { id: id.into(), context_window: Some(5) };
    let models = vec![found("big"), found("later")];
    registry.add_discovered(&answer("gate", 0, models));
    assert_eq!(registry.find("gate", "big").unwrap().context_window, 500_000);
    let later = registry.find("gate", "later").unwrap();
    assert_eq!((later.context_window, later.max_tokens), (5, 7));
}

fn answer(provider: &str, asked_at: i64, models: Vec<DiscoveredModel>) -> Discovery {
    let address = format!("https://{provider}.test/v1/models");
    Discovery { provider: provider.into(), address, asked_at, state: DiscoveryState::Ok, models }
}

#[test]
fn an_answer_is_kept_for_a_day_and_for_its_address() {
    let registry = registry();
    let mut gate = registry.provider("gate").unwrap().clone();
    let model = DiscoveredModel { id: "x".into(), context_window: None };
    let mut cache = DiscoveryCache::default();
    cache.put(answer("gate", 1000, vec![model.clone()]));
    let empty = Discovery { state: DiscoveryState::Empty("nothing".into()), ..answer("gate", 2000, vec![]) };
    cache.put(empty.clone());
    let cache = DiscoveryCache::parse(&cache.to_text());
    assert_eq!(cache.fresh(&gate, 1000 + CACHE_MS), Some(&answer("gate", 1000, vec![model])));
    assert_eq!(cache.fresh(&gate, 1001 + CACHE_MS), None);
    assert_eq!(cache.fresh(&gate, 999), None);
    let known = cache.any(&gate).unwrap();
    let shown = [3000, 61_000, 4_000_000, 3 * CACHE_MS].map(|now| known.describe(true, now));
    assert_eq!(shown[0], "gate: cached (2 s ago, 1 model)");
    assert_eq!(shown[1..].iter().map(|text| &text[14..19]).collect::<Vec<_>>(), ["1 min", "1 h a", "2 d a"]);
    assert_eq!(known.describe(false, 0), "gate: ok (1 model)");
    assert_eq!(empty.describe(false, 0), "gate: empty: nothing");
    let wants = Discovery { state: DiscoveryState::Unauthenticated, ..empty };
    assert_eq!(wants.describe(false, 0), "gate: unauthenticated: https://gate.test/v1/models wants a key");
    gate.base_url = "https://elsewhere.test".into();
    assert_eq!(cache.fresh(&gate, 1000), None);
    assert_eq!(DiscoveryCache::parse("{nonsense"), DiscoveryCache::default());
}

#[test]
fn an_override_holds_for_a_model_that_no_table_has() {
    let mut registry = Registry::builtin(None);
    let file = r#"{"providers": {"openai": {"modelOverrides": {"gpt-99": {"contextWindow": 7}}}}}"#;
    registry.merge_file(file, "m").unwrap();
    assert_eq!(registry.select("gpt-99", &|_| true).unwrap().model.context_window, 7);
}

#[track_caller]
fn refuse(text: &str, expect: &str) {
    let mut registry = Registry::builtin(None);
    let error = registry.merge_file(text, "models.json").unwrap_err();
    assert_eq!(error.to_string(), expect);
    assert_eq!(registry, Registry::builtin(None));
}

#[test]
fn a_broken_file_names_its_place_and_changes_nothing() {
    refuse("{\n  // c\n  \"providers\": {\n    \"a\": }\n}", "models.json:4:10: expected value");
    refuse(
        "{\"providers\":\n{\"a\": {\"models\": [{\"id\": \"x\"}]}}}",
        "models.json:2:1: provider \"a\": \"models\" needs a \"baseUrl\"",
    );
    refuse(
        "{\"providers\": {\"a\": {}}}",
        "models.json:1:1: provider \"a\": needs one of \"models\", \"baseUrl\", \"modelOverrides\", \"discovery\"",
    );
    refuse(
        "{\n\"providers\": {\n \"z\": {\"baseUrl\": \"http://z\"},\n \"a\": {\n  // é\n  \"baseUrl\": \"http://x\", \"models\": [\n   {\"contextWindow\": \"big\"}]}}}",
        "models.json:7:26: provider \"a\": invalid type: string \"big\", expected u64",
    );
    refuse(
        "{\"providers\": {\"a\": {\"apiKey\": 5}}}",
        "models.json:1:32: provider \"a\": invalid type: integer `5`, expected a string",
    );
    let mut registry = Registry::builtin(None);
    let error = registry
        .merge_file("{\"providers\": {\"a\": {\"baseUrl\": \"http://x\", \"api\": \"telex\"}}}", "m")
        .unwrap_err();
    assert!(error.reason.contains("unknown api \"telex\"; expected one of anthropic-messages"), "{error}");
}

#[test]
fn comments_and_last_commas_become_blanks_of_the_same_length() {
    let text = "{\"a\": \"// no\", /* é */ \"b\": [1,2, // x\n ], \"c\": \"\\\"/*\",}";
    let plain = file::plain_json(text);
    assert_eq!(plain.len(), text.len());
    let value: serde_json::Value = serde_json::from_str(&plain).unwrap();
    assert_eq!(value, serde_json::json!({"a": "// no", "b": [1, 2], "c": "\"/*"}));
    for odd in ["", "\"", "\"\\", "/*", "//", "/", ",", "{,}"] {
        assert_eq!(file::plain_json(odd).len(), odd.len());
    }
}

#[track_caller]
fn check(pattern: &str, expect: &str) {
    let found = registry().select(pattern, &|provider| provider != "openrouter").unwrap();
    let level = found.level.map_or(String::new(), |level| format!(" at {}", level.as_str()));
    let mark = if found.warning.is_some() { " with the defaults" } else { "" };
    assert_eq!(format!("{}{level}{mark}", found.model.key()), expect, "{pattern}");
}

#[test]
fn a_pattern_means_a_model() {
    check("openai/gpt-5", "openai/gpt-5");
    check("gpt-5", "openai/gpt-5");
    check("openai/gpt-5:high", "openai/gpt-5 at high");
    check("sonnet", "anthropic/claude-sonnet-4-5");
    check("Sonnet:high", "anthropic/claude-sonnet-4-5 at high");
    check("20250929", "anthropic/claude-sonnet-4-5-20250929");
    check("haiku", "anthropic/claude-haiku-4-5");
    check("gm25pro", "google/gemini-2.5-pro");
    check("anthropic/claude-sonnet-4.5", "openrouter/anthropic/claude-sonnet-4.5");
    check("big", "gate/big");
    check("gate/unheard", "gate/unheard with the defaults");
    check("opencode_go/x", "opencode/x with the defaults");
    check("claude-99", "anthropic/claude-99 with the defaults");
    check("o9-mini", "openai/o9-mini with the defaults");
    check("qwen3:8b", "ollama/qwen3:8b with the defaults");
    check("qwen3:8b:low", "ollama/qwen3:8b at low with the defaults");
}

#[test]
fn what_is_not_there_is_named_with_what_is_near() {
    let error = registry().select("gemmini-2.5-prow", &|_| true).unwrap_err();
    assert_eq!(error.similar[0], "google/gemini-2.5-pro");
    assert!(error.to_string().starts_with("Model not found: gemmini-2.5-prow. Similar: google/gemini-2.5-pro"));
}

#[test]
fn globs_mean_many() {
    let ids = |pattern: &str| -> Vec<String> {
        registry().select_all(pattern, &|_| true).iter().map(|found| found.model.id.clone()).collect()
    };
    assert_eq!(ids("openai/gpt-5-*:low"), ["gpt-5-mini", "gpt-5-nano"]);
    assert_eq!(ids("*opus-4-?"), ["claude-opus-4-5", "claude-opus-4-1"]);
    assert_eq!(ids("nothing*"), Vec::<String>::new());
    let found = registry().select_all("openai/gpt-5-*:low", &|_| true);
    assert_eq!(found[0].level, Some(ThinkingLevel::Low));
}

#[test]
fn the_first_provider_with_a_key_gives_the_first_model() {
    let registry = Registry::builtin(Some("box:9/"));
    assert_eq!(registry.provider("ollama").unwrap().base_url, "http://box:9/v1");
    assert_eq!(
        registry.first_with_key(&|provider| matches!(provider, "google" | "xai")).unwrap().key(),
        "google/gemini-2.5-pro"
    );
    assert_eq!(registry.first_with_key(&|_| false), None);
}

#[test]
fn a_full_context_goes_to_the_next_larger_model() {
    let registry = registry();
    let o3 = registry.find("openai", "o3").unwrap();
    assert_eq!(registry.promotion_target(o3).unwrap().key(), "openai/gpt-5");
    let small =
        Model { context_promotion_target: Some("gate/big".into()), ..registry.find("gate", "small").unwrap().clone() };
    assert_eq!(registry.promotion_target(&small).unwrap().key(), "gate/big");
}
