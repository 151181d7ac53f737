//! Implements `sinew login` and `sinew logout`, which change keys and logins in auth.json.

mod hidden;

use std::io::Read;
use std::time::Duration;

use sinew_control::config::Environment;
use sinew_control::failure::Failure;
use sinew_control::models::ModelSelector;
use sinew_control::models::checked_key;
use sinew_control::output::{print, tell, warn};
use sinew_control::secrets;
use sinew_control::startup::Startup;
use sinew_control::sys::signals;
use sinew_control::terminal_line::line;
use sinew_llm::credentials::login::{BrowserLogin, DeviceLogin, LoginKind, login_kind};
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::models::{ProviderEntry, Registry};
use sinew_session::clock::{Clock, SystemClock};

pub(super) const HELP: &str = "\
sinew login, sinew logout: store and remove API keys and logins

Usage:
  sinew login [PROVIDER]      sign in, or store an API key if the provider has no login
  sinew logout [PROVIDER]     remove the stored key or login

Examples:
  sinew login anthropic               asks for the key, and does not show what you type
  pass show openai | sinew login openai

Keys and logins are stored in ~/.sinew/agent/auth.json, which only you can read. They take precedence over variables
such as OPENAI_API_KEY. A provider supports logins if models.json has an oauth block for it: authorizeUrl for a browser,
deviceUrl for a code.
";

/// The maximum length of a key in bytes.
const LONGEST: u64 = 16 * 1024;

/// Runs `command`, one of the two, for the provider that the following words name.
///
/// # Errors
/// Returns an error if the provider does not exist, no key was entered, or the provider refuses.
pub(super) fn run(startup: &Startup, warnings: &[String], command: &str, words: &[&str]) -> Result<u8, Failure> {
    let provider = match words {
        [] => None,
        [provider] => Some(*provider),
        _ => {
            return Err(Failure::usage(format!(
                "sinew {command} takes one provider: sinew {command} PROVIDER. Use -p to send a message"
            )));
        }
    };
    let Startup { environment, paths, .. } = startup;
    let models = ModelSelector::read(startup, &secrets::none(), "")?;
    warn(warnings);
    warn(&models.warnings);
    let runtime = sinew_control::startup::runtime(1)?;
    let place = paths.agent.join("auth.json").display().to_string();
    let code = runtime.block_on(async {
        let signalled = signals();
        let work = async {
            match command {
                "login" => login(&models, environment, provider, &place).await,
                _ => logout(&models, environment, provider, &place).await,
            }
        };
        tokio::select! {
            biased;
            done = work => done,
            code = signalled => Ok(code),
        }
    });
    // A read from the terminal may still be blocked.
    runtime.shutdown_timeout(Duration::ZERO);
    code
}

async fn login(
    models: &ModelSelector,
    environment: &Environment,
    named: Option<&str>,
    place: &str,
) -> Result<u8, Failure> {
    let registry = models.registry();
    let entry = match named {
        Some(named) => provider(&registry, named)?,
        None => asked(models, &registry, environment).await?,
    };
    let kind = login_kind(entry);
    let now = SystemClock.now();
    let (client, id) = (models.client(), &entry.id);
    let entered = match kind {
        Some(LoginKind::Browser) => {
            let login = BrowserLogin::begin(entry).await.map_err(refused)?;
            tell(&format!("Open this URL in a browser to sign in to {id}:\n\n  {}\n", login.url()));
            let pasted = match environment.stdin {
                true => {
                    tell("If the browser runs on another machine, paste the URL of the page it ends on:");
                    Some(line())
                }
                false => None,
            };
            let pasted = async {
                match pasted {
                    Some(line) => line.await.ok().flatten(),
                    None => None,
                }
            };
            login.finish(client, pasted, now).await.map_err(refused)?
        }
        Some(LoginKind::Device) => {
            let login = DeviceLogin::begin(client, entry).await.map_err(refused)?;
            tell(&format!("Open {} and type this code: {}", login.verification_uri, login.user_code));
            if let Some(whole) = &login.verification_uri_complete {
                tell(&format!("Or open {whole}"));
            }
            login.finish(client, now).await.map_err(refused)?
        }
        None if entry.keyless && entry.env.is_empty() => {
            return Err(Failure::usage(format!("login {id}: the provider needs no key")));
        }
        None => {
            let key = key(environment, id).await?;
            models.credentials().store_key(id, &key).await.map_err(refused)?;
            return print(&format!("Stored the API key of {id} in {place}\n"));
        }
    };
    models.credentials().store_login(id, &entered).await.map_err(refused)?;
    print(&format!("Signed in to {id}; the login is stored in {place}\n"))
}

async fn logout(
    models: &ModelSelector,
    environment: &Environment,
    named: Option<&str>,
    place: &str,
) -> Result<u8, Failure> {
    let (stored, registry) = (models.credentials().stored(), models.registry());
    let id = match (named, &stored[..]) {
        (Some(named), _) if stored.iter().any(|id| id == named) => named,
        (Some(named), _) => &provider(&registry, named)?.id,
        (None, [one]) => one,
        (None, []) => return Err(Failure::failed(format!("logout: no saved credentials in {place}"))),
        (None, many) => {
            let text = format!("logout: which one? sinew logout PROVIDER with one of {}", many.join(", "));
            return Err(Failure::usage(text));
        }
    };
    if !stored.iter().any(|stored| stored == id) || !models.credentials().forget(id).await.map_err(refused)? {
        return Err(Failure::failed(format!("logout {id}: no saved credentials in {place}")));
    }
    let entry = registry.provider(id);
    let set = entry.and_then(|entry| entry.env.iter().find(|name| environment.get(name).is_some()));
    if let Some(name) = set {
        tell(&format!("Warning: {name} is set in the environment and is used from now on"));
    }
    print(&format!("Removed the keys and logins of {id} from {place}\n"))
}

fn provider<'a>(registry: &'a Registry, named: &str) -> Result<&'a ProviderEntry, Failure> {
    registry.provider(named).ok_or_else(|| {
        let known: Vec<&str> = registry.providers().iter().map(|entry| entry.id.as_str()).collect();
        Failure::usage(format!("Provider not found: {named}. Known: {}", known.join(", ")))
    })
}

/// Lets the user choose a provider from a list.
async fn asked<'a>(
    models: &ModelSelector,
    registry: &'a Registry,
    environment: &Environment,
) -> Result<&'a ProviderEntry, Failure> {
    let all = registry.providers();
    let names: Vec<&str> = all.iter().map(|entry| entry.id.as_str()).collect();
    if !environment.stdin {
        return Err(Failure::usage(format!(
            "login: name a provider: sinew login PROVIDER with one of {}",
            names.join(", ")
        )));
    }
    for (index, entry) in all.iter().enumerate() {
        let how = if login_kind(entry).is_some() { "login" } else { "key" };
        let has = if models.has_key(&entry.id) && !entry.keyless { ", already set" } else { "" };
        tell(&format!("{:3}  {} ({how}{has})", index + 1, entry.id));
    }
    tell("Which provider? Enter its number or name:");
    let answer = line().await.ok().flatten().unwrap_or_default();
    let answer = answer.trim();
    match answer.parse::<usize>().ok().and_then(|number| all.get(number.checked_sub(1)?)) {
        Some(entry) => Ok(entry),
        None if answer.is_empty() => Err(Failure::usage("login: no provider was chosen")),
        None => provider(registry, answer),
    }
}

/// Reads the key that the user types or pastes, without echo; or the output of another program.
async fn key(environment: &Environment, id: &str) -> Result<String, Failure> {
    let text = if environment.stdin {
        hidden::line(&format!("Paste the API key of {id} and press Enter; it is not shown:")).await?
    } else {
        let mut text = String::new();
        let read = std::io::stdin().lock().take(LONGEST).read_to_string(&mut text);
        read.map_err(|error| Failure::usage(format!("login {id}: failed to read standard input: {error}")))?;
        text
    };
    let key = checked_key(&text).map_err(|why| Failure::usage(format!("login {id}: {why}; nothing was stored")))?;
    Ok(key.to_string())
}

fn refused(error: ErrorInfo) -> Failure {
    match error.kind {
        ErrorKind::Config => Failure::config(error.message),
        _ => Failure::failed(error.message),
    }
}
