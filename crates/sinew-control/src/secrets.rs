//! Collects the values that are masked for providers and in session files: keys of providers always, others if the
//! settings require it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_llm::credentials::{AuthEntry, AuthFile};
use sinew_llm::models::Registry;
use sinew_session::files::private_folder;
use sinew_session::secrets::{Entry, Secrets, read};
use sinew_tools::child::Filter;

use crate::config::{Environment, is_missing};
use crate::failure::Failure;
use crate::output;
use crate::startup::Startup;

/// Collects the values that `secrets.enabled` adds: variables that look like secrets, and the entries of
/// `secrets.json`, those of a trusted project first.
///
/// # Errors
/// Returns an error if a `secrets.json` cannot be read or is invalid, because its values would not be masked.
pub fn find(startup: &Startup) -> Result<Arc<Secrets>, Failure> {
    let Startup { environment, paths, settings, trusted, .. } = startup;
    let file = paths.agent.join("secrets.key");
    let source = Box::new(move || key(&file));
    if !settings.secrets.enabled {
        return Ok(Arc::new(Secrets::new(source, Vec::new())));
    }
    let mut entries: Vec<Entry> = Vec::new();
    let project = trusted.then(|| paths.project.join("secrets.json"));
    for path in project.into_iter().chain([paths.agent.join("secrets.json")]) {
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let found = read(&text, &path.display().to_string()).map_err(|faults| unmasked(&faults.join("\n")))?;
                let is_new = |entry: &Entry| !entries.iter().any(|known| known.content == entry.content);
                let found: Vec<Entry> = found.into_iter().filter(is_new).collect();
                entries.extend(found);
            }
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(unmasked(&format!("{}: {error}", path.display()))),
        }
    }
    let secrets = Secrets::new(source, entries);
    let filter = Filter { pass: &[], keys: &[] };
    for (name, value) in environment.texts() {
        if filter.hides(&name) {
            secrets.add(&value);
        }
    }
    Ok(Arc::new(secrets))
}

/// Returns the failure of a `secrets.json` that cannot be used.
fn unmasked(faults: &str) -> Failure {
    Failure::config(format!(
        "{faults}\nNothing runs, because these secrets would not be masked. Correct the file, or set secrets.enabled to false."
    ))
}

/// Returns an empty set, for commands that send nothing to a model.
pub fn none() -> Arc<Secrets> {
    Arc::new(Secrets::new(Box::new(random), Vec::new()))
}

/// Adds the known keys of all providers. From then on none is written to stdout or stderr.
pub(crate) fn add_keys(secrets: &Arc<Secrets>, environment: &Environment, registry: &Registry, auth: &AuthFile) {
    for entry in registry.providers() {
        entry.env.iter().filter_map(|name| environment.get(name)).for_each(|value| secrets.add_key(value.trim()));
        if let Some(key) = &entry.api_key {
            add(secrets, environment, key);
        }
    }
    for provider in auth.providers() {
        for entry in auth.entries(provider) {
            match entry {
                AuthEntry::ApiKey { key } => add(secrets, environment, &key),
                AuthEntry::Oauth { access, refresh, .. } => {
                    secrets.add_key(&access);
                    secrets.add_key(&refresh);
                }
            }
        }
    }
    output::hide_all(secrets);
}

/// Adds a literal, or the value of the variable with this name. The output of a command is added when the command runs.
fn add(secrets: &Secrets, environment: &Environment, value: &str) {
    if !value.starts_with('!') {
        secrets.add_key(environment.get(value).unwrap_or(value).trim());
    }
}

/// Returns the key of the replacement marks: from the file, or a new one that is written to it. If it cannot be
/// written, the marks of this run cannot be resolved by later ones.
fn key(file: &Path) -> [u8; 32] {
    if let Some(key) = std::fs::read(file).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) {
        return key;
    }
    let key = random();
    // The first process that writes the file wins; the others read it.
    match keep(file, &key) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            std::fs::read(file).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()).unwrap_or(key)
        }
        Ok(()) | Err(_) => key,
    }
}

/// Writes the file atomically.
fn keep(file: &Path, key: &[u8; 32]) -> std::io::Result<()> {
    let folder: PathBuf = file.parent().map(Path::to_path_buf).unwrap_or_default();
    private_folder(&folder)?;
    let temporary = folder.join(format!(".secrets.key.{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let opened = crate::sys::private(options.write(true).create_new(true)).open(&temporary);
    let written = opened.and_then(|mut out| out.write_all(key));
    // A link fails if the name exists; a rename would replace a key that another process already uses.
    let linked = written.and_then(|()| std::fs::hard_link(&temporary, file));
    // If the temporary file cannot be deleted, it does no harm.
    let _ = std::fs::remove_file(&temporary);
    linked
}

fn random() -> [u8; 32] {
    let mut key = [0; 32];
    if crate::sys::fill_random(&mut key).is_err() {
        // The seeds of hash maps are random numbers from the system too.
        for part in key.chunks_mut(8) {
            use std::hash::{BuildHasher, Hasher};
            let seed = std::hash::RandomState::new().build_hasher().finish();
            part.copy_from_slice(&seed.to_le_bytes());
        }
    }
    key
}
