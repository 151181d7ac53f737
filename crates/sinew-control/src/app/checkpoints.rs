//! The checkpoints of an app's working directory.

use std::sync::Arc;
use std::time::Duration;

use sinew::Sinew;
use sinew_agent::undo::{CheckpointStore, StoreOptions, TurnRecorder};
use sinew_tools::Host;

use crate::startup::Startup;

/// Returns the checkpoint store of the directory, without opening it; `None` if the settings disable checkpoints or the
/// system does not support them. `sinew` watches the directory.
pub fn store(startup: &Startup, sinew: Option<&Arc<Sinew>>) -> Option<Arc<CheckpointStore>> {
    let Startup { paths, settings, .. } = startup;
    let checkpoint = settings.checkpoint;
    (checkpoint.enabled && cfg!(unix)).then(|| {
        Arc::new(CheckpointStore::new(StoreOptions {
            skip: vec![paths.home.clone()],
            home: std::env::home_dir(),
            config: startup.environment.os("XDG_CONFIG_HOME").map(Into::into),
            max_file_bytes: checkpoint.max_file_bytes,
            wait: Duration::from_millis(checkpoint.wait),
            sinew: sinew.cloned(),
            ..StoreOptions::new(&paths.cwd, &paths.agent.join("checkpoints"))
        }))
    })
}

/// Returns the recorder of a session's turns. It keeps recording while a job of `host` runs.
pub(super) fn recorder(store: &Arc<CheckpointStore>, session: &str, host: &Arc<Host>) -> Arc<TurnRecorder> {
    let host = Arc::downgrade(host);
    let jobs = move || {
        let jobs = host.upgrade().map(|host| host.jobs()).unwrap_or_default();
        jobs.into_iter().filter(|job| job.state == "running").map(|job| job.id).collect()
    };
    Arc::new(TurnRecorder::new(Arc::clone(store), session, Arc::new(jobs)))
}
