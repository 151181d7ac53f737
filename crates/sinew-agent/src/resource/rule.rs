//! Rules: texts that apply always, when they are needed, or when an answer violates them.

use std::path::{Path, PathBuf};

use super::escape::escaped;
use super::options::ResourceOptions;
use super::source::{Origin, Reader, Yaml, has_extension};
use super::stream::{InterruptMode, Scope};

/// The maximum number of bytes of all rules that always apply.
const APPLIED: usize = 256 * 1024;
const NAME: usize = 64;

/// A rule of a project or of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The name in `rule://<name>`.
    pub name: String,
    /// When the rule is needed.
    pub description: String,
    /// The files that it applies to.
    pub globs: Vec<String>,
    /// How it is used.
    pub bucket: Bucket,
    /// Its text.
    pub body: String,
    /// Its file.
    pub path: PathBuf,
    /// Its owner.
    pub origin: Origin,
}

/// The use of a rule; the first that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bucket {
    /// Answers are checked against it while they stream.
    Stream {
        /// Regular expressions; one match is enough.
        conditions: Vec<String>,
        /// The parts of an answer that are checked; if empty, the text and the arguments of tools.
        scopes: Vec<Scope>,
        /// The answers that are stopped; `None` uses the settings.
        interrupt: Option<InterruptMode>,
    },
    /// The system prompt includes its text.
    Always,
    /// The system prompt includes its description; the model reads the text when it needs it.
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
            None => reader.warn(&rule.path, "skipped: rules that always apply exceed 256 KB"),
        }
        rest.is_some()
    });
    rules
}

/// Finds the rules of the project and of the user.
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

/// The file format, which determines the bucket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Uses `alwaysApply`, `description` and `condition`.
    Own,
    /// Uses `trigger`.
    Windsurf,
    /// Always applies if it has no frontmatter.
    Cline,
}

fn add_folder(rules: &mut Vec<Rule>, folder: &Path, origin: Origin, kind: Kind, reader: &mut Reader) {
    for path in reader.entries(folder) {
        if has_extension(&path, &["md", "mdc"]) && !path.is_dir() {
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
        // A project's rule replaces a user's rule of the same name, so this is not a warning.
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

/// Splits a list at commas outside of brackets.
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

/// Returns the full texts of the rules that always apply.
pub(super) fn applied(rules: &[Rule]) -> String {
    let always = rules.iter().filter(|rule| rule.bucket == Bucket::Always && !rule.body.is_empty());
    let texts: Vec<String> =
        always.map(|rule| format!("<rule name=\"{}\">\n{}\n</rule>", rule.name, rule.body)).collect();
    texts.join("\n")
}

/// Returns the list of the rules that the model reads when it needs them.
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
