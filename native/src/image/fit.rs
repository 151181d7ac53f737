//! The binding of `fitImage`.

use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi_derive::napi;
use sinew::base::Result;
use sinew::image::{self, FitOptions, FitResult, ImageFormat};

use crate::abort::{self, Abort};
use crate::task;

/// The limits of an image.
#[napi(object)]
pub(crate) struct FitRequest {
    /// The maximum width in pixels.
    pub max_width: Option<u32>,
    /// The maximum height in pixels.
    pub max_height: Option<u32>,
    /// The maximum number of bytes as base64 text.
    pub max_bytes: Option<u32>,
    /// The format of the result.
    pub format: Option<u32>,
    /// The time limit in milliseconds.
    pub timeout_ms: Option<u32>,
}

impl FitRequest {
    fn into_core(self) -> Result<FitOptions> {
        let FitRequest { max_width, max_height, max_bytes, format, timeout_ms: _ } = self;
        let default = FitOptions::default();
        Ok(FitOptions {
            max_width: max_width.unwrap_or(default.max_width),
            max_height: max_height.unwrap_or(default.max_height),
            max_bytes: max_bytes.map_or(default.max_bytes, |bytes| bytes as usize),
            format: format.map(ImageFormat::from_id).transpose()?,
        })
    }
}

/// An image within the limits.
#[napi(object, object_from_js = false)]
pub(crate) struct FittedImage {
    /// The encoded file.
    pub data: Uint8Array,
    /// The MIME type.
    pub mime_type: String,
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// True if the size in pixels differs from that of the input.
    pub resized: bool,
}

impl From<FitResult> for FittedImage {
    fn from(fitted: FitResult) -> FittedImage {
        let FitResult { data, mime_type, width, height, resized } = fitted;
        FittedImage { data: data.into(), mime_type: mime_type.into(), width, height, resized }
    }
}

/// Scales and encodes an image to fit the limits of a model.
#[napi(ts_return_type = "Promise<FittedImage>")]
pub(crate) fn fit_image<'env>(
    env: &'env Env,
    bytes: Uint8Array,
    options: FitRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, options.timeout_ms);
    let bytes = bytes.to_vec();
    let work = move || image::fit_image(&bytes, &options.into_core()?, &cancel);
    task::blocking(env, "fitImage", work, FittedImage::from)
}
