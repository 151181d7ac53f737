//! Builds the [`Host`] of a session's tools.

use std::sync::Arc;

use sinew_session::Session;
use sinew_session::artifacts::Artifacts;
use sinew_tools::{Host, HostOptions, Requester, Searches};

use super::App;
use super::workplace::ChildWorkspace;
use crate::config::work_tree;
use crate::models;
use crate::startup::Startup;

/// Returns the search service for the sessions of a program. It indexes the repository around the working directory,
/// unless `search.index` is off.
pub(super) fn searches(startup: &Startup) -> Searches {
    let Startup { paths, settings, .. } = startup;
    let sinew = startup.sinew.clone().unwrap_or_else(|| Arc::new(startup.new_sinew()));
    let kept = settings.search.is_indexed().then(|| work_tree(&paths.cwd, std::env::home_dir().as_deref()));
    Searches::new(sinew, kept.into_iter().collect())
}

impl App {
    /// Creates the host of a session's tools, which put questions to the user. `requester` is the subagent to which they
    /// belong.
    pub(super) fn host(
        &self,
        session: &Session,
        requester: Option<Arc<Requester>>,
        workplace: Option<&ChildWorkspace>,
    ) -> Arc<Host> {
        let Startup { environment, paths, settings, .. } = &self.startup;
        let own = settings.tools();
        let is_child = requester.is_some();
        if let Some(folder) = session.artifacts() {
            self.own_files.open(&folder);
        }
        let artifacts = session.artifacts().map_or_else(Artifacts::temporary, Artifacts::in_folder);
        let artifacts = artifacts.hiding(self.models.secrets());
        let mut variables = environment.variables().to_vec();
        variables.extend(workplace.into_iter().flat_map(|workplace| workplace.environment.iter().cloned()));
        let host = Host::new(HostOptions {
            cwd: workplace.map_or(&paths.cwd, |workplace| &workplace.cwd).clone(),
            home: std::env::home_dir(),
            searches: Arc::clone(&self.searches),
            supervisor: sinew::shell::Supervisor::new(std::env::current_exe().unwrap_or_else(|_| "sinew".into())),
            environment: variables,
            artifacts: Arc::new(artifacts),
            http: models::http(environment, settings),
            ask: self.ask.clone(),
            requester,
            console: None,
            shells: Arc::clone(&self.shells),
            settings: sinew_tools::Settings {
                outside_sandbox: self.limits.outside(own.outside_sandbox),
                ci: !environment.is_on("SINEW_BASH_NO_CI"),
                // A child would end before its jobs. A fork lists the tools of its parent unchanged.
                jobs: own.jobs && !is_child,
                provider_keys: self.models.key_names(),
                fetch: own.fetch && !self.startup.is_offline(),
                // A name without a directory is looked up in `PATH`.
                bash: own
                    .bash
                    .map(|path| if path.starts_with("~") { paths.resolve(&path.to_string_lossy()) } else { path }),
                ..own
            },
        });
        let artifacts = session.artifacts();
        host.set_confinement(match workplace {
            Some(ChildWorkspace { path, root, cwd, .. }) => {
                Some(self.limits.of_view(path, root, cwd, artifacts.as_deref()))
            }
            None => self.limits.of_session(artifacts.as_deref()),
        });
        host
    }
}
