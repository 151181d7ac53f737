//! Resources that users and projects add in files: skills, commands, prompt templates and rules; and their use in a
//! prompt.
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
pub use mention::{Attached, Attacher, mention};
pub use options::ResourceOptions;
pub use prompt::{Commands, Prompt, Reading};
pub use rule::{Bucket, Rule};
pub use skill::Skill;
pub use source::Origin;
pub use template::{Template, arguments, substitute};

/// The resources that were found. Of two things of a kind with one name the first one counts: flags before the project, the project
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
    /// Warnings of files that could not be used, one sentence each.
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
    /// A hint of its arguments.
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

    /// The warnings of `self` that `before` did not have: what a user must read after reading everything anew.
    pub fn news<'a>(&'a self, before: &'a Resources) -> impl Iterator<Item = &'a str> {
        self.warnings.iter().filter(|text| !before.warnings.contains(text)).map(String::as_str)
    }

    /// The names that a user may write behind a slash, in the order in which a name is looked up; the first of a name.
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
    if names.is_empty() { "There is none.".into() } else { format!("Available: {}", names.join(", ")) }
}
