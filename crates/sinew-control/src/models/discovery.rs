//! Requests the lists of models from servers, and caches them for a day.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_llm::credentials::Credentials;
use sinew_llm::http::HttpClient;
use sinew_llm::models::{Discovery, DiscoveryCache, DiscoveryState, ProviderEntry, Registry, discover};
use sinew_llm::provider::Auth;
use sinew_session::clock::{Clock, SystemClock};
use sinew_session::files::{private, private_folder};
use tokio::task::JoinSet;

use super::ModelSelector;

/// The answers of servers so far, and their cache file.
#[derive(Clone)]
pub(super) struct DiscoveryAnswers {
    cache: DiscoveryCache,
    file: PathBuf,
}

/// The result of asking a server for its models, for the user.
#[derive(Debug)]
pub struct DiscoveryReport {
    /// The id of the provider.
    pub provider: String,
    /// A text such as `ollama: cached (3 h ago, 5 models)`.
    pub text: String,
    /// True if the models are known.
    pub good: bool,
}

impl ModelSelector {
    /// Returns the providers whose models must be requested: those for which models.json requires it, and Ollama if no
    /// other provider has a key.
    pub fn wanted(&self) -> Vec<String> {
        let registry = self.registry();
        let keyless = !registry.providers().iter().any(|entry| self.has_own_key(&entry.id));
        let wanted = |entry: &&ProviderEntry| entry.discovery_wanted || entry.id == "ollama" && keyless;
        registry.providers().iter().filter(wanted).map(|entry| entry.id.clone()).collect()
    }

    /// Returns true if models.json says that the provider's models must be requested.
    pub fn is_configured(&self, provider: &str) -> bool {
        self.registry().provider(provider).is_some_and(|entry| entry.discovery_wanted)
    }

    /// Requests the models of servers, unless the run is offline. Returns a report for each server that supports it.
    pub async fn ask(&self, providers: &[String]) -> Vec<DiscoveryReport> {
        if self.offline {
            return Vec::new();
        }
        let (mut registry, mut answers) = ((*self.registry()).clone(), self.answers.lock().clone());
        let entries = providers.iter().filter_map(|id| registry.provider(id));
        let entries = entries.filter(|entry| entry.discovery.is_some()).cloned().collect();
        let asked = answers.ask(&mut registry, entries, &self.credentials, &self.client).await;
        *self.registry.write() = Arc::new(registry);
        *self.answers.lock() = answers;
        asked
    }
}

impl DiscoveryAnswers {
    /// Reads the cache file; a missing or invalid one counts as empty.
    pub(super) fn read(agent: &Path) -> DiscoveryAnswers {
        let file = agent.join("discovery-cache.json");
        DiscoveryAnswers { cache: DiscoveryCache::parse(&std::fs::read_to_string(&file).unwrap_or_default()), file }
    }

    /// Adds the models of answers that have not expired to the table.
    pub(super) fn merge(&self, registry: &mut Registry) {
        let now = SystemClock.now();
        let known = registry.providers().iter().filter_map(|entry| self.cache.fresh(entry, now)).cloned();
        known.collect::<Vec<_>>().iter().for_each(|found| registry.add_discovered(found));
    }

    /// Returns true if an unexpired answer of the provider is cached.
    pub(super) fn has(&self, entry: &ProviderEntry) -> bool {
        self.cache.fresh(entry, SystemClock.now()).is_some()
    }

    /// Requests the models of servers at the same time, unless a cached answer has not expired, and stores the answers
    /// in the table and the file. Takes at most two seconds, plus the time of commands that print keys.
    pub(super) async fn ask(
        &mut self,
        registry: &mut Registry,
        entries: Vec<ProviderEntry>,
        credentials: &Credentials,
        client: &HttpClient,
    ) -> Vec<DiscoveryReport> {
        let now = SystemClock.now();
        let mut running = JoinSet::new();
        let mut asked = Vec::new();
        for (place, entry) in entries.into_iter().enumerate() {
            if let Some(known) = self.cache.fresh(&entry, now) {
                let text = known.describe(true, now);
                asked.push((place, DiscoveryReport { provider: entry.id, text, good: true }));
                continue;
            }
            let (credentials, client) = (credentials.clone(), client.clone());
            running.spawn(async move { (place, question(entry, &credentials, &client, now).await) });
        }
        while let Some(done) = running.join_next().await {
            // A task that panicked has no answer.
            let Ok((place, (entry, found))) = done else { continue };
            // An expired answer is better than none.
            let old = self.cache.any(&entry).filter(|_| found.state != DiscoveryState::Ok);
            let text = match old {
                Some(old) => format!("{}; {}", found.describe(false, now), old.describe(true, now)),
                None => found.describe(false, now),
            };
            let good = found.state == DiscoveryState::Ok;
            registry.add_discovered(old.unwrap_or(&found));
            self.cache.put(found);
            asked.push((place, DiscoveryReport { provider: entry.id, text, good }));
        }
        self.keep();
        asked.sort_by_key(|(place, _)| *place);
        asked.into_iter().map(|(_, asked)| asked).collect()
    }

    /// Requests the models of one server in the background, for the next run.
    pub(super) fn ask_later(&self, entry: ProviderEntry, credentials: &Credentials, client: &HttpClient) {
        let (mut own, credentials, client) = (self.clone(), credentials.clone(), client.clone());
        tokio::spawn(async move {
            let (_, found) = question(entry, &credentials, &client, SystemClock.now()).await;
            own.cache.put(found);
            own.keep();
        });
    }

    /// Writes the file atomically. An error is ignored, because the servers are then asked again.
    fn keep(&self) {
        let beside = self.file.with_extension(format!("json.{}.tmp", std::process::id()));
        let folder = self.file.parent().map_or(Ok(()), private_folder);
        let file = folder.and_then(|()| private(OpenOptions::new().create(true).truncate(true), &beside));
        let written = file.and_then(|mut file| file.write_all(self.cache.to_text().as_bytes()));
        if written.and_then(|()| std::fs::rename(&beside, &self.file)).is_err() {
            let _ = std::fs::remove_file(&beside);
        }
    }
}

async fn question(
    mut entry: ProviderEntry,
    credentials: &Credentials,
    client: &HttpClient,
    now: i64,
) -> (ProviderEntry, Discovery) {
    let auth = credentials.resolve(&entry, "", now).await.map_or(Auth::None, |found| found.auth);
    let found = match credentials.headers(&entry.headers).await {
        Ok(headers) => {
            entry.headers = headers;
            discover(client, &entry, &auth, now).await
        }
        Err(error) => Discovery::unavailable(&entry, error.message, now),
    };
    (entry, found)
}
