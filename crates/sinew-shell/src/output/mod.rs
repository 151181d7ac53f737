//! The output of a program on its way to a reader: decoded ([`Decoder`]), merged into few large chunks ([`Merger`]),
//! read from a descriptor ([`pump`]), and stored within a limit ([`OutputSink`]).

mod decoder;
mod merger;
#[cfg(unix)]
mod pump;
mod sink;
mod streams;
#[cfg_attr(windows, path = "waker_windows.rs")]
mod waker;

use std::time::Duration;

pub use decoder::Decoder;
pub use merger::{MERGE_BYTES, MERGE_INTERVAL, Merger};
#[cfg(unix)]
pub(crate) use pump::timespec;
#[cfg(unix)]
pub use pump::{PumpControl, PumpEnd, pump};
pub use sink::{OutputDump, OutputSink, SinkOptions, TAIL_BYTES};
pub use streams::{Chunk, ChunkData, Encoding, Source, StreamMerger};
pub(crate) use waker::Waker;

/// The silence that ends a drain.
pub const DRAIN_IDLE: Duration = Duration::from_millis(250);

/// The maximum duration of a drain.
pub const DRAIN_MOST: Duration = Duration::from_secs(2);
