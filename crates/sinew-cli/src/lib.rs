//! The coding agent for the terminal: the program `sinew`.
//!
//! | module | contents |
//! |---|---|
//! | `shell_roles` | the roles in which the program starts itself to run shells |
//! | `commands` | commands that need no agent: sessions, config, login, models, export |
//! | `mcp` | `sinew mcp …` |
//! | `prompt` | the prompt of a command line: words, standard input, files |
//! | `modes` | print, json and rpc |
//!
//! Settings, arguments and the actions of all modes are in `sinew-control`, the interactive mode in
//! `sinew-interactive`, the mode for editors in `sinew-acp`.

mod commands;
mod mcp;
mod modes;
mod prompt;
#[cfg(target_os = "linux")]
mod shell_roles;

use std::ffi::OsString;
use std::process::ExitCode;

use sinew_control::args::{self, Args, Mode};
use sinew_control::failure::Failure;
use sinew_control::startup::{self, Startup};
use sinew_control::{config, extensions, log, output, sys};

/// Runs the program with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    #[cfg(target_os = "linux")]
    if let Some(code) = shell_roles::run(&name, &arguments) {
        return ExitCode::from(code);
    }
    let _ = name;
    match start(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::stderr(&format!("sinew: {}\n", output::plain(&sinew::term::sanitize(&failure.message))));
            ExitCode::from(failure.code)
        }
    }
}

/// The output of `sinew --version`.
pub(crate) const VERSION: &str = concat!("sinew ", env!("CARGO_PKG_VERSION"), "\n");

/// Runs the command line. Requests that need neither a runtime nor a file are answered first.
fn start(arguments: Vec<OsString>) -> Result<u8, Failure> {
    let args = args::parse(arguments).map_err(Failure::usage)?;
    if args.output.version {
        return output::print(VERSION);
    }
    if args.output.help {
        return output::print(&commands::help(&args));
    }
    let object = args.output.object;
    run(args).inspect_err(|failure| {
        if object {
            modes::report::failed(failure);
        }
    })
}

fn run(args: Args) -> Result<u8, Failure> {
    let mut timing = log::Timing::begin();
    // This must happen before a key is read.
    #[cfg(unix)]
    sys::close_memory()
        .map_err(|error| Failure::failed(format!("failed to protect the memory from other programs: {error}")))?;
    let mut environment = config::Environment::read();
    let paths = config::Paths::find(&args, &environment)?;
    let files = config::KeyFiles::read(&paths);
    let keys = config::keys::find(&args, &environment, &files);
    config::keys::seal(&environment, &keys);
    environment.keys = keys.names;
    output::hide(keys.values);
    // Each session of an editor reads the settings of its own directory.
    let before = environment.clone();
    let (startup, warnings) = Startup::load(args, environment, paths, files);
    // Commands run despite faults, because they show and correct them.
    if let Some(code) = commands::run(&startup, &[&warnings[..], &startup.faults[..]].concat())? {
        return Ok(code);
    }
    startup.check_settings()?;
    extensions::check(&startup)?;
    timing.mark("settings");
    #[cfg(unix)]
    if is_interactive(&startup) {
        return sit_down(startup, before, warnings, timing);
    }
    let is_timed = startup.environment.is_on("SINEW_TIMING");
    let runtime = startup::runtime(2)?;
    let code = runtime.block_on(async {
        match startup.args.mode() {
            Mode::Rpc => modes::rpc::run(startup, warnings, &mut timing).await,
            Mode::Acp => sinew_acp::run(startup, before, warnings).await,
            Mode::Text | Mode::Json => modes::run(startup, warnings, &mut timing).await,
        }
    });
    // A write to a pipe that nobody reads must not keep the process alive.
    runtime.shutdown_background();
    end(timing, is_timed);
    code
}

fn end(mut timing: log::Timing, is_timed: bool) {
    timing.mark("end");
    if is_timed {
        timing.tell();
    }
}

/// Runs the interactive mode, in one directory after another: `/move` continues the session in a different one.
#[cfg(unix)]
fn sit_down(
    mut startup: Startup,
    before: config::Environment,
    mut warnings: Vec<String>,
    mut timing: log::Timing,
) -> Result<u8, Failure> {
    let is_timed = startup.environment.is_on("SINEW_TIMING");
    let mut args = startup.args.clone();
    // The words are only used in the first directory.
    args.words.clear();
    let mut ending = None;
    loop {
        let runtime = startup::runtime(2)?;
        let left = runtime.block_on(async {
            let ending = ending.get_or_insert_with(sinew_interactive::EndSignal::listen);
            sinew_interactive::run(startup, warnings, ending, &mut timing).await
        });
        let Ok(sinew_interactive::ExitOutcome { moved: Some(moved), .. }) = left else {
            runtime.shutdown_background();
            end(timing, is_timed);
            return left.map(|left| left.code);
        };
        // The session is opened again, so no task may still use it.
        runtime.shutdown_timeout(sinew_control::ending::END);
        let choice = args::SessionChoice::File(moved.session.to_string_lossy().into_owned());
        (startup, warnings) = Startup::in_folder(args.clone(), before.clone(), &moved.folder, choice)?;
    }
}

/// Returns true if the program runs in a terminal and no other mode was selected.
#[cfg(unix)]
fn is_interactive(startup: &Startup) -> bool {
    let Startup { args, environment, .. } = startup;
    let answers = args.is_for_programs() || args.output.print;
    environment.stdin && environment.stdout && args.mode() == Mode::Text && !answers
}
