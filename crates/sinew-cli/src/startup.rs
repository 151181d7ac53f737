//! The value that the program starts from: arguments, environment, folders and settings, read once.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::args::{Args, SessionChoice};
use crate::config::{self, Environment, KeyFiles, Paths};
use crate::failure::Failure;
use crate::schema::Schema;
use crate::settings::{Settings, Values};

/// Everything that the program was started with.
pub(crate) struct Startup {
    pub(crate) args: Args,
    pub(crate) environment: Environment,
    pub(crate) paths: Paths,
    /// The settings in force.
    pub(crate) settings: Settings,
    /// The values that they were made of, and the layers of those by name, the lowest first.
    pub(crate) values: Values,
    pub(crate) layers: Vec<(&'static str, Values)>,
    /// Settings that cannot be used and that may be meant to guard.
    pub(crate) faults: Vec<String>,
    /// Files of the project that start programs are used.
    pub(crate) trusted: bool,
    /// The user has not decided whether to trust the project.
    pub(crate) trust_is_open: bool,
    /// Variables that `.env` of the project may set once it is trusted.
    pub(crate) trust_variables: Vec<(String, String)>,
    /// models.json and auth.json, as they were read at the start.
    pub(crate) files: KeyFiles,
    /// The form that the last answer must have.
    pub(crate) schema: Option<Schema>,
    /// The servers that the client of the session brings, in the form of a file of servers.
    pub(crate) client_servers: Option<Value>,
    /// The core that the searches of several sessions share; None: each has its own.
    pub(crate) sinew: Option<Arc<sinew::Sinew>>,
}

impl Startup {
    /// Reads the settings. Warnings come back: keys that cannot be used, files that are not trusted.
    pub(crate) fn load(
        args: Args,
        mut environment: Environment,
        paths: Paths,
        files: KeyFiles,
    ) -> (Startup, Vec<String>) {
        let config::Config { values, layers, warnings, faults, trusted, trust_is_open, trust_variables } =
            config::load(&args, &mut environment, &paths);
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
            trust_is_open,
            trust_variables,
            files,
            schema,
            client_servers,
            sinew,
        };
        (startup, warnings)
    }

    /// Reads the settings of another folder, for the session that `choice` means. `environment` is the one of before any
    /// settings were read.
    ///
    /// # Errors
    /// The folder is none.
    pub(crate) fn in_folder(
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

    /// Checks that all settings can be used: one that cannot may have been meant to guard.
    ///
    /// # Errors
    /// A file does not parse, or a value is of the wrong type.
    pub(crate) fn check_settings(&self) -> Result<(), Failure> {
        match self.faults.is_empty() {
            true => Ok(()),
            false => Err(Failure::config(format!("{}; nothing runs until this is corrected", self.faults.join("\n")))),
        }
    }

    /// Sets a setting that nobody has set.
    pub(crate) fn prefer(&mut self, key: &str, value: impl Into<Value>) {
        if !self.values.is_set(key) {
            self.values.set(key, value.into());
            self.settings = self.values.typed();
        }
    }

    /// Takes settings back to their defaults.
    pub(crate) fn reset(&mut self, keys: &[&str]) {
        for key in keys {
            self.values.set(key, Value::Null);
        }
        self.settings = self.values.typed();
    }

    /// Creates the handle of searches with the settings of the environment.
    pub(crate) fn new_sinew(&self) -> sinew::Sinew {
        sinew::Sinew::in_environment(|name| self.environment.os(name))
    }

    /// Returns true if only the model may be reached over the network.
    pub(crate) fn is_offline(&self) -> bool {
        self.args.run.offline || self.environment.is_on("SINEW_OFFLINE")
    }
}

/// Starts a runtime with so many threads.
///
/// # Errors
/// The system gives no thread.
pub(crate) fn runtime(threads: usize) -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    runtime.map_err(|error| Failure::failed(format!("failed to start the runtime: {error}")))
}
