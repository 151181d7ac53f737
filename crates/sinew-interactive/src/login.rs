//! Logins with a browser, a code, or a pasted key.

use std::sync::Arc;

use sinew_control::actions::{Control, ControlError};
use sinew_control::models::checked_key;
use sinew_llm::credentials::login::{BrowserLogin, DeviceLogin, LoginKind, login_kind};
use sinew_llm::models::ProviderEntry;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::mailbox::{LoginStep, Mailbox, Message};

/// A login in progress; dropping it cancels the login.
pub(super) struct RunningLogin {
    task: JoinHandle<()>,
    pasted: Option<oneshot::Sender<String>>,
}

impl Drop for RunningLogin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RunningLogin {
    /// Passes the URL at which the browser ended to the login.
    pub(super) fn paste(&mut self, address: String) {
        if let Some(pasted) = self.pasted.take() {
            // The login may have ended meanwhile.
            let _ = pasted.send(address);
        }
    }
}

/// Begins a login at a provider that supports it.
pub(super) fn begin(control: Arc<Control>, mailbox: Mailbox, runtime: &Handle, entry: ProviderEntry) -> RunningLogin {
    let (send, pasted) = oneshot::channel();
    let task = runtime.spawn(async move {
        let result = log_in(&control, &mailbox, &entry, pasted).await.map_err(|error| error.message);
        mailbox.send(Message::LoggedIn { provider: entry.id, result });
    });
    RunningLogin { task, pasted: Some(send) }
}

async fn log_in(
    control: &Control,
    mailbox: &Mailbox,
    entry: &ProviderEntry,
    pasted: oneshot::Receiver<String>,
) -> Result<(), ControlError> {
    let models = &control.app.models;
    let (client, now, provider) = (models.client(), control.app.clock.now(), entry.id.clone());
    let entered = match login_kind(entry) {
        Some(LoginKind::Browser) => {
            let login = BrowserLogin::begin(entry).await?;
            mailbox.send(Message::LoginStep(LoginStep::Browser { provider, url: login.url().to_string() }));
            login.finish(client, async { pasted.await.ok() }, now).await?
        }
        Some(LoginKind::Device) => {
            let login = DeviceLogin::begin(client, entry).await?;
            let address = login.verification_uri_complete.clone().unwrap_or_else(|| login.verification_uri.clone());
            mailbox.send(Message::LoginStep(LoginStep::Code { provider, address, code: login.user_code.clone() }));
            login.finish(client, now).await?
        }
        None => return Err(format!("{provider} does not support logins: paste a key").into()),
    };
    Ok(models.credentials().store_login(&entry.id, &entered).await?)
}

/// Stores a pasted key.
pub(super) async fn keep_key(control: Arc<Control>, mailbox: Mailbox, provider: String, text: String) {
    let models = &control.app.models;
    let result = match checked_key(&text) {
        Ok(key) => {
            models.secrets().add_key(key);
            models.credentials().store_key(&provider, key).await.map_err(|error| error.message)
        }
        Err(why) => Err(why.to_string()),
    };
    mailbox.send(Message::LoggedIn { provider, result });
}

/// Changes to the default model of a provider that was just configured.
pub(super) async fn use_provider(control: Arc<Control>, mailbox: Mailbox, provider: String) {
    let models = &control.app.models;
    if models.registry().default_model(&provider).is_none() {
        models.ask(std::slice::from_ref(&provider)).await;
    }
    let Some(model) = models.registry().default_model(&provider) else {
        let text = format!("{provider} is set up, but lists no models: choose one with /model {provider}/NAME");
        return mailbox.send(Message::Changed(text));
    };
    match control.set_model(&model.provider, &model.id).await {
        Ok(model) => {
            mailbox.send(Message::Changed(format!("{provider} is set up: {} answers from now on", model.key())))
        }
        Err(error) => mailbox.send(Message::Failed { error: error.message, text: String::new() }),
    }
}

/// Deletes the keys and logins of a provider.
pub(super) async fn forget(control: Arc<Control>, mailbox: Mailbox, provider: String) {
    let text = match control.app.models.credentials().forget(&provider).await {
        Ok(true) => format!("removed the keys and logins of {provider} from auth.json"),
        Ok(false) => format!("no saved credentials for {provider}"),
        Err(error) => error.message,
    };
    mailbox.send(Message::Changed(text));
}
