//! Skills, commands, templates and rules in the whole program.

use serde_json::{Value, json};

use crate::stage::{Stage, call, chat, finish, messages, strict, text};
use crate::wire::shared;

/// Returns the system prompt of the only request to a server.
fn system(stage: &Stage, server: &sinew_testkit::provider::Server, args: &[&str]) -> String {
    let ran = stage.run(&[args, &["-p", "go"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let requests = server.requests();
    let body: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
    body["messages"][0]["content"].to_string()
}

fn answers(count: usize) -> sinew_testkit::provider::Server {
    strict((0..count).map(|_| chat(&json!({"content": "ok"}), "stop")).collect())
}

#[test]
fn the_system_prompt_has_its_parts_in_order() {
    let server = answers(7);
    let stage = Stage::served(&server);
    stage.write("project/.sinew/skills/a/SKILL.md", "---\ndescription: A-SKILL\n---\n");
    stage.write("project/.sinew/rules/r.md", "---\nalwaysApply: true\n---\nA-RULE");
    stage.write("project/.sinew/rules/l.md", "---\ndescription: L-RULE\n---\nx");
    stage.write("project/AGENTS.md", "PROJECT-FILE");
    stage.write("home/agent/APPEND_SYSTEM.md", "APPENDED-USER");
    stage.write("project/.sinew/APPEND_SYSTEM.md", "APPENDED-PROJECT");
    let prompt = system(&stage, &server, &["--append-system-prompt", "APPENDED-FLAG"]);
    let order = [
        "You are Sinew",
        "APPENDED-USER",
        "APPENDED-PROJECT",
        "APPENDED-FLAG",
        "A-RULE",
        "PROJECT-FILE",
        "A-SKILL",
        "L-RULE",
        "Current date",
    ];
    let places: Vec<Option<usize>> = order.iter().map(|part| prompt.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{prompt}");
    let off = system(&stage, &server, &["--no-skills", "--no-rules", "-nc"]);
    assert!(["A-RULE", "PROJECT-FILE", "A-SKILL", "L-RULE"].iter().all(|part| !off.contains(part)), "{off}");
    let named = system(&stage, &server, &["--no-skills", "--skill", ".sinew/skills/a"]);
    assert!(named.contains("A-SKILL"), "{named}");
    stage.write(".sinew/SYSTEM.md", "ABOVE");
    assert!(system(&stage, &server, &[]).contains("ABOVE"), "the nearest SYSTEM.md of a project counts");
    stage.write("project/.sinew/SYSTEM.md", "NEAREST");
    let replaced = system(&stage, &server, &[]);
    assert!(replaced.contains("NEAREST") && !replaced.contains("ABOVE") && !replaced.contains("You are Sinew"));
    let toolless = system(&stage, &server, &["--tools", "bash"]);
    assert!(!toolless.contains("A-SKILL") && toolless.contains("A-RULE"), "who cannot read gets no list\n{toolless}");
    let mut command = stage.command(&["-p", "go"]);
    command.env("SINEW_NULL_PROMPT", "1");
    assert_eq!(finish(command).code, Some(0));
    let body: Value = serde_json::from_slice(&server.requests().last().unwrap().body).unwrap();
    assert_eq!(body["messages"][0]["role"], "user", "{body}");
}

#[test]
fn the_system_prompt_ends_with_the_directory_and_branch() {
    let server = answers(2);
    let stage = Stage::served(&server);
    stage.write("project/.git/HEAD", "ref: refs/heads/feature/x\n");
    stage.write("project/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    stage.write("tree/.git", &format!("gitdir: {}\n", stage.path("project/.git/worktrees/w").display()));
    let tree = stage.path("tree").canonicalize().unwrap();
    for (args, cwd, branch) in
        [(vec![], stage.project(), "feature/x"), (vec!["--cwd", tree.to_str().unwrap()], tree.clone(), "w")]
    {
        let prompt: String = serde_json::from_str(&system(&stage, &server, &args)).unwrap();
        let (_, place) = prompt.rsplit_once("Current date: ").unwrap();
        let (date, place) = place.split_once('\n').unwrap();
        assert!(date.len() == 10 && date.split('-').all(|part| part.parse::<u32>().is_ok()), "{date}");
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let expect = format!(
            "Current working directory: {}\nPlatform: {os} {arch}\nShell: bash\nGit branch: {branch}",
            cwd.display()
        );
        assert_eq!(place, expect);
    }
}

#[test]
fn skills_and_rules_are_read_by_their_url() {
    let stage = Stage::scripted(&[
        call("A", "read", json!({"path": "skill://a"})),
        call("B", "read", json!({"path": "skill://a/doc.md"})),
        call("C", "read", json!({"path": "skill://a/../../../script.jsonl"})),
        call("D", "read", json!({"path": "rule://l", "offset": 2})),
        call("E", "read", json!({"path": "rule://none"})),
        text("done"),
    ]);
    stage.write("project/.sinew/skills/a/SKILL.md", "---\ndescription: x\n---\nBody\n");
    stage.write("project/.sinew/skills/a/doc.md", "Doc\n");
    stage.write("project/.sinew/rules/l.md", "---\ndescription: x\n---\nOne\nTwo\n");
    let ran = stage.play(&["-p", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let results: Vec<String> =
        stage.said().into_iter().filter(|(role, _)| role == "toolResult").map(|(_, text)| text).collect();
    assert!(results[0].contains(":Body"), "{results:?}");
    assert_eq!(results[1], "1:Doc");
    assert!(results[2].starts_with("Refused: "), "{results:?}");
    assert_eq!(results[3], "2:Two");
    assert_eq!(results[4], "Unknown rule: none. Available: l");
}

#[test]
fn commands_templates_and_skills_are_used_in_print_mode() {
    let stage = Stage::scripted(&[text("A")]);
    stage.write("project/.sinew/skills/a/SKILL.md", "---\ndescription: x\n---\nBody of a");
    stage.write("project/.sinew/commands/fix.md", "Fix $1 in @notes.txt");
    stage.write("project/more/t.md", "Named $@");
    stage.write("project/notes.txt", "N\n");
    let ran = stage.piped(&["-p", "/fix", "'a $2 b'"], "data /fix @none");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    for words in [&["/t", "x", "y"][..], &["/skill:a now"], &["/unknown", "x"]] {
        let ran = stage.play(&[&["-p", "-c", "--prompt-template", "more/t.md"], words].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{words:?}");
    }
    let said: Vec<String> = stage.said().into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect();
    assert_eq!(said[0], "data /fix @none\n\nFix a $2 b in @notes.txt");
    assert_eq!(said[1], "Named x y");
    assert!(said[2].starts_with("<skill name=\"a\"") && said[2].ends_with("</skill>\n\nUser: now"), "{said:?}");
    assert_eq!(said[3], "/unknown x");
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(file.contains("fileMention") && file.contains("N\\n"), "{file}");
}

#[test]
fn a_template_can_set_its_model_and_thinking_level() {
    let server = answers(2);
    let stage = Stage::served(&server);
    stage.write("project/.sinew/prompts/t.md", "---\nthinking: high\nmodel: no-such-model\n---\nGo");
    let ran = stage.run(&["-p", "/t"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("Warning: model no-such-model: "), "{}", ran.stderr);
    assert_eq!(stage.run(&["-p", "-c", "after"]).code, Some(0));
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    let levels: Vec<&str> = file
        .lines()
        .filter(|line| line.contains("thinking_level_change"))
        .map(|line| if line.contains("\"high\"") { "high" } else { "other" })
        .collect();
    assert_eq!(levels, ["other", "high", "other"], "{file}");
}

#[test]
fn a_rule_stops_an_answer_in_the_real_program() {
    let stage = Stage::scripted(&[text("I use a forbidden word"), text("I am good")]);
    stage.write("project/.sinew/rules/r.md", "---\ncondition: for\\w+den\n---\nNot that word.");
    let ran = stage.play(&["-p", "--mode", "json", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("{\"type\":\"ttsr_triggered\",\"rules\":[\"r\"]}"), "{}", ran.stdout);
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(file.contains("\"ttsr_injection\"") && file.contains("Not that word."), "{file}");
    assert_eq!(messages(&stage.files()[0]).last().unwrap().1, "I am good");
    // It is only shown once, even by another process.
    stage.write("project/script.jsonl", &text("a forbidden word").to_string());
    let ran = stage.play(&["-p", "--continue", "again"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "a forbidden word\n"), "{}", ran.stderr);
    stage.write("home/agent/settings.json", "{\"ttsr\": {\"enabled\": false}}");
    let ran = stage.play(&["-p", "--mode", "json", "go"]);
    assert!(!ran.stdout.contains("ttsr"), "{}", ran.stdout);
}

#[test]
fn resource_errors_are_reported_once_and_do_not_stop_the_run() {
    let stage = Stage::scripted(&[text("ok")]);
    stage.write("project/.sinew/skills/a/SKILL.md", "nothing");
    stage.write("project/.sinew/rules/r.md", "---\ncondition: \"(\"\n---\nx");
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ok\n"));
    let warnings: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(warnings.len(), 2, "{}", ran.stderr);
    assert!(warnings[0].contains("a/SKILL.md: it needs a description"), "{}", ran.stderr);
    assert!(warnings[1].contains("r.md: condition \"(\" is ignored: "), "{}", ran.stderr);
}

#[test]
fn requests_share_their_prefix_with_rules_skills_and_mentions() {
    let server = strict(vec![
        chat(&json!({"content": "a forbidden word"}), "stop"),
        chat(&json!({"content": "ok"}), "stop"),
        chat(&json!({"content": "bye"}), "stop"),
    ]);
    let stage = Stage::served(&server);
    stage.write("project/.sinew/skills/a/SKILL.md", "---\ndescription: x\n---\nBody");
    stage.write("project/.sinew/rules/r.md", "---\ncondition: forbidden\n---\nNot that word.");
    stage.write("project/.sinew/rules/s.md", "---\nalwaysApply: true\n---\nBe kind.");
    stage.write("project/notes.txt", "N\n");
    std::fs::write(stage.path("project/large.bmp"), noise()).unwrap();
    let models = std::fs::read_to_string(stage.agent().join("models.json")).unwrap();
    let sees = models.replace("\"id\":\"m\"", "\"id\":\"m\",\"input\":[\"text\",\"image\"]");
    assert_ne!(models, sees);
    stage.write("home/agent/models.json", &sees);
    let ran = stage.run(&["-p", "@large.bmp", "/skill:a look at @notes.txt"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "a forbidden word\n\nok\n"), "{}", ran.stderr);
    assert_eq!(ran.stderr, "Warning: the answer broke the rule r; the model was informed\n");
    let ran = stage.run(&["-p", "--continue", "thanks"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "bye\n"), "{}", ran.stderr);
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for pair in requests.windows(2) {
        let (same, end) = shared(&pair[0].body, &pair[1].body);
        assert!(same >= end, "{same} of {end}");
    }
    let last = String::from_utf8_lossy(&requests[2].body);
    assert!(!last.contains("a forbidden word") && last.contains("Not that word."), "the stopped answer is gone");
    assert!(
        requests[0].body.len() > 500_000,
        "the picture is longer than a string of the file may be: {}",
        requests[0].body.len()
    );
}

/// Returns an image that cannot be compressed.
fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let mut pixel = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    // A bitmap of 900×900 pixels with 24 bits each.
    let (side, data) = (900_u32, 900 * 900 * 3_u32);
    let mut bytes = b"BM".to_vec();
    bytes.extend([54 + data, 0, 54, 40, side, side].iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend([1, 0, 24, 0]);
    bytes.extend([0_u8; 24]);
    bytes.extend((0..data).map(|_| pixel()));
    bytes
}

#[test]
fn a_mentioned_file_is_read_when_its_prompt_runs() {
    let stage =
        Stage::scripted(&[call("A", "write", json!({"path": "notes.txt", "content": "NEW\n"})), text("written")]);
    stage.write("project/notes.txt", "OLD\n");
    // After the mention the file may be overwritten.
    assert_eq!(stage.play(&["-p", "change @notes.txt"]).code, Some(0));
    let edit = call("B", "edit", json!({"path": "notes.txt", "oldText": "NEW", "newText": "NEWER"}));
    stage.write("project/script.jsonl", &format!("{edit}\n{}\n", text("done")));
    let ran = stage.play(&["-p", "-c", "now look at @notes.txt and @made.txt"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    let attached: Vec<Value> = file
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|entry| entry["customType"] == "fileMention")
        .map(|entry| entry["content"][0]["text"].clone())
        .collect();
    let shown = |text: &str| format!("<file path=\"notes.txt\">\n{text}\n</file>");
    assert_eq!(attached, [shown("OLD\n"), shown("NEW\n")], "{file}");
    assert_eq!(std::fs::read_to_string(stage.path("project/notes.txt")).unwrap(), "NEWER\n", "{file}");
    assert!(ran.stderr.contains("Warning: not attached: @made.txt: "), "{}", ran.stderr);
}

#[test]
fn unreadable_files_stay_part_of_one_prompt() {
    let stage = Stage::scripted(&[text("A"), text("B")]);
    let ran = stage.play(&["-p", "@none", "sum up", "@gone", "once more", "@lost"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "A\n"), "{}", ran.stderr);
    let said: Vec<String> = stage.said().into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect();
    assert_eq!(said, ["@none sum up @gone once more @lost"]);
    for name in ["@none", "@gone", "@lost"] {
        assert!(ran.stderr.contains(name), "{name}: {}", ran.stderr);
    }
}

#[test]
fn directory_instructions_are_added_when_a_file_there_is_read() {
    let stage = Stage::new();
    stage.write("project/sub/AGENTS.md", "Write tests first. @more.md @.env");
    stage.write("project/sub/more.md", "More rules.");
    stage.write("project/sub/.env", "TOKEN=1");
    stage.write("project/sub/a.txt", "one");
    let read = call("A", "read", json!({"path": "sub/a.txt"}));
    stage.write("project/script.jsonl", &[read.clone(), read, text("B")].map(|line| line.to_string()).join("\n"));
    let ran = stage.play(&["-p", "--deny", "read(.env)", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let results: Vec<String> =
        stage.said().into_iter().filter(|(role, _)| role == "toolResult").map(|(_, text)| text).collect();
    assert!(results[0].contains("Write tests first.") && results[0].contains("More rules."), "{results:?}");
    assert!(!results[0].contains("TOKEN"), "{results:?}");
    assert_eq!(results[1], "1:one");
}
