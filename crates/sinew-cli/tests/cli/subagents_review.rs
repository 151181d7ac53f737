//! `/review`: a subagent looks for faults in a change.

use serde_json::{Value, json};

use crate::client::Client;
use crate::lanes::{says, turn};
use crate::stage::Stage;
use crate::terminal::{Terminal, enter, has, left};

/// A session whose reviewer finds two faults, and whose model has one answer.
fn stage(answer: &[Value]) -> Stage {
    let finding = |lines: &str, severity: &str, claim: &str| json!({"file": "a.txt", "lines": lines, "severity": severity, "claim": claim, "evidence": "it was read"});
    let findings = [finding("1", "low", "the name is short"), finding("2-3", "high", "the text is lost")];
    let review = json!({"summary": "Two faults.", "findings": findings});
    let script = json!({"type": "script", "version": 1, "onExhausted": "error"});
    let asked = turn(
        "Review",
        json!({"expect": {"anyContains": "+++ b/a.txt"},
            "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": review}}}]}),
    );
    let stage = Stage::scripted(&[&[script, asked], answer].concat());
    stage.write("project/fix.patch", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n");
    stage
}

/// An answer to a request with the findings of the review.
fn knows_the_findings() -> Value {
    turn(
        "main",
        json!({"expect": {"anyContains": "a.txt:2-3 · high · the text is lost"}, "content": [{"text": "Fixed."}]}),
    )
}

#[test]
fn the_findings_are_text_or_data_with_the_most_severe_first() {
    let ran = stage(&[]).play(&["-p", "/review fix.patch"]);
    let expected = "Two faults.\n\na.txt:2-3 · high · the text is lost\nit was read\n\n\
                    a.txt:1 · low · the name is short\nit was read\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected), "{}", ran.stderr);
    let ran = stage(&[]).play(&["-p", "/review fix.patch", "--output", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let lines: Vec<&Value> =
        report["structuredOutput"]["findings"].as_array().unwrap().iter().map(|finding| &finding["lines"]).collect();
    assert_eq!(lines, ["2-3", "1"]);
    assert_eq!(
        (&report["subagents"][0]["id"], &report["subagents"][0]["state"]),
        (&json!("Review"), &json!("completed"))
    );
    // The tokens of children are not those of the session itself.
    assert_eq!((&report["usage"]["total"], &report["turns"]), (&json!(0), &json!(0)));
}

#[test]
fn a_client_gets_the_findings_and_the_model_knows_them() {
    let stage = stage(&[knows_the_findings()]);
    let mut client = Client::scripted(&stage, &[]);
    let review = client.data("review", json!({"what": "fix.patch"}));
    assert_eq!(review["findings"][0]["claim"], "the text is lost");
    client.prompt("fix the first one");
    let answers = client.data("get_last_assistant_text", json!({}));
    assert_eq!(answers["text"], "Fixed.");
    let error = client.fails("review", json!({"what": "nothing"}));
    assert!(error.starts_with("/review: "), "{error}");
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn a_review_without_a_result_is_an_error() {
    let script = json!({"type": "script", "version": 1, "onExhausted": "error"});
    let silent: Vec<Value> = std::iter::repeat_n(says("Review", "I see."), 4).collect();
    let stage = Stage::scripted(&[&[script], &silent[..]].concat());
    stage.write("project/fix.patch", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n");
    let ran = stage.play(&["-p", "/review fix.patch"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("/review: the reviewer is failed: it handed in no result"), "{}", ran.stderr);
}

#[test]
fn a_finding_of_the_panel_becomes_a_prompt() {
    let stage = stage(&[knows_the_findings()]);
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], (90, 28));
    terminal.until_shown("ready");
    enter(&mut terminal, "/review fix.patch");
    terminal
        .until(|rows| has(rows, "Findings of the review") && has(rows, "→ a.txt:2-3") && has(rows, "  │ it was read"));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "› Fix a.txt:2-3: the text is lost"));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "Fixed.") && has(rows, "ready"));
    left(terminal);
}
