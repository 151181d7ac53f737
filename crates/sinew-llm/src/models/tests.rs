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
    "anthropic": {"baseUrl": "https://proxy.test", "modelOverrides": {"claude-opus-4-5": {"contextWindow": 9}}},
  },
}"#;

fn builtin(variables: &[(&str, &str)]) -> Registry {
    Registry::builtin(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string()))
}

fn registry() -> Registry {
    let mut registry = builtin(&[]);
    registry.merge_file(FILE, "models.json").unwrap();
    registry
}

#[test]
fn a_file_adds_and_changes_models_and_providers() {
    let mut registry = registry();
    let big = registry.find("gate", "big").unwrap();
    assert_eq!((big.context_window, big.max_tokens, big.api.as_str()), (500_000, 16_384, "openai-completions"));
    assert_eq!(big.base_url, "https://gate.test/v1");
    assert_eq!(big.headers, [("X-Team".to_string(), "platform".to_string()), ("x-b".to_string(), "m".to_string())]);
    assert_eq!((big.compat.supports_store, big.compat.requires_tool_result_name), (Some(true), Some(true)));
    let opus = registry.find("anthropic", "claude-opus-4-5").unwrap();
    assert_eq!((opus.base_url.as_str(), opus.context_window, opus.max_tokens), ("https://proxy.test", 9, 64_000));

    let found = |id: &str| DiscoveredModel { id: id.into(), context_window: Some(5), ..DiscoveredModel::default() };
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
fn caches_an_answer_for_a_day_and_for_its_address() {
    let registry = registry();
    let mut gate = registry.provider("gate").unwrap().clone();
    let model = DiscoveredModel { id: "x".into(), ..DiscoveredModel::default() };
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
    assert_eq!(wants.describe(false, 0), "gate: unauthenticated: https://gate.test/v1/models requires a key");
    gate.base_url = "https://elsewhere.test".into();
    assert_eq!(cache.fresh(&gate, 1000), None);
    assert_eq!(DiscoveryCache::parse("{nonsense"), DiscoveryCache::default());
}

#[test]
fn overrides_apply_to_models_in_no_table() {
    let mut registry = builtin(&[]);
    let file = r#"{"providers": {"openai": {"modelOverrides": {"gpt-99": {"contextWindow": 7}}}}}"#;
    registry.merge_file(file, "m").unwrap();
    assert_eq!(registry.select("gpt-99", &|_| true).unwrap().model.context_window, 7);
}

#[track_caller]
fn refuse(text: &str, expect: &str) {
    let mut registry = builtin(&[]);
    let error = registry.merge_file(text, "models.json").unwrap_err();
    assert_eq!(error.to_string(), expect);
    assert_eq!((registry.models(), registry.providers()), (builtin(&[]).models(), builtin(&[]).providers()));
}

#[test]
fn an_invalid_file_names_the_position_and_changes_nothing() {
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
    let mut registry = builtin(&[]);
    let error = registry
        .merge_file("{\"providers\": {\"a\": {\"baseUrl\": \"http://x\", \"api\": \"telex\"}}}", "m")
        .unwrap_err();
    assert!(error.reason.contains("unknown api \"telex\"; expected one of anthropic-messages"), "{error}");
}

#[test]
fn comments_and_trailing_commas_become_blanks_of_the_same_length() {
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
    let like = found.warning.as_ref().and_then(|text| text.split("taken from ").nth(1)?.split(". ").next());
    let mark = match (found.warning.is_some(), like) {
        (false, _) => String::new(),
        (true, Some(like)) => format!(" like {like}"),
        (true, None) => " with the defaults".to_string(),
    };
    assert_eq!(format!("{}{level}{mark}", found.model.key()), expect, "{pattern}");
}

#[test]
fn resolves_patterns_to_models() {
    check("openai/gpt-5", "openai/gpt-5");
    check("gpt-5", "openai/gpt-5");
    check("openai/gpt-5:high", "openai/gpt-5 at high");
    check("sonnet", "anthropic/claude-sonnet-5-5");
    check("Sonnet:high", "anthropic/claude-sonnet-5-5 at high");
    check("20250929", "anthropic/claude-sonnet-4-5-20250929");
    check("haiku", "anthropic/claude-haiku-5-5");
    check("gm25pro", "google/gemini-2.5-pro");
    check("openai/gpt-5.5", "openai/gpt-5.5");
    check("anthropic/claude-sonnet-4.6", "openrouter/anthropic/claude-sonnet-4.6");
    check("anthropic/claude-sonnet-4.5", "vercel-ai-gateway/anthropic/claude-sonnet-4.5");
    check("big", "gate/big");
    check("gate/unheard", "gate/unheard with the defaults");
    check("opencode_go/x", "opencode/x with the defaults");
    check("claude-99", "anthropic/claude-99 like anthropic/claude-sonnet-5-5");
    check("o9-mini", "openai/o9-mini like openai/o3");
    check("qwen3:8b", "ollama/qwen3:8b with the defaults");
    check("qwen3:8b:low", "ollama/qwen3:8b at low with the defaults");
}

#[test]
fn a_missing_model_is_reported_with_similar_ones() {
    let error = registry().select("gemmini-2.5-prow", &|_| true).unwrap_err();
    assert_eq!(error.similar[0], "google/gemini-2.5-pro");
    assert!(error.to_string().starts_with("Model not found: gemmini-2.5-prow. Similar: google/gemini-2.5-pro"));
}

#[test]
fn globs_match_several_models() {
    let ids = |pattern: &str| -> Vec<String> {
        registry().select_all(pattern, &|_| true).iter().map(|found| found.model.id.clone()).collect()
    };
    assert_eq!(ids("openai/gpt-5-????:low"), ["gpt-5-mini", "gpt-5-nano"]);
    assert_eq!(
        ids("anthropic/*opus-4-?"),
        ["claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-opus-4-5"]
    );
    assert_eq!(ids("nothing*"), Vec::<String>::new());
    let found = registry().select_all("openai/gpt-5-????:low", &|_| true);
    assert_eq!(found[0].level, Some(ThinkingLevel::Low));
}

#[test]
fn the_default_model_is_from_the_first_provider_with_a_key() {
    let registry = builtin(&[("OLLAMA_HOST", "box:9/")]);
    assert_eq!(registry.provider("ollama").unwrap().base_url, "http://box:9/v1");
    assert_eq!(
        registry.first_with_key(&|provider| matches!(provider, "google" | "xai")).unwrap().key(),
        "google/gemini-3.1-pro-preview"
    );
    assert_eq!(registry.first_with_key(&|_| false), None);
}

#[test]
fn a_full_context_selects_the_next_larger_model() {
    let registry = registry();
    let next =
        |provider: &str, id: &str| registry.promotion_target(&registry.find(provider, id).unwrap()).map(|m| m.key());
    assert_eq!(next("anthropic", "claude-sonnet-4-5").as_deref(), Some("anthropic/claude-sonnet-5-5"));
    assert_eq!(next("openai", "gpt-4o").as_deref(), Some("openai/gpt-5.2"), "of its family");
    assert_eq!(next("anthropic", "claude-sonnet-5-5"), None);
    let small =
        Model { context_promotion_target: Some("gate/big".into()), ..registry.find("gate", "small").unwrap().clone() };
    assert_eq!(registry.promotion_target(&small).unwrap().key(), "gate/big");
}

#[test]
fn looked_up_models_match_the_table() {
    let registry = registry();
    for model in registry.models() {
        assert_eq!(registry.find(&model.provider, &model.id).as_ref(), Some(model));
    }
    for entry in registry.providers() {
        let first = registry.models().iter().find(|model| model.provider == entry.id);
        assert_eq!(registry.default_model(&entry.id).as_ref(), first, "{}", entry.id);
    }
}

#[test]
fn a_model_has_the_properties_of_the_table() {
    use crate::model::{Cost, HighestEffort, Input, ThinkingMode};
    let registry = builtin(&[]);
    let sonnet = registry.find("anthropic", "claude-sonnet-5-5").unwrap();
    assert_eq!((sonnet.context_window, sonnet.max_tokens), (1_000_000, 128_000));
    assert_eq!(sonnet.cost, Cost { input: 2.0, output: 10.0, cache_read: 0.1, cache_write: 2.5 });
    assert_eq!((sonnet.thinking_mode, sonnet.compat.always_thinks), (ThinkingMode::Adaptive, Some(true)));
    let compat = &sonnet.compat;
    assert_eq!((compat.supports_temperature, compat.supports_forced_tool_choice), (Some(false), Some(false)));
    assert_eq!((compat.supports_assistant_prefill, compat.supports_mid_conversation_system), (Some(false), Some(true)));
    let opus = registry.find("anthropic", "claude-opus-4-6").unwrap();
    assert_eq!(opus.compat.highest_effort, Some(HighestEffort::Max));
    let gpt = registry.find("openai", "gpt-5").unwrap();
    use ThinkingLevel::{High, Low, Medium, Minimal};
    assert_eq!((gpt.context_window, gpt.thinking_levels), (400_000, vec![Minimal, Low, Medium, High]));
    let oss = registry.find("groq", "openai/gpt-oss-120b").unwrap();
    assert_eq!((oss.reasoning, oss.input, oss.api.as_str()), (true, vec![Input::Text], "openai-completions"));
    assert_eq!(registry.find("opencode", "claude-haiku-5-5").unwrap().api, "anthropic-messages");
}

#[test]
fn servers_override_the_table_and_files_override_servers() {
    let mut registry = registry();
    let told = |id: &str| DiscoveredModel { id: id.into(), context_window: Some(777), ..DiscoveredModel::default() };
    registry.add_discovered(&answer("openrouter", 0, vec![told("openai/gpt-5"), told("maker/new")]));
    registry.add_discovered(&answer("anthropic", 0, vec![told("claude-opus-4-5"), told("claude-sonnet-5")]));
    let window = |provider: &str, id: &str| registry.find(provider, id).unwrap().context_window;
    assert_eq!(window("openrouter", "openai/gpt-5"), 777);
    assert_eq!(window("anthropic", "claude-sonnet-5"), 777);
    assert_eq!(window("anthropic", "claude-opus-4-5"), 9);
    assert_eq!(registry.find("openrouter", "openai/gpt-5").unwrap().max_tokens, 128_000);
    assert_eq!(
        registry.models().iter().filter(|model| model.id == "openai/gpt-5" && model.provider == "openrouter").count(),
        1
    );
}

#[test]
fn an_unlisted_model_keeps_every_requested_option() {
    let find = |pattern: &str| registry().select(pattern, &|_| true).unwrap();
    let opus = find("anthropic/claude-opus-9:high");
    let newest = builtin(&[]).find("anthropic", "claude-opus-5-5").unwrap();
    assert_eq!(
        (opus.model.context_window, opus.model.cost, &opus.model.compat),
        (newest.context_window, newest.cost, &newest.compat)
    );
    assert!(opus.model.takes_images() && opus.model.knows_level(ThinkingLevel::High) && !opus.model.unknown);
    let stranger = find("gate/unheard:high");
    assert!(stranger.model.takes_images() && stranger.model.knows_level(ThinkingLevel::High));
    assert!(!find("gate/unheard").model.reasoning, "nobody asked for it");
    let local = find("qwen3:8b");
    assert!(local.model.unknown && local.model.cost == crate::model::Cost::default());
    assert_eq!(
        find("gate/claude-opus-9").model.cost,
        crate::model::Cost::default(),
        "what a gateway takes is not known"
    );
}

#[test]
fn a_file_sets_the_compat_options_of_a_provider() {
    let mut registry = builtin(&[]);
    let file = r#"{"providers": {
        "proxy": {"baseUrl": "https://p.test/v1", "compat": {"requiresReasoningContentOnAssistantMessages": true, "supportsStore": false},
            "models": [{"id": "a"}, {"id": "b", "compat": {"supportsStore": true, "requiresMistralToolIds": true}}, {"id": "claude-opus-9"}]},
        "deepseek": {"compat": {"requiresReasoningContentOnAssistantMessages": false}}}}"#;
    registry.merge_file(file, "models.json").unwrap();
    let compat = |provider: &str, id: &str| registry.find(provider, id).unwrap().compat;
    let a = compat("proxy", "a");
    assert_eq!((a.requires_reasoning_content_on_assistant_messages, a.supports_store), (Some(true), Some(false)));
    let b = compat("proxy", "b");
    assert_eq!((b.requires_reasoning_content_on_assistant_messages, b.supports_store), (Some(true), Some(true)));
    assert_eq!((a.requires_mistral_tool_ids, b.requires_mistral_tool_ids), (None, Some(true)));
    assert_eq!(compat("deepseek", "deepseek-v4-pro").requires_reasoning_content_on_assistant_messages, Some(false));
    let claude = registry.find("proxy", "claude-opus-9").unwrap();
    assert_eq!(claude.thinking_mode, crate::model::ThinkingMode::Adaptive, "no file says what the maker allows");
    assert_eq!((claude.context_window, claude.reasoning), (128_000, false), "a file says the rest");
}

#[track_caller]
fn base(provider: &str, name: &str, value: &str, expect: &str) {
    let registry = builtin(&[(name, value)]);
    assert_eq!(registry.provider(provider).unwrap().base_url, expect, "{name}={value}");
    for model in registry.models().iter().filter(|model| model.provider == provider) {
        assert_eq!(model.base_url, expect);
    }
}

#[test]
fn a_variable_sets_the_address_of_a_provider() {
    base("anthropic", "ANTHROPIC_BASE_URL", "https://p.test/claude/", "https://p.test/claude");
    base("anthropic", "ANTHROPIC_BASE_URL", " ", "https://api.anthropic.com");
    base("anthropic", "ANTHROPIC_BASE_URL", "p.test", "https://p.test");
    base("anthropic", "OPENAI_BASE_URL", "https://p.test", "https://api.anthropic.com");
    base("openai", "OPENAI_BASE_URL", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1");
    base("openrouter", "OPENROUTER_BASE_URL", "https://p.test/api/v1", "https://p.test/api/v1");
    base("google", "GOOGLE_GEMINI_BASE_URL", "https://p.test", "https://p.test/v1beta");
    base("google", "GOOGLE_GEMINI_BASE_URL", "https://p.test/g/v1beta/", "https://p.test/g/v1beta");
    for (value, expect) in [
        ("", "http://127.0.0.1:11434/v1"),
        ("box", "http://box:11434/v1"),
        ("box:9", "http://box:9/v1"),
        (":9", "http://127.0.0.1:9/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:9", "http://127.0.0.1:9/v1"),
        ("[::]:9", "http://127.0.0.1:9/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("http://box", "http://box:80/v1"),
        ("https://box", "https://box:443/v1"),
        ("https://box:9/ollama/", "https://box:9/ollama/v1"),
        ("http://box:9/v1", "http://box:9/v1"),
    ] {
        base("ollama", "OLLAMA_HOST", value, expect);
    }
    let both = builtin(&[("OLLAMA_BASE_URL", "http://base:1"), ("OLLAMA_HOST", "host:2")]);
    assert_eq!(both.provider("ollama").unwrap().base_url, "http://base:1/v1");
    let mut file = builtin(&[("OPENAI_BASE_URL", "https://variable.test/v1")]);
    file.merge_file(r#"{"providers": {"openai": {"baseUrl": "https://file.test/v1"}}}"#, "m").unwrap();
    assert_eq!(file.find("openai", "gpt-5").unwrap().base_url, "https://file.test/v1");
}

#[test]
fn parses_lists_of_models_with_their_properties() {
    let item = serde_json::json!({"id": "a/b", "context_length": 5000, "top_provider": {"max_completion_tokens": 700},
        "architecture": {"input_modalities": ["text", "image"]}, "supported_parameters": ["tools", "reasoning"],
        "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"}});
    let mut registry = builtin(&[]);
    registry.add_discovered(&answer("openrouter", 0, vec![discovery::read(&item).unwrap()]));
    let model = registry.find("openrouter", "a/b").unwrap();
    assert_eq!((model.context_window, model.max_tokens, model.reasoning, model.unknown), (5000, 700, true, false));
    assert!(model.takes_images());
    assert_eq!(
        [model.cost.input, model.cost.output, model.cost.cache_read, model.cost.cache_write],
        [3.0, 15.0, 0.3, 3.0]
    );
}
