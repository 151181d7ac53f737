//! Tests that a table of scripts has the same results in a new `bash -c`, `execute_shell`, and sessions of both
//! engines.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use crate::support::{self, options, supervisor};
use sinew_base::CancelToken;
use sinew_shell::{Engine, RunOptions, ShellOptions, direct};

const SCRIPTS: &str = include_str!("table/scripts.yaml");
const DIFFERENCES: &str = include_str!("table/differences.yaml");

/// The effects of a script: output, exit code or signal, and the files that it created.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    output: String,
    end: String,
    files: BTreeMap<String, Vec<u8>>,
}

type Way = fn(&str, &Path) -> (String, String);

#[test]
fn bash_once() {
    check("bash once", 0, |script, dir| shell_once(Engine::Bash, script, dir));
}

#[test]
fn bash_session() {
    check("bash session", 0, |script, dir| in_session(Engine::Bash, script, dir));
}

#[test]
fn brush_once() {
    check("brush once", 8, |script, dir| shell_once(Engine::Brush, script, dir));
}

#[test]
fn brush_session() {
    check("brush session", 9, |script, dir| in_session(Engine::Brush, script, dir));
}

#[test]
fn direct_once() {
    check("direct once", 0, |script, dir| {
        let run = RunOptions { command: script.to_string(), cwd: Some(dir.into()), ..RunOptions::default() };
        let mut output = String::new();
        let options = options(Engine::Bash);
        let result = direct::execute_shell(&supervisor(), &options, &run, &limit(), &mut |chunk| {
            output.push_str(&chunk);
            ControlFlow::Continue(())
        });
        (output, end(&result.unwrap()))
    });
}

#[test]
fn direct_session() {
    check("direct session", 0, |script, dir| {
        let options = ShellOptions { cwd: Some(dir.into()), ..options(Engine::Bash) };
        let shell = direct::Shell::new(supervisor(), options);
        // The previous run leaves nothing that a script could detect.
        shell.output(":\n:").unwrap();
        let mut output = String::new();
        let result = shell.run(&support::command(script), &limit(), &mut |chunk| {
            output.push_str(&chunk);
            ControlFlow::Continue(())
        });
        (output, end(&result.unwrap()))
    });
}

/// Every script has the same results as in a new bash, except for the listed ones, which are at most `percent` of all.
fn check(name: &str, percent: usize, way: Way) {
    let expected = expected();
    let lists: BTreeMap<String, BTreeMap<String, Vec<String>>> = serde_norway::from_str(DIFFERENCES).unwrap();
    let listed: Vec<String> = lists
        .get(name)
        .into_iter()
        .flat_map(BTreeMap::values)
        .flatten()
        .map(|script| format!("exec 2>/dev/null\n{script}"))
        .collect();
    for script in &listed {
        assert!(expected.contains_key(script), "listed, but not in the table: {script}");
    }
    assert!(expected.len() >= 300, "{} scripts", expected.len());
    assert!(listed.len() * 100 <= expected.len() * percent, "{} of {} are listed", listed.len(), expected.len());
    let scripts = expected.keys().filter(|script| !listed.contains(script));
    let failed: Vec<String> = in_parallel(scripts, |script| answer(way, script))
        .into_iter()
        .filter(|(script, got)| *got != expected[*script])
        .map(|(script, got)| {
            let text = script.trim_start_matches("exec 2>/dev/null\n");
            format!("{text}\n  bash: {:?}\n  here: {got:?}", expected[script])
        })
        .collect();
    assert!(failed.is_empty(), "{} of {} differ:\n\n{}\n", failed.len(), expected.len(), failed.join("\n\n"));
}

/// Returns the results of each script in a new bash. They are computed once for all tests.
fn expected() -> &'static BTreeMap<String, Answer> {
    static EXPECTED: OnceLock<BTreeMap<String, Answer>> = OnceLock::new();
    EXPECTED.get_or_init(|| {
        let table: BTreeMap<String, Vec<String>> = serde_norway::from_str(SCRIPTS).unwrap();
        let scripts = table.into_values().flatten().map(|script| format!("exec 2>/dev/null\n{script}"));
        in_parallel(scripts, |script| answer(fresh_bash, script)).into_iter().collect()
    })
}

/// Calls `work` for each item, in four threads.
fn in_parallel<T: Send, R: Send>(items: impl Iterator<Item = T> + Send, work: impl Fn(&T) -> R + Sync) -> Vec<(T, R)> {
    let (items, results) = (Mutex::new(items), Mutex::new(Vec::new()));
    let run = || {
        loop {
            let Some(item) = items.lock().unwrap().next() else { return };
            let result = work(&item);
            results.lock().unwrap().push((item, result));
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(run))));
    results.into_inner().unwrap()
}

fn answer(way: Way, script: &str) -> Answer {
    let dir = tempfile::tempdir().unwrap();
    let (output, end) = way(script, dir.path());
    let files = std::fs::read_dir(dir.path()).unwrap().flatten().map(|entry| {
        (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap_or_default())
    });
    let place = dir.path().to_str().unwrap();
    Answer { output: output.replace(place, "DIR"), end, files: files.collect() }
}

fn fresh_bash(script: &str, dir: &Path) -> (String, String) {
    use std::os::unix::process::ExitStatusExt;
    let output = support::bash(script).current_dir(dir).stderr(Stdio::null()).output().unwrap();
    let end = match output.status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("exit {}", output.status.code().unwrap()),
    };
    (String::from_utf8_lossy(&output.stdout).into_owned(), end)
}

fn end(result: &sinew_shell::RunResult) -> String {
    match (result.exit_code, result.signal) {
        (Some(code), _) => format!("exit {code}"),
        (_, Some(signal)) => signal.to_string(),
        _ => format!("{result:?}"),
    }
}

fn limit() -> CancelToken {
    CancelToken::never().with_timeout(Duration::from_secs(60))
}

fn shell_once(engine: Engine, script: &str, dir: &Path) -> (String, String) {
    let run = RunOptions { command: script.to_string(), cwd: Some(dir.into()), ..RunOptions::default() };
    let (result, output) = support::once(engine, &run, &limit());
    (output, end(&result))
}

fn in_session(engine: Engine, script: &str, dir: &Path) -> (String, String) {
    let options = ShellOptions { cwd: Some(dir.into()), ..options(engine) };
    let shell = sinew_shell::Shell::new(supervisor(), options);
    // The previous run leaves nothing that a script could detect.
    shell.output(":\n:").unwrap();
    let (result, output) = support::run(&shell, &support::command(script), &limit());
    (output, end(&result))
}
