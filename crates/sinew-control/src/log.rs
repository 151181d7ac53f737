//! Writes logs: `SINEW_LOG=debug` writes events to `<agent>/sinew.log`, and `SINEW_TIMING=1` prints times of the start
//! on stderr.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sinew_agent::event::Event;
use sinew_agent::extension::{Context, Extension};
use sinew_session::clock::{Clock, SystemClock, iso};
use sinew_session::files::private_folder;
use sinew_session::secrets::Secrets;
use sinew_tools::tool::Boxed;

use crate::startup::Startup;

/// The maximum size of a file in bytes, and the number of files.
const LARGEST: u64 = 5 << 20;
const FILES: u32 = 3;
/// The maximum number of characters per event.
const SHOWN: usize = 2_000;

/// Logs every event except the pieces of answers, with keys masked.
struct Log {
    path: PathBuf,
    file: Mutex<Option<File>>,
    secrets: Arc<Secrets>,
}

/// Opens the log if `SINEW_LOG=debug` is set; a failure becomes a warning.
pub(crate) fn extension(
    startup: &Startup,
    secrets: &Arc<Secrets>,
    session: &str,
    warnings: &mut Vec<String>,
) -> Option<Arc<dyn Extension>> {
    let Startup { environment, paths, .. } = startup;
    if environment.get("SINEW_LOG") != Some("debug") {
        return None;
    }
    match Log::open(&paths.agent, secrets) {
        Ok(log) => {
            let version = env!("CARGO_PKG_VERSION");
            log.line(&format!("sinew {version} starts: {session} in {}", paths.cwd.display()));
            Some(Arc::new(log))
        }
        Err(error) => {
            warnings.push(format!("SINEW_LOG: {}: {error}", paths.agent.join("sinew.log").display()));
            None
        }
    }
}

impl Log {
    /// Opens the file in `folder`, which is created if it is missing.
    fn open(folder: &Path, secrets: &Arc<Secrets>) -> std::io::Result<Log> {
        private_folder(folder)?;
        let path = folder.join("sinew.log");
        let file = Mutex::new(Some(append(&path)?));
        Ok(Log { path, file, secrets: Arc::clone(secrets) })
    }

    fn line(&self, text: &str) {
        let text = text.replace(['\n', '\r'], " ");
        let text = self.secrets.hidden(&text).unwrap_or(text);
        let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
        let line = format!("{} {} {}\n", iso(SystemClock.now()), std::process::id(), &text[..end]);
        let mut file = self.file.lock();
        // An error of the log must not end the program.
        let _ = self.write(&mut file, &line);
    }

    fn write(&self, file: &mut Option<File>, line: &str) -> std::io::Result<()> {
        let full = match file {
            Some(file) => file.metadata()?.len() + line.len() as u64 > LARGEST,
            None => false,
        };
        if full {
            *file = None;
            let name = |number: u32| match number {
                0 => self.path.clone(),
                number => self.path.with_extension(format!("log.{number}")),
            };
            for number in (1..FILES).rev() {
                let moved = std::fs::rename(name(number - 1), name(number));
                moved.or_else(|error| if crate::config::is_missing(&error) { Ok(()) } else { Err(error) })?;
            }
        }
        let file = match file {
            Some(file) => file,
            none => none.insert(append(&self.path)?),
        };
        file.write_all(line.as_bytes())
    }
}

fn append(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    crate::sys::private(options.append(true).create(true)).open(path)
}

impl Extension for Log {
    fn name(&self) -> Cow<'static, str> {
        "log".into()
    }

    fn on_event<'a>(&'a self, event: &'a Event, _context: &'a Context) -> Boxed<'a, Result<(), String>> {
        Box::pin(async move {
            if matches!(event, Event::MessageUpdate { .. }) {
                return Ok(());
            }
            // Keys are masked before the value is escaped as JSON, because escaping could change them.
            let mut value = serde_json::to_value(event).map_err(|error| error.to_string())?;
            self.secrets.hide_json(&mut value);
            self.line(&value.to_string());
            Ok(())
        })
    }
}

/// The times at which the steps of a run ended.
pub struct Timing {
    begun: Instant,
    parts: Vec<(&'static str, Duration)>,
}

impl Timing {
    /// Starts the measurement.
    pub fn begin() -> Timing {
        Timing { begun: Instant::now(), parts: Vec::new() }
    }

    /// Records the end of a step.
    pub fn mark(&mut self, part: &'static str) {
        self.parts.push((part, self.begun.elapsed()));
    }

    /// Prints one line with the end of each step, counted from the start.
    pub fn tell(&self) {
        let milliseconds = |time: &Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        let parts: Vec<String> =
            self.parts.iter().map(|(part, time)| format!("{part} {}", milliseconds(time))).collect();
        crate::output::tell(&format!("Timing: {}", parts.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_files_are_limited_and_contain_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = crate::secrets::none();
        secrets.add("sk-secret-value");
        let log = Log::open(folder.path(), &secrets).unwrap();
        log.line(&format!("a sk-secret-value{}", "b".repeat(4_000)));
        let first = std::fs::read_to_string(folder.path().join("sinew.log")).unwrap();
        assert!(!first.contains("sk-secret-value") && first.len() < SHOWN + 200, "{first}");
        // This fills 3 files and a part of another.
        for _ in 0..9_000 {
            log.line(&"x".repeat(SHOWN));
        }
        let mut sizes = Vec::new();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            sizes.push(entry.unwrap().metadata().unwrap().len());
        }
        assert!(sizes.len() == 3 && sizes.iter().all(|size| *size <= LARGEST), "{sizes:?}");
    }
}
