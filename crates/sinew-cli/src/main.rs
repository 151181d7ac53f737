//! The coding agent for the terminal.
//!
//! | module | knows |
//! |---|---|
//! | `args` | the command line: flags as a table, their help, what is wrong with them |
//! | `config` | the environment, folders, layers of settings |
//! | `companion` | the roles in which the program starts itself to keep shells |
//! | `commands` | `sessions list`, `sessions gc`, `--list-models` |
//! | `configure` | `config get`, `config set`, `config path` |
//! | `login` | `sinew login`, `sinew logout`: keys and logins in auth.json |
//! | `models` | which model answers, with which key |
//! | `secrets` | what is hidden from providers and session files |
//! | `sessions` | which session goes on |
//! | `prompt` | what the user said: words, standard input, files |
//! | `resources` | which skills, commands, templates and rules count |
//! | `assemble` | an agent made of all that |
//! | `export` | `--export`: a session as a page |
//! | `guards` | hooks and permissions: what looks at calls before they run |
//! | `log` | `SINEW_LOG` and `SINEW_TIMING` |
//! | `modes` | what of its events goes where, signals, exit codes |
//! | `schema` | what `--output-schema` asks of the last answer |
//! | `output` | the way to stdout and stderr, which no key of a provider passes |
//! | `failure` | why the program ends before an agent begins |
//!
//! This crate is the only one that reads the environment, prints, and ends the process.

mod args;
mod assemble;
mod commands;
#[cfg(target_os = "linux")]
mod companion;
mod config;
mod configure;
mod export;
mod failure;
mod guards;
mod log;
mod login;
mod models;
mod modes;
mod output;
mod prompt;
mod resources;
mod schema;
mod secrets;
mod sessions;

use std::ffi::OsString;
use std::process::ExitCode;

use args::Args;
use failure::Failure;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    #[cfg(target_os = "linux")]
    if let Some(code) = companion::run(&name, &arguments) {
        return ExitCode::from(code);
    }
    let _ = name;
    match start(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::stderr(&format!("sinew: {}\n", sinew::term::sanitize(&failure.message)));
            ExitCode::from(failure.code)
        }
    }
}

/// What needs neither a runtime nor a file is answered at once.
fn start(arguments: Vec<OsString>) -> Result<u8, Failure> {
    let args = args::parse(arguments).map_err(Failure::usage)?;
    if args.has("version") {
        return commands::print(concat!("sinew ", env!("CARGO_PKG_VERSION"), "\n"));
    }
    if args.has("help") {
        return commands::print(&commands::help(&args));
    }
    run(&args).inspect_err(|failure| {
        if args.value("output") == Some("json") {
            modes::report::failed(failure);
        }
    })
}

fn run(args: &Args) -> Result<u8, Failure> {
    let mut timing = log::Timing::begin();
    let mut environment = config::Environment::read();
    let paths = config::Paths::find(args, &environment)?;
    let keys = config::keys::find(args, &environment, &paths);
    config::keys::seal(&environment, &keys);
    environment.keys = keys.names;
    output::hide(keys.values);
    if let Some(code) = commands::run(args, &mut environment, &paths)? {
        return Ok(code);
    }
    if let Some(code) = export::run(args, &mut environment, &paths)? {
        return Ok(code);
    }
    if let Some(code) = configure::run(args, &mut environment, &paths)? {
        return Ok(code);
    }
    if let Some(code) = login::run(args, &mut environment, &paths)? {
        return Ok(code);
    }
    if assemble::is_interactive(args, &environment) {
        return Err(Failure::usage(
            "the interactive mode is not available yet in this version: use sinew -p \"your message\"",
        ));
    }
    let config = config::load(args, &mut environment, &paths);
    timing.mark("settings");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("start the runtime: {error}")))?;
    let code = runtime.block_on(async {
        if args.has("list-models") {
            return commands::list_models(args, &environment, &paths, &config).await;
        }
        let config::Config { settings, warnings, trusted } = config;
        let (args, environment, paths) = (args.clone(), environment.clone(), paths.clone());
        let start = assemble::Start { args, environment, paths, settings, trusted, schema: None };
        assemble::run(start, warnings, &mut timing).await
    });
    // A write to a pipe that nobody reads must not keep the process.
    runtime.shutdown_background();
    timing.mark("end");
    if environment.is_on("SINEW_TIMING") {
        timing.tell();
    }
    code
}
