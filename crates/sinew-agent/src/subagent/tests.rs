use serde_json::{Value, json};

use super::*;
use crate::resource::ResourceFolders;

fn tasks(tasks: &Value) -> Vec<TaskItem> {
    serde_json::from_value(tasks.clone()).unwrap()
}

#[track_caller]
fn reserve(ids: &mut ChildIds, items: Value, most: usize) -> Result<Vec<String>, String> {
    ids.reserve(&tasks(&items), most, None).map_err(|error| error.message().to_string())
}

#[test]
fn ids_are_unique_whatever_their_case() {
    let mut ids = ChildIds::new(["Old".to_string()]);
    let unnamed = json!([{"assignment": "a"}, {"assignment": "b", "id": "x"}, {"assignment": "c"}]);
    assert_eq!(reserve(&mut ids, unnamed, 100).unwrap(), ["Task", "x", "Task-2"]);
    let taken = json!([{"assignment": "a", "id": "fresh"}, {"assignment": "b", "id": "OLD"}]);
    let error = reserve(&mut ids, taken, 100).unwrap_err();
    assert_eq!(error, "task: the id \"OLD\" is taken; \"OLD-2\" is free");
    // Nothing of a refused call is reserved.
    assert_eq!(reserve(&mut ids, json!([{"assignment": "a", "id": "fresh"}]), 100).unwrap(), ["fresh"]);
    let twice = json!([{"assignment": "a", "id": "same"}, {"assignment": "b", "id": "Same"}]);
    assert!(reserve(&mut ids, twice, 100).unwrap_err().contains("\"Same-2\" is free"));
    for bad in ["", "a b", "ä", "main", "Title", &"x".repeat(49)] {
        let error = reserve(&mut ids, json!([{"assignment": "a", "id": bad}]), 100).unwrap_err();
        assert!(error.contains(&format!("{bad:?}")), "{error}");
    }
}

#[test]
fn a_call_that_cannot_fit_is_refused_with_the_numbers() {
    let mut ids = ChildIds::new((0..98).map(|number| format!("c{number}")));
    let tasks = json!([{"assignment": "a"}, {"assignment": "b"}, {"assignment": "c"}]);
    let error = reserve(&mut ids, tasks, 100).unwrap_err();
    assert!(error.contains("3 tasks") && error.contains("2 of 100 children"), "{error}");
    assert_eq!(reserve(&mut ids, json!([{"assignment": "a"}, {"assignment": "b"}]), 100).unwrap().len(), 2);
}

#[test]
fn the_children_of_a_child_are_numbered_below_its_id() {
    let mut ids = ChildIds::new(["Task".to_string(), "A".to_string()]);
    let mut reserve = |items: Value, parent: &str| {
        ids.reserve(&tasks(&items), 100, Some(parent)).map_err(|error| error.message().to_string())
    };
    let unnamed = json!([{"assignment": "a"}, {"assignment": "b"}, {"assignment": "c", "id": "B"}]);
    assert_eq!(reserve(unnamed, "A").unwrap(), ["A.Task", "A.Task-2", "A.B"]);
    let error = reserve(json!([{"assignment": "a", "id": "b"}]), "A").unwrap_err();
    assert_eq!(error, "task: the id \"b\" is taken; \"b-2\" is free");
    // A child of another child may have that name.
    assert_eq!(reserve(json!([{"assignment": "a", "id": "b"}]), "Task").unwrap(), ["Task.b"]);
}

#[test]
fn a_call_either_starts_children_or_continues_one() {
    let fault = |arguments: Value| TaskRequest::parse(&arguments).unwrap_err().message().to_string();
    let start = |tasks: Value| json!({"agent": "task", "tasks": tasks});
    for (arguments, expected) in [
        (start(json!([{"assignment": "a"}, {"assignment": " a\n"}])), "tasks/1: the same assignment"),
        (start(json!([{"assignment": " "}])), "tasks/0: the assignment is empty"),
        (start(json!([])), "0 tasks; expected 1 to 32"),
        (start(json!(vec![json!({"assignment": "a"}); 33])), "33 tasks; expected 1 to 32"),
        (json!({"agent": "task"}), "agent and tasks are required"),
        (json!({}), "agent and tasks are required"),
        (json!({"agent": "task", "assignment": "a"}), "an assignment belongs to an item of tasks"),
        (json!({"resume": "A"}), "resume needs an assignment"),
        (json!({"resume": "A", "assignment": " "}), "resume needs an assignment"),
        (json!({"resume": "A", "assignment": "b", "agent": "task"}), "resume continues one child"),
        (json!({"resume": "A", "assignment": "b", "context": "c"}), "resume continues one child"),
        (json!({"agent": "task", "tasks": [{"assignment": "a"}], "wait": true}), "unknown field `wait`"),
    ] {
        let found = fault(arguments.clone());
        assert!(found.contains(expected), "{arguments}: {found}");
    }
    let two = TaskRequest::parse(&start(json!([{"assignment": "a"}, {"assignment": "b"}]))).unwrap();
    assert!(matches!(two, TaskRequest::Start(StartRequest { tasks, background: None, .. }) if tasks.len() == 2));
    let resumed = TaskRequest::parse(&json!({"resume": "A", "assignment": "b", "background": true})).unwrap();
    let expected = ResumeRequest { id: "A".into(), assignment: "b".into(), background: Some(true) };
    assert_eq!(resumed, TaskRequest::Resume(expected));
}

#[test]
fn only_a_result_that_matches_is_accepted() {
    let submission = Submission::new(Some(json!({"type": "object", "required": ["a"]})));
    for wrong in [json!(null), json!(" "), json!({}), json!("{}")] {
        assert!(matches!(submission.submit(wrong.clone()), Answer::Refused(_)), "{wrong}");
    }
    assert!(submission.last_refusal().unwrap().contains("does not match the schema"));
    assert!(!submission.is_over());
    assert_eq!(submission.submit(json!("{\"a\": 1}")), Answer::Accepted);
    assert_eq!(submission.accepted(), Some(json!({"a": 1})));
    assert!(matches!(submission.submit(json!({"a": 2})), Answer::Refused(_)));
    assert_eq!(submission.accepted(), Some(json!({"a": 1})));
}

#[test]
fn the_fifth_wrong_result_ends_the_child() {
    let submission = Submission::new(None);
    for _ in 0..4 {
        assert!(matches!(submission.submit(json!("")), Answer::Refused(_)));
    }
    assert!(matches!(submission.submit(Value::Null), Answer::Ended(_)));
    assert!(submission.is_over() && submission.accepted().is_none());
}

/// The agents of a project with these files.
fn definitions(files: &[(&str, &str)], is_trusted: bool) -> AgentDefinitions {
    read_definitions(files, AgentFiles { is_trusted, foreign: true })
}

fn read_definitions(files: &[(&str, &str)], which: AgentFiles) -> AgentDefinitions {
    let folder = tempfile::tempdir().unwrap();
    let folders = ResourceFolders {
        cwd: folder.path().join("work"),
        project: folder.path().join("project"),
        agent: folder.path().join("user"),
        home: Some(folder.path().join("home")),
    };
    for (name, text) in files {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    AgentDefinitions::find(&folders, which)
}

#[test]
fn agents_come_from_files_and_are_built_in() {
    let mine = "---\nname: mine\ndescription: of the user\ntools: Read, grep\nmaxTurns: 7\n---\nBe brief.\n";
    let theirs = "---\nname: mine\ndescription: of the project\noutput: {type: object}\n---\n";
    let files = [("user/agents/a.md", mine), ("project/agents/b.md", theirs), ("user/agents/note.txt", "x")];
    let found = definitions(&files, true);
    assert_eq!(found.faults, Vec::<String>::new());
    let names: Vec<&str> = found.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["mine", "explore", "plan", "reviewer", "task", "fork"]);
    let agent = found.get("mine").unwrap();
    assert_eq!((agent.source, agent.description.as_str()), (AgentSource::Project, "of the project"));
    assert_eq!(agent.schema, Some(json!({"type": "object"})));
    let untrusted = definitions(&files, false);
    let agent = untrusted.get("mine").unwrap();
    assert_eq!((agent.source, agent.prompt.as_str(), agent.max_turns), (AgentSource::User, "Be brief.", Some(7)));
    assert_eq!(agent.tools, Some(vec!["Read".to_string(), "grep".to_string()]));
}

#[test]
fn agents_of_other_programs_are_read_if_enabled() {
    let theirs = "---\nname: theirs\ndescription: x\ncolor: red\nmodel: inherit\ntools: Read, Bash\n---\nBe quick.\n";
    let home = "---\nname: explore\ndescription: of the home directory\n---\n";
    let files = [("work/.claude/agents/a.md", theirs), ("home/.claude/agents/b.md", home)];
    let found = definitions(&files, true);
    let agent = found.get("theirs").unwrap();
    assert_eq!(
        (agent.source, agent.model.as_deref(), agent.prompt.as_str()),
        (AgentSource::Foreign, None, "Be quick.")
    );
    assert_eq!(found.get("explore").unwrap().description, "of the home directory");
    assert!(found.faults.len() == 1 && found.faults[0].ends_with("a.md: no effect: color"), "{:?}", found.faults);
    let untrusted = definitions(&files, false);
    assert!(untrusted.get("theirs").is_err() && untrusted.get("explore").unwrap().source == AgentSource::Foreign);
    let unwanted = read_definitions(&files, AgentFiles { is_trusted: true, foreign: false });
    assert_eq!(unwanted.get("explore").unwrap().source, AgentSource::BuiltIn);
}

#[test]
fn invalid_agent_files_are_reported_with_the_reason() {
    for (text, reason) in [
        ("no front matter", "name is missing"),
        ("---\nname: a\n---\n", "description is missing"),
        ("---\nname: a b\ndescription: x\n---\n", "is not a name"),
        ("---\nname: main\ndescription: x\n---\n", "reserved"),
        ("---\nname: a\ndescription: x\ncolour: red\n---\n", "unknown key colour"),
        ("---\nname: a\ndescription: x\nisolation: overlay\n---\n", "isolation: \"overlay\" is not valid"),
        ("---\nname: a\ndescription: x\nmaxTurns: many\n---\n", "maxTurns: \"many\" is not valid"),
        ("---\nname: a\ndescription: x\nthinking: hard\n---\n", "thinking: \"hard\" is not valid"),
        ("---\nname: a\ndescription: x\nmaxCost: -1\n---\n", "maxCost: \"-1\" is not valid"),
        ("---\nname: a\ndescription: x\nmaxTokens: 0\n---\n", "maxTokens: \"0\" is not valid"),
        ("---\nname: a\ndescription: x\nbackground: soon\n---\n", "background: \"soon\" is not valid"),
        ("---\nname: a\ndescription: x\noutput: text\n---\n", "is not a JSON Schema"),
        ("---\nname: [\n---\n", "bad frontmatter"),
    ] {
        let found = definitions(&[("user/agents/bad.md", text)], true);
        assert!(
            found.faults.len() == 1 && found.faults[0].contains("bad.md") && found.faults[0].contains(reason),
            "{found:?}"
        );
        // The way to the fault is short: an unknown name shows it.
        assert!(found.get("a").unwrap_err().message().contains(reason));
    }
}

#[test]
fn a_report_names_state_error_and_cost() {
    let child = ChildResult {
        index: 0,
        id: "A".into(),
        agent: "explore".into(),
        agent_source: AgentSource::BuiltIn,
        description: None,
        state: ChildState::Completed,
        limited: Some(Limit::Turns),
        error: None,
        output: "found it".into(),
        truncated: false,
        output_path: None,
        duration_ms: 1_240,
        turns: 3,
        tokens: 4_000,
        usage: Default::default(),
        cost: 0.0123,
        changes: None,
    };
    let failed = ChildResult {
        id: "B".into(),
        state: ChildState::Failed,
        limited: None,
        error: Some("no".into()),
        output: String::new(),
        turns: 0,
        ..child.clone()
    };
    assert_eq!(
        report(&[child, failed]),
        "## A (explore): completed at its limit of turns\nfound it\n[3 turns, 4000 tokens, $0.0123, 1.2 s]\n\n\
         ## B (explore): failed: no"
    );
}
