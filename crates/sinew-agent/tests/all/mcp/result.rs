use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use sinew::base::CancelToken;
use sinew_agent::core::Catalogue;
use sinew_agent::mcp::cache::Cache;
use sinew_agent::mcp::{SessionParts, SessionServers};
use sinew_llm::message::Block;
use sinew_mcp::model::{Resource, ResourceBody};
use sinew_mcp::{Content, ToolResult};
use sinew_session::artifacts::Artifacts;
use sinew_tools::tool::{Call, ToolOutput, Updates};

use crate::mcp::stage::{Behaviour, World, entries, manager, text};

/// An image of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Calls a tool whose server answers with `result`; returns the output and the artifacts of the session.
async fn output(result: ToolResult) -> (ToolOutput, Arc<Artifacts>) {
    let mut server = Behaviour::with(&["t"]);
    server.result = Some(result);
    let world = World::new(&[("s", server)]);
    let all = manager(&world, Cache::in_memory(), &entries(&["s"]));
    all.connect("s").await.unwrap();
    let artifacts = Arc::new(Artifacts::temporary());
    let session = SessionServers::new(SessionParts {
        manager: Arc::clone(&all),
        artifacts: Arc::clone(&artifacts),
        secrets: None,
        resize: true,
        excluded: Vec::new(),
        only: None,
        recorded: None,
    });
    let call = Call {
        id: "1".into(),
        arguments: json!({}),
        cwd: "/".into(),
        session: "s".into(),
        cancel: CancelToken::never(),
        updates: Updates::none(),
    };
    (session.find("mcp_s_t").unwrap().execute(call).await.unwrap(), artifacts)
}

fn of(content: Vec<Content>) -> ToolResult {
    ToolResult { content, ..ToolResult::default() }
}

fn picture() -> Content {
    Content::Image { data: PIXEL.into(), mime: "image/png".into() }
}

fn pictures(output: &ToolOutput) -> usize {
    output.content.iter().filter(|block| matches!(block, Block::Image(_))).count()
}

async fn says(content: Vec<Content>, expect: &str) {
    let (output, _) = output(of(content)).await;
    assert_eq!(text(&output), expect);
}

#[tokio::test]
async fn each_kind_of_content_reaches_the_model() {
    let resource = |body| Content::Resource(Resource { uri: "note://1".into(), mime: "text/plain".into(), body });
    says(vec![Content::Text("a".into()), Content::Text("b".into())], "a\nb").await;
    says(Vec::new(), "(no output)").await;
    says(vec![resource(ResourceBody::Text("hi".into()))], "[resource note://1]\nhi").await;
    let link = Content::Link { uri: "note://2".into(), name: "two".into(), mime: "text/plain".into() };
    says(vec![link], "[resource note://2 (text/plain) two; read mcp://s/note://2]").await;
    says(vec![Content::Other("smell".into())], "[content of the unknown type \"smell\"]").await;
    let broken = Content::Image { data: "?".into(), mime: "image/png".into() };
    says(vec![broken], "[a picture (image/png) that cannot be decoded]").await;
    let (output, _) = output(of(vec![picture()])).await;
    assert_eq!((text(&output).as_str(), pictures(&output)), ("Picture [image/png] 1x1", 1));
}

#[tokio::test]
async fn audio_and_blobs_are_saved_unchanged() {
    let audio = Content::Audio { data: "AAECAw==".into(), mime: "audio/wav".into() };
    let (output, artifacts) = output(of(vec![audio])).await;
    assert_eq!(text(&output), "[audio audio/wav, 4 B: artifact://0]");
    assert_eq!(std::fs::read(artifacts.find(0).unwrap()).unwrap(), [0, 1, 2, 3]);
}

#[tokio::test]
async fn at_most_eight_images_of_a_result_are_shown() {
    let (output, _) = output(of(vec![picture(); 40])).await;
    assert_eq!(pictures(&output), 8);
    assert!(text(&output).ends_with("[32 more pictures are left out; a result shows 8]"), "{}", text(&output));
}

#[tokio::test]
async fn structured_content_becomes_text_only_if_there_is_no_other_content() {
    let structured = |content| ToolResult {
        content,
        structured: Some(to_raw_value(&json!({"n": 1})).unwrap()),
        ..ToolResult::default()
    };
    for (content, expect) in [(Vec::new(), "{\"n\":1}"), (vec![Content::Text("one".into())], "one")] {
        let (output, _) = output(structured(content)).await;
        assert_eq!(text(&output), expect);
        assert_eq!(output.details.unwrap()["structured"], json!({"n": 1}));
    }
}

#[tokio::test]
async fn a_failed_tool_returns_an_error() {
    let failed =
        ToolResult { content: vec![Content::Text("no such note".into())], is_error: true, ..ToolResult::default() };
    let (output, _) = output(failed).await;
    assert_eq!((text(&output).as_str(), output.is_error), ("Error: no such note", true));
}

#[tokio::test]
async fn long_results_are_truncated_and_saved_in_full() {
    let lines: String = (0..6000).map(|n| format!("line {n}\n")).collect();
    let long_line = "x".repeat(51 * 1024);
    for (sent, shown) in [(lines.clone(), "line 1999"), (long_line, "xxx")] {
        let (output, artifacts) = output(of(vec![Content::Text(sent.clone())])).await;
        let read = text(&output);
        let (head, note) = read.rsplit_once('\n').unwrap();
        assert!(head.len() <= 50 * 1024 && head.lines().count() <= 2000 && head.ends_with(shown), "{}", head.len());
        assert!(note.starts_with("[Output cut: ") && note.ends_with("Full: artifact://0]"), "{note}");
        assert_eq!(std::fs::read_to_string(artifacts.find(0).unwrap()).unwrap(), sent);
        let meta: &Value = &output.details.as_ref().unwrap()["meta"]["truncation"];
        assert_eq!((&meta["artifactId"], &meta["totalBytes"]), (&json!("0"), &json!(sent.len())));
    }
}
