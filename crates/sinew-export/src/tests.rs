//! Complete pages, parsed by the tokenizer of a browser engine.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use proptest::prelude::*;
use serde_json::{Value, json};
use sinew_session::clock::FixedClock;
use sinew_session::{Blobs, Session, SessionOptions, Sync};

use super::*;

/// The elements of a page, as a browser parses them.
#[derive(Default)]
struct Read {
    open: RefCell<Vec<String>>,
    text: RefCell<String>,
    /// The names of tag and attribute, and the value.
    attributes: RefCell<Vec<[String; 3]>>,
}

const VOID: [&str; 5] = ["meta", "input", "br", "hr", "img"];
/// Elements that a paragraph cannot contain: a browser would end it before them.
const BLOCKS: [&str; 13] =
    ["p", "div", "pre", "ul", "ol", "table", "details", "section", "article", "h3", "h4", "blockquote", "hr"];

impl TokenSink for Read {
    type Handle = ();

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => return self.tag(&tag, line),
            Token::CharacterTokens(text) => {
                let in_style = self.open.borrow().last().is_some_and(|name| name == "style");
                if !in_style {
                    self.text.borrow_mut().push_str(&text);
                }
            }
            Token::ParseError(error) => panic!("line {line}: {error}"),
            Token::CommentToken(text) => panic!("line {line}: the comment {text:?}"),
            Token::NullCharacterToken => panic!("line {line}: NUL"),
            Token::DoctypeToken(_) | Token::EOFToken => {}
        }
        TokenSinkResult::Continue
    }
}

impl Read {
    fn tag(&self, tag: &Tag, line: u64) -> TokenSinkResult<()> {
        let name = tag.name.to_string();
        let mut open = self.open.borrow_mut();
        if tag.kind == TagKind::EndTag {
            assert_eq!(open.pop().as_ref(), Some(&name), "line {line}");
            return TokenSinkResult::Continue;
        }
        assert!(name != "script" && !(BLOCKS.contains(&&*name) && open.contains(&"p".into())), "line {line}: {name}");
        assert!(!(name == "a" && open.contains(&"a".into())), "line {line}: a link in a link");
        for attribute in &tag.attrs {
            let attribute = [name.clone(), attribute.name.local.to_string(), attribute.value.to_string()];
            self.attributes.borrow_mut().push(attribute);
        }
        if !VOID.contains(&&*name) {
            open.push(name.clone());
        }
        match name.as_str() {
            "style" => TokenSinkResult::RawData(RawKind::Rawtext),
            "title" => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}

/// The attributes that a page may have; none of them runs code.
const ATTRIBUTES: [&str; 20] = [
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "href",
    "id",
    "for",
    "type",
    "checked",
    "aria-label",
    "rel",
    "src",
    "alt",
    "datetime",
    "title",
    "start",
    "dir",
    "hidden",
];

/// Parses a page strictly and returns its text and its attributes.
#[track_caller]
fn read(page: &str) -> (String, Vec<[String; 3]>) {
    let options = TokenizerOpts { exact_errors: true, ..TokenizerOpts::default() };
    let tokenizer = Tokenizer::new(Read::default(), options);
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(page));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    let Read { open, text, attributes } = tokenizer.sink;
    assert_eq!(open.into_inner(), Vec::<String>::new());
    let attributes = attributes.into_inner();
    let ids: Vec<&str> = attributes.iter().filter(|[_, name, _]| name == "id").map(|[_, _, id]| &**id).collect();
    for [tag, name, value] in &attributes {
        assert!(ATTRIBUTES.contains(&&**name), "<{tag} {name}={value:?}>");
        match name.as_str() {
            "href" => {
                let inside = value.strip_prefix('#').is_some_and(|to| ids.contains(&to));
                let lower = value.to_ascii_lowercase();
                let outside = ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
                assert!(inside || outside, "{value}");
            }
            "src" => assert!(
                super::block::PICTURES.iter().any(|kind| value.starts_with(&format!("data:{kind};base64,"))),
                "{value}"
            ),
            _ => {}
        }
    }
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "an id stands twice");
    (text.into_inner(), attributes)
}

struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Stage {
        Stage { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, lines: &[String]) -> PathBuf {
        let path = self.path().join("s.jsonl");
        let header = json!({"type": "session", "version": 3, "id": "aa", "timestamp": "2026-01-31T09:30:00.000Z",
            "cwd": "/work", "title": "A title"});
        std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
        path
    }

    fn options(&self) -> SessionOptions {
        SessionOptions {
            cwd: self.path().into(),
            blobs: Some(Blobs::new(self.path().join("blobs"))),
            sync: Sync::Never,
            clock: Arc::new(FixedClock::at(1_769_851_800_000)),
            mask: None,
        }
    }

    fn view(&self, lines: &[String]) -> Session {
        Session::view(&self.file(lines), self.options()).unwrap().session
    }

    #[track_caller]
    fn page(&self, lines: &[String], options: &Options<'_>) -> String {
        let mut out = Vec::new();
        write(&self.view(lines), options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Returns the text of the page of these entries, each a child of the previous one unless it has another parent.
    #[track_caller]
    fn text(&self, entries: &[Value]) -> String {
        read(&self.page(&chained(entries), &Options::default())).0
    }
}

fn chained(entries: &[Value]) -> Vec<String> {
    let mut before = Value::Null;
    let mut lines = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let mut entry = entry.clone();
        let fields = entry.as_object_mut().unwrap();
        fields.entry("id").or_insert_with(|| format!("{at:08x}").into());
        fields.entry("parentId").or_insert(before);
        fields.entry("timestamp").or_insert_with(|| "2026-01-31T09:30:00.000Z".into());
        before = fields["id"].clone();
        lines.push(entry.to_string());
    }
    lines
}

fn user(text: &str) -> Value {
    json!({"type": "message", "message": {"role": "user", "content": text}})
}

fn assistant(content: &Value) -> Value {
    json!({"type": "message", "message": {"role": "assistant", "provider": "p", "model": "m", "content": content}})
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments})
}

fn result(id: &str, text: &str) -> Value {
    json!({"type": "message", "message": {"role": "toolResult", "toolCallId": id, "toolName": "t",
        "content": [{"type": "text", "text": text}], "isError": false}})
}

/// Checks that the page contains every text of `expect` in this order.
#[track_caller]
fn in_order(text: &str, expect: &[&str]) {
    let mut rest = text;
    for word in expect {
        let at = rest.find(word).unwrap_or_else(|| panic!("{word:?} is not in {rest:?}"));
        rest = &rest[at + word.len()..];
    }
}

/// Returns the text after the map.
fn body(text: &str) -> &str {
    &text[text.find("A title\n\nSession").unwrap()..]
}

#[test]
fn a_conversation_is_exported_in_order() {
    let text = Stage::new().text(&[
        json!({"type": "thinking_level_change", "thinkingLevel": "high"}),
        user("please look"),
        assistant(&json!([
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I **look**"},
            call("a", "bash", &json!({"command": "ls -l"})),
            call("b", "edit", &json!({"path": "x.rs", "oldText": "let a;", "newText": "let b;"})),
        ])),
        result("a", "total 0"),
        result("b", "Applied"),
        assistant(&json!([{"type": "text", "text": "done"}])),
        json!({"type": "compaction", "summary": "what was", "firstKeptEntryId": "00000005", "tokensBefore": 1234}),
        json!({"type": "message", "message": {"role": "bashExecution", "command": "true", "output": "out", "exitCode": 3,
            "cancelled": false, "truncated": false}}),
    ]);
    let order = [
        "Folder",
        "/work",
        "high",
        "1 prompt, 2 answers, 2 tool calls, 1 compaction",
        "You",
        "please look",
        "m",
        "Thinking",
        "hm",
        "I look",
        "bash",
        "$ ls -l",
        "total 0",
        "edit",
        "x.rs",
        "let a;",
        "let b;",
        "Applied",
        "done",
        "Compacted from 1,234 tokens",
        "what was",
        "$ true",
        "exit 3",
        "out",
    ];
    in_order(body(&text), &order);
}

#[test]
fn every_branch_is_on_the_page() {
    let from = |parent: Value, entry: Value| {
        let mut entry = entry;
        entry["parentId"] = parent;
        entry
    };
    let text = Stage::new().text(&[
        user("root"),
        user("left 1"),
        user("left 2"),
        from("00000001".into(), user("left of left")),
        from("00000000".into(), user("right 1")),
        json!({"type": "label", "targetId": "00000002", "label": "a mark"}),
        user("right 2"),
        from(Value::Null, user("another root")),
        from("00000006".into(), user("the end")),
    ]);
    in_order(
        body(&text),
        &[
            "another root",
            "root",
            "Another branch",
            "Begins behind 00000000",
            "left 1",
            "left of left",
            "Begins behind 00000001",
            "a mark",
            "left 2",
            "right 1",
            "Label",
            "a mark on 00000002",
            "right 2",
            "the end",
        ],
    );
}

#[test]
fn results_are_shown_with_their_calls_or_alone() {
    let stage = Stage::new();
    let text = stage.text(&[
        assistant(&json!([call("a", "one", &json!({"x": 1})), call("b", "two", &json!({}))])),
        result("b", "answer of b"),
        result("b", "again of b"),
        result("gone", "of nobody"),
        assistant(&json!([call("a", "three", &json!([1]))])),
        result("a", "answer of a"),
    ]);
    in_order(
        body(&text),
        &["one", "x 1", "no result", "two", "answer of b", "again of b", "of nobody", "three", "answer of a"],
    );
}

#[test]
fn any_session_file_exports_to_a_page() {
    let stage = Stage::new();
    let text = stage.text(&[
        json!({"type": "from the future", "words": "<b>"}),
        json!({"type": "message", "message": {"role": "nobody", "content": 7}}),
        json!({"type": "message", "id": "</a> \"x", "message": {"role": "user", "content": []}}),
        assistant(&json!([{"type": "hologram", "depth": 3}])),
        json!({"type": "custom", "customType": "k", "data": {"deep": [null]}}),
        json!({"type": "prune", "toolCallIds": ["a"], "tokens": 5}),
        json!({"type": "label", "targetId": "nowhere"}),
        json!({"type": "session_init", "systemPrompt": "be good", "task": "look", "tools": ["ls"]}),
    ]);
    in_order(
        body(&text),
        &["from the future", "<b>", "nobody", "hologram", "State of", "1 result of tools", "look", "be good"],
    );
    let text = stage.text(&[]);
    assert!(text.contains("Nothing was said in this session."), "{text}");
    let lines = [
        "{\"type\":\"message\",\"id\":\"1\",\"parentId\":\"2\",\"message\":{\"role\":\"user\",\"content\":\"in a circle\"}}",
        "{\"type\":\"message\",\"id\":\"2\",\"parentId\":\"1\",\"message\":{\"role\":\"user\",\"content\":\"too\"}}",
        "{\"type\":\"message\",\"id\":\"3\",\"parentId\":\"gone\",\"message\":{\"role\":\"user\",\"content\":\"orphan\"}}",
        "{\"type\":\"message\",\"id\":\"4\",\"parentId\":\"3\",\"message\":{\"role\":\"user\",\"content\":\"half \\ud800\"}}",
        "no json",
    ];
    let page = stage.page(&lines.map(String::from), &Options::default());
    in_order(&read(&page).0, &["in a circle", "too", "orphan"]);
}

#[test]
fn only_images_are_embedded() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.path().join("blobs")).unwrap();
    std::fs::write(stage.path().join("blobs").join("a".repeat(64)), "picture").unwrap();
    let image = |data: &str, kind: &str| json!({"type": "image", "data": data, "mimeType": kind});
    let lines = chained(&[json!({"type": "message", "message": {"role": "user", "content": [
        image("AAAA", "image/png"),
        image(&format!("blob:sha256:{}", "a".repeat(64)), "image/webp"),
        image(&format!("blob:sha256:{}", "b".repeat(64)), "image/png"),
        image("PHN2Zz4=", "image/svg+xml"),
        image("PGI+", "text/html"),
        image("\" onerror=\"alert(1)", "image/png"),
        image("AAAA", "image/png\" onerror=\"alert(1)"),
    ]}})]);
    let (text, attributes) = read(&stage.page(&lines, &Options::default()));
    let sources: Vec<&str> =
        attributes.iter().filter(|[_, name, _]| name == "src").map(|[_, _, value]| &**value).collect();
    assert_eq!(sources, ["data:image/png;base64,AAAA", "data:image/webp;base64,cGljdHVyZQ=="]);
    in_order(&text, &["[image missing]", "type image/svg+xml", "type text/html", "cannot be read", "onerror"]);
}

#[test]
fn the_content_policy_allows_only_the_pages_own_style() {
    let page = Stage::new().page(&[], &Options::default());
    let (_, attributes) = read(&page);
    let policy = attributes.iter().find(|[_, _, value]| value.starts_with("default-src 'none'")).unwrap();
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    let hash = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        <sha2::Sha256 as sha2::Digest>::digest(style),
    );
    assert_eq!(
        policy[2],
        format!("default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'")
    );
    assert!(!style.contains("url(") && !style.contains("@import"));
}

#[test]
fn values_are_hidden_in_every_field() {
    let secrets = Secrets::new(Box::new(|| [7; 32]), Vec::new());
    let key = "sk-very-secret-value";
    secrets.add(key);
    let lines = chained(&[
        user(key),
        assistant(&json!([
            {"type": "thinking", "thinking": key},
            {"type": "text", "text": format!("`{key}` [x](https://h/?{key})\n\n```\n{key}\n```\n|a|\n|-|\n|{key}|")},
            call("a", "bash", &json!({"command": format!("echo {key}"), key: key, "deep": {key: [key]}})),
        ])),
        result("a", &format!("{}\n{key}\x1b[1m", &"x\n".repeat(11))),
        json!({"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "sk-very"},
            {"type": "text", "text": "-secret-value"}]}}),
        json!({"type": "label", "targetId": "00000000", "label": key}),
        json!({"type": "custom", "customType": key, "data": {key: key}}),
        json!({"type": key, key: key}),
        json!({"type": "session_info", "title": key}),
    ]);
    let tools = [Tool { name: key.into(), description: key.into(), parameters: json!({key: key}) }];
    let options = Options { secrets: Some(&secrets), system: Some(key), tools: &tools, made_by: key };
    let page = Stage::new().page(&lines, &options);
    assert!(read(&page).0.matches("<<$env:S").count() > 20);
    assert!(!page.contains("very-secret") && !page.contains("sk-very") && !page.contains("-secret-value"), "{page}");
}

#[test]
fn a_page_replaces_a_page_but_never_a_session() {
    let stage = Stage::new();
    let session = stage.view(&chained(&[user("hello")]));
    let run = |to: Option<&str>| {
        let to = to.map(Path::new);
        export(&session, &Options::default(), stage.path(), to).map_err(|error| error.message().to_string())
    };
    let page = stage.path().join("sinew-session-s.html");
    assert_eq!(run(None), Ok(page.clone()));
    assert_eq!(run(Some("sinew-session-s.html")), Ok(page.clone()));
    assert_eq!(run(Some(".")), Ok(stage.path().join(".").join("sinew-session-s.html")));
    assert!(read(&std::fs::read_to_string(&page).unwrap()).0.contains("hello"));
    #[track_caller]
    fn refused(result: Result<PathBuf, String>, why: &str) {
        assert!(result.as_ref().is_err_and(|error| error.contains(why)), "{result:?}");
    }
    refused(run(Some("s.jsonl")), "it is the session itself");
    std::fs::copy(stage.path().join("s.jsonl"), stage.path().join("other.txt")).unwrap();
    refused(run(Some("other.txt")), "it is a session; name another file");
    refused(run(Some("no/folder.html")), "failed to write");
    refused(run(Some("/dev/null")), "it is there and no file");
    assert_eq!(session.entry("00000000").unwrap().id, "00000000");
    let left: Vec<_> = std::fs::read_dir(stage.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    let memory = Session::in_memory(stage.options());
    let error = export(&memory, &Options::default(), stage.path(), None).unwrap_err();
    assert_eq!(error.message(), "Cannot export in-memory session to HTML");
}

#[test]
fn quoted_paths_are_accepted() {
    let cases = [
        ("\"my file.html\" ", "my file.html"),
        ("'a'", "a"),
        (" a b ", "a b"),
        ("\"a'", "\"a'"),
        ("\"", "\""),
        ("", ""),
    ];
    for (given, expect) in cases {
        assert_eq!(unquoted(given), expect, "{given}");
    }
}

/// Texts with many characters that are special in some context.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "</style><script>alert(1)</script>",
        "<!--",
        "-->",
        "]]>",
        "\" onclick=\"x",
        "' x='",
        "&lt;",
        "&#60;b&#62;",
        "<b>",
        "</p>",
        "</div></details></main>",
        "```",
        "```html\n",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "|a|b|\n|-|-|\n|c|d|\n",
        "[x](javascript:y)",
        "[x](https://y \"t\")",
        "![x](data:text/html,y)",
        "<https://x>",
        "<a@b.c>",
        "\0",
        "\x1b[31m",
        "\u{202e}",
        "\u{fffe}",
        "\r",
        "`",
        "**",
        "~~",
        "# ",
        "\\",
        "<svg/onload=x>",
        "<pre>",
        "\u{2028}",
        "1:",
        "@@ -1 +1 @@\n",
        "+",
        "word",
        "é",
        "💥",
    ]);
    let random = prop_oneof![4 => pieces.prop_map(String::from), 1 => any::<String>()];
    prop::collection::vec(random, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn text_in_any_field_never_becomes_markup(texts in prop::collection::vec(hostile(), 8)) {
        let [a, b, c, d, e, f, g, h] = &texts[..] else { unreachable!() };
        let lines = chained(&[
            user(a),
            json!({"type": "message", "id": format!("x{b}"), "timestamp": c, "message": {"role": "assistant", "provider": d, "model": e,
                "stopReason": "error", "errorMessage": f, "content": [
                    {"type": "thinking", "thinking": g}, {"type": "text", "text": h},
                    call(a, "bash", &json!({"command": b, c: d})),
                    call("w", "write", &json!({"path": format!("x.{e}"), "content": f})),
                    call("e", "edit", &json!({"path": g, "oldText": h, "newText": a, "edits": [{"oldText": b, "newText": c}, d]})),
                    call(e, f, &json!({g: [h]})),
                    {"type": "image", "data": a, "mimeType": b}]}}),
            result(a, c),
            json!({"type": "message", "message": {"role": "toolResult", "toolCallId": "e", "toolName": d, "content": [{"type": "text", "text": e}],
                "details": {"diff": f}, "isError": true}}),
            result("?", g),
            json!({"type": "label", "targetId": "00000000", "label": h}),
            json!({"type": "compaction", "summary": a, "shortSummary": b, "firstKeptEntryId": c, "details": {"readFiles": [d]}}),
            json!({"type": "branch_summary", "fromId": e, "summary": f}),
            json!({"type": "custom_message", "customType": g, "content": h, "display": true}),
            json!({"type": "message", "message": {"role": "bashExecution", "command": a, "output": b, "cancelled": true, "truncated": true,
                "fullOutputPath": c}}),
            json!({"type": "message", "message": {"role": "fileMention", "files": [{"path": format!("{d}.{e}"), "content": f}]}}),
            json!({"type": g, "parentId": "00000000", h: a}),
            json!({"type": "model_change", "model": b, "role": c}),
            json!({"type": "session_info", "title": d}),
        ]);
        let tools = [Tool { name: e.clone(), description: f.clone(), parameters: json!({g: h}) }];
        let options = Options { secrets: None, system: Some(a), tools: &tools, made_by: b };
        let page = Stage::new().page(&lines, &options);
        read(&page);
    }
}
