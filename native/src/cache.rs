//! The binding of the scan cache.

use std::path::Path;

use napi::Env;
use napi_derive::napi;

use crate::{handle, task};

/// Removes cached scans: all, or those whose root contains the path or is below it.
#[napi]
pub(crate) fn invalidate_fs_scan_cache(env: &Env, path: Option<String>) -> napi::Result<()> {
    task::now(env, "invalidateFsScanCache", || {
        match path {
            Some(path) => handle().cache.invalidate(Path::new(&path)),
            None => handle().cache.clear(),
        }
        Ok(())
    })
}
