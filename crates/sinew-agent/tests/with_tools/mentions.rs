//! Tests attached files, and how much of them counts as read by the model.

use serde_json::json;
use sinew::base::CancelToken;
use sinew_agent::context::{PromptFacts, PromptTool, system_prompt};
use sinew_agent::resource::{Attacher, ResourceFolders};
use sinew_tools::ImageSettings;

use crate::stage::Stage;

pub(crate) const CASES: &[crate::Case] = &[
    ("a_mentioned_file_counts_as_read", a_mentioned_file_counts_as_read),
    ("definitions_are_small", definitions_are_small),
];

fn a_mentioned_file_counts_as_read() {
    let stage = Stage::new();
    let mention = |name: &str| {
        let (cwd, home) = (stage.cwd(), None);
        let folders = ResourceFolders { project: cwd.join(".sinew"), agent: cwd.join("agent"), cwd, home };
        let (images, host) = (ImageSettings::default(), Some(&*stage.host));
        let attacher = Attacher { folders: &folders, images, cancel: CancelToken::never(), host };
        attacher.one(name).unwrap();
    };
    let write = |path: &str| stage.call("write", json!({"path": path, "content": "new\n"}));
    let changed = |path: &str| format!("File changed on disk since it was last read: {path}. Read it again.");
    stage.put("a", "one\r\ntwo");
    assert_eq!(write("a").0, "File exists and was not read in this session: a. Read it first, or use edit.");
    mention("./a");
    stage.put("a", "one\r\ntwo\r\nthree");
    assert_eq!(write("a"), (changed("a"), true));
    // The model has not seen the new text, so an edit must not treat it as read.
    stage.fails("edit", json!({"path": "a", "oldText": "zero", "newText": "x"}), &changed("a"));
    mention("a");
    let (text, failed) = stage.call("edit", json!({"path": "a", "oldText": "one", "newText": "x"}));
    assert_eq!((text.as_str(), failed), ("Applied 1 edit to a.", false));
    let kept = "Successfully wrote 5 bytes to a\n[The file keeps its CRLF line ends.]";
    assert_eq!(write("a"), (kept.into(), false));
    // Only the beginning of a long file counts as read.
    let long = |last: &str| format!("\u{feff}{}{last}", "line\n".repeat(5_000));
    stage.put("long", long("end"));
    mention("long");
    stage.put("long", long("other end"));
    let note = "[The file changed on disk since it was read, but not in the lines that were shown.]";
    assert!(write("long").0.ends_with(note), "{:?}", write("long"));
    stage.put("long", long("end"));
    mention("long");
    stage.put("long", format!("other {}", long("end")));
    assert_eq!(write("long"), (changed("long"), true));
    // If the first line is too long, only the hash of the file counts as read.
    stage.put("wide", "x".repeat(200_000));
    mention("wide");
    assert_eq!(write("wide"), ("Successfully wrote 4 bytes to wide".into(), false));
}

fn definitions_are_small() {
    let stage = Stage::new();
    let facts = PromptFacts {
        tools: stage.tools.iter().map(PromptTool::from).collect(),
        date: "2026-01-31".into(),
        cwd: "/home/me/project".into(),
        platform: "linux x86_64".into(),
        shell: "bash".into(),
        branch: Some("main".into()),
        ..PromptFacts::default()
    };
    let prompt: usize = system_prompt(&facts).iter().map(String::len).sum();
    let tools: usize = stage
        .tools
        .iter()
        .map(|tool| tool.name().len() + tool.description().len() + tool.parameters().to_string().len())
        .sum();
    println!("system prompt {} tokens, tools {} tokens", prompt / 4, tools / 4);
    assert!((prompt + tools) / 4 <= 2_500);
}
