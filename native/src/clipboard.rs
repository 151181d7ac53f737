//! The binding of the clipboard.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi_derive::napi;
use sinew::clipboard::{Clipboard, ClipboardOptions};

use crate::task;

/// The clipboard of one display. It offers the written content until JavaScript drops it.
#[napi]
pub(crate) struct DesktopClipboard {
    clipboard: Arc<Clipboard>,
}

#[napi]
impl DesktopClipboard {
    /// Creates the clipboard without a connection.
    #[napi(constructor)]
    pub fn new(display: Option<String>) -> DesktopClipboard {
        let options = ClipboardOptions { display, ..ClipboardOptions::default() };
        DesktopClipboard { clipboard: Arc::new(Clipboard::new(options)) }
    }

    /// Reads the text.
    #[napi(ts_return_type = "Promise<string | null>")]
    pub fn read_text<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let clipboard = Arc::clone(&self.clipboard);
        task::alone(env, "readTextFromClipboard", move || clipboard.read_text(), |text| text)
    }

    /// Reads the image, as PNG.
    #[napi(ts_return_type = "Promise<Uint8Array | null>")]
    pub fn read_image<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let clipboard = Arc::clone(&self.clipboard);
        let translate = |image: Option<Vec<u8>>| image.map(Uint8Array::from);
        task::alone(env, "readImageFromClipboard", move || clipboard.read_image(), translate)
    }

    /// Writes text.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn write_text<'env>(&self, env: &'env Env, text: String) -> napi::Result<Object<'env>> {
        let clipboard = Arc::clone(&self.clipboard);
        task::alone(env, "copyToClipboard", move || clipboard.write_text(&text), |()| ())
    }
}
