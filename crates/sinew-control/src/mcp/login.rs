//! Implements `sinew mcp login NAME` and `sinew mcp logout NAME`: OAuth logins at servers.

use std::sync::Arc;
use std::time::Duration;

use sinew_agent::mcp::{Logout, Manager};

use super::servers::ready;
use crate::failure::Failure;
use crate::output::{print, tell};
use crate::startup::Startup;
use crate::sys::signals;
use crate::terminal_line::line;

/// Signs in to a server in a browser: `sinew mcp login`.
///
/// # Errors
/// Returns an error if the server is unknown or refuses, or if the tokens cannot be stored.
pub fn login(startup: &Startup, warnings: &[String], name: &str) -> Result<u8, Failure> {
    let manager = ready(startup, warnings, "login", name, false)?;
    let stdin = startup.environment.stdin;
    let runtime = crate::startup::runtime(2)?;
    let code = runtime.block_on(async {
        let signalled = signals();
        tokio::select! {
            biased;
            done = log_in(&manager, name, stdin) => done,
            code = signalled => Ok(code),
        }
    });
    // The lists of the server are written to the cache, and a read from the terminal may still be blocked.
    drop(manager);
    runtime.shutdown_timeout(Duration::from_secs(5));
    code
}

/// Deletes the tokens of a server: `sinew mcp logout`.
///
/// # Errors
/// Returns an error if the server is unknown, or the tokens cannot be deleted.
pub fn logout(startup: &Startup, warnings: &[String], name: &str) -> Result<u8, Failure> {
    let manager = ready(startup, warnings, "logout", name, false)?;
    let runtime = crate::startup::runtime(1)?;
    match runtime.block_on(manager.log_out(name)).map_err(Failure::failed)? {
        Logout::None => Err(Failure::failed(no_login(name))),
        done => print(&format!("{}\n", logged_out(name, &done))),
    }
}

/// Describes the result of a logout.
pub(crate) fn logged_out(name: &str, logout: &Logout) -> String {
    let gone = format!("Signed out of \"{name}\": its tokens were deleted from this machine");
    match logout {
        Logout::None => no_login(name),
        Logout::Revoked => format!("{gone} and revoked at the server"),
        Logout::NotOffered => {
            format!("{gone}; the server cannot revoke them, so they stay valid until they expire")
        }
        Logout::Failed(reason) => format!("{gone}, but the server did not revoke them: {reason}"),
    }
}

fn no_login(name: &str) -> String {
    format!("There is no login for \"{name}\".")
}

async fn log_in(manager: &Arc<Manager>, name: &str, stdin: bool) -> Result<u8, Failure> {
    let Some(login) = manager.begin_login(name).await.map_err(Failure::failed)? else {
        return Err(Failure::failed(format!("Server \"{name}\" needs no login.")));
    };
    let issuer = login.issuer().to_string();
    tell(&format!(
        "Open this URL in a browser to sign in to {issuer} for the server \"{name}\":\n\n  {}\n",
        login.url()
    ));
    let pasted = stdin.then(|| {
        tell("If the browser runs on another machine, paste the URL of the page it ends on:");
        line()
    });
    let pasted = async {
        match pasted {
            Some(line) => line.await.ok().flatten(),
            None => None,
        }
    };
    login.finish(pasted).await.map_err(|error| Failure::failed(error.message))?;
    // The token is stored, but only the server can say whether it accepts it.
    if let Err(reason) = manager.connect(name).await {
        return Err(Failure::failed(format!("Signed in to {issuer}, but the server rejects the login: {reason}")));
    }
    let count = manager.state(name).and_then(|state| state.tools).unwrap_or_default();
    print(&format!("Signed in to {issuer}; \"{name}\" has {count} tools\n"))
}
