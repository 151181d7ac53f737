//! The options of loading: kinds of resources and their folders.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use super::folders::ResourceFolders;
use crate::extension::{Context, Extension, Point};
use crate::hook_points;

/// The kinds of resources to load, and their folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceOptions {
    /// The folders.
    pub folders: ResourceFolders,
    /// Whether skills are loaded (`skills.enabled`, not `--no-skills`).
    pub skills: bool,
    /// Whether `/skill:<name>` is a command (`skills.enableCommands`).
    pub skill_commands: bool,
    /// Additional folders of skills (`skills.directories`).
    pub skill_directories: Vec<PathBuf>,
    /// Globs of names; if not empty, only matching skills are loaded (`skills.include`).
    pub skill_include: Vec<String>,
    /// Globs of names of skills that are skipped (`skills.ignore`).
    pub skill_ignore: Vec<String>,
    /// Whether `.claude/skills` are loaded (`skills.enableClaude`).
    pub claude_skills: bool,
    /// Explicit skills (`--skill`), which are loaded regardless of the other options.
    pub named_skills: Vec<PathBuf>,
    /// Whether prompt templates are loaded (not `--no-prompt-templates`).
    pub templates: bool,
    /// Explicit templates (`--prompt-template`).
    pub named_templates: Vec<PathBuf>,
    /// Whether rules are loaded (not `--no-rules`).
    pub rules: bool,
    /// Whether rules of other programs are loaded (`rules.enableForeign`).
    pub foreign_rules: bool,
    /// Explicit rules from extensions, which are loaded regardless of the other options.
    pub named_rules: Vec<PathBuf>,
    /// Whether project files may be links to files outside of the project. Default: true; set it
    /// to false for an untrusted project.
    pub trusted: bool,
}

impl ResourceOptions {
    /// Returns options that load everything in `folders`, except for the rules of other programs.
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

    /// Appends the resources that the extensions name (`resources_discover`) and returns the failures. Call it before
    /// each [`Resources::load`](super::Resources::load).
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
