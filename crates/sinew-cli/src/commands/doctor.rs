//! Implements `sinew doctor`: checks this machine, the settings and the sandbox.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sinew::sandbox::{Enforcement, Promise};
use sinew_control::extensions;
use sinew_control::failure::Failure;
use sinew_control::models::ModelSelector;
use sinew_control::output::{plain, print};
use sinew_control::sandbox::Limits;
use sinew_control::secrets;
use sinew_control::settings::SandboxMode;
use sinew_control::startup::Startup;
use sinew_tools::Confinement;

pub(super) const HELP: &str = "\
sinew doctor: check this machine, the settings and the sandbox

Usage:
  sinew doctor [--output json]
  sinew doctor --sandbox workspace      check this sandbox instead of the configured one

Each line is ok, a note, or a problem. The exit code is 1 if there is a problem.
";

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Ok,
    Note,
    Problem,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Problem => "problem",
        }
    }
}

/// One line of the report.
struct Finding {
    level: Level,
    subject: &'static str,
    text: String,
}

/// Prints the report.
///
/// # Errors
/// Returns an error if stdout cannot be written.
pub(super) fn run(startup: &Startup, warnings: &[String]) -> Result<u8, Failure> {
    let mut findings = vec![
        finding(
            Level::Ok,
            "sinew",
            format!("{}, {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH),
        ),
        program("bash", &["--version"], Level::Note, "commands run in the built-in shell"),
        program("git", &["--version"], Level::Note, "the branch is not shown, and models cannot use git"),
    ];
    findings.push(models(startup));
    let rules = extensions::check(startup);
    findings.extend(settings(startup, rules.as_ref().err(), warnings));
    if let Ok(rules) = rules {
        let limits = Limits::new(startup, &rules);
        findings.extend(sandbox(startup, &limits));
        findings.push(plan(&limits.of_plan()));
    }
    report(startup, &findings)?;
    Ok(u8::from(findings.iter().any(|finding| finding.level == Level::Problem)))
}

fn finding(level: Level, subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { level, subject, text: text.into() }
}

/// Returns the version that a program prints.
fn program(name: &'static str, args: &[&str], missing: Level, effect: &str) -> Finding {
    let ran = Command::new(name).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output();
    match ran {
        Ok(ran) if ran.status.success() => {
            let text = String::from_utf8_lossy(&ran.stdout);
            finding(Level::Ok, name, plain(text.lines().next().unwrap_or_default()))
        }
        Ok(ran) => finding(missing, name, format!("{} ({}): {effect}", args.join(" "), ran.status)),
        Err(error) => finding(missing, name, format!("{error}: {effect}")),
    }
}

fn models(startup: &Startup) -> Finding {
    let models = match ModelSelector::read(startup, &secrets::none(), "") {
        Ok(models) => models,
        Err(failure) => return finding(Level::Problem, "models", failure.message),
    };
    match models.available().len() {
        0 => finding(Level::Problem, "models", "no API key and no login: run sinew login"),
        count => finding(Level::Ok, "models", format!("{count} with a key; sinew --list-models lists them")),
    }
}

fn settings(startup: &Startup, failure: Option<&Failure>, warnings: &[String]) -> Vec<Finding> {
    let faults = startup.faults.iter().map(|fault| finding(Level::Problem, "settings", fault));
    let checked = failure.map(|failure| finding(Level::Problem, "settings", &*failure.message));
    let notes = warnings.iter().map(|warning| finding(Level::Note, "settings", warning));
    let mut found: Vec<Finding> = faults.chain(checked).chain(notes).collect();
    if found.is_empty() {
        found.push(finding(Level::Ok, "settings", startup.paths.agent.join("settings.json").display().to_string()));
    }
    found
}

/// Checks the promises of the sandbox. A promise that the user requires and that is not enforced is a problem.
fn sandbox(startup: &Startup, limits: &Limits) -> Vec<Finding> {
    let Some(confinement) = limits.of_session(None) else {
        let text = "off: commands can do whatever you can; --sandbox workspace limits them";
        return vec![finding(Level::Note, "sandbox", text)];
    };
    let sandbox = match confinement.sandbox() {
        Ok(sandbox) => sandbox,
        Err(error) => return vec![finding(Level::Problem, "sandbox", error.message())],
    };
    let is_named = startup.settings.sandbox.mode.is_some_and(|mode| mode != SandboxMode::Off);
    let mode = confinement.mode_name();
    Promise::ALL
        .into_iter()
        .map(|promise| {
            let state = sandbox.status().of(promise);
            let is_open = state.missing.iter().any(|reason| reason.starts_with("the policy"));
            let level = match state.held {
                Enforcement::Enforced => Level::Ok,
                Enforcement::Advisory if is_named && !is_open => Level::Problem,
                Enforcement::Advisory | Enforcement::Partial => Level::Note,
            };
            let by = if state.by.is_empty() { String::new() } else { format!(" by {}", state.by.join(", ")) };
            let missing =
                if state.missing.is_empty() { String::new() } else { format!("; {}", state.missing.join("; ")) };
            let text = format!("{mode}: {} is {}{by}{missing}", promise.as_str(), state.held.as_str());
            finding(level, "sandbox", text)
        })
        .collect()
}

fn plan(confinement: &Confinement) -> Finding {
    match confinement.sandbox().map(|sandbox| sandbox.status().write.held) {
        Ok(Enforcement::Enforced) => finding(Level::Ok, "plan mode", "commands run and cannot write"),
        Ok(Enforcement::Partial) => {
            finding(Level::Note, "plan mode", "commands run and cannot write; some attributes of files can be changed")
        }
        Ok(Enforcement::Advisory) | Err(_) => {
            finding(Level::Note, "plan mode", "commands do not run: the system cannot keep them from writing")
        }
    }
}

fn report(startup: &Startup, findings: &[Finding]) -> Result<u8, Failure> {
    if startup.args.output.object {
        let list: Vec<Value> = findings
            .iter()
            .map(|Finding { level, subject, text }| json!({"level": level.as_str(), "subject": subject, "text": text}))
            .collect();
        return print(&format!("{:#}\n", json!(list)));
    }
    let line = |finding: &Finding| format!("{:8} {:10} {}", finding.level.as_str(), finding.subject, finding.text);
    print(&findings.iter().map(|finding| line(finding) + "\n").collect::<String>())
}
