//! The embedded interpreter in a process of its own, in the place of a bash.
//!
//! `brush -c SCRIPT` and `brush long` (the script at `SCRIPT`) run one script. `brush session REQUEST REPORT
//! FIRST` runs the script FIRST, then answers the same requests with the same reports as the bash of a session, one for
//! each byte on its standard input.
//! A fault that a script causes in the interpreter (a stack without end, a list that fills memory) ends this process and
//! nothing else.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::deferred_expansion;
use super::interpreter::{Plain, Shell, Words};
use brush_core::openfiles::OpenFile;
use brush_core::traps::TrapSignal;
use brush_core::{
    ExecutionControlFlow, ExecutionResult, ProfileLoadBehavior, RcLoadBehavior, ShellValue, ShellVariable, SourceInfo,
};
use parking_lot::{Condvar, Mutex};
use tokio::runtime::Runtime;

/// The stack of the thread that runs a script. Only what is used costs memory.
const STACK: usize = 1 << 30;

/// The stack of the threads that run parts of pipelines and background jobs.
const WORKER_STACK: usize = 128 << 20;

/// The number of parts of a script that can wait for each other at once.
const WORKERS: usize = 24;

/// The depth to which functions may call each other; an error beyond, as bash with `FUNCNEST`.
const CALLS: usize = 2_000;

/// The longest text that is tried line by line: each line more is one parse more.
const BY_LINES: usize = 16 * 1024;

/// The most memory of the interpreter itself; its children are not counted.
const MEMORY: u64 = 2 << 30;

/// Runs what `args` (after the word `brush`) ask for. Returns the exit code of the process.
pub(super) fn run(args: &[CString]) -> i32 {
    // Every builtin runs in this process: one that writes to a closed pipe gets an error, its children the signal.
    // SAFETY: no handler is set, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match args[..] {
            ["-c", script] => once(script),
            ["long"] => {
                let mut script = String::new();
                // SAFETY: the descriptor was passed for this, and nobody else uses it.
                let read = unsafe { File::from_raw_fd(crate::wire::SCRIPT) }.read_to_string(&mut script);
                read.map_or(126, |_| once(&script))
            }
            ["session", request, report, first] => session(Path::new(request), Path::new(report), first),
            _ => 2,
        }
    });
    // A panic of the interpreter has printed its message.
    worker.ok().and_then(|worker| worker.join().ok()).unwrap_or(134)
}

fn once(script: &str) -> i32 {
    let words = Words::default();
    let Some((runtime, mut shell)) = start(true, words.clone()) else { return 126 };
    let watch = MemoryWatch::start();
    watch.set(true);
    shell.start_command_string_mode();
    let _ = shell.set_env_global("BASH_EXECUTION_STRING", ShellVariable::new(ShellValue::String(script.to_string())));
    let result = runtime.block_on(run_text(&mut shell, script, "-c", &mut false));
    let code = match result {
        // What bash answers with `-c`, and only there.
        Ok(result) if u8::from(result.exit_code) == 1 && words.fatal.load(Ordering::Relaxed) => 127,
        Ok(result) => u8::from(result.exit_code).into(),
        Err(error) => {
            let _ = writeln!(shell.stderr(), "bash: {error}");
            1
        }
    };
    let code = leave(&runtime, &mut shell, code);
    // Jobs in the background end with the process.
    std::mem::forget(runtime);
    code
}

/// Runs a text. One that sets `extglob` is read as far as it can be understood, line by line, as what follows is
/// read otherwise then. `chosen` remembers for the next text that a script has set the option: as long as none has, it
/// is on, for the patterns inside `[[ ]]`, which need no option in bash, but here.
async fn run_text(
    shell: &mut Shell,
    text: &str,
    source: &str,
    chosen: &mut bool,
) -> Result<ExecutionResult, brush_core::Error> {
    let source = SourceInfo::from(source);
    let parameters = shell.default_exec_params();
    if !text.contains("extglob") || text.contains("[[") || text.len() > BY_LINES {
        return deferred_expansion::run_string(shell, text, &source, &parameters).await;
    }
    if !*chosen {
        shell.options_mut().extended_globbing = false;
    }
    let mut result = ExecutionResult::success();
    let mut part = String::new();
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        part.push_str(line);
        let last = lines.peek().is_none();
        if !last && (part.ends_with("\\\n") || shell.parse_string(part.as_str()).is_err()) {
            continue;
        }
        result = deferred_expansion::run_string(shell, &std::mem::take(&mut part), &source, &parameters).await?;
        if !result.is_normal_flow() {
            break;
        }
    }
    *chosen = shell.options().extended_globbing || text.contains("-u extglob");
    if !*chosen {
        shell.options_mut().extended_globbing = true;
    }
    Ok(result)
}

/// Runs the trap for the end of the shell, which may change the exit code.
fn leave(runtime: &Runtime, shell: &mut Shell, code: i32) -> i32 {
    let handler = shell.traps().get_handler(TrapSignal::Exit).map(|handler| handler.command.clone());
    let Some(command) = handler else { return code };
    shell.traps_mut().remove_handlers(TrapSignal::Exit);
    if let Err(cause) = shell.parse_string(command.as_str()) {
        let _ = writeln!(shell.stderr(), "bash: {cause}");
        return code;
    }
    shell.set_last_exit_status(code as u8);
    let parameters = shell.default_exec_params();
    match runtime.block_on(shell.run_string(command, &SourceInfo::from("trap"), &parameters)) {
        Ok(result) if matches!(result.next_control_flow, ExecutionControlFlow::ExitShell) => {
            u8::from(result.exit_code).into()
        }
        _ => code,
    }
}

fn session(request: &Path, report: &Path, first: &str) -> i32 {
    let Some([mut wishes, ..]) = standard_files() else { return 126 };
    let Some((runtime, mut shell)) = start(false, Words::default()) else { return 126 };
    let watch = MemoryWatch::start();
    let parameters = shell.default_exec_params();
    let _ = runtime.block_on(shell.run_string(first, &SourceInfo::from("bash"), &parameters));
    let mut chosen = false;
    let mut byte = [0];
    while wishes.read(&mut byte).is_ok_and(|count| count == 1) {
        watch.set(true);
        let ended = one(&runtime, &mut shell, &mut chosen, request, report);
        watch.set(false);
        if let Some(code) = ended {
            std::mem::forget(runtime);
            return code;
        }
    }
    std::mem::forget(runtime);
    0
}

/// Answers one request. Gives the exit code when the command has ended the shell.
fn one(runtime: &Runtime, shell: &mut Shell, chosen: &mut bool, request: &Path, report: &Path) -> Option<i32> {
    let text = std::fs::read(request).unwrap_or_default();
    let mut fields = text.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let mut next = || fields.next().unwrap_or_default();
    let (_, input, output, cwd, _, count) = (next(), next(), next(), next(), next(), next());
    let variables: Vec<String> = (0..count.parse().unwrap_or(0)).map(|_| next()).collect();
    let command = next();

    let mut failure = None;
    let opened = open(&input, false).and_then(|input| {
        let output = open(&output, true)?;
        Ok([input, output.try_clone()?, output])
    });
    let Ok(files) = opened else { return Some(126) };
    set_standard(shell, files);
    let before = shell.working_dir().to_path_buf();
    if !cwd.is_empty() && shell.set_working_dir(&cwd).is_err() {
        failure = Some("cd".to_string());
    }
    let mut undo = Vec::new();
    for variable in &variables {
        let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
        undo.push((name.to_string(), shell.env_var(name).cloned()));
        if shell.env_var(name).is_some_and(ShellVariable::is_readonly) || !set(shell, name, value) {
            failure.get_or_insert(format!("env {name}"));
        }
    }
    let mut ended = None;
    // The interpreter takes a text that it cannot parse for the end of the shell.
    if failure.is_none()
        && let Err(cause) = deferred_expansion::parse(shell, &command)
    {
        let _ = writeln!(shell.stderr(), "bash: {cause}");
        shell.set_last_exit_status(2);
    } else if failure.is_none() {
        let result = runtime.block_on(run_text(shell, &command, "bash", chosen));
        match result {
            Ok(result) if matches!(result.next_control_flow, ExecutionControlFlow::ExitShell) => {
                ended = Some(i32::from(u8::from(result.exit_code)));
            }
            Ok(_) => {}
            Err(error) => {
                let _ = writeln!(shell.stderr(), "bash: {error}");
                shell.set_last_exit_status(1);
            }
        }
    }
    if let Some(code) = ended {
        return Some(leave(runtime, shell, code));
    }
    let directory = shell.working_dir().to_path_buf();
    if !cwd.is_empty() {
        let _ = shell.set_working_dir(before);
    }
    for (name, variable) in undo {
        let _ = shell.env_mut().unset(&name);
        if let Some(variable) = variable {
            let _ = shell.set_env_global(&name, variable);
        }
    }
    if let Ok([input, output, error]) = nothing() {
        set_standard(shell, [input, output, error]);
    }
    let status = failure.unwrap_or_else(|| shell.last_exit_status().to_string());
    let answer = format!("\0{status}\0\0{}\n\0", directory.display());
    match File::options().write(true).open(report).and_then(|mut file| file.write_all(answer.as_bytes())) {
        Ok(()) => None,
        Err(_) => Some(126),
    }
}

/// A shell whose standard descriptors are those of the process (`standard`) or nothing.
fn start(standard: bool, words: Words) -> Option<(Runtime, Shell)> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_stack_size(WORKER_STACK)
        .enable_all()
        .build()
        .ok()?;
    let files = match standard {
        true => standard_files()?,
        false => nothing().ok()?,
    };
    let fds = files.into_iter().enumerate().map(|(fd, file)| (fd as i32, OpenFile::from(file))).collect();
    let shell = runtime.block_on(
        <brush_core::Shell>::builder_with_extensions::<Plain>()
            .error_formatter(words)
            .builtins(super::builtins::all())
            .command_string_mode(standard)
            .read_commands_from_stdin(!standard)
            .profile(ProfileLoadBehavior::Skip)
            .rc(RcLoadBehavior::Skip)
            .shell_name("bash".to_string())
            .max_function_call_depth(CALLS)
            .fds(fds)
            .build(),
    );
    let mut shell = shell.ok()?;
    // As in a bash that nobody types into.
    shell.options_mut().expand_aliases = false;
    Some((runtime, shell))
}

/// Copies of the descriptors 0, 1 and 2. The numbers themselves lead nowhere from then on: the interpreter opens and
/// closes files while it starts processes, and none of them may get such a number.
fn standard_files() -> Option<[File; 3]> {
    // SAFETY: the calls take numbers; the copies are new and owned by nobody else.
    let files = [0, 1, 2].map(|fd| unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 10) });
    let null = crate::supervisor::null().ok()?;
    for fd in 0..3 {
        // SAFETY: as above.
        unsafe { libc::dup2(null.as_raw_fd(), fd) };
    }
    // SAFETY: as above.
    files.iter().all(|fd| *fd >= 0).then(|| files.map(|fd| unsafe { File::from_raw_fd(fd) }))
}

fn set(shell: &mut Shell, name: &str, value: &str) -> bool {
    let mut variable = ShellVariable::new(ShellValue::String(value.to_string()));
    variable.export();
    let _ = shell.env_mut().unset(name);
    shell.set_env_global(name, variable).is_ok()
}

fn set_standard(shell: &mut Shell, files: [File; 3]) {
    for (fd, file) in files.into_iter().enumerate() {
        shell.open_files_mut().set_fd(fd as i32, OpenFile::from(file));
    }
}

fn nothing() -> std::io::Result<[File; 3]> {
    Ok([open("/dev/null", false)?, open("/dev/null", true)?, open("/dev/null", true)?])
}

fn open(path: &str, write: bool) -> std::io::Result<File> {
    File::options().read(!write).write(write).open(path)
}

/// Ends the process when a script makes the interpreter take too much memory. It looks only while a script runs.
struct MemoryWatch {
    running: Arc<(Mutex<bool>, Condvar)>,
}

impl MemoryWatch {
    fn start() -> MemoryWatch {
        let running = Arc::new((Mutex::new(false), Condvar::new()));
        let watched = Arc::clone(&running);
        // Without the watch the system's own limits are what is left.
        let _ = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
            let (flag, changed) = &*watched;
            loop {
                changed.wait_while(&mut flag.lock(), |running| !*running);
                if resident() > MEMORY {
                    // As the system would do it: the host is told the signal.
                    // SAFETY: the calls take numbers only.
                    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        MemoryWatch { running }
    }

    fn set(&self, running: bool) {
        *self.running.0.lock() = running;
        self.running.1.notify_all();
    }
}

fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}
