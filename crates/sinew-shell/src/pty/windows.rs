//! The session's thread on Windows: a ConPTY, with separate threads for reading, writing and waiting. Run under wine;
//! not yet on Windows.

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use sinew_base::{Aborted, CancelToken, Error, ErrorCode, Result};

use super::live::{LivePty, Terminal};
use super::{PtyEnd, PtyOptions};
use crate::environment;
use crate::output::{Chunk, Merger};

// The maximum time for the terminal to close after the program's end. It then reports the end of its output.
const DRAIN: Duration = Duration::from_secs(5);

enum PtyEvent {
    Read(Vec<u8>),
    Closed,
    Exited(i32),
}

pub(super) fn run(
    live: &Arc<LivePty>,
    options: &PtyOptions,
    cancel: &CancelToken,
    mut on_chunk: impl FnMut(Chunk) -> ControlFlow<()>,
) -> Result<PtyEnd> {
    if let Err(aborted) = cancel.check() {
        return Ok(stopped(aborted));
    }
    let (line, _) = options.command_line();
    let name = line.first().cloned().unwrap_or_default();
    let hint =
        if options.argv.is_none() { "; name Git's bash in `shell`, or a program of Windows in `argv`" } else { "" };
    let failed = |error: String| Error::new(ErrorCode::Io, format!("start: failed to run {name:?}: {error}{hint}"));
    let io_failed = |error: std::io::Error| failed(error.to_string());
    let pair = native_pty_system().openpty(size(live.size())).map_err(|error| failed(error.to_string()))?;
    let mut command = CommandBuilder::new(&name);
    command.args(&line[1..]);
    command.env_clear();
    for (name, value) in &options.env {
        command.env(name, value);
    }
    if let Some(cwd) = &options.cwd {
        let data =
            std::fs::metadata(cwd).map_err(|error| Error::io(format!("start: working directory {cwd:?}"), &error))?;
        if !data.is_dir() {
            return Err(Error::invalid(format!("start: working directory {cwd:?} is not a folder")));
        }
        command.cwd(cwd);
    }
    let mut child = pair.slave.spawn_command(command).map_err(|error| {
        // The terminal library does not report the reason.
        let path = environment::value(&options.env, "PATH");
        match environment::find_program(path, Path::new(&name)) {
            Some(_) => failed(error.to_string()),
            None => Error::new(ErrorCode::NotFound, format!("start: no program {name:?} on PATH{hint}")),
        }
    })?;
    let root = child.process_id().unwrap_or(0);
    live.set_started(Terminal { pid: root, fd: -1, name: String::new() });
    let mut reader = pair.master.try_clone_reader().map_err(|error| failed(error.to_string()))?;
    let mut writer = pair.master.take_writer().map_err(|error| failed(error.to_string()))?;
    drop(pair.slave);

    // A bounded queue, so that a slow callback blocks the reader, and the reader blocks the program.
    let (send, news) = mpsc::sync_channel(4);
    let (read, waited) = (send.clone(), send);
    let thread = |name: &str| std::thread::Builder::new().name(name.to_string());
    thread("sinew-pty-read")
        .spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                // Without a receiver the data is dropped, but a terminal is closed only once all of it was read.
                let _ = read.send(PtyEvent::Read(buffer[..count].to_vec()));
            }
            let _ = read.send(PtyEvent::Closed);
        })
        .map_err(io_failed)?;
    thread("sinew-pty-wait")
        .spawn(move || {
            let code = child.wait().map_or(1, |status| status.exit_code().cast_signed());
            let _ = waited.send(PtyEvent::Exited(code));
        })
        .map_err(io_failed)?;
    let typist = Arc::clone(live);
    thread("sinew-pty-type")
        .spawn(move || {
            while typist.wake.wait() {
                while typist.pending() > 0 {
                    if typist.type_with(|bytes| writer.write(bytes)).is_err() {
                        return;
                    }
                }
            }
        })
        .map_err(io_failed)?;
    let master = Mutex::new(pair.master);
    live.attach(
        Box::new(move || _ = sinew_process::kill_tree(root, 9)),
        Box::new(move |cells| {
            // A program that has ended needs no size.
            let _ = master.lock().resize(size(cells));
        }),
    );
    let killer = Arc::clone(live);
    let hook = cancel.on_cancel(move || killer.kill());
    let end = serve(live, cancel, &news, &mut on_chunk);
    drop(hook);
    live.wake.close();
    // The reader must not wait for this thread while the terminal is being closed, because closing waits for the
    // reader.
    drop(news);
    live.detach();
    Ok(end)
}

/// Closes the terminal on a separate thread, because that waits until [`serve`] has read all its output.
fn close(live: &Arc<LivePty>) {
    let live = Arc::clone(live);
    // Without a thread the terminal is closed after the session.
    let _ = std::thread::Builder::new().name("sinew-pty-close".to_string()).spawn(move || live.detach());
}

fn serve(
    live: &Arc<LivePty>,
    cancel: &CancelToken,
    news: &mpsc::Receiver<PtyEvent>,
    on_chunk: &mut impl FnMut(Chunk) -> ControlFlow<()>,
) -> PtyEnd {
    let (mut merger, mut stop, mut exit, mut drain) = (Merger::default(), None, None, None);
    loop {
        let now = Instant::now();
        if let Some(text) = merger.take(now)
            && on_chunk(Chunk::text(text)).is_break()
        {
            live.kill();
        }
        if stop.is_none() {
            stop = cancel.check().err().or(live.is_killed().then_some(Aborted::Signal));
            if stop.is_some() {
                live.kill();
            }
        }
        if drain.is_some_and(|at| now >= at) {
            break;
        }
        let deadline = cancel.deadline().filter(|_| stop.is_none());
        let until = [merger.due(now), deadline, drain].into_iter().flatten().min();
        let wait = until.map_or(Duration::from_secs(3600), |until| until.saturating_duration_since(now));
        match news.recv_timeout(wait) {
            Ok(PtyEvent::Read(bytes)) => {
                merger.push(&bytes);
            }
            Ok(PtyEvent::Exited(code)) => {
                exit = Some(code);
                drain = Some(Instant::now() + DRAIN);
                close(live);
            }
            Ok(PtyEvent::Closed) if exit.is_some() => break,
            Ok(PtyEvent::Closed) | Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Some(text) = merger.finish() {
        // Nothing is left to stop.
        let _ = on_chunk(Chunk::text(text));
    }
    stop.map_or(PtyEnd { exit_code: exit, ..PtyEnd::default() }, stopped)
}

fn size((cols, rows): (u16, u16)) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn stopped(aborted: Aborted) -> PtyEnd {
    PtyEnd {
        exit_code: None,
        signal: None,
        cancelled: aborted == Aborted::Signal,
        timed_out: aborted == Aborted::Timeout,
    }
}
