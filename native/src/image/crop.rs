//! The binding of parts of pictures.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

use super::{NewPicture, Picture};
use crate::task;

#[napi]
impl Picture {
    /// Cuts a part out.
    #[napi(ts_return_type = "Promise<Picture>")]
    pub fn crop<'env>(
        &self,
        env: &'env Env,
        left: u32,
        top: u32,
        width: u32,
        height: u32,
    ) -> napi::Result<Object<'env>> {
        let picture = Arc::clone(&self.picture);
        task::blocking(env, "cropImage", move || picture.crop(left, top, width, height), NewPicture)
    }
}
