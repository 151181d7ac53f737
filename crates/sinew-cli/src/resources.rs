//! Skills, commands, templates and rules, as the flags and settings want them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sinew_agent::extension::{Context, Extension};
use sinew_agent::resource::stream::{StreamRules, StreamSettings};
use sinew_agent::resource::{Places, ResourceOptions, Resources};
use sinew_agent::settings::Settings;
use sinew_agent::tools::ImageSettings;

use crate::args::Args;
use crate::config::Paths;
use crate::failure::Failure;

/// What was found, and what it takes to look again.
pub(crate) struct Loaded {
    pub(crate) options: ResourceOptions,
    pub(crate) resources: Arc<Resources>,
    stream: StreamSettings,
    /// What the first session takes.
    first: Mutex<Option<StreamRules>>,
    /// What becomes of pictures that are attached.
    pub(crate) images: ImageSettings,
}

impl Loaded {
    /// The rules that the answers of one session are held against.
    pub(crate) fn rules(&self) -> Option<StreamRules> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        // What is wrong with them was told when they were read.
        first.or_else(|| StreamRules::new(&self.resources.rules, self.stream.clone()).0)
    }
}

/// Finds everything, also what `extensions` name. What cannot be used is told in `warnings`.
///
/// # Errors
/// A flag names what is not there.
pub(crate) async fn load(
    args: &Args,
    paths: &Paths,
    settings: &Settings,
    trusted: bool,
    extensions: &[Arc<dyn Extension>],
    context: &Context,
    warnings: &mut Vec<String>,
) -> Result<Loaded, Failure> {
    let mut options = ResourceOptions { trusted, ..options(args, paths, settings) };
    for (flag, named) in [("skill", &options.named_skills), ("prompt-template", &options.named_templates)] {
        for (given, path) in args.values(flag).zip(named) {
            std::fs::metadata(path).map_err(|error| Failure::config(format!("--{flag} {given}: {error}")))?;
        }
    }
    warnings.extend(options.discover(extensions, context).await);
    let resources = Arc::new(Resources::load(&options));
    warnings.extend(resources.warnings.iter().cloned());
    let stream = StreamSettings::new(settings);
    let (first, faults) = StreamRules::new(&resources.rules, stream.clone());
    warnings.extend(faults);
    Ok(Loaded { options, resources, stream, first: Mutex::new(first), images: settings.tools().images })
}

/// Where they are and which of them count.
fn options(args: &Args, paths: &Paths, settings: &Settings) -> ResourceOptions {
    let places = Places {
        cwd: paths.cwd.clone(),
        project: paths.project.clone(),
        agent: paths.agent.clone(),
        home: std::env::home_dir(),
    };
    let named = |flag: &'static str| args.values(flag).map(|path| places.resolve(path)).collect();
    let (named_skills, named_templates) = (named("skill"), named("prompt-template"));
    let options = ResourceOptions::new(places, settings);
    ResourceOptions {
        skills: options.skills && !args.has("no-skills"),
        templates: !args.has("no-prompt-templates"),
        rules: !args.has("no-rules"),
        named_skills,
        named_templates,
        ..options
    }
}

/// A file of the project: in the own folder of the working folder, else of the nearest folder above.
pub(crate) fn nearest(paths: &Paths, name: &str) -> Option<PathBuf> {
    let own = paths.cwd.ancestors().map(|folder| folder.join(".sinew"));
    // The user's own files have their turn behind those of projects.
    own.filter(|folder| *folder != paths.home).map(|folder| folder.join(name)).find(|path| path.is_file())
}
