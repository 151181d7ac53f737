//! The bash of a session and the script that drives it.
//!
//! It is a `bash -c` whose script repeats `script/runs.bash`: run a command, report, and wait for the next one. So a command ends with the status that `bash -c` would return, even if an expansion or `set -n` ends it. Files and
//! pipes are opened by name ([`Names`]) when they are needed, so that no command inherits a descriptor of the session and
//! no command output can be mistaken for a report.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use sinew_base::{Aborted, Error, ErrorCode, Result};
use sinew_sandbox::{Entry, Refusal, Sandbox};

use super::names::{NamedDescriptor, Names};
use super::report::{Report, ShellState};
use super::script::{self, FixedTexts};
use super::traps;
use crate::one_shot::{PIPE, ended, is_brush, killed, not_started};
use crate::output::{Chunk, Encoding};
use crate::output_relay::{OutputRelay, Watch};
use crate::request::ENDED;
use crate::supervisor::{Link, NOT_STARTED, Start, Supervisor, null, write_at_start};
use crate::wire::{SupervisorReply, SupervisorRequest};
use crate::{GRACE, Job, OnChunk, RunOptions, RunResult, ShellOptions, environment, request};

/// The maximum time for the shell to abort a command after all processes of the command are gone; extended on a busy
/// machine.
const LEAVE: Duration = Duration::from_millis(400);

/// The time during which output of background jobs is still read.
const LINGER: Duration = Duration::from_millis(80);

/// A running shell between two commands.
#[derive(Debug)]
pub(super) struct Session {
    link: Link,
    // One byte for each pending request.
    wishes: OwnedFd,
    // The files that the shell reads for each command; the embedded interpreter reads only the first one.
    setup: NamedDescriptor,
    command: NamedDescriptor,
    reports: OwnedFd,
    // The shell opens these by name: the end of the pipe that it reports to, the one that it waits at (open as long as
    // the session, so that writing to a dead shell never raises SIGPIPE), and its texts.
    report: NamedDescriptor,
    stop: NamedDescriptor,
    _named: [NamedDescriptor; 3],
    names: Names,
    state: ShellState,
    // True if the supervisor has reported that the shell is gone.
    gone: bool,
    brush: bool,
    // The sandbox of the shell, which is released after the supervisor is gone.
    entry: Option<Entry>,
}

impl Session {
    /// Starts a shell. It reads its functions before the first command.
    pub(super) fn start(
        supervisor: &Supervisor,
        options: &ShellOptions,
        (program, mut args): (OsString, Vec<OsString>),
    ) -> Result<Session> {
        let failed = |cause: std::io::Error| Error::io(NOT_STARTED, &cause);
        request::check_cwd(options.cwd.as_deref())?;
        let snapshot = request::snapshot(options)?.unwrap_or_default();
        let mut names = Names::new(options.sandbox.is_some()).map_err(failed)?;
        let mut file = || names.file(b"").map_err(failed);
        let (setup, command) = (file()?, file()?);
        let (end, stop, runs) = (file()?, file()?, file()?);
        let (reports, report) = names.pipe_from_shell(4096).map_err(failed)?;
        let (wish, wishes) = names.pipe_to_shell(4096).map_err(failed)?;
        let null = null().map_err(failed)?;
        let brush = is_brush(&args);
        let state = ShellState::new(&options.env, !snapshot.is_empty());
        match brush {
            true => args.extend(["session".into(), setup.name().into(), report.name().into(), snapshot.into()]),
            false => {
                let names = [
                    ("@SETUP@", &setup),
                    ("@COMMAND@", &command),
                    ("@REPORT@", &report),
                    ("@WISH@", &wish),
                    ("@END@", &end),
                    ("@RUNS@", &runs),
                ];
                let texts = FixedTexts::new(&names, &state.prefix, &snapshot, state.may_have_traps);
                for (file, text) in [(&end, &texts.end), (&stop, &texts.stop), (&runs, &texts.runs)] {
                    write_at_start(&file.fd, text.as_bytes()).map_err(failed)?;
                }
                args.extend(["-c".into(), texts.boot.into()]);
            }
        }
        let entry = options.sandbox.as_ref().map(Sandbox::enter).transpose()?;
        let link = supervisor.start(&Start {
            purpose: NOT_STARTED,
            program: &program,
            args: &args,
            env: &environment::inherited(&options.env),
            cwd: options.cwd.as_deref(),
            input: if brush { wish.fd.as_fd() } else { null.as_fd() },
            output: null.as_fd(),
            errors: null.as_fd(),
            script: None,
            sandbox: entry.as_ref().map(Entry::handoff),
        })?;
        Ok(Session {
            link,
            wishes,
            setup,
            command,
            reports,
            report,
            stop,
            _named: [wish, end, runs],
            names,
            state,
            gone: false,
            brush,
            entry,
        })
    }

    /// Returns true if the shell was running at the last report.
    pub(super) fn is_alive(&mut self) -> bool {
        while let Some(tell) = self.link.pending() {
            self.gone |= matches!(tell, None | Some(SupervisorReply::Exited { .. } | SupervisorReply::Failed { .. }));
            if let (Some(SupervisorReply::Refused(refusal)), Some(entry)) = (&tell, &self.entry) {
                entry.note(refusal.clone());
            }
            if tell.is_none() {
                break;
            }
        }
        !self.gone
    }

    pub(super) fn jobs(&mut self) -> Result<Vec<Job>> {
        if !self.is_alive() {
            return Ok(Vec::new());
        }
        self.link.ask(SupervisorRequest::Jobs);
        let mut deadline = self.link.deadline(Duration::from_secs(10));
        while let Some(tell) = self.link.receive_until(&mut deadline)? {
            match tell {
                SupervisorReply::Jobs(jobs) => {
                    return Ok(jobs.into_iter().map(|(pid, command)| Job { pid, command }).collect());
                }
                SupervisorReply::Exited { .. } | SupervisorReply::Failed { .. } => self.gone = true,
                SupervisorReply::Refused(refusal) => self.entry.iter().for_each(|entry| entry.note(refusal.clone())),
                SupervisorReply::Clean | SupervisorReply::Started { .. } => {}
            }
        }
        if !self.is_alive() {
            return Ok(Vec::new());
        }
        Err(Error::new(ErrorCode::Io, "shell: the supervisor does not answer"))
    }

    pub(super) fn close(self, grace: Duration) {
        self.link.close(grace);
    }

    /// Runs one command. Returns the session if it continues.
    pub(super) fn run(
        mut self,
        run: &RunOptions,
        watch: &Watch,
        on_chunk: OnChunk<'_>,
    ) -> Result<(Result<RunResult>, Option<Session>)> {
        let failed = |cause: std::io::Error| Error::io("shell: failed to run the command", &cause);
        if let Some(entry) = &self.entry {
            entry.resume()?;
        }
        let (reader, writer) = self.names.pipe_from_shell(PIPE).map_err(failed)?;
        let input = run.stdin.as_deref().map(|bytes| self.names.file(bytes)).transpose().map_err(failed)?;
        self.request(run, &writer, input.as_ref()).map_err(failed)?;
        let since = ticks_since_boot();
        rustix::io::write(&self.wishes, b"\n").map_err(|cause| failed(cause.into()))?;
        let mut text = |chunk: Chunk| on_chunk(chunk.into_text());
        let mut relay = OutputRelay::new(reader, None, Encoding::Text, &mut text);
        let mut report = Report::new(!self.brush && script::is_undone(run));
        let end = loop {
            let sources = [self.reports.as_fd(), self.link.as_fd(), watch.fd()];
            let [reported, told, _] = relay.step(sources, watch.until()).map_err(failed)?;
            if reported && report.read(&self.reports).map_err(failed)? {
                break End::Reported;
            }
            if told {
                break match self.link.receive()? {
                    Some(SupervisorReply::Exited { status }) => End::Gone(ended(status)),
                    Some(SupervisorReply::Failed { errno }) => return Err(not_started(errno)),
                    Some(SupervisorReply::Refused(refusal)) => {
                        self.entry.iter().for_each(|entry| entry.note(refusal.clone()));
                        continue;
                    }
                    Some(_) => continue,
                    None => End::Gone(killed()),
                };
            }
            if let Some(why) = watch.why().or(relay.is_broken().then_some(Aborted::Signal)) {
                break self.stop(why, since, &mut relay, &mut report).map_err(failed)?;
            }
        };
        drop((writer, input));
        relay.drain(LINGER, LINGER, watch).map_err(failed)?;
        let left = relay.finish();
        let was_stopped = matches!(end, End::Stopped(..));
        let (result, lost) = match end {
            End::Reported => (report.result(run), None),
            End::Stopped(why, lost) => (Ok(RunResult::stopped(why)), lost),
            End::Gone(result) if result.signal.is_some() => (Ok(result), Some("a signal killed the shell")),
            End::Gone(result) => (Ok(result), Some(ENDED)),
        };
        let refused = self.refused()?;
        if lost.is_some() {
            return Ok((result.map(|result| RunResult { state_lost: lost, refused, ..result }), None));
        }
        if let Some(pipe) = left {
            self.link.adopt(pipe.as_fd());
        }
        self.state.update(&report, run, was_stopped);
        Ok((result.map(|result| RunResult { working_dir: report.directory(), refused, ..result }), Some(self)))
    }

    /// Returns the operations that the sandbox refused to the command that has ended.
    fn refused(&mut self) -> Result<Vec<Refusal>> {
        if self.entry.is_none() {
            return Ok(Vec::new());
        }
        let has_jobs = !self.jobs()?.is_empty();
        Ok(self.entry.iter().flat_map(|entry| entry.pause(has_jobs)).collect())
    }

    /// Terminates the command's processes and waits until the shell returns. If it does not return in time, kills it.
    fn stop(&self, why: Aborted, since: u64, relay: &mut OutputRelay<'_>, report: &mut Report) -> std::io::Result<End> {
        let grace_ms = GRACE.as_millis() as u32;
        // The embedded interpreter cannot abort a command.
        self.link.ask(if self.brush {
            SupervisorRequest::Close { grace_ms }
        } else {
            SupervisorRequest::Stop { since, grace_ms }
        });
        let mut deadline = self.link.deadline(GRACE + LEAVE);
        let (mut back, mut clean) = (false, false);
        let lost = loop {
            if back && clean {
                break None;
            }
            if deadline.has_passed() {
                break Some("the shell did not leave the command in time and was killed");
            }
            let [reported, told] = relay.step([self.reports.as_fd(), self.link.as_fd()], Some(deadline.until()))?;
            if reported && !back && report.read(&self.reports)? {
                back = true;
                self.link.ask(SupervisorRequest::Settled);
            }
            if told {
                match self.link.receive() {
                    Ok(Some(SupervisorReply::Clean)) => clean = true,
                    Ok(Some(SupervisorReply::Jobs(_))) => {}
                    Ok(Some(SupervisorReply::Refused(refusal))) => {
                        self.entry.iter().for_each(|entry| entry.note(refusal.clone()));
                    }
                    _ if self.brush => break Some("the embedded shell cannot leave a command and was ended"),
                    _ => break Some("the aborted command ended the shell"),
                }
            }
        };
        Ok(End::Stopped(why, lost))
    }

    /// Writes the files that the shell reads for a command.
    fn request(
        &mut self,
        run: &RunOptions,
        output: &NamedDescriptor,
        input: Option<&NamedDescriptor>,
    ) -> std::io::Result<()> {
        let (input, output) = (input.map_or("/dev/null".into(), NamedDescriptor::name), output.name());
        if self.brush {
            return write_at_start(&self.setup.fd, &brush_request(run, &output, &input));
        }
        let state = &mut self.state;
        let traps = traps::before_run(&run.command, &state.handlers, state.lists_traps, state.may_have_traps);
        state.may_disable |= traps::words(&run.command).any(|(word, _)| word == "enable");
        let (report, stop) = (self.report.name(), self.stop.name());
        let text = script::setup(run, state, &traps, [&report, &stop], [&input, &output]);
        write_at_start(&self.setup.fd, &text)?;
        write_at_start(&self.command.fd, &script::command(run, state, &traps, &report))?;
        state.lists_traps |= traps.lists && traps::defines_functions(&run.command);
        Ok(())
    }
}

/// Returns the request as the embedded interpreter reads it: stdin, stdout, directory, number of variables, the
/// variables, the command. Each ends with NUL.
fn brush_request(run: &RunOptions, output: &str, input: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(run.command.len() + 128);
    let mut field = |bytes: &[u8]| {
        text.extend_from_slice(bytes);
        text.push(0);
    };
    field(input.as_bytes());
    field(output.as_bytes());
    field(run.cwd.as_ref().map_or(&[], |cwd| std::os::unix::ffi::OsStrExt::as_bytes(cwd.as_os_str())));
    field(run.env.len().to_string().as_bytes());
    for (name, value) in &run.env {
        field(format!("{name}={value}").as_bytes());
    }
    field(run.command.as_bytes());
    text
}

enum End {
    Reported,
    /// Aborted, and why the state of the shell is lost.
    Stopped(Aborted, Option<&'static str>),
    Gone(RunResult),
}

/// Returns the clock of process start times.
fn ticks_since_boot() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let rate = rustix::param::clock_ticks_per_second();
    now.tv_sec as u64 * rate + now.tv_nsec as u64 * rate / 1_000_000_000
}
