//! The environment, directories and settings of the program.

pub(crate) mod dotenv;
mod environment;
pub mod keys;
mod trust;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sinew_agent::resource::ResourceFolders;
use sinew_permissions::Rules;
use sinew_session::files::read_text;

use crate::args::Args;
use crate::failure::Failure;
use crate::settings::{self, Layer, Source, Values};
pub use environment::Environment;
pub use keys::KeyFiles;

/// The directories of the program.
#[derive(Debug, Clone)]
pub struct Paths {
    /// `~/.sinew`, or the value of `SINEW_HOME`.
    pub(crate) home: PathBuf,
    /// The directory of the user's files in `home`.
    pub agent: PathBuf,
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The directory of the project's files.
    pub project: PathBuf,
}

impl Paths {
    /// Finds the directories from the arguments and the environment.
    ///
    /// # Errors
    /// Returns an error if the user has no home directory, or if `--cwd` is not a directory.
    pub fn find(args: &Args, environment: &Environment) -> Result<Paths, Failure> {
        let here = std::env::current_dir()
            .map_err(|error| Failure::failed(format!("failed to find the current folder: {error}; use --cwd")));
        let cwd = match &args.run.cwd {
            Some(path) => here.unwrap_or_default().join(path),
            None => here?,
        };
        let cwd = cwd.canonicalize().map_err(|error| Failure::usage(format!("--cwd {}: {error}", cwd.display())))?;
        if !cwd.is_dir() {
            return Err(Failure::usage(format!("--cwd {}: not a folder", cwd.display())));
        }
        let home = match environment.get("SINEW_HOME") {
            Some(home) => resolved(&cwd, home),
            None => std::env::home_dir()
                .filter(|home| !home.as_os_str().is_empty())
                .map(|home| home.join(".sinew"))
                .ok_or_else(|| Failure::config("no home folder: set HOME or SINEW_HOME"))?,
        };
        Ok(Paths { agent: home.join("agent"), project: cwd.join(".sinew"), home, cwd })
    }

    /// Resolves a path that the user wrote: expands `~`, and is relative to the working directory.
    pub fn resolve(&self, text: &str) -> PathBuf {
        resolved(&self.cwd, text)
    }

    /// Returns the path of a user's file in the agent's directory, or otherwise in the directory above it.
    pub(crate) fn user_file(&self, name: &str) -> Option<PathBuf> {
        [&self.agent, &self.home].map(|folder| folder.join(name)).into_iter().find(|path| path.is_file())
    }
}

fn resolved(cwd: &Path, text: &str) -> PathBuf {
    ResourceFolders { cwd: cwd.to_path_buf(), home: std::env::home_dir(), ..ResourceFolders::default() }.resolve(text)
}

/// The merged settings, and warnings about them.
pub(crate) struct Config {
    pub(crate) values: Values,
    /// The layers that were merged, by name, the lowest first.
    pub(crate) layers: Vec<(&'static str, Values)>,
    pub(crate) warnings: Vec<String>,
    /// Invalid settings that may be security limits. If there are any, nothing may run.
    pub(crate) faults: Vec<String>,
    /// True if the project's files that can start programs are used.
    pub(crate) trusted: bool,
    /// See [`Trust::is_confirmed`].
    pub(crate) trust_is_confirmed: bool,
    /// True if the user has not decided yet whether to trust the project.
    pub(crate) trust_is_open: bool,
    /// The variables that the project's `.env` sets once the project is trusted.
    pub(crate) trust_variables: Vec<(String, String)>,
}

impl Config {
    /// Adds a layer that overrides the previous ones.
    fn add(&mut self, name: &'static str, mut layer: Map<String, Value>) {
        if name == PROJECT {
            let removed = settings::tighten(self.values.as_map(), &mut layer);
            let text = "a project can only make the sandbox stricter";
            self.warnings.extend(removed.iter().map(|key| format!("project settings: {key}: ignored: {text}")));
            settings::add_below(self.values.as_map(), &mut layer);
        }
        let mut alone = Values::default();
        alone.merge(layer.clone());
        self.layers.push((name, alone));
        self.values.merge(layer);
    }
}

/// The name of the layer of the user's file.
pub const USER: &str = "user";
/// The name of the layer with the project's settings.
pub const PROJECT: &str = "project";

/// The settings that environment variables set.
const VARIABLES: &[(&str, &str)] = &[
    ("SINEW_PROVIDER", "defaultProvider"),
    ("SINEW_MODEL", "defaultModel"),
    ("SINEW_THINKING", "defaultThinkingLevel"),
    ("SINEW_FAST_MODEL", "modelRoles.fast"),
    ("SINEW_SLOW_MODEL", "modelRoles.slow"),
    ("SINEW_PLAN_MODEL", "modelRoles.plan"),
    ("SINEW_CACHE_RETENTION", "cacheRetention"),
    ("SINEW_EDIT_MODE", "edit.mode"),
    ("SINEW_SHELL_PREFIX", "shellCommandPrefix"),
];

/// Merges the defaults, the user's file, the project's file, variables and flags, and adds the variables of `.env`
/// files to the environment. Invalid values are skipped with a warning.
pub(crate) fn load(args: &Args, environment: &mut Environment, paths: &Paths) -> Config {
    let own = dotenv::read(&paths.agent.join(".env"));
    environment.add(own.pairs);
    let trust = trust::decide(args, environment, paths);
    let warnings = [own.warnings, trust.warnings.clone()].concat();
    let mut config = Config {
        values: Values::default(),
        layers: Vec::new(),
        warnings,
        faults: Vec::new(),
        trusted: trust.trusted,
        trust_is_confirmed: trust.is_confirmed,
        trust_is_open: trust.is_open,
        trust_variables: trust.variables.clone(),
    };
    if trust.trusted {
        environment.add(trust.variables.clone());
    }
    let mut refused = Vec::new();
    let mut unknown = Vec::new();
    for (name, path, source) in files(paths, trust.trusted) {
        match read(&path, source) {
            Ok(layer) => {
                config.add(name, layer.values);
                config.warnings.extend(layer.warnings);
                config.faults.extend(layer.faults);
                unknown.extend(layer.unknown);
                refused.extend(layer.refused.keys().cloned());
            }
            Err(reason) => config.faults.push(reason),
        }
    }
    config.warnings.extend(trust.warning(&refused));
    if environment.get("SINEW_MODEL").is_some() && environment.get("SINEW_PROVIDER").is_none() {
        // A variable that only names a model does not refer to the provider configured in a file.
        config.values.set("defaultProvider", Value::Null);
    }
    for (name, key) in VARIABLES {
        let Some(value) = environment.get(name) else { continue };
        let mut alone = Values::default();
        alone.set(key, json!(value));
        let layer = settings::layer(alone.into_map(), name, Source::User);
        config.warnings.extend(layer.warnings);
        config.warnings.extend(layer.faults);
        config.add(name, layer.values);
    }
    let mut line = Values::default();
    let flags = [
        ("modelRoles.fast", &args.model.fast),
        ("modelRoles.slow", &args.model.slow),
        ("modelRoles.plan", &args.model.plan),
        ("sessionDir", &args.session.folder),
    ];
    for (key, value) in flags.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
        line.set(key, json!(value));
    }
    if let Some(mode) = args.tools.sandbox {
        line.set("sandbox.mode", json!(mode));
    }
    if args.tools.sandbox_fallback {
        line.set("sandbox.fallback", json!(true));
    }
    if let Some(turns) = args.run.max_turns {
        line.set("maxTurns", json!(turns));
    }
    config.add("command line", line.into_map());
    if args.output.verbose || config.values.get("verbose") == true {
        config.values.set("verbose", json!(true));
        config.warnings.extend(unknown);
    }
    config
}

/// Returns the settings files, the lowest first: the name of the layer, the path, and which settings the file may
/// contain.
fn files(paths: &Paths, trusted: bool) -> [(&'static str, PathBuf, Source); 2] {
    let source = if trusted { Source::User } else { Source::Project };
    [(USER, paths.agent.join("settings.json"), Source::User), (PROJECT, paths.project.join("settings.json"), source)]
}

/// Reads the settings files again and returns the faults that would stop a start. `unknown_tools` returns those of
/// rules about tools that do not exist.
pub(crate) fn faults_now(paths: &Paths, trusted: bool, unknown_tools: impl Fn(&Rules) -> Vec<String>) -> Vec<String> {
    let faults = |(_, path, source): (_, PathBuf, _)| match read(&path, source) {
        Ok(layer) => {
            let (rules, faults) = layer.values.get("permissions").map(Rules::read).unwrap_or_default();
            let of_rules = faults.into_iter().chain(unknown_tools(&rules));
            layer.faults.into_iter().chain(of_rules.map(|fault| format!("{}: {fault}", path.display()))).collect()
        }
        Err(reason) => vec![reason],
    };
    files(paths, trusted).into_iter().flat_map(faults).collect()
}

fn read(path: &Path, source: Source) -> Result<Layer, String> {
    match read_text(path) {
        Ok(text) => settings::read(&text, &path.display().to_string(), source),
        Err(error) if is_missing(&error) => Ok(Layer::default()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Returns the root of the work tree that contains a directory, or the directory itself if there is none.
/// The home directory and its parents are not considered.
pub fn work_tree(cwd: &Path, home: Option<&Path>) -> PathBuf {
    let above = cwd.ancestors().take_while(|folder| Some(*folder) != home);
    let is_top = |folder: &&Path| [".git", ".jj"].iter().any(|name| folder.join(name).exists());
    above.into_iter().find(is_top).unwrap_or(cwd).to_path_buf()
}

/// Returns true if a file is missing, as opposed to unreadable.
pub fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}
