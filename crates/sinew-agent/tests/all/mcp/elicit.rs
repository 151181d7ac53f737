use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use sinew_agent::extension::{Context, Extension, Point};
use sinew_agent::mcp::ServerHooks;
use sinew_agent::mcp::elicit::PersonHost;
use sinew_mcp::{ClientHost, Elicitation, ElicitationAnswer};
use sinew_tools::tool::Boxed;
use sinew_tools::{Ask, Question};

/// A user who gives these answers, in order.
struct Person {
    answers: Mutex<Vec<Option<&'static str>>>,
    asked: Mutex<Vec<Question>>,
}

impl Ask for Person {
    fn answer<'a>(&'a self, question: &'a Question) -> Boxed<'a, Option<String>> {
        self.asked.lock().unwrap().push(question.clone());
        let answer = self.answers.lock().unwrap().remove(0);
        Box::pin(async move { answer.map(str::to_string) })
    }
}

async fn ask(question: Elicitation, answers: &[Option<&'static str>]) -> (ElicitationAnswer, Vec<Question>) {
    let person = Arc::new(Person { answers: Mutex::new(answers.to_vec()), asked: Mutex::default() });
    let host = PersonHost::new("github", "/tmp".into(), Some(Arc::clone(&person) as _));
    assert!(host.can_ask());
    let answer = host.elicit(question).await;
    let asked = person.asked.lock().unwrap().clone();
    (answer, asked)
}

fn form(properties: Value, required: &[&str]) -> Elicitation {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Elicitation::Form { message: "Who are you?".into(), schema }
}

fn accepted(value: Value) -> ElicitationAnswer {
    ElicitationAnswer::Accept(value.as_object().unwrap().clone())
}

#[tokio::test]
async fn each_field_type_becomes_a_question_and_its_answer_a_value() {
    let fields = json!({
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer", "minimum": 18},
        "weight": {"type": "number", "default": 70.5},
        "ok": {"type": "boolean", "default": false},
        "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"], "default": "g"},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}},
        "note": {"type": "string"},
    });
    let answers = ["Ada", "36", "", "Yes", "Red", "Large", "a, c", ""].map(Some);
    let (answer, questions) = ask(form(fields, &["name", "age"]), &answers).await;
    let expect = json!({
        "name": "Ada", "age": 36, "weight": 70.5, "ok": true, "colour": "r", "size": "l", "tags": ["a", "c"],
    });
    assert_eq!(answer, accepted(expect));
    assert_eq!(questions[0].question, "MCP server \"github\": Who are you?\nYour name");
    assert_eq!(questions[2].question, "weight [70.5] (may stay empty)");
    let labels = |at: usize| questions[at].options.iter().map(|choice| choice.label.as_str()).collect::<Vec<_>>();
    assert_eq!((labels(3), questions[3].recommended), (vec!["Yes", "No"], Some(1)));
    assert_eq!((labels(4), questions[4].recommended), (vec!["Red", "Green"], Some(1)));
    assert!(questions[6].multi);
}

#[tokio::test]
async fn an_invalid_answer_is_asked_again_with_the_reason() {
    let fields = json!({"age": {"type": "integer", "minimum": 18}});
    let (answer, asked) = ask(form(fields.clone(), &["age"]), &[Some("ten"), Some("10"), Some("20")]).await;
    assert_eq!(answer, accepted(json!({"age": 20})));
    assert!(asked[1].question.contains("(age: \"ten\" is not a whole number)"), "{:?}", asked[1]);
    assert!(asked[2].question.contains("(age: must be at least 18)"), "{:?}", asked[2]);
    let (answer, _) = ask(form(fields.clone(), &["age"]), &[Some(""); 3]).await;
    assert_eq!(answer, ElicitationAnswer::Cancel);
    let (answer, _) = ask(form(fields, &["age"]), &[None]).await;
    assert_eq!(answer, ElicitationAnswer::Cancel);
}

#[tokio::test]
async fn urls_are_shown_in_full_and_never_fetched() {
    let url = "https://login.example/a?b=c".to_string();
    let question = Elicitation::Url { message: "Log in".into(), url, id: "1".into() };
    let (answer, asked) = ask(question.clone(), &[Some("Yes")]).await;
    assert_eq!(answer, accepted(json!({})));
    let text = &asked[0].question;
    assert!(text.contains("asks you to open login.example") && text.contains("https://login.example/a?b=c"), "{text}");
    assert_eq!(ask(question, &[Some("No")]).await.0, ElicitationAnswer::Decline);
}

#[tokio::test]
async fn questions_are_cancelled_without_a_user() {
    let host = PersonHost::new("github", "/tmp".into(), None);
    assert!(!host.can_ask());
    assert_eq!(host.elicit(form(json!({}), &[])).await, ElicitationAnswer::Cancel);
    assert_eq!(host.roots()[0].uri, "file:///tmp");
}

/// An extension that returns one answer at a server's point, and records the points.
struct Hook {
    answer: Value,
    told: Mutex<Vec<Point>>,
}

impl Extension for Hook {
    fn name(&self) -> std::borrow::Cow<'static, str> {
        "hook".into()
    }

    fn is_at(&self, point: &str) -> bool {
        point.starts_with("mcp_")
    }

    fn on_point<'a>(
        &'a self,
        point: &'a Point,
        _: &'a Context,
    ) -> Boxed<'a, Result<Option<Map<String, Value>>, String>> {
        self.told.lock().unwrap().push(point.clone());
        Box::pin(async { Ok(self.answer.as_object().cloned()) })
    }
}

/// Returns the answer to a question when an extension answers with `answer`, the number of questions to the user, the
/// log, and the extension.
async fn hooked(answer: Value) -> (ElicitationAnswer, usize, Vec<String>, Arc<Hook>) {
    let hook = Arc::new(Hook { answer, told: Mutex::default() });
    let cancel = tokio_util::sync::CancellationToken::new();
    let context = Context {
        cwd: "/".into(),
        session: "s".into(),
        file: None,
        has_ui: true,
        requester: None,
        recorder: None,
        cancel,
    };
    let hooks = Arc::new(ServerHooks { extensions: vec![Arc::clone(&hook) as _], context });
    let person = Arc::new(Person { answers: Mutex::new(vec![Some("of the person")]), asked: Mutex::default() });
    let host = PersonHost::new("github", "/".into(), Some(Arc::clone(&person) as _)).with_hooks(Some(hooks));
    host.starting().await;
    let answer = host.elicit(form(json!({"name": {"type": "string"}}), &["name"])).await;
    let asked = person.asked.lock().unwrap().len();
    (answer, asked, host.lines(), hook)
}

#[tokio::test]
async fn extensions_see_server_starts_and_may_answer_questions_first() {
    let (answer, asked, lines, hook) = hooked(json!({"action": "accept", "content": {"name": "x"}})).await;
    assert_eq!((answer, asked), (accepted(json!({"name": "x"})), 0));
    // The point `mcp_server_start` has no answer fields: an answer is a failure that does not prevent the start.
    assert_eq!(lines, ["hook: mcp_server_start: its answer cannot be used: unknown field `action`"]);
    let told = hook.told.lock().unwrap().clone();
    assert_eq!(told.iter().map(|point| point.name).collect::<Vec<_>>(), ["mcp_server_start", "mcp_elicitation"]);
    let fields = json!({
        "server": "github", "mode": "form", "message": "Who are you?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    });
    assert_eq!(Value::Object(told[1].fields.clone()), fields);

    for (action, expect) in [("decline", ElicitationAnswer::Decline), ("cancel", ElicitationAnswer::Cancel)] {
        let (answer, asked, ..) = hooked(json!({"action": action})).await;
        assert_eq!((answer, asked), (expect, 0), "{action}");
    }
    // Without a valid answer of the extension, the user is asked.
    for (said, fault) in [(json!({}), None), (json!({"action": "yes"}), Some("action \"yes\" is unknown"))] {
        let (answer, asked, lines, _) = hooked(said).await;
        assert_eq!((answer, asked), (accepted(json!({"name": "of the person"})), 1));
        assert!(fault.is_none_or(|fault| lines.iter().any(|line| line.contains(fault))), "{lines:?}");
    }
}
