//! The binding of `PhotonImage`, and of [`fit`].

mod canvas;
mod fit;

use std::sync::Arc;

use napi::bindgen_prelude::{ObjectFinalize, ToNapiValue, Uint8Array};
use napi::{Env, bindgen_prelude::Object, sys};
use napi_derive::napi;
use sinew::base::Error;
use sinew::image::terminal::{self, Cells};
use sinew::image::{self, ImageFormat, SamplingFilter};

use crate::abort::{self, Abort};
use crate::task;

/// A decoded image.
#[napi(custom_finalize)]
pub(crate) struct Picture {
    picture: Arc<image::Picture>,
}

impl ObjectFinalize for Picture {
    fn finalize(self, env: Env) -> napi::Result<()> {
        env.adjust_external_memory(-size(&self.picture)).map(drop)
    }
}

/// Returns the size of the pixels, which the garbage collector cannot see.
fn size(picture: &image::Picture) -> i64 {
    i64::try_from(picture.samples().len()).unwrap_or(i64::MAX)
}

/// A new image for JavaScript.
pub(crate) struct NewPicture(image::Picture);

impl ToNapiValue for NewPicture {
    unsafe fn to_napi_value(env: sys::napi_env, value: NewPicture) -> napi::Result<sys::napi_value> {
        Env::from_raw(env).adjust_external_memory(size(&value.0))?;
        // SAFETY: `env` is the one that this function was called with.
        unsafe { Picture::to_napi_value(env, Picture { picture: Arc::new(value.0) }) }
    }
}

/// Decodes an image.
#[napi(ts_return_type = "Promise<Picture>")]
pub(crate) fn parse_image<'env>(
    env: &'env Env,
    bytes: Uint8Array,
    timeout_ms: Option<u32>,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, timeout_ms);
    // JavaScript may change its bytes in the meantime.
    let bytes = bytes.to_vec();
    task::blocking(env, "parseImage", move || image::decode(&bytes, &cancel), NewPicture)
}

#[napi]
impl Picture {
    /// The width in pixels.
    #[napi(getter)]
    pub fn width(&self) -> u32 {
        self.picture.width()
    }

    /// The height in pixels.
    #[napi(getter)]
    pub fn height(&self) -> u32 {
        self.picture.height()
    }

    /// Returns a resized copy of the image.
    #[napi(ts_return_type = "Promise<Picture>")]
    pub fn resize<'env>(
        &self,
        env: &'env Env,
        width: u32,
        height: u32,
        filter: u32,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let cancel = abort::cancel(abort, timeout_ms);
        let picture = Arc::clone(&self.picture);
        let work = move || picture.resize(width, height, SamplingFilter::from_id(filter)?, &cancel);
        task::blocking(env, "resizeImage", work, NewPicture)
    }

    /// Encodes the image as a file.
    #[napi(ts_return_type = "Promise<Uint8Array>")]
    pub fn encode<'env>(
        &self,
        env: &'env Env,
        format: u32,
        quality: u8,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let cancel = abort::cancel(abort, timeout_ms);
        let picture = Arc::clone(&self.picture);
        let work = move || picture.encode(ImageFormat::from_id(format)?, quality, &cancel);
        task::blocking(env, "encodeImage", work, Uint8Array::from)
    }

    /// Returns the image as escape codes.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn terminal<'env>(
        &self,
        env: &'env Env,
        protocol: String,
        options: TerminalRequest,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let TerminalRequest { columns, rows, id, timeout_ms } = options;
        let cancel = abort::cancel(abort, timeout_ms);
        let picture = Arc::clone(&self.picture);
        let work = move || {
            // Not every terminal reads profiles.
            let png = || picture.to_srgb().encode(ImageFormat::Png, 100, &cancel);
            let cells = Cells { columns, rows };
            match &*protocol {
                "kitty" => Ok(terminal::kitty(&png()?, cells, id)),
                "iterm2" => Ok(terminal::iterm2(&png()?, cells)),
                "sixel" => terminal::sixel(&picture, &cancel),
                _ => Err(Error::invalid(format!("terminal: unknown protocol {protocol:?}"))),
            }
        };
        task::blocking(env, "imageToTerminal", work, |text| text)
    }
}

/// The placement of an image in a terminal.
#[napi(object)]
pub(crate) struct TerminalRequest {
    /// The width in columns.
    pub columns: Option<u32>,
    /// The height in rows.
    pub rows: Option<u32>,
    /// The id in the Kitty protocol.
    pub id: Option<u32>,
    /// The time limit in milliseconds.
    pub timeout_ms: Option<u32>,
}
