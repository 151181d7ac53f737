//! Compares the tools with the table of the conformance suites, if the suites are installed.

use std::path::PathBuf;

use serde_json::Value;
use sinew::base::CancelToken;
use sinew_llm::message::text_of;

use crate::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[("tools_match_the_conformance_table", tools_match_the_conformance_table)];

/// Cases in which Sinew deliberately differs, and how.
const DIFFER: &[(&str, &str)] = &[
    ("read_offset_out_of_bounds", "beyond the end is a result, not an error"),
    ("read_directory", "a folder is listed"),
    ("grep_with_limit", "the notice names the number that was shown"),
    ("ls_with_limit", "the notice names the number that was shown"),
    ("write_overwrites_existing", "a file that was not read is not overwritten"),
    ("edit_whitespace", "the diff is a unified one, without line numbers"),
    ("grep_line_numbers", "the path has a line of its own"),
];

fn tools_match_the_conformance_table() {
    let folder = std::env::var_os("SINEW_SUITES")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/suites")), PathBuf::from);
    let Ok(table) = std::fs::read_to_string(folder.join("agent_tools.json")) else {
        println!("no conformance suites in {}: nothing to compare", folder.display());
        return;
    };
    let table: Value = serde_json::from_str(&table).unwrap();
    let (mut passed, mut other, mut differ, mut failed) = (0, 0, Vec::new(), Vec::new());
    for case in table["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        // Flags and truncation are tested elsewhere.
        if matches!(case["tool"].as_str(), Some("cli_flags" | "truncation")) {
            other += 1;
            continue;
        }
        let reason = DIFFER.iter().find(|(known, _)| *known == name).map(|(_, reason)| reason);
        match (compare(case), reason) {
            (Ok(()), None) => passed += 1,
            (Err(fault), None) => failed.push(format!("{name}: {fault}")),
            (Err(_), Some(reason)) => differ.push(format!("{name}: {reason}")),
            (Ok(()), Some(_)) => failed.push(format!("{name}: agrees, but is listed as different")),
        }
    }
    println!("agent_tools: {passed} agree, {other} belong elsewhere, {} differ by contract:", differ.len());
    println!("  {}", differ.join("\n  "));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn compare(case: &Value) -> Result<(), String> {
    let stage = Stage::new();
    for step in case["setup"].as_array().into_iter().flatten() {
        let path = step["path"].as_str().unwrap();
        match step["type"].as_str() {
            Some("create_dir") => std::fs::create_dir_all(stage.cwd().join(path)).unwrap(),
            _ => stage.put(path, step["content"].as_str().unwrap()),
        }
    }
    let tool = case["tool"].as_str().unwrap();
    let output = stage.output(tool, case["input"].clone(), CancelToken::never());
    let (text, expect) = (text_of(&output.content), &case["expected"]);
    let error = case["expect_error"].as_bool().unwrap_or(false);
    if output.is_error != error {
        return Err(format!("error is {}: {text}", output.is_error));
    }
    let details = output.details.clone().unwrap_or_default().to_string();
    let contains = |list: &Value| {
        list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    for wanted in
        contains(&expect["content_contains"]).iter().chain(case["error_contains"].as_str().map(String::from).iter())
    {
        if !text.contains(wanted.as_str()) {
            return Err(format!("no {wanted:?} in {text:?}"));
        }
    }
    for unwanted in contains(&expect["content_not_contains"]) {
        if text.contains(&unwanted) {
            return Err(format!("{unwanted:?} in {text:?}"));
        }
    }
    for wanted in contains(&expect["details_contains"]) {
        if !details.contains(&wanted) {
            return Err(format!("no {wanted:?} in the details {details}"));
        }
    }
    if let Some(pattern) = expect["content_regex"].as_str()
        && !regex::Regex::new(pattern).unwrap().is_match(&text)
    {
        return Err(format!("{pattern:?} does not match {text:?}"));
    }
    effects(case, &stage)
}

/// Compares the disk with the expected state: the files of the case, changed as its input specifies.
fn effects(case: &Value, stage: &Stage) -> Result<(), String> {
    let input = &case["input"];
    if case["expect_error"].as_bool().unwrap_or(false) {
        return Ok(());
    }
    let path = input["path"].as_str().unwrap_or_default();
    match case["tool"].as_str() {
        Some("write") if stage.get(path) != input["content"].as_str().unwrap() => Err("the content differs".into()),
        Some("edit") if !stage.get(path).contains(input["newText"].as_str().unwrap()) => {
            Err(format!("the new text is not in {:?}", stage.get(path)))
        }
        _ => Ok(()),
    }
}
