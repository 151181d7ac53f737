//! The embedded interpreter in a separate process, used instead of a bash.
//!
//! `brush -c SCRIPT` and `brush long` (the script at `SCRIPT`) run one script. `brush session REQUEST REPORT FIRST`
//! runs the script FIRST and then answers requests with the same reports as the bash of a session, one for
//! each byte on its standard input. If a script crashes the interpreter (infinite recursion, a list that fills memory),
//! only this process ends.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::deferred_expansion;
use super::interpreter::{BrushExtensions, Shell, Words};
use brush_core::openfiles::OpenFile;
use brush_core::traps::TrapSignal;
use brush_core::{
    ExecutionControlFlow, ExecutionResult, ProfileLoadBehavior, RcLoadBehavior, ShellValue, ShellVariable, SourceInfo,
};
use parking_lot::{Condvar, Mutex};
use tokio::runtime::Runtime;

/// The stack size of the thread that runs a script. Only the used part consumes memory.
const STACK: usize = 1 << 30;

/// The stack size of the threads that run pipeline parts and background jobs.
const WORKER_STACK: usize = 128 << 20;

/// The maximum number of parts of a script that can wait for each other.
const WORKERS: usize = 24;

/// The maximum depth of function calls; deeper calls are errors, as in bash with `FUNCNEST`.
const CALLS: usize = 2_000;

/// The maximum length of a text that is parsed line by line: each further line needs another parse.
const BY_LINES: usize = 16 * 1024;

/// The maximum memory of the interpreter itself, without its children.
const MEMORY: u64 = 2 << 30;

/// Runs the command in `args` (after the word `brush`). Returns the exit code of the process.
pub(super) fn run(args: &[CString]) -> i32 {
    // Every builtin runs in this process: writing to a closed pipe is an error here and a signal in child processes.
    // SAFETY: no handler is set, and no other thread is running yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match args[..] {
            ["-c", script] => once(script),
            ["long"] => {
                let mut script = String::new();
                // SAFETY: the descriptor was passed for this purpose, and no other code uses it.
                let read = unsafe { File::from_raw_fd(crate::wire::SCRIPT) }.read_to_string(&mut script);
                read.map_or(126, |_| once(&script))
            }
            ["session", request, report, first] => session(Path::new(request), Path::new(report), first),
            _ => 2,
        }
    });
    // A panic of the interpreter has already printed its message.
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
        // bash returns this with `-c` only.
        Ok(result) if u8::from(result.exit_code) == 1 && words.fatal.load(Ordering::Relaxed) => 127,
        Ok(result) => u8::from(result.exit_code).into(),
        Err(error) => {
            let _ = writeln!(shell.stderr(), "bash: {error}");
            1
        }
    };
    let code = leave(&runtime, &mut shell, code);
    // Background jobs end with the process.
    std::mem::forget(runtime);
    code
}

/// Runs a text. A text that sets `extglob` is parsed line by line as far as possible, because the option changes how
/// later lines are parsed. `chosen` records for later texts whether a script has set the option. Until then it is on,
/// because bash allows such patterns inside `[[ ]]` without the option, but this interpreter does not.
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

/// Answers one request. Returns the exit code if the command has ended the shell.
fn one(runtime: &Runtime, shell: &mut Shell, chosen: &mut bool, request: &Path, report: &Path) -> Option<i32> {
    let text = std::fs::read(request).unwrap_or_default();
    let mut fields = text.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let mut next = || fields.next().unwrap_or_default();
    let (input, output, cwd, count) = (next(), next(), next(), next());
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
    // The interpreter ends the shell for a text that it cannot parse.
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
    let answer = format!("\0{status}\0\0\0\0\0\0{}\0", directory.display());
    match File::options().write(true).open(report).and_then(|mut file| file.write_all(answer.as_bytes())) {
        Ok(()) => None,
        Err(_) => Some(126),
    }
}

/// Creates a shell. Its standard descriptors are those of the process if `standard` is true; otherwise they are closed.
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
        <brush_core::Shell>::builder_with_extensions::<BrushExtensions>()
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
    // As in a bash that is not interactive.
    shell.options_mut().expand_aliases = false;
    Some((runtime, shell))
}

/// Returns copies of the descriptors 0, 1 and 2, and redirects the numbers to nothing: the interpreter opens and closes
/// files while it starts processes, and none of these files may get such a number.
fn standard_files() -> Option<[File; 3]> {
    // SAFETY: only integers are passed; the copies are new and owned by no other code.
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

/// Terminates the process if a script makes the interpreter use too much memory. Only active while a script runs.
struct MemoryWatch {
    running: Arc<(Mutex<bool>, Condvar)>,
}

impl MemoryWatch {
    fn start() -> MemoryWatch {
        let running = Arc::new((Mutex::new(false), Condvar::new()));
        let watched = Arc::clone(&running);
        // Without the watch only the system's limits apply.
        let _ = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
            let (flag, changed) = &*watched;
            loop {
                changed.wait_while(&mut flag.lock(), |running| !*running);
                if resident() > MEMORY {
                    // Ends the way the system would do it, so that the host sees the signal.
                    // SAFETY: only integers are passed.
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
