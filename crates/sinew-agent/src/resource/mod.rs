//! Resources that users and projects define in files: skills, commands, prompt templates and rules; and their use in
//! prompts.
//!
//! | module | contents |
//! |---|---|
//! | `source` | the folders, their precedence, and limits on reading |
//! | `frontmatter` | the YAML at the start of a file, with limits on its expansion |
//! | `skill` | folders with a `SKILL.md` |
//! | `template` | commands and prompt templates, and their arguments |
//! | `rule` | rules and how each of them is used |
//! | `stream` | rules that an answer is checked against while it streams |
//! | `mention` | `@path` in a message |
//! | `prompt` | parsing of prompts: a command, a skill, a template, or a text with mentions |
//!
//! Loading changes no files and never fails: [`Resources::warnings`] names the files that cannot be used.

mod escape;
mod folders;
pub(crate) mod frontmatter;
mod mention;
mod options;
mod prompt;
mod rule;
mod skill;
mod source;
pub mod stream;
mod template;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use sinew_tools::ResourceLookup;

pub use folders::ResourceFolders;
pub use mention::{AttachedFiles, Attacher, mention};
pub use options::ResourceOptions;
pub use prompt::{Commands, Prompt, PromptInputs};
pub use rule::{Bucket, Rule};
pub use skill::Skill;
pub use source::Origin;
pub use template::{Template, arguments, closed_arguments, substitute};

/// The resources that were found. If two resources of one kind have the same name, the first is used: flags come before
/// the project, the project before the user.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// Skills by name.
    pub skills: Vec<Skill>,
    /// Commands in files and prompt templates, in lookup order: templates of flags, the project's commands and
    /// templates, the user's commands and templates.
    pub templates: Vec<Template>,
    /// Rules of all kinds.
    pub rules: Vec<Rule>,
    /// Warnings about files that could not be used, one sentence each.
    pub warnings: Vec<String>,
    skill_commands: bool,
}

/// A command as shown in lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCommand {
    /// The name, without the slash.
    pub name: String,
    /// A one-line description.
    pub description: String,
    /// A hint about its arguments.
    pub hint: Option<String>,
    /// `extension`, `skill`, `command` or `prompt`.
    pub source: &'static str,
}

impl Resources {
    /// Reads all resources again. Linear in the size of the folders, with limits on files, names and bytes.
    #[must_use]
    pub fn load(options: &ResourceOptions) -> Resources {
        let mut reader = source::Reader::new(options);
        let skills = skill::load(options, &mut reader);
        let templates = template::load(options, &mut reader);
        let rules = rule::load(options, &mut reader);
        let skill_commands = options.skill_commands;
        Resources { skills, templates, rules, warnings: reader.warnings, skill_commands }
    }

    /// Returns the warnings that `before` did not have, which are shown to the user after a reload.
    pub fn news<'a>(&'a self, before: &'a Resources) -> impl Iterator<Item = &'a str> {
        self.warnings.iter().filter(|text| !before.warnings.contains(text)).map(String::as_str)
    }

    /// Returns the commands that a user may type after a slash, in lookup order, each name once.
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

    /// Returns the skill with this name.
    #[must_use]
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Returns the full texts of the rules that always apply, for the system prompt; empty if there are none.
    #[must_use]
    pub fn applied_rules(&self) -> String {
        rule::applied(&self.rules)
    }

    /// Returns `<available_skills>` and `<rules>` for the system prompt. The model needs a tool to read their files, so
    /// the list is empty if `can_read` is false.
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

impl ResourceLookup for Resources {
    fn skill_file(&self, rest: &str) -> Result<PathBuf, String> {
        let (name, relative) = rest.split_once('/').unwrap_or((rest, ""));
        match self.skill(name) {
            Some(skill) => skill.file(relative),
            None => {
                let names = self.skills.iter().map(|skill| skill.name.as_str());
                Err(format!("Unknown skill: {name}. {}", available(names)))
            }
        }
    }

    fn rule_text(&self, name: &str) -> Result<String, String> {
        match self.rules.iter().find(|rule| rule.name == name) {
            Some(rule) => Ok(rule.body.clone()),
            None => {
                Err(format!("Unknown rule: {name}. {}", available(self.rules.iter().map(|rule| rule.name.as_str()))))
            }
        }
    }
}

fn available<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "None are available.".into() } else { format!("Available: {}", names.join(", ")) }
}
