//! Runs the same scripts on the screen and in linear mode, and checks that both leave the same state.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::interactive::call;
use crate::stage::{Stage, messages, text as answer};
use crate::terminal::{Terminal, has};

const SIZE: (u16, u16) = (110, 60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    Screen,
    Linear,
}

/// A user who does the same with either face.
struct Person<'a> {
    face: Face,
    stage: &'a Stage,
    terminal: Terminal,
    /// The number of bytes that were sent before the last action.
    seen: usize,
}

/// Runs a script with both faces, each on its own stage, and compares the results: the messages of all sessions, the
/// user's settings and logins, and the files of the project.
#[track_caller]
fn both(stage: impl Fn() -> Stage, script: impl Fn(&mut Person<'_>)) {
    let [screen, linear] = [Face::Screen, Face::Linear].map(|face| {
        let stage = stage();
        let args: &[&str] = if face == Face::Linear { &["--linear"] } else { &[] };
        let terminal = Terminal::start(&stage, &[args, &["--script", "script.jsonl"]].concat(), SIZE);
        let mut person = Person { face, stage: &stage, terminal, seen: 0 };
        person.until_rested();
        script(&mut person);
        person.leave();
        left_behind(&stage)
    });
    assert_eq!(screen, linear);
}

/// Returns the texts of the files below the home directory and the project, by their names; sessions as their messages.
fn left_behind(stage: &Stage) -> BTreeMap<String, String> {
    let mut left = BTreeMap::new();
    let folder = stage.path("").display().to_string();
    let sessions: Vec<String> = stage.files().iter().map(|file| format!("{:?}", messages(file))).collect();
    left.insert("sessions".into(), sessions.join("\n").replace(&folder, ""));
    for name in ["home/agent/settings.json", "home/agent/auth.json"] {
        left.insert(name.into(), std::fs::read_to_string(stage.path(name)).unwrap_or_default());
    }
    for entry in std::fs::read_dir(stage.project()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        // A pipe has no writer any more, and pages contain times.
        if entry.file_type().unwrap().is_file() && !name.ends_with(".html") {
            left.insert(name, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
    left
}

impl Person<'_> {
    fn sent(&self) -> String {
        String::from_utf8_lossy(&self.terminal.bytes[self.seen..]).into_owned()
    }

    /// Types a line and submits it.
    #[track_caller]
    fn say(&mut self, line: &str) {
        self.line(line, "\r");
    }

    /// Submits a line for the time after the run.
    #[track_caller]
    fn say_later(&mut self, line: &str) {
        self.line(line, "\x11");
    }

    #[track_caller]
    fn line(&mut self, line: &str, end: &str) {
        self.terminal.send(line);
        self.terminal.until(|rows| rows.iter().any(|row| row.ends_with(line)));
        self.seen = self.terminal.bytes.len();
        self.terminal.send(end);
    }

    /// Waits for a text in the output.
    #[track_caller]
    fn hears(&mut self, text: &str) -> Vec<String> {
        let rows = self.terminal.until_shown(text);
        if self.face == Face::Linear {
            let seen = self.seen;
            self.terminal.until_sent(|all| all.get(seen..).is_none_or(|new| new.contains(text)));
        }
        rows
    }

    /// Waits until no work is running.
    #[track_caller]
    fn until_rested(&mut self) {
        match self.face {
            Face::Screen => drop(self.terminal.until(|rows| has(rows, "ready"))),
            Face::Linear => self.hears_word("Ready."),
        }
    }

    #[track_caller]
    fn hears_word(&mut self, word: &str) {
        let seen = self.seen;
        self.terminal.until_sent(|all| all.get(seen..).is_some_and(|new| new.contains(word)));
    }

    /// Waits for an answer and the end of its run.
    #[track_caller]
    fn hears_answer(&mut self, text: &str) {
        match self.face {
            Face::Screen => {
                self.terminal.until(|rows| rows.iter().any(|row| row.contains(text)) && has(rows, "ready"));
            }
            Face::Linear => {
                let seen = self.seen;
                self.terminal.until_sent(|all| {
                    let new = all.get(seen..).unwrap_or_default();
                    new.find(text).is_some_and(|at| new[at..].contains("Ready."))
                });
            }
        }
    }

    /// Answers the pending question with a number.
    #[track_caller]
    fn answers(&mut self, number: &str) {
        match self.face {
            Face::Screen => {
                let rows = self.terminal.until(|rows| rows.iter().any(|row| row.trim_start().starts_with("1 ")));
                if rows.iter().any(|row| row.contains("tab: answer")) {
                    self.terminal.send("\t");
                    self.terminal.until(|rows| !rows.iter().any(|row| row.contains("tab: answer")));
                }
                self.terminal.send(number);
            }
            Face::Linear => {
                self.hears_word("Answer with a number");
                self.say(number);
            }
        }
    }

    /// Selects an entry from the list that a command opens. `part` is a part of the entry's name, and filters the list.
    #[track_caller]
    fn chooses(&mut self, command: &str, part: &str) {
        self.say(command);
        self.chooses_from("", part);
    }

    /// Selects an entry from a list that is open, or opens by itself; on the screen it has this title.
    #[track_caller]
    fn chooses_from(&mut self, title: &str, part: &str) {
        match self.face {
            Face::Screen => {
                self.terminal.until(|rows| has(rows, title) && rows.iter().any(|row| row.contains("type to filter")));
                self.terminal.send(part);
                self.terminal.until(|rows| rows.iter().any(|row| row.starts_with('→') && row.contains(part)));
                self.seen = self.terminal.bytes.len();
                self.terminal.send("\r");
            }
            Face::Linear => {
                self.hears_word("Choose a number");
                let sent = self.sent();
                let mut entries: Vec<&str> =
                    sent.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
                // The name comes before the description.
                entries.sort_by_key(|line| {
                    let name = line.split(", ").next().and_then(|named| named.split(". ").nth(1)).unwrap_or_default();
                    (name != part, !name.contains(part))
                });
                let entry = entries.into_iter().find(|line| line.contains(part));
                let entry = entry.unwrap_or_else(|| panic!("{part:?} is not listed: {sent}"));
                let number = entry.split('.').next().unwrap().to_string();
                self.say(&number);
            }
        }
    }

    /// Closes a panel.
    #[track_caller]
    fn closes(&mut self, title: &str) {
        self.terminal.until(|rows| has(rows, title));
        self.terminal.send("\x1b");
        self.terminal.until(|rows| !has(rows, title));
    }

    /// Interrupts the run.
    fn interrupts(&mut self) {
        self.terminal.send("\x1b");
    }

    /// Waits until an earlier prompt is in the editor, and clears it.
    #[track_caller]
    fn takes_back(&mut self, prompt: &str) {
        let is_line = |row: &&String| row.starts_with('›') || row.starts_with("You:");
        self.terminal.until(|rows| rows.iter().rev().find(is_line).is_some_and(|row| row.ends_with(prompt)));
        self.clears();
    }

    /// Clears the editor.
    fn clears(&mut self) {
        self.terminal.send("\x03");
    }

    #[track_caller]
    fn leave(mut self) {
        self.say("/quit");
        let (status, rows) = self.terminal.ended();
        assert_eq!(status.code(), Some(0), "{rows:#?}");
    }
}

fn scripted(lines: &[Value]) -> impl Fn() -> Stage {
    move || Stage::scripted(lines)
}

fn pipe(stage: &Stage, name: &str) {
    let path = stage.path(&format!("project/{name}"));
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn prompts_tools_and_shell_commands() {
    let lines = [
        call("bash", json!({"command": "echo one > made.txt; echo output of it"})),
        call("edit", json!({"path": "a.txt", "edits": [{"oldText": "old", "newText": "new"}]})),
        answer("First answer."),
        answer("Second answer."),
    ];
    let stage = || {
        let stage = Stage::scripted(&lines);
        stage.write("project/a.txt", "old\n");
        stage
    };
    both(stage, |person| {
        person.say("go");
        person.hears_answer("First answer.");
        person.say("!echo seen by the model; exit 3");
        person.hears(if person.face == Face::Screen { "exit code 3" } else { "Done, exit 3" });
        person.say("!!echo not seen > quiet.txt; exit 4");
        person.hears(if person.face == Face::Screen { "exit code 4" } else { "Done, exit 4" });
        person.say("and now?");
        person.hears_answer("Second answer.");
    });
}

#[test]
fn steering_and_queued_messages() {
    let lines = [
        call("bash", json!({"command": "touch begun; read -r line < wait"})),
        answer("Steered."),
        answer("Followed."),
        call("bash", json!({"command": "touch again; read -r line < wait"})),
        answer("never"),
    ];
    let stage = || {
        let stage = Stage::scripted(&lines);
        stage.write("home/agent/settings.json", r#"{"interruptMode": "wait"}"#);
        pipe(&stage, "wait");
        stage
    };
    both(stage, |person| {
        person.say("go");
        person.stage.wait_for("project/begun");
        person.say_later("afterwards");
        person.hears(if person.face == Face::Screen { "then  afterwards" } else { "Queued: 1" });
        person.say("at once");
        person.hears(if person.face == Face::Screen { "steer at once" } else { "Queued: 2" });
        std::fs::write(person.stage.path("project/wait"), "\n").unwrap();
        person.hears_answer("Followed.");
        // An interrupt returns the waiting prompts.
        person.say("go on");
        person.stage.wait_for("project/again");
        person.say("too late");
        person.hears(if person.face == Face::Screen { "steer too late" } else { "Queued: 1" });
        person.interrupts();
        let mark = if person.face == Face::Screen { "› " } else { "You: " };
        person.terminal.until(|rows| rows.iter().rev().any(|row| *row == format!("{mark}too late")));
        person.until_rested();
        person.clears();
    });
}

#[test]
fn permissions_and_questions() {
    let touch = |name: &str| call("bash", json!({"command": format!("touch {name}")}));
    let question =
        json!({"questions": [{"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]}]});
    let lines = [
        touch("once"),
        touch("session"),
        touch("session"),
        touch("always"),
        touch("no"),
        call("ask", question),
        answer("All asked."),
    ];
    let stage = || {
        let stage = Stage::scripted(&lines);
        let settings = r#"{"permissions": {"ask": ["bash(*)"]}, "tui": {"approvalDelayMs": 0}}"#;
        stage.write("home/agent/settings.json", settings);
        stage
    };
    both(stage, |person| {
        person.say("go");
        for (call, number) in [("touch once", "1"), ("touch session", "2"), ("touch always", "3"), ("touch no", "4")] {
            person.hears(call);
            person.answers(number);
            // On the screen, the rule can be changed before it is stored.
            if person.face == Face::Screen && matches!(number, "2" | "3") {
                person.hears("bash(");
                person.terminal.send("\r");
            }
        }
        person.hears("Which colour?");
        person.answers("2");
        person.hears_answer("All asked.");
    });
}

#[test]
fn sessions_trees_and_titles() {
    both(
        scripted(&[answer("Answer one."), answer("Answer two."), answer("Answer three."), answer("Answer four.")]),
        |person| {
            person.say("prompt one");
            person.hears_answer("Answer one.");
            person.say("/name A title");
            person.say("prompt two");
            person.hears_answer("Answer two.");
            person.say("/label here");
            person.hears("labelled here");
            person.chooses("/tree", "prompt two");
            person.hears("another point in this session");
            person.takes_back("prompt two");
            person.say("/fork");
            person.hears("a copy of the session");
            person.say("another way");
            person.hears_answer("Answer three.");
            person.chooses("/branch", "another way");
            person.hears("a new session");
            person.takes_back("another way");
            person.say("/new");
            if person.face == Face::Screen {
                person.terminal.until(|rows| rows.iter().filter(|row| *row == "── a new session ──").count() == 2);
            }
            person.hears("a new session");
            person.say("in the new one");
            person.hears_answer("Answer four.");
            person.chooses("/resume", "A title");
            person.hears("prompt one");
        },
    );
}

#[test]
fn settings_tools_models_and_modes() {
    both(scripted(&[answer("Answer.")]), |person| {
        person.chooses("/thinking", "low");
        person.chooses("/model", "script");
        person.hears("answers from now on");
        person.chooses("/tools", "grep");
        if person.face == Face::Screen {
            person.terminal.until(|rows| rows.iter().any(|row| row.starts_with("→ grep") && row.contains("off")));
            person.closes("Tools of the model");
        } else {
            person.hears("grep is off");
        }
        person.chooses("/settings", "retry.enabled");
        person.chooses_from("retry.enabled", "false");
        person.hears("retry.enabled is stored in");
        if person.face == Face::Screen {
            person.closes("Settings");
        }
        person.chooses("/settings", "maxTurns");
        person.hears("a whole number");
        if person.face == Face::Screen {
            person.terminal.send("\x15");
        }
        person.say("77");
        person.hears("maxTurns is stored in");
        if person.face == Face::Screen {
            person.closes("Settings");
        }
        person.say("/plan");
        person.hears("plan mode: nothing can be changed");
        person.say("/plan");
        person.hears("plan mode is off");
    });
}

#[test]
fn a_tool_switch_applies_to_the_next_session_or_at_once_with_now() {
    let answers = |offered: Value, text: &str| json!({"type": "turn", "expect": offered, "content": [{"text": text}]});
    let (without, with) = (json!({"noTools": true}), json!({"tools": ["read"]}));
    let lines = [
        answers(without.clone(), "One."),
        answers(without.clone(), "Two."),
        answers(with, "Three."),
        answers(without, "Four."),
    ];
    let stage = || {
        let stage = Stage::scripted(&lines);
        stage.write("home/agent/settings.json", r#"{"tools": ["read"]}"#);
        stage
    };
    let switches = |person: &mut Person<'_>, command: &str, tool: &str, says: &str| {
        person.chooses(command, tool);
        person.hears(says);
        if person.face == Face::Screen {
            person.closes("Tools of the model");
        }
    };
    both(stage, |person| {
        // No request was sent, so the provider has nothing cached.
        switches(person, "/tools", "read", "read is off");
        person.say("one");
        person.hears_answer("One.");
        switches(person, "/tools", "read", "read is on from the next session on");
        person.say("two");
        person.hears_answer("Two.");
        person.say("/new");
        person.hears("a new session");
        person.say("three");
        person.hears_answer("Three.");
        switches(person, "/tools --now", "read", "cached tokens are invalidated");
        person.say("four");
        person.hears_answer("Four.");
        person.say("/tools later");
        person.hears("/tools later: use --now or nothing");
        person.takes_back("/tools later");
    });
}

#[test]
fn jobs_drafts_and_copies() {
    let job = json!({"command": "echo job output; touch begun; read -r line < wait", "background": true});
    let stage = || {
        let stage =
            Stage::scripted(&[call("bash", job.clone()), answer("It runs."), answer("It has ended."), answer("Sent.")]);
        stage.write("home/agent/settings.json", r#"{"async": {"enabled": true}}"#);
        pipe(&stage, "wait");
        stage
    };
    both(stage, |person| {
        person.say("go");
        person.stage.wait_for("project/begun");
        person.hears_answer("It runs.");
        // The previous output of the job may not have been read yet.
        person.say("/jobs");
        person.hears("echo job output");
        if person.face == Face::Screen {
            person.closes("Background commands");
        }
        person.say("/cancel 1");
        // The model receives a message about it.
        person.hears_answer("It has ended.");
        person.terminal.send("a long draft");
        person.terminal.until(|rows| rows.iter().any(|row| row.ends_with(" a long draft")));
        person.terminal.send("\x13");
        person.hears("stashed: restored");
        person.say("short one");
        person.hears_answer("Sent.");
        let mark = if person.face == Face::Screen { "› " } else { "You: " };
        person.terminal.until(|rows| rows.iter().any(|row| *row == format!("{mark}a long draft")));
        person.clears();
        person.say("/export page.html");
        person.hears("page.html");
        person.stage.wait_for("project/page.html");
        person.say("/copy all");
        person.hears("copied");
        person.say("/todo");
        person.hears("There is no todo list.");
        person.say("/reload");
        person.hears("reloaded");
    });
}

#[test]
fn a_project_asks_for_trust_once_and_trust_decides_again() {
    for (args, end) in [(&[][..], ""), (&["--linear"], "\r")] {
        let stage = Stage::scripted(&[answer("first")]);
        stage.write("project/.sinew/hooks.json", r#"{"hooks": []}"#);
        stage.write("home/agent/settings.json", r#"{"tui": {"approvalDelayMs": 0}}"#);
        let args = [args, &["--script", "script.jsonl"]].concat();
        let mut terminal = Terminal::start(&stage, &args, SIZE);
        terminal.until_shown("Do you trust this project?");
        terminal.until_shown(".sinew/hooks.json");
        // No key was pressed, so the question has the focus.
        terminal.until_shown("3");
        terminal.send(&format!("1{end}"));
        terminal.until_shown("this project is trusted");
        let answers = || std::fs::read_to_string(stage.agent().join("trust.json")).unwrap();
        assert!(answers().contains("\"trusted\": true"), "{}", answers());
        drop(terminal);
        let mut terminal = Terminal::start(&stage, &args, SIZE);
        terminal.until_shown("scripted/script");
        terminal.send("/trust maybe\r");
        terminal.until_shown("use yes, no or nothing");
        // The text of a failed command returns to the editor.
        terminal.send("\x15/trust no\r");
        terminal.until_shown("this project is not trusted");
        assert!(answers().contains("\"trusted\": false"), "{}", answers());
    }
}
