//! Implements `/trust`: the user decides whether to use the project's files that can start programs.

use std::path::Path;

use sinew_control::actions::{Control, ControlError};
use sinew_control::startup::Startup;
use sinew_control::trust::Project;
use sinew_tools::{Choice, Question};

use super::leaving::SessionMove;

const TRUST: &str = "Trust this project";
const REFUSE: &str = "Do not trust it";

/// Decides whether to trust the project: by `answer`, or otherwise by asking the user. Returns the text to show, and
/// the session to continue with other settings if the decision changes them.
///
/// # Errors
/// Returns an error if `answer` is a word other than `yes` or `no`, or if the decision cannot be saved.
pub(super) async fn decide(control: &Control, answer: &str) -> Result<(String, Option<SessionMove>), ControlError> {
    let Startup { paths, trusted, trust_variables, .. } = &control.app.startup;
    let project = Project::look(&paths.cwd, trust_variables);
    if project.files().is_empty() {
        return Ok(("This project has no files that need trust.".into(), None));
    }
    let trusts = match answer {
        "yes" => true,
        "no" => false,
        "" => match control.app.answer(&question(&project)).await.as_deref() {
            Some(TRUST) => true,
            Some(REFUSE) => false,
            _ => return Ok(("Nothing was decided. /trust asks again.".into(), None)),
        },
        _ => return Err(format!("/trust {answer}: use yes, no or nothing").into()),
    };
    project.remember(&paths.agent.join("trust.json"), trusts)?;
    let text = if trusts { "this project is trusted" } else { "this project is not trusted" };
    let session = control.session().agent.session().path().map(Path::to_path_buf);
    let moved =
        session.filter(|_| trusts != *trusted).map(|session| SessionMove { folder: paths.cwd.clone(), session });
    Ok((text.into(), moved))
}

fn question(project: &Project) -> Question {
    let choice = |label: &str, text: &str| Choice { label: label.into(), description: Some(text.into()) };
    let files = project.files().join("\n");
    Question {
        id: Some("trust".into()),
        question: format!("Do you trust this project? These files can start programs or change settings:\n{files}"),
        options: vec![
            choice(TRUST, "use them; asked again when one of them changes"),
            choice(REFUSE, "never use them; asked again when one of them changes"),
            choice("Not now", "do not use them in this session"),
        ],
        multi: false,
        recommended: None,
    }
}
