//! Collects the contents of the status row.

use std::path::Path;

use serde_json::json;
use sinew_control::actions::Control;
use sinew_control::actions::mode::SessionMode;
use sinew_control::models::is_absent;

use super::status::Facts;

/// Returns the model and its thinking level.
pub(super) fn model(control: &Control) -> String {
    let open = control.session();
    let model = open.agent.model().model;
    match model.reasoning {
        _ if is_absent(&model) => "no model".into(),
        true => format!("{} ({})", model.key(), open.agent.thinking().as_str()),
        false => model.key(),
    }
}

/// Reads the contents. Must not be called on the thread of the screen, because it reads the whole session.
pub(super) fn read(control: &Control) -> Facts {
    let mut facts = Facts { model: model(control), ..Facts::default() };
    // A session file that cannot be read is reported by the next prompt.
    if let Ok(stats) = control.stats() {
        let usage = stats.context.filter(|usage| usage.context_window > 0);
        facts.context = usage.map(|usage| usage.tokens * 100 / usage.context_window);
        if stats.counts.cost > 0.0 {
            facts.cost = format!("${:.2}", stats.counts.cost);
        }
        facts.title = stats.title.unwrap_or_default();
        facts.told = json!({
            "session": stats.session.id, "model": stats.model, "tokens": stats.counts.tokens, "cost": stats.counts.cost,
            "context": stats.context,
        });
    }
    if control.mode() == SessionMode::Plan {
        facts.mode = "plan".into();
    } else if let Some(confinement) = control.session().host.confinement() {
        facts.mode = confinement.mode_name().into();
    }
    facts.branch = branch(&control.app.startup.paths.cwd).unwrap_or_default();
    facts
}

/// Returns the branch of a directory's repository, or the first digits of its commit.
fn branch(cwd: &Path) -> Option<String> {
    let git = cwd.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    // In a worktree or submodule, `.git` is a file with the path of the git directory.
    let folder = match std::fs::read_to_string(&git) {
        Ok(text) => git.parent()?.join(text.trim().strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let head = std::fs::read_to_string(folder.join("HEAD")).ok()?;
    let head = head.trim();
    Some(match head.strip_prefix("ref: ") {
        Some(name) => name.strip_prefix("refs/heads/").unwrap_or(name).to_string(),
        None => head.chars().take(8).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_branch_is_the_one_that_git_names() {
        let folder = tempfile::tempdir().unwrap();
        let git = |folder: &Path, arguments: &[&str]| {
            let ran = Command::new("git")
                .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
                .args(arguments)
                .current_dir(folder)
                .output()
                .unwrap();
            assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
            String::from_utf8(ran.stdout).unwrap().trim().to_string()
        };
        let main = folder.path().join("main");
        std::fs::create_dir_all(main.join("below/it")).unwrap();
        git(&main, &["init", "-q", "-b", "feature/one"]);
        assert_eq!(branch(&main.join("below/it")).as_deref(), Some("feature/one"));
        git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
        let other = folder.path().join("other");
        git(&main, &["worktree", "add", "-q", "-b", "two", other.to_str().unwrap()]);
        assert_eq!(branch(&other).as_deref(), Some("two"));
        git(&main, &["checkout", "-q", "--detach"]);
        let commit = git(&main, &["rev-parse", "HEAD"]);
        assert_eq!(branch(&main).as_deref(), Some(&commit[..8]));
    }
}
