//! The binding of `crop`, `extend` and `orient`.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use sinew::base::{CancelToken, Error};
use sinew::image::Orientation;

use super::{NewPicture, Picture};
use crate::task;

#[napi]
impl Picture {
    /// Crops the image.
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

    /// Places the image on a larger canvas of one colour: `0xrrggbbaa`.
    #[napi(ts_return_type = "Promise<Picture>")]
    pub fn extend<'env>(
        &self,
        env: &'env Env,
        left: u32,
        top: u32,
        width: u32,
        height: u32,
        colour: u32,
    ) -> napi::Result<Object<'env>> {
        let picture = Arc::clone(&self.picture);
        let work = move || picture.extend((left, top), (width, height), colour.to_be_bytes(), &CancelToken::never());
        task::blocking(env, "extendImage", work, NewPicture)
    }

    /// Rotates and mirrors the image, by an EXIF orientation.
    #[napi(ts_return_type = "Promise<Picture>")]
    pub fn orient<'env>(&self, env: &'env Env, orientation: u8) -> napi::Result<Object<'env>> {
        let picture = Arc::clone(&self.picture);
        let work = move || {
            let invalid = || Error::invalid(format!("orient: invalid orientation {orientation}; use 1 to 8"));
            picture.orient(Orientation::from_exif(orientation).ok_or_else(invalid)?, &CancelToken::never())
        };
        task::blocking(env, "orientImage", work, NewPicture)
    }
}
