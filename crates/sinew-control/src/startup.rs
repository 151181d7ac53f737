//! The inputs of the program, read once: arguments, environment, directories and settings.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::args::{Args, SessionChoice};
use crate::config::{self, Environment, KeyFiles, Paths};
use crate::failure::Failure;
use crate::schema::Schema;
use crate::settings::{Settings, Values};

/// Everything that the program was started with.
pub struct Startup {
    /// The command line.
    pub args: Args,
    /// The environment variables.
    pub environment: Environment,
    /// The directories.
    pub paths: Paths,
    /// The settings in force.
    pub settings: Settings,
    /// The values from which the settings were built, and their layers by name, the lowest first.
    pub values: Values,
    /// The layers of settings by name, the lowest first.
    pub layers: Vec<(&'static str, Values)>,
    /// Invalid settings that may be security limits.
    pub faults: Vec<String>,
    /// True if the project's files that can start programs are used.
    pub trusted: bool,
    /// True if the user said so, and not only because nothing in the project requires trust.
    pub(crate) trust_is_confirmed: bool,
    /// True if the user has not decided yet whether to trust the project.
    pub trust_is_open: bool,
    /// The variables that the project's `.env` sets once the project is trusted.
    pub trust_variables: Vec<(String, String)>,
    /// models.json and auth.json, as they were read at the start.
    pub(crate) files: KeyFiles,
    /// The schema of the last answer.
    pub schema: Option<Schema>,
    /// The MCP servers of the session's client, in the form of a configuration file.
    pub client_servers: Option<Value>,
    /// The search threads and workspaces that several sessions share; `None` if each session has its own.
    pub sinew: Option<Arc<sinew::Sinew>>,
}

impl Startup {
    /// Reads the settings. Also returns warnings about invalid keys and untrusted files.
    pub fn load(args: Args, mut environment: Environment, paths: Paths, files: KeyFiles) -> (Startup, Vec<String>) {
        let config::Config {
            values,
            layers,
            warnings,
            faults,
            trusted,
            trust_is_confirmed,
            trust_is_open,
            trust_variables,
        } = config::load(&args, &mut environment, &paths);
        let settings = values.typed();
        let (schema, client_servers, sinew) = (None, None, None);
        let startup = Startup {
            args,
            environment,
            paths,
            settings,
            values,
            layers,
            faults,
            trusted,
            trust_is_confirmed,
            trust_is_open,
            trust_variables,
            files,
            schema,
            client_servers,
            sinew,
        };
        (startup, warnings)
    }

    /// Reads the settings of another directory, for the session `choice`. `environment` is the one before any settings
    /// were read.
    ///
    /// # Errors
    /// Returns an error if the directory does not exist.
    pub fn in_folder(
        mut args: Args,
        mut environment: Environment,
        cwd: &Path,
        choice: SessionChoice,
    ) -> Result<(Startup, Vec<String>), Failure> {
        args.run.cwd = Some(cwd.to_string_lossy().into_owned());
        args.session.choice = choice;
        let paths = Paths::find(&args, &environment)?;
        let files = KeyFiles::read(&paths);
        environment.keys = config::keys::find(&args, &environment, &files).names;
        Ok(Startup::load(args, environment, paths, files))
    }

    /// Checks that all settings are valid, because an invalid one may be a security limit.
    ///
    /// # Errors
    /// Returns an error if a file does not parse, or if a value has the wrong type.
    pub fn check_settings(&self) -> Result<(), Failure> {
        match self.faults.is_empty() {
            true => Ok(()),
            false => Err(Failure::config(format!("{}; nothing runs until this is corrected", self.faults.join("\n")))),
        }
    }

    /// Sets a setting that no layer has set.
    pub fn prefer(&mut self, key: &str, value: impl Into<Value>) {
        if !self.values.is_set(key) {
            self.values.set(key, value.into());
            self.settings = self.values.typed();
        }
    }

    /// Resets settings to their defaults.
    pub fn reset(&mut self, keys: &[&str]) {
        for key in keys {
            self.values.set(key, Value::Null);
        }
        self.settings = self.values.typed();
    }

    /// Creates the handle of searches with the settings of the environment.
    pub fn new_sinew(&self) -> sinew::Sinew {
        sinew::Sinew::in_environment(|name| self.environment.os(name))
    }

    /// Returns true if the network may only be used for the model.
    pub fn is_offline(&self) -> bool {
        self.args.run.offline || self.environment.is_on("SINEW_OFFLINE")
    }
}

/// Creates a runtime with this number of threads.
///
/// # Errors
/// Returns an error if a thread cannot be started.
pub fn runtime(threads: usize) -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    runtime.map_err(|error| Failure::failed(format!("failed to start the runtime: {error}")))
}
