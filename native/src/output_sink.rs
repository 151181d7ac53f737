//! The binding of `OutputSink`.

use napi::Env;
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use sinew::shell::output::{self, SinkOptions};

use crate::task;

/// The options of a sink: how much it keeps in memory, and the file for the rest.
#[napi(object)]
pub(crate) struct SinkRequest {
    pub tail_bytes: Option<u32>,
    pub spill_path: Option<String>,
}

/// The state of a sink.
#[napi(object)]
pub(crate) struct SinkDump {
    pub text: String,
    pub truncated: bool,
    pub partial_line: bool,
    pub total_bytes: f64,
    pub total_lines: f64,
    pub shown_bytes: f64,
    pub shown_lines: f64,
    pub spill_path: Option<String>,
    pub spill_error: Option<String>,
}

impl From<output::OutputDump> for SinkDump {
    fn from(dump: output::OutputDump) -> SinkDump {
        let output::OutputDump {
            text,
            truncated,
            partial_line,
            total_bytes,
            total_lines,
            shown_bytes,
            shown_lines,
            spill_path,
            spill_error,
        } = dump;
        SinkDump {
            text,
            truncated,
            partial_line,
            total_bytes: total_bytes as f64,
            total_lines: total_lines as f64,
            shown_bytes: shown_bytes as f64,
            shown_lines: shown_lines as f64,
            spill_path: spill_path.map(|path| path.to_string_lossy().into_owned()),
            spill_error,
        }
    }
}

/// Collects output of any size and keeps its end in memory.
#[napi]
pub(crate) struct OutputSink {
    sink: output::OutputSink,
}

#[napi]
impl OutputSink {
    /// Creates an empty sink. Creates no file yet.
    #[napi(constructor)]
    pub fn new(options: SinkRequest) -> OutputSink {
        let SinkRequest { tail_bytes, spill_path } = options;
        let default = SinkOptions::default();
        let options = SinkOptions {
            tail_bytes: tail_bytes.map_or(default.tail_bytes, |bytes| bytes as usize),
            spill: spill_path.map_or(default.spill, |path| Some(path.into())),
        };
        OutputSink { sink: output::OutputSink::new(options) }
    }

    /// Appends output.
    #[napi]
    pub fn push(&mut self, env: &Env, data: Either<String, Uint8Array>) -> napi::Result<()> {
        let bytes = match &data {
            Either::A(text) => text.as_bytes(),
            Either::B(bytes) => bytes.as_ref(),
        };
        task::now(env, "outputSink", || {
            self.sink.push(bytes);
            Ok(())
        })
    }

    /// Returns the end of the output and the totals.
    #[napi]
    pub fn dump(&mut self, env: &Env) -> napi::Result<SinkDump> {
        task::now(env, "outputSink", || Ok(self.sink.dump().into()))
    }
}
