//! Options of loading: the resources that are looked for, and their folders.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use super::folders::ResourceFolders;
use crate::extension::{Context, Extension, Point};
use crate::hook_points;

/// The resources that are looked for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceOptions {
    /// The folders.
    pub folders: ResourceFolders,
    /// Skills are looked for (`skills.enabled`, not `--no-skills`).
    pub skills: bool,
    /// `/skill:<name>` is a command (`skills.enableCommands`).
    pub skill_commands: bool,
    /// Folders that are searched whole (`skills.directories`).
    pub skill_directories: Vec<PathBuf>,
    /// Globs of names; when there are any, only these skills count (`skills.include`).
    pub skill_include: Vec<String>,
    /// Globs of names of skills that do not count (`skills.ignore`).
    pub skill_ignore: Vec<String>,
    /// `.claude/skills` count (`skills.enableClaude`).
    pub claude_skills: bool,
    /// Skills that were named one by one (`--skill`); they count whatever the rest says.
    pub named_skills: Vec<PathBuf>,
    /// Prompt templates are looked for (not `--no-prompt-templates`).
    pub templates: bool,
    /// Templates that were named one by one (`--prompt-template`).
    pub named_templates: Vec<PathBuf>,
    /// Rules are looked for (not `--no-rules`).
    pub rules: bool,
    /// Rules of other programs count (`rules.enableForeign`).
    pub foreign_rules: bool,
    /// Rules that were named one by one, by extensions; they count whatever the rest says.
    pub named_rules: Vec<PathBuf>,
    /// Texts of the project count where they are links out of it. Default true: who names no project trusts it.
    pub trusted: bool,
}

impl ResourceOptions {
    /// Everything in `folders`, but for the rules of other programs.
    #[must_use]
    pub fn new(folders: ResourceFolders) -> ResourceOptions {
        ResourceOptions {
            skills: true,
            skill_commands: true,
            skill_directories: Vec::new(),
            skill_include: Vec::new(),
            skill_ignore: Vec::new(),
            claude_skills: true,
            named_skills: Vec::new(),
            templates: true,
            named_templates: Vec::new(),
            rules: true,
            foreign_rules: false,
            named_rules: Vec::new(),
            trusted: true,
            folders,
        }
    }

    /// Adds what the extensions name (`resources_discover`), behind what was named already; gives the faults of those
    /// that failed. To be called before each [`Resources::load`](super::Resources::load).
    pub async fn discover(&mut self, extensions: &[Arc<dyn Extension>], context: &Context) -> Vec<String> {
        let mut found: [Vec<String>; 3] = Default::default();
        let point = Point::new("resources_discover", serde_json::json!({}));
        let faults = hook_points::asked(extensions, point, context, |_, answer| {
            for (list, field) in found.iter_mut().zip(["skills", "prompts", "rules"]) {
                list.extend(hook_points::texts_of(&answer, field));
            }
            ControlFlow::Continue(())
        })
        .await;
        let [skills, templates, rules] = found.map(|list| list.iter().map(|path| self.folders.resolve(path)).collect());
        let lists: [(&mut Vec<PathBuf>, Vec<PathBuf>); 3] =
            [(&mut self.named_skills, skills), (&mut self.named_templates, templates), (&mut self.named_rules, rules)];
        for (named, found) in lists {
            named.extend(found);
        }
        hook_points::fault_lines(faults)
    }
}
