//! Builds the system prompt from flags and files.

use std::path::Path;

use sinew_agent::context::{PromptFacts, PromptTool, context_files, system_prompt};
use sinew_agent::core::Toolset;
use sinew_agent::resource::Resources;
use sinew_session::clock::{Clock, iso};
use sinew_session::files::read_text;
use sinew_session::links;
use sinew_tools::Host;

use crate::failure::Failure;
use crate::resources;
use crate::schema::Schema;
use crate::startup::Startup;

/// Builds the system prompt for `tools` and `resources`, and for answers that match `schema`. Reads the files again on
/// every call.
pub(super) fn system(
    startup: &Startup,
    tools: &Toolset,
    resources: &Resources,
    schema: Option<&Schema>,
    host: &Host,
    clock: &dyn Clock,
    warnings: &mut Vec<String>,
) -> Result<Vec<String>, Failure> {
    let Startup { args, environment, paths, trusted, .. } = startup;
    if environment.is_on("SINEW_NULL_PROMPT") {
        return Ok(Vec::new());
    }
    let root = links::project_of(&paths.cwd, std::env::home_dir().as_deref());
    let is_out = |path: &Path| {
        let own = path.starts_with(&paths.agent) || path.starts_with(&paths.home);
        // A file in `.sinew` belongs to the directory that contains `.sinew`.
        let folder = path.parent().and_then(Path::parent).unwrap_or(path);
        let project = if folder.starts_with(root) { root } else { folder };
        !own && (links::is_planted(&paths.cwd, path) || !*trusted && links::out_of(project, path).is_some())
    };
    let mut read = |path: &Path| match read_text(path) {
        // The user was already told that the project is not trusted.
        _ if is_out(path) => None,
        Ok(text) => Some(text),
        Err(error) => {
            warnings.push(format!("{}: {error}", path.display()));
            None
        }
    };
    let project = |name: &str| Some(paths.project.join(name)).filter(|path| path.is_file());
    let replaced = match &args.prompt.system {
        Some(text) => Some(text_or_file("system-prompt", text, &paths.cwd)?),
        None => {
            resources::nearest(paths, "SYSTEM.md").or_else(|| paths.user_file("SYSTEM.md")).and_then(|path| read(&path))
        }
    };
    let files = [paths.user_file("APPEND_SYSTEM.md"), project("APPEND_SYSTEM.md")];
    let mut appended: Vec<String> = files.iter().flatten().filter_map(|path| read(path)).collect();
    for text in &args.prompt.append {
        appended.push(text_or_file("append-system-prompt", text, &paths.cwd)?);
    }
    appended.extend(schema.map(Schema::instructions));
    let files = match args.prompt.no_context_files {
        true => Vec::new(),
        false => {
            let found =
                context_files(&[&paths.agent, &paths.home], &paths.cwd, std::env::home_dir().as_deref(), *trusted);
            warnings.extend(found.warnings);
            // A file that a rule denies cannot be imported either.
            let access = host.attachment_access(&paths.cwd);
            found.files.into_iter().filter(|file| access.allows(&file.path)).collect()
        }
    };
    Ok(system_prompt(&PromptFacts {
        replaced,
        appended,
        tools: tools.all().iter().map(PromptTool::from).collect(),
        rules: resources.applied_rules(),
        context_files: files,
        listings: resources.listings(tools.all().iter().any(|tool| tool.semantics().opens_addresses)),
        date: iso(clock.now())[..10].to_string(),
        cwd: paths.cwd.clone(),
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        shell: "bash".into(),
        branch: branch(&paths.cwd),
    }))
}

fn text_or_file(flag: &str, text: &str, cwd: &Path) -> Result<String, Failure> {
    let path = cwd.join(text);
    // The text may be longer than a file name can be.
    if !path.is_file() {
        return Ok(text.to_string());
    }
    std::fs::read_to_string(&path).map_err(|error| Failure::config(format!("--{flag} {text}: {error}")))
}

/// Returns the branch of the git repository around `cwd`.
fn branch(cwd: &Path) -> Option<String> {
    let git = cwd.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())?;
    let folder = match read_text(&git) {
        // In a worktree, `.git` is a file with the path of the git directory.
        Ok(text) => git.with_file_name(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let head = read_text(&folder.join("HEAD")).ok()?;
    Some(head.trim().strip_prefix("ref: refs/heads/")?.to_string())
}
