//! Loads the skills, commands, templates and rules that the flags and settings select.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use sinew_agent::extension::{Context, Extension};
use sinew_agent::resource::stream::{StreamRules, StreamSettings};
use sinew_agent::resource::{ResourceFolders, ResourceOptions, Resources};
use sinew_tools::ImageSettings;

use crate::args::Args;
use crate::config::Paths;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::startup::Startup;

/// The loaded resources, and the options to load them again.
pub struct LoadedResources {
    /// The options with which they were loaded.
    pub options: ResourceOptions,
    /// Skills, commands, templates and rules.
    pub resources: Arc<Resources>,
    stream: StreamSettings,
    /// The rules of the first session.
    first: Mutex<Option<StreamRules>>,
    /// The options of attached images.
    pub images: ImageSettings,
}

impl LoadedResources {
    /// Returns the rules that check the answers of one session.
    pub(crate) fn rules(&self) -> Option<StreamRules> {
        let first = self.first.lock().take();
        // Errors in the rules were reported when they were loaded.
        first.or_else(|| StreamRules::new(&self.resources.rules, self.stream.clone()).0)
    }
}

/// Loads all resources, including those of `extensions`. Invalid files become `warnings`.
///
/// # Errors
/// Returns an error if a file named by a flag does not exist.
pub(crate) async fn load(
    startup: &Startup,
    extensions: &[Arc<dyn Extension>],
    context: &Context,
    warnings: &mut Vec<String>,
) -> Result<LoadedResources, Failure> {
    let Startup { args, paths, settings, trusted, .. } = startup;
    let mut options = ResourceOptions { trusted: *trusted, ..options(args, paths, settings) };
    let given = &args.resources;
    for (flag, given, named) in [
        ("skill", &given.skills, &options.named_skills),
        ("prompt-template", &given.templates, &options.named_templates),
    ] {
        for (given, path) in given.iter().zip(named) {
            std::fs::metadata(path).map_err(|error| Failure::config(format!("--{flag} {given}: {error}")))?;
        }
    }
    warnings.extend(options.discover(extensions, context).await);
    let resources = Arc::new(Resources::load(&options));
    warnings.extend(resources.warnings.iter().cloned());
    let stream = settings.stream_rules();
    let (first, faults) = StreamRules::new(&resources.rules, stream.clone());
    warnings.extend(faults);
    Ok(LoadedResources { options, resources, stream, first: Mutex::new(first), images: settings.images() })
}

/// Returns the directories that contain resources.
pub(crate) fn folders(paths: &Paths) -> ResourceFolders {
    ResourceFolders {
        cwd: paths.cwd.clone(),
        project: paths.project.clone(),
        agent: paths.agent.clone(),
        home: std::env::home_dir(),
    }
}

/// Builds the options: directories, and which resources are enabled.
fn options(args: &Args, paths: &Paths, settings: &Settings) -> ResourceOptions {
    let folders = folders(paths);
    let named = |paths: &[String]| paths.iter().map(|path| folders.resolve(path)).collect();
    let (named_skills, named_templates) = (named(&args.resources.skills), named(&args.resources.templates));
    let options = settings.resources(folders);
    ResourceOptions {
        skills: options.skills && !args.resources.no_skills,
        templates: !args.resources.no_templates,
        rules: !args.resources.no_rules,
        named_skills,
        named_templates,
        ..options
    }
}

/// Returns the path of a project file in the `.sinew` of the working directory or of the nearest parent; `None` if
/// there is none.
pub(crate) fn nearest(paths: &Paths, name: &str) -> Option<PathBuf> {
    let own = paths.cwd.ancestors().map(|folder| folder.join(".sinew"));
    // The user's own files are not part of the project.
    own.filter(|folder| *folder != paths.home).map(|folder| folder.join(name)).find(|path| path.is_file())
}
