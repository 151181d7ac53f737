//! The manual page, checked with two formatters.

use std::process::Command;

use crate::stage::Stage;

/// Runs a formatter on the page; returns its output and its warnings. Returns `None` if it is not installed.
#[expect(clippy::disallowed_methods, reason = "a test prints no API keys")]
fn format(stage: &Stage, program: &str, args: &[&str]) -> Option<(String, String)> {
    let mut command = Command::new(program);
    command.args(args).arg("sinew.1").current_dir(stage.project()).env_clear().env("LC_ALL", "C.UTF-8");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", stage.path("home"));
    let ran = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let name = std::thread::current().name().unwrap_or_default().to_string();
            // Written directly, because the test harness hides the output of tests that pass.
            let line = format!("skipped: {name}: {program} is not installed\n");
            std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
            return None;
        }
        ran => ran.unwrap(),
    };
    Some((String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap()))
}

fn paged() -> Stage {
    let stage = Stage::new();
    let ran = stage.run(&["man"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.is_ascii());
    stage.write("project/sinew.1", &ran.stdout);
    stage
}

/// Returns the words of a text, without the marks of bold print: a character, a backspace, the character again.
fn words(text: &str) -> String {
    let mut plain = String::new();
    for char in text.chars() {
        if char == '\u{8}' { plain.pop().map_or((), drop) } else { plain.push(char) }
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn both_formatters_accept_the_manual_page_without_warnings() {
    let stage = paged();
    // A date would say when the program was built, and two builds of one version would differ.
    if let Some((complaints, _)) = format(&stage, "mandoc", &["-T", "lint", "-W", "warning"]) {
        let others: Vec<_> = complaints.lines().filter(|line| !line.contains("missing date")).collect();
        assert_eq!(others, [""; 0]);
    }
    let args = ["--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l"];
    if let Some((_, complaints)) = format(&stage, "man", &args) {
        assert_eq!(complaints, "");
    }
}

#[test]
fn the_manual_page_contains_everything_in_the_help() {
    let stage = paged();
    let help = stage.run(&["--help"]).stdout;
    let Some((page, _)) = format(&stage, "mandoc", &["-T", "utf8", "-O", "width=200"]) else { return };
    let page = words(&page);
    let (lists, paragraphs) = help.split_once("\nSinew looks for an API key").unwrap();
    let mut seen = 0;
    for line in lists.lines().filter(|line| line.starts_with("  ")) {
        // Some flags are on a separate line above their description.
        for part in line.trim().splitn(2, "   ").map(words) {
            seen += 1;
            assert!(page.contains(&part), "{part}");
        }
    }
    assert!(seen > 100, "{seen}");
    for paragraph in paragraphs.split("\n\n").skip(1) {
        assert!(page.contains(&words(paragraph)), "{paragraph}");
    }
}
