//! The host of the tools of a session.

use std::sync::Arc;

use sinew_session::Session;
use sinew_session::artifacts::Artifacts;
use sinew_tools::{Host, HostOptions};

use super::App;
use crate::models;
use crate::startup::Startup;

impl App {
    pub(super) fn host(&self, session: &Session) -> Arc<Host> {
        let Startup { environment, paths, settings, .. } = &self.startup;
        let own = settings.tools();
        let artifacts = session.artifacts().map_or_else(Artifacts::temporary, Artifacts::in_folder);
        let artifacts = artifacts.hiding(self.models.secrets());
        Host::new(HostOptions {
            cwd: paths.cwd.clone(),
            home: std::env::home_dir(),
            sinew: Arc::new(sinew::Sinew::in_environment(|name| environment.os(name))),
            supervisor: sinew::shell::Supervisor::new(std::env::current_exe().unwrap_or_else(|_| "sinew".into())),
            environment: environment.variables().to_vec(),
            artifacts: Arc::new(artifacts),
            http: models::http(environment, settings),
            ask: self.ask.as_ref().map(Arc::clone),
            console: None,
            shells: Arc::clone(&self.shells),
            settings: sinew_tools::Settings {
                ci: !environment.is_on("SINEW_BASH_NO_CI"),
                provider_keys: self.models.key_names(),
                pass_through: environment.passed(settings),
                fetch: own.fetch && !self.startup.is_offline(),
                // A name without a folder is looked up where commands are.
                bash: own
                    .bash
                    .map(|path| if path.starts_with("~") { paths.resolve(&path.to_string_lossy()) } else { path }),
                ..own
            },
        })
    }
}
