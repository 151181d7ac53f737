//! What users and projects add in files: skills, commands, prompt templates and rules; and what a prompt makes of them.
//!
//! | module | knows |
//! |---|---|
//! | `source` | where files lie, which one wins, how much of them is read |
//! | `frontmatter` | the YAML at the start of a file, and nothing that could explode in it |
//! | `skill` | folders with a `SKILL.md` |
//! | `template` | commands and prompt templates, and their arguments |
//! | `rule` | rules, and which of them go where |
//! | `stream` | rules that an answer is held against while it comes |
//! | `mention` | `@path` in a message |
//! | `prompt` | what a prompt is: a command, a skill, a template, a text with mentions |
//!
//! Loading changes nothing and stops at nothing: a file that cannot be used is named in [`Resources::warnings`].

mod frontmatter;
mod mention;
mod prompt;
mod rule;
mod skill;
mod source;
pub mod stream;
mod template;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

pub use mention::{Attached, Attacher};
pub use prompt::{Commands, Prompt, Reading};
pub use rule::{Bucket, Rule};
pub use skill::Skill;
pub use source::{Origin, Places};
pub use template::{Template, arguments, substitute};

use crate::event::Event;
use crate::extension::{Context, Extension, Point};
use crate::points;
use crate::settings::Settings;

/// What is looked for, and where.
#[derive(Debug, Clone, Default)]
pub struct ResourceOptions {
    /// The folders.
    pub places: Places,
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
    /// What the settings say of the resources in `places`.
    #[must_use]
    pub fn new(places: Places, settings: &Settings) -> ResourceOptions {
        let skill_directories = settings.texts("skills.directories").iter().map(|path| places.resolve(path)).collect();
        ResourceOptions {
            skills: settings.flag("skills.enabled"),
            skill_commands: settings.flag("skills.enableCommands"),
            skill_directories,
            skill_include: settings.texts("skills.include"),
            skill_ignore: settings.texts("skills.ignore"),
            claude_skills: settings.flag("skills.enableClaude"),
            named_skills: Vec::new(),
            templates: true,
            named_templates: Vec::new(),
            rules: true,
            foreign_rules: settings.flag("rules.enableForeign"),
            named_rules: Vec::new(),
            trusted: true,
            places,
        }
    }

    /// Adds what the extensions name (`resources_discover`), behind what was named already; gives the faults of those
    /// that failed. To be called before each [`Resources::load`].
    pub async fn discover(&mut self, extensions: &[Arc<dyn Extension>], context: &Context) -> Vec<String> {
        let mut found: [Vec<String>; 3] = Default::default();
        let point = Point::new("resources_discover", serde_json::json!({}));
        let faults = points::asked(extensions, point, context, |_, answer| {
            for (list, field) in found.iter_mut().zip(["skills", "prompts", "rules"]) {
                list.extend(points::texts_of(&answer, field));
            }
            ControlFlow::Continue(())
        })
        .await;
        let [skills, templates, rules] = found.map(|list| list.iter().map(|path| self.places.resolve(path)).collect());
        let lists: [(&mut Vec<PathBuf>, Vec<PathBuf>); 3] =
            [(&mut self.named_skills, skills), (&mut self.named_templates, templates), (&mut self.named_rules, rules)];
        for (named, found) in lists {
            named.extend(found);
        }
        let told = faults.into_iter().filter_map(|fault| match fault {
            Event::ExtensionError { extension_path, event, error } => {
                Some(format!("{extension_path}: {event}: {error}"))
            }
            _ => None,
        });
        told.collect()
    }
}

/// What was found. Of two things of a kind with one name the first one counts: flags before the project, the project
/// before the user.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// Skills by name.
    pub skills: Vec<Skill>,
    /// Commands in files and prompt templates, in the order in which a name is looked up: templates of flags, then of
    /// the project commands before templates, then the same of the user.
    pub templates: Vec<Template>,
    /// Rules of all buckets.
    pub rules: Vec<Rule>,
    /// What could not be used, one sentence each.
    pub warnings: Vec<String>,
    skill_commands: bool,
}

/// A command, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCommand {
    /// Without the slash.
    pub name: String,
    /// One line.
    pub description: String,
    /// What its arguments are.
    pub hint: Option<String>,
    /// `extension`, `skill`, `command` or `prompt`.
    pub source: &'static str,
}

impl Resources {
    /// Reads everything anew. Linear in what the folders hold, within limits for files, names and bytes.
    #[must_use]
    pub fn load(options: &ResourceOptions) -> Resources {
        let mut reader = source::Reader::new(options);
        let skills = skill::load(options, &mut reader);
        let templates = template::load(options, &mut reader);
        let rules = rule::load(options, &mut reader);
        let skill_commands = options.skill_commands;
        Resources { skills, templates, rules, warnings: reader.warnings, skill_commands }
    }

    /// What `self` could not use and `before` did not name: what a user must read after reading everything anew.
    pub fn news<'a>(&'a self, before: &'a Resources) -> impl Iterator<Item = &'a str> {
        self.warnings.iter().filter(|text| !before.warnings.contains(text)).map(String::as_str)
    }

    /// What a user may write behind a slash, in the order in which a name is looked up; the first of a name.
    #[must_use]
    pub fn listed_commands(&self, commands: &Commands) -> Vec<ListedCommand> {
        let mut list: Vec<ListedCommand> = Vec::new();
        let one = |name: &str, description: &str, source: &'static str, hint: Option<&String>| ListedCommand {
            name: name.to_string(),
            description: description.to_string(),
            hint: hint.cloned(),
            source,
        };
        list.extend(commands.all().iter().map(|command| one(&command.name, &command.description, "extension", None)));
        if self.skill_commands {
            let skills = self.skills.iter();
            list.extend(skills.map(|skill| one(&format!("skill:{}", skill.name), &skill.description, "skill", None)));
        }
        list.extend(self.templates.iter().map(|template| {
            let source = if template.command { "command" } else { "prompt" };
            one(&template.name, &template.description, source, template.hint.as_ref())
        }));
        let mut known = std::collections::HashSet::new();
        list.retain(|command| known.insert(command.name.clone()));
        list
    }

    /// The skill of a name.
    #[must_use]
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The file behind `skill://<name>[/<rel>]`; `rest` is what stands behind the two slashes.
    ///
    /// # Errors
    /// No skill has the name, or the path leaves its folder; a text for the model.
    pub fn skill_file(&self, rest: &str) -> Result<PathBuf, String> {
        let (name, relative) = rest.split_once('/').unwrap_or((rest, ""));
        match self.skill(name) {
            Some(skill) => skill.file(relative),
            None => {
                let names = self.skills.iter().map(|skill| skill.name.as_str());
                Err(format!("Unknown skill: {name}. {}", available(names)))
            }
        }
    }

    /// The text of `rule://<name>`.
    ///
    /// # Errors
    /// No rule has the name; a text for the model.
    pub fn rule_text(&self, name: &str) -> Result<&str, String> {
        match self.rules.iter().find(|rule| rule.name == name) {
            Some(rule) => Ok(&rule.body),
            None => {
                Err(format!("Unknown rule: {name}. {}", available(self.rules.iter().map(|rule| rule.name.as_str()))))
            }
        }
    }

    /// The whole texts of the rules that always apply, for the system prompt; empty without one.
    #[must_use]
    pub fn applied_rules(&self) -> String {
        rule::applied(&self.rules)
    }

    /// `<available_skills>` and `<rules>` for the system prompt. What they list is read by a tool: without one there
    /// is nothing to list.
    #[must_use]
    pub fn listings(&self, can_read: bool) -> Vec<String> {
        if !can_read {
            return Vec::new();
        }
        let mut lists = vec![skill::listing(&self.skills), rule::listing(&self.rules)];
        lists.retain(|list| !list.is_empty());
        lists
    }
}

fn available<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "There is none.".into() } else { format!("Available: {}", names.join(", ")) }
}

/// Text for the inside of a tag or of a quoted attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
