//! The checkpoints of the folder in which an app works.

use std::sync::Arc;
use std::time::Duration;

use sinew::Sinew;
use sinew_agent::undo::{CheckpointStore, StoreOptions, TurnRecorder};
use sinew_tools::Host;

use crate::startup::Startup;

/// Returns the store of the folder, without opening it; `None` if the settings turn it off, or this system has none. `sinew` watches the folder.
pub(crate) fn store(startup: &Startup, sinew: Option<&Arc<Sinew>>) -> Option<Arc<CheckpointStore>> {
    let Startup { paths, settings, .. } = startup;
    let checkpoint = settings.checkpoint;
    (checkpoint.enabled && cfg!(unix)).then(|| {
        Arc::new(CheckpointStore::new(StoreOptions {
            skip: vec![paths.home.clone()],
            home: std::env::home_dir(),
            max_file_bytes: checkpoint.max_file_bytes,
            wait: Duration::from_millis(checkpoint.wait),
            sinew: sinew.cloned(),
            ..StoreOptions::new(&paths.cwd, &paths.agent.join("checkpoints"))
        }))
    })
}

/// Returns what records the turns of a session. A job of its host that runs keeps a stretch open.
pub(super) fn recorder(store: &Arc<CheckpointStore>, session: &str, host: &Arc<Host>) -> Arc<TurnRecorder> {
    let host = Arc::downgrade(host);
    let jobs = move || {
        let jobs = host.upgrade().map(|host| host.jobs()).unwrap_or_default();
        jobs.into_iter().filter(|job| job.state == "running").map(|job| job.id).collect()
    };
    Arc::new(TurnRecorder::new(Arc::clone(store), session, Arc::new(jobs)))
}
