//! The binding of the store of `Checkpoints`.

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use sinew::base::CancelToken;
use sinew::checkpoint::{Checkpoints, CollectResult, Usage};

use crate::abort::{self, Abort};
use crate::checkpoints::CheckpointsHandle;

#[napi]
impl CheckpointsHandle {
    /// Returns the contents of the store.
    #[napi(ts_return_type = "Promise<UsageAnswer>")]
    pub fn usage<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.run(env, CancelToken::never(), |open, _| open.usage(), UsageAnswer::from)
    }

    /// Deletes the oldest checkpoints until the store is within its limits.
    #[napi(ts_return_type = "Promise<CollectedAnswer>")]
    pub fn gc<'env>(
        &self,
        env: &'env Env,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        self.run(env, abort::cancel(abort, timeout_ms), Checkpoints::gc, CollectedAnswer::from)
    }
}

/// The contents of a store.
#[napi(object)]
pub struct UsageAnswer {
    pub checkpoints: u32,
    pub directory_bytes: f64,
    pub total_bytes: f64,
}

impl From<Usage> for UsageAnswer {
    fn from(Usage { checkpoints, directory, total }: Usage) -> UsageAnswer {
        let checkpoints = u32::try_from(checkpoints).unwrap_or(u32::MAX);
        UsageAnswer { checkpoints, directory_bytes: directory as f64, total_bytes: total as f64 }
    }
}

/// The result of a cleanup.
#[napi(object)]
pub struct CollectedAnswer {
    pub removed: Vec<String>,
    pub freed_bytes: f64,
}

impl From<CollectResult> for CollectedAnswer {
    fn from(CollectResult { removed, freed }: CollectResult) -> CollectedAnswer {
        CollectedAnswer { removed, freed_bytes: freed as f64 }
    }
}
