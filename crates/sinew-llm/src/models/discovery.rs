//! Requests the list of models from a server.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::ProviderEntry;
use crate::error::mask;
use crate::http::{HttpClient, HttpRequest};
use crate::model::{Cost, Input, Model};
use crate::provider::Auth;

/// The time limit for a server.
const LIMIT: Duration = Duration::from_secs(2);

/// The maximum size of an answer.
const BODY_LIMIT: usize = 8 * 1024 * 1024;

/// The lifetime of a cached answer: a day.
pub const CACHE_MS: i64 = 24 * 3600 * 1000;

/// How to request the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiscoveryKind {
    /// `GET /api/tags`.
    Ollama,
    /// `GET {base}/models`.
    Openai,
}

/// A server's list of models. [`DiscoveryCache`] stores it for [`CACHE_MS`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Discovery {
    /// The provider's id.
    pub provider: String,
    /// The requested URL.
    pub address: String,
    /// The time of the request, in milliseconds since the epoch.
    pub asked_at: i64,
    /// The result.
    pub state: DiscoveryState,
    /// The models, if the request succeeded.
    pub models: Vec<DiscoveredModel>,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "is", content = "why")]
pub enum DiscoveryState {
    /// The server has models.
    Ok,
    /// The server answered without any model; contains the expected format.
    Empty(String),
    /// There was no valid answer; contains the reason.
    Unavailable(String),
    /// The server requires a key.
    Unauthenticated,
}

/// A model as its server describes it. `None` means that the server does not provide the value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiscoveredModel {
    /// The id.
    pub id: String,
    /// The context window.
    pub context_window: Option<u64>,
    /// The maximum number of tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// True if it supports images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// True if it supports thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// Its prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

impl DiscoveredModel {
    /// Copies the known values to `model`.
    pub(super) fn apply(&self, model: &mut Model) {
        model.context_window = self.context_window.unwrap_or(model.context_window);
        model.max_tokens = self.max_tokens.unwrap_or(model.max_tokens);
        model.reasoning = self.reasoning.unwrap_or(model.reasoning);
        model.cost = self.cost.unwrap_or(model.cost);
        if let Some(images) = self.images {
            model.input = if images { vec![Input::Text, Input::Image] } else { vec![Input::Text] };
        }
        // An answer with these fields describes the model.
        model.unknown &= self.images.is_none() && self.reasoning.is_none();
    }
}

impl Discovery {
    /// Creates a discovery for a request that could not be sent, with the reason.
    #[must_use]
    pub fn unavailable(provider: &ProviderEntry, why: String, now_ms: i64) -> Discovery {
        Discovery {
            provider: provider.id.clone(),
            address: address(provider),
            asked_at: now_ms,
            state: DiscoveryState::Unavailable(why),
            models: Vec::new(),
        }
    }

    /// Describes the state: `ollama: ok (5 models)`, `ollama: cached (3 h ago, 5 models)`, `gate: unavailable: HTTP 404
    /// from https://…; the base URL usually ends in /v1`.
    #[must_use]
    pub fn describe(&self, cached: bool, now_ms: i64) -> String {
        let count = match self.models.len() {
            1 => "1 model".to_string(),
            count => format!("{count} models"),
        };
        let state = match &self.state {
            DiscoveryState::Ok if cached => {
                format!("cached ({} ago, {count})", age(now_ms.saturating_sub(self.asked_at)))
            }
            DiscoveryState::Ok => format!("ok ({count})"),
            DiscoveryState::Empty(why) => format!("empty: {why}"),
            DiscoveryState::Unavailable(why) => format!("unavailable: {why}"),
            DiscoveryState::Unauthenticated => format!("unauthenticated: {} requires a key", self.address),
        };
        format!("{}: {state}", self.provider)
    }
}

/// Formats an age: `40 s`, `5 min`, `3 h`, `2 d`.
fn age(ms: i64) -> String {
    match ms.max(0) / 1000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// The successful answers of servers, which the caller stores in a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiscoveryCache {
    answers: Vec<Discovery>,
}

impl DiscoveryCache {
    /// Parses the result of [`DiscoveryCache::to_text`]. Invalid text is an empty cache.
    #[must_use]
    pub fn parse(text: &str) -> DiscoveryCache {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Returns the cache as JSON.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// Returns the answer for the provider's current base URL if it is at most [`CACHE_MS`] old; `None` otherwise. An
    /// answer from the future is outdated, because the clock was wrong.
    #[must_use]
    pub fn fresh(&self, provider: &ProviderEntry, now_ms: i64) -> Option<&Discovery> {
        self.any(provider).filter(|known| (0..=CACHE_MS).contains(&now_ms.saturating_sub(known.asked_at)))
    }

    /// Returns the answer for the provider's current base URL at any age.
    #[must_use]
    pub fn any(&self, provider: &ProviderEntry) -> Option<&Discovery> {
        let address = address(provider);
        self.answers.iter().find(|known| known.provider == provider.id && known.address == address)
    }

    /// Stores an answer with models and replaces the provider's older one. Other answers are not stored, so that a
    /// server that is started a minute later is found.
    pub fn put(&mut self, found: Discovery) {
        if found.state == DiscoveryState::Ok {
            self.answers.retain(|known| known.provider != found.provider);
            self.answers.push(found);
        }
    }
}

/// Requests the list of models of `provider`. Never fails: the state contains the result. Needs at most two seconds.
pub async fn discover(client: &HttpClient, provider: &ProviderEntry, auth: &Auth, now_ms: i64) -> Discovery {
    let (state, models) = match tokio::time::timeout(LIMIT, ask(client, provider, auth)).await {
        Ok(Ok(models)) if models.is_empty() => {
            (DiscoveryState::Empty("the server has no model; expected {\"data\":[{\"id\":\"…\"}]}".to_string()), models)
        }
        Ok(Ok(models)) => (DiscoveryState::Ok, models),
        Ok(Err(state)) => (state, Vec::new()),
        Err(_) => (DiscoveryState::Unavailable(format!("no answer within 2 s from {}", address(provider))), Vec::new()),
    };
    Discovery { provider: provider.id.clone(), address: address(provider), asked_at: now_ms, state, models }
}

fn address(provider: &ProviderEntry) -> String {
    let base = provider.base_url.trim_end_matches('/');
    match provider.discovery {
        Some(DiscoveryKind::Ollama) => format!("{}/api/tags", base.strip_suffix("/v1").unwrap_or(base)),
        _ => format!("{base}/models"),
    }
}

async fn ask(
    client: &HttpClient,
    provider: &ProviderEntry,
    auth: &Auth,
) -> Result<Vec<DiscoveredModel>, DiscoveryState> {
    let address = address(provider);
    let secrets: Vec<&str> = auth.secret().map(|secret| secret.expose()).into_iter().collect();
    let lost = |text: String| DiscoveryState::Unavailable(mask(&text, &secrets));
    let url = Url::parse(&address).map_err(|error| lost(format!("{address}: {error}")))?;
    let mut headers = provider.headers.clone();
    headers.push(("Accept".into(), "application/json".into()));
    if let Some(secret) = auth.secret() {
        headers.push(("Authorization".into(), format!("Bearer {}", secret.expose())));
    }
    let request = HttpRequest { method: ::http::Method::GET, url, headers, body: Bytes::new() };
    let mut answer = client.send_within_origin(request).await.map_err(|error| lost(error.message))?;
    match answer.status {
        200..300 => {}
        401 | 403 => return Err(DiscoveryState::Unauthenticated),
        404 => return Err(lost(format!("HTTP 404 from {address}; the base URL usually ends in /v1"))),
        status => return Err(lost(format!("HTTP {status} from {address}"))),
    }
    let (body, cut) = answer.body.read_limited(BODY_LIMIT).await.map_err(|error| lost(error.message))?;
    if cut {
        return Err(lost(format!("the answer from {address} is larger than 8 MB")));
    }
    let json: Value =
        serde_json::from_slice(&body).map_err(|_| lost(format!("the answer from {address} is not JSON")))?;
    let list = ["data", "models"].iter().find_map(|key| json.get(key)).unwrap_or(&json);
    Ok(list.as_array().into_iter().flatten().filter_map(read).collect())
}

/// Parses an item of a list; `None` without an id.
pub(super) fn read(item: &Value) -> Option<DiscoveredModel> {
    let id = ["id", "model", "name"].iter().find_map(|key| item.get(key)?.as_str()).or(item.as_str())?;
    let number = |paths: &[&str]| paths.iter().find_map(|path| item.pointer(path)?.as_u64()).filter(|n| *n > 0);
    let words = |path: &str, word: &str| {
        let list = item.pointer(path)?.as_array()?;
        Some(list.iter().any(|known| known.as_str() == Some(word)))
    };
    // Prices are dollars per token, as strings.
    let price = |key: &str| {
        let price = item.get("pricing")?.get(key)?.as_str()?.parse::<f64>().ok()?;
        (price >= 0.0).then_some((price * 1e12).round() / 1e6)
    };
    let cost = price("prompt").zip(price("completion")).map(|(input, output)| Cost {
        input,
        output,
        cache_read: price("input_cache_read").unwrap_or(input),
        cache_write: price("input_cache_write").unwrap_or(input),
    });
    Some(DiscoveredModel {
        id: id.to_string(),
        context_window: number(&["/context_length", "/max_model_len", "/context_window"]),
        max_tokens: number(&["/top_provider/max_completion_tokens", "/max_completion_tokens"]),
        images: words("/architecture/input_modalities", "image"),
        reasoning: words("/supported_parameters", "reasoning"),
        cost,
    })
}
