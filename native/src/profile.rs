//! The binding of `getWorkProfile`.

use napi::Env;
use napi_derive::napi;
use sinew::profile;

use crate::{handle, task};

/// A summary of recently ended calls.
#[napi(object)]
pub(crate) struct WorkProfile {
    pub folded: String,
    pub summary: String,
    pub svg: Option<String>,
    pub total_ms: f64,
    pub sample_count: u32,
}

impl From<profile::WorkProfile> for WorkProfile {
    fn from(sums: profile::WorkProfile) -> WorkProfile {
        let profile::WorkProfile { folded, summary, svg, total_ms, sample_count } = sums;
        WorkProfile { folded, summary, svg, total_ms, sample_count: sample_count as u32 }
    }
}

/// Summarises recently ended calls.
#[napi]
pub(crate) fn get_work_profile(env: &Env, last_seconds: f64) -> napi::Result<WorkProfile> {
    task::now(env, "getWorkProfile", || handle().profile.work_profile(last_seconds).map(WorkProfile::from))
}
