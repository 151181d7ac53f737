//! Skills: folders with a `SKILL.md` that describes when to use them.

use std::fs;
use std::path::{Component, Path, PathBuf};

use sinew::walk::{GlobSet, GlobSyntax};

use super::escape::escaped;
use super::options::ResourceOptions;
use super::source::{Origin, Reader, Yaml};
use super::{frontmatter, source};

const FILE: &str = "SKILL.md";
const NAME: usize = 64;
const DESCRIPTION: usize = 1_024;
/// The maximum number of bytes of the list in the system prompt.
const LISTED: usize = 64 * 1024;

/// A skill. Its text is read when it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name: lower-case letters, digits and `-`, at most 64 characters.
    pub name: String,
    /// When to use it, at most 1,024 characters.
    pub description: String,
    /// Its `SKILL.md`.
    pub path: PathBuf,
    /// Its owner.
    pub origin: Origin,
    /// Whether the system prompt lists it; otherwise it is only available as `/skill:<name>`.
    pub listed: bool,
}

impl Skill {
    /// Returns the folder of the skill.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Returns the text of `/skill:<name> <arguments>` for the model.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn prompt(&self, arguments: &str) -> Result<String, String> {
        let text = source::text(&self.path).map_err(|reason| format!("{}: {reason}", self.path.display()))?;
        let body = frontmatter::lenient(&text).0.body;
        let location = escaped(&self.path.to_string_lossy());
        let mut out = format!(
            "<skill name=\"{}\" location=\"{location}\">\nPaths in it are relative to {}.\n\n{}\n</skill>",
            self.name,
            self.folder().display(),
            body.trim()
        );
        if !arguments.is_empty() {
            out.push_str(&format!("\n\nUser: {arguments}"));
        }
        Ok(out)
    }

    /// Returns a file of the skill; `SKILL.md` if `relative` is empty.
    pub(super) fn file(&self, relative: &str) -> Result<PathBuf, String> {
        if relative.is_empty() {
            return Ok(self.path.clone());
        }
        let refused = || format!("Refused: skill://{}/{relative} is not inside the skill's folder", self.name);
        let inside =
            Path::new(relative).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inside || relative.contains('\\') {
            return Err(refused());
        }
        let path = self.folder().join(relative);
        // A link may point outside of the folder, so the resolved paths are compared.
        match (fs::canonicalize(&path), fs::canonicalize(self.folder())) {
            (Ok(real), Ok(folder)) if real.starts_with(&folder) => Ok(path),
            (Ok(_), _) => Err(refused()),
            (Err(error), _) => Err(format!("Cannot read skill://{}/{relative}: {error}", self.name)),
        }
    }
}

pub(super) fn load(options: &ResourceOptions, reader: &mut Reader) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    for path in &options.named_skills {
        let files = if path.is_file() { vec![path.clone()] } else { below(path, reader) };
        if files.is_empty() {
            reader.warn(path, "there is no SKILL.md");
        }
        for file in files {
            add(&mut skills, &file, Origin::Flag, reader);
        }
    }
    if !options.skills {
        return skills;
    }
    let filter = Filter::new(options, reader);
    let mut found = Vec::new();
    for (root, origin) in roots(options) {
        for folder in reader.entries(&root) {
            // Each entry costs one stat and no read, even in a folder with thousands of files.
            let file = folder.join(FILE);
            // A broken link counts, so that it is reported.
            if file.symlink_metadata().is_ok_and(|facts| !facts.is_dir()) {
                found.push((file, origin));
            }
        }
    }
    for root in &options.skill_directories {
        found.extend(below(root, reader).into_iter().map(|file| (file, Origin::Setting)));
    }
    let named = skills.len();
    for (file, origin) in found {
        add(&mut skills, &file, origin, reader);
    }
    let mut index = 0;
    skills.retain(|skill| {
        index += 1;
        index <= named || filter.keeps(&skill.name)
    });
    skills
}

/// Returns the folders that contain skills, in order of precedence.
fn roots(options: &ResourceOptions) -> Vec<(PathBuf, Origin)> {
    let folders = &options.folders;
    let mut roots = vec![(folders.project.join("skills"), Origin::Project)];
    let up = folders.up_to_repository();
    roots.extend(up.iter().map(|folder| (folder.join(".agents/skills"), Origin::Project)));
    roots.push((folders.agent.join("skills"), Origin::User));
    roots.extend(folders.home.iter().map(|home| (home.join(".agents/skills"), Origin::User)));
    if options.claude_skills {
        roots.extend(up.iter().map(|folder| (folder.join(".claude/skills"), Origin::Project)));
        roots.extend(folders.home.iter().map(|home| (home.join(".claude/skills"), Origin::User)));
    }
    roots
}

fn below(root: &Path, reader: &mut Reader) -> Vec<PathBuf> {
    reader.tree(root, &|path| path.file_name().is_some_and(|name| name == FILE) && !path.is_dir())
}

fn add(skills: &mut Vec<Skill>, path: &Path, origin: Origin, reader: &mut Reader) {
    let Some(front) = reader.front(path, Yaml::Strict) else { return };
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let name = front.text("name").unwrap_or(folder);
    let description = front.text("description").unwrap_or_default();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > NAME || !name.chars().all(fits) {
        let name: String = name.chars().take(NAME).collect();
        return reader.warn(path, &format!("the name {name:?} must be 1 to 64 of a-z, 0-9 and -"));
    }
    if description.is_empty() || description.chars().count() > DESCRIPTION {
        return reader.warn(path, "it needs a description of 1 to 1024 characters");
    }
    if let Some(other) = skills.iter().find(|other| other.name == name) {
        let other = other.path.display().to_string();
        return reader.warn(path, &format!("not used: {other} already has the name {name}"));
    }
    let listed = !front.flag("disable-model-invocation") && !front.flag("hide");
    skills.push(Skill { name, description, path: path.to_path_buf(), origin, listed });
}

/// The settings `skills.include` and `skills.ignore`.
struct Filter {
    include: Vec<GlobSet>,
    ignore: Vec<GlobSet>,
    all: bool,
}

impl Filter {
    fn new(options: &ResourceOptions, reader: &mut Reader) -> Filter {
        let mut sets = |globs: &[String], key: &str| -> Vec<GlobSet> {
            let read = |glob: &String| GlobSet::new(glob, GlobSyntax::default());
            let mut sets = Vec::new();
            for glob in globs {
                match read(glob) {
                    Ok(set) => sets.push(set),
                    Err(error) => reader.warn(Path::new(key), error.message()),
                }
            }
            sets
        };
        let include = sets(&options.skill_include, "skills.include");
        let ignore = sets(&options.skill_ignore, "skills.ignore");
        Filter { include, ignore, all: options.skill_include.is_empty() }
    }

    fn keeps(&self, name: &str) -> bool {
        let any = |sets: &[GlobSet]| sets.iter().any(|set| set.is_match(name.as_bytes(), false));
        (self.all || any(&self.include)) && !any(&self.ignore)
    }
}

/// Returns the list of the skills that the model may choose.
pub(super) fn listing(skills: &[Skill]) -> String {
    let mut lines = Vec::new();
    let mut left = LISTED;
    let mut more = 0;
    for skill in skills.iter().filter(|skill| skill.listed) {
        let line = format!(
            "<skill name=\"{}\"><description>{}</description><location>{}</location></skill>",
            skill.name,
            escaped(&skill.description),
            escaped(&skill.path.to_string_lossy())
        );
        match left.checked_sub(line.len()) {
            Some(rest) => {
                left = rest;
                lines.push(line);
            }
            None => more += 1,
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    if more > 0 {
        lines.push(format!("{more} more skills are not listed."));
    }
    format!(
        "<available_skills>\nRead skill://<name> before work that a skill is for; skill://<name>/<path> is a file of it.\n{}\n</available_skills>",
        lines.join("\n")
    )
}
