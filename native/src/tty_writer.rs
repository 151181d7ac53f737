//! The binding of `TtyWriter`.

use napi::Env;
use napi_derive::napi;
use sinew::base::{Error, Result};

use crate::task;

/// A writer for one terminal.
#[napi]
pub(crate) struct TtyWriterHandle {
    #[cfg(unix)]
    writer: parking_lot::Mutex<sinew::shell::TtyWriter>,
}

#[cfg(unix)]
fn open(fd: i32) -> Result<TtyWriterHandle> {
    // SAFETY: the number is only read to duplicate what it names, and the system refuses one that names nothing.
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    let writer = sinew::shell::TtyWriter::new(fd)
        .map_err(|cause| Error::invalid(format!("TtyWriter: the descriptor is not writable: {cause}")))?;
    Ok(TtyWriterHandle { writer: parking_lot::Mutex::new(writer) })
}

#[cfg(not(unix))]
fn open(_: i32) -> Result<TtyWriterHandle> {
    Err(Error::invalid("TtyWriter: Unix only; use process.stdout.write"))
}

/// Opens a writer for a file descriptor.
#[napi]
pub(crate) fn open_tty_writer(env: &Env, fd: i32) -> napi::Result<TtyWriterHandle> {
    task::now(env, "TtyWriter", || open(fd))
}

#[cfg(unix)]
#[napi]
impl TtyWriterHandle {
    #[napi(catch_unwind)]
    pub fn write(&self, data: String) -> f64 {
        self.writer.lock().write(data.as_bytes()) as f64
    }

    #[napi(catch_unwind)]
    pub fn pending(&self) -> f64 {
        self.writer.lock().pending() as f64
    }

    #[napi(catch_unwind)]
    pub fn is_dead(&self) -> bool {
        self.writer.lock().is_dead()
    }

    #[napi(catch_unwind)]
    pub fn flush(&self, limit_ms: u32) -> bool {
        self.writer.lock().flush(std::time::Duration::from_millis(limit_ms.into()))
    }

    #[napi(catch_unwind)]
    pub fn stop(&self, limit_ms: u32) {
        self.writer.lock().stop(std::time::Duration::from_millis(limit_ms.into()));
    }
}
