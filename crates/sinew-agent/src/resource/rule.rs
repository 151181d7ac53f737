//! Rules: texts that hold always, when they are needed, or when an answer breaks them.

use std::path::{Path, PathBuf};

use super::escape::escaped;
use super::options::ResourceOptions;
use super::source::{Origin, Reader, Yaml, has_extension};
use super::stream::{InterruptMode, Scope};

/// Bytes of all rules that always apply.
const APPLIED: usize = 256 * 1024;
const NAME: usize = 64;

/// A rule of a project or of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Names it in `rule://<name>`.
    pub name: String,
    /// The cases in which it is needed.
    pub description: String,
    /// The files that it is about.
    pub globs: Vec<String>,
    /// Its bucket.
    pub bucket: Bucket,
    /// Its text.
    pub body: String,
    /// Its file.
    pub path: PathBuf,
    /// Its owner.
    pub origin: Origin,
}

/// The use of a rule; the first that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bucket {
    /// An answer is held against it while it comes.
    Stream {
        /// Regular expressions; one that is found is enough.
        conditions: Vec<String>,
        /// The parts of an answer that are looked at; empty: text and the arguments of tools.
        scopes: Vec<Scope>,
        /// Stops the answer or not; absent: as the settings say.
        interrupt: Option<InterruptMode>,
    },
    /// Its text stands in the system prompt.
    Always,
    /// Its description does; the model reads the rest.
    Listed,
}

pub(super) fn load(options: &ResourceOptions, reader: &mut Reader) -> Vec<Rule> {
    let mut rules = Vec::new();
    for path in &options.named_rules {
        if path.is_dir() {
            add_folder(&mut rules, path, Origin::Flag, Kind::Own, reader);
        } else {
            add(&mut rules, path, Origin::Flag, Kind::Own, reader);
        }
    }
    if options.rules {
        find(options, &mut rules, reader);
    }
    let mut left = APPLIED;
    rules.retain(|rule| {
        if rule.bucket != Bucket::Always {
            return true;
        }
        let rest = left.checked_sub(rule.body.len());
        match rest {
            Some(rest) => left = rest,
            None => reader.warn(&rule.path, "left out: rules that always apply have 256 KB"),
        }
        rest.is_some()
    });
    rules
}

/// The rules of the project and of the user.
fn find(options: &ResourceOptions, rules: &mut Vec<Rule>, reader: &mut Reader) {
    let folders = &options.folders;
    add_folder(rules, &folders.project.join("rules"), Origin::Project, Kind::Own, reader);
    if options.foreign_rules {
        add_folder(rules, &folders.cwd.join(".cursor/rules"), Origin::Project, Kind::Own, reader);
        add_folder(rules, &folders.cwd.join(".windsurf/rules"), Origin::Project, Kind::Windsurf, reader);
        let cline = folders.cwd.join(".clinerules");
        if cline.is_file() {
            add(rules, &cline, Origin::Project, Kind::Cline, reader);
        } else {
            add_folder(rules, &cline, Origin::Project, Kind::Cline, reader);
        }
    }
    add_folder(rules, &folders.agent.join("rules"), Origin::User, Kind::Own, reader);
}

/// The spelling of a bucket in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `alwaysApply`, `description`, `condition`.
    Own,
    /// `trigger`.
    Windsurf,
    /// Without frontmatter it always applies.
    Cline,
}

fn add_folder(rules: &mut Vec<Rule>, folder: &Path, origin: Origin, kind: Kind, reader: &mut Reader) {
    for path in reader.entries(folder) {
        if has_extension(&path, &["md", "mdc"]) && path.is_file() {
            add(rules, &path, origin, kind, reader);
        }
    }
}

fn add(rules: &mut Vec<Rule>, path: &Path, origin: Origin, kind: Kind, reader: &mut Reader) {
    let Some(front) = reader.front(path, Yaml::Lenient) else { return };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = front.text("name").unwrap_or_else(|| stem.trim_start_matches('.').to_string());
    let fits = |c: char| !c.is_control() && !c.is_whitespace() && !"/\\\"<>&".contains(c);
    if name.is_empty() || name.len() > NAME || !name.chars().all(fits) {
        let name: String = name.chars().take(NAME).collect();
        return reader
            .warn(path, &format!("the name {name:?} must be 1 to 64 bytes without blanks, quotes and slashes"));
    }
    if rules.iter().any(|other| other.name == name) {
        // A project's rule in place of a user's is what was meant.
        return;
    }
    let mut conditions = front.texts("condition");
    conditions.extend(front.texts("ttsrTrigger"));
    let always = front.flag("alwaysApply")
        || (kind == Kind::Windsurf && front.text("trigger").as_deref() == Some("always_on"))
        || (kind == Kind::Cline && !front.present);
    let description = front.text("description").unwrap_or_default();
    let bucket = if !conditions.is_empty() {
        let mut scopes = Vec::new();
        for text in front.texts("scope").iter().flat_map(|text| parts(text)) {
            match Scope::parse(text) {
                Some(scope) => scopes.push(scope),
                None => {
                    return reader.warn(
                        path,
                        &format!("unknown scope {text:?}: use text, thinking, tool or tool:<name>(<glob>)"),
                    );
                }
            }
        }
        let interrupt = match front.text("interruptMode") {
            None => None,
            Some(word) => match InterruptMode::parse(&word) {
                Some(mode) => Some(mode),
                None => {
                    return reader.warn(
                        path,
                        &format!("unknown interruptMode {word:?}: use always, prose-only, tool-only or never"),
                    );
                }
            },
        };
        Bucket::Stream { conditions, scopes, interrupt }
    } else if always {
        Bucket::Always
    } else if !description.is_empty() {
        Bucket::Listed
    } else {
        return reader.warn(path, "not used: it has neither condition, nor alwaysApply, nor description");
    };
    let globs = front.texts("globs").iter().flat_map(|text| parts(text)).map(str::to_string).collect();
    let body = front.body.trim().to_string();
    rules.push(Rule { name, description, globs, bucket, body, path: path.to_path_buf(), origin });
}

/// A list written in one text, divided by commas outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let divided = text.split(|c| {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    divided.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// The whole texts of the rules that always apply.
pub(super) fn applied(rules: &[Rule]) -> String {
    let always = rules.iter().filter(|rule| rule.bucket == Bucket::Always && !rule.body.is_empty());
    let texts: Vec<String> =
        always.map(|rule| format!("<rule name=\"{}\">\n{}\n</rule>", rule.name, rule.body)).collect();
    texts.join("\n")
}

/// The rules that the model reads when it needs them.
pub(super) fn listing(rules: &[Rule]) -> String {
    let listed = rules.iter().filter(|rule| rule.bucket == Bucket::Listed);
    let lines: Vec<String> = listed
        .map(|rule| {
            let globs = match rule.globs.is_empty() {
                true => String::new(),
                false => format!(" globs=\"{}\"", escaped(&rule.globs.join(", "))),
            };
            format!("<rule name=\"{}\"{globs}>{}</rule>", rule.name, escaped(&rule.description))
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("<rules>\nRead rule://<name> before work that a rule is about.\n{}\n</rules>", lines.join("\n"))
}
