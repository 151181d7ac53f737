//! Tests the cases of public bug reports: shell lines create a tree, an agent and others change it, some of the changes
//! are undone, and shell lines check the result.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::Value;
use sinew_base::CancelToken;

use crate::{CheckpointKind, Checkpoints, Force, OpenOptions, Plan, RestoreOptions, TakeOptions};

const STORIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/trials/undo.json");

/// Pairs of checkpoints.
type Spans = Vec<(String, String)>;

/// The folders of a story, and the turns that can be undone or redone.
struct Story<'a> {
    story: &'a Value,
    folder: &'a Path,
    prelude: &'a str,
    checkpoints: Option<Checkpoints>,
    /// The spans of the turns of each session that are not undone, oldest first.
    turns: HashMap<String, Vec<Spans>>,
    /// The spans of a turn that is not finished.
    parts: HashMap<String, Spans>,
    /// The redo checkpoints of each session.
    redo: HashMap<String, Vec<(String, Vec<Spans>)>>,
    /// The paths that a plan or a restore reported as kept or impossible.
    named: HashSet<String>,
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

impl Story<'_> {
    fn root(&self) -> PathBuf {
        let out = self.folder.join("out");
        match self.story["at"].as_str() {
            Some(name) => out.join(name),
            None => self.folder.join("out/root"),
        }
    }

    /// Runs a shell line in the tree; returns whether it succeeded, and its output.
    fn shell(&self, line: &str) -> (bool, String) {
        let script = format!("{}\n{line}\n", self.prelude);
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(self.root()).stdin(Stdio::null());
        command.env("ROOT", self.root()).env("OUT", self.folder.join("out")).env("SAVE", self.folder.join("save"));
        command.env("HOME", self.folder.join("home")).env("STORE", self.folder.join("store"));
        for (name, value) in self.story["env"].as_object().into_iter().flatten() {
            command.env(name, value.as_str().unwrap_or_default());
        }
        // A background job keeps pipes open, so output goes to a file.
        let log = self.folder.join("log");
        let file = std::fs::File::create(&log).unwrap();
        let status = command.stdout(file.try_clone().unwrap()).stderr(file).status().unwrap();
        (status.success(), String::from_utf8_lossy(&std::fs::read(log).unwrap()).into_owned())
    }

    fn run(&self, lines: &Value) {
        for line in texts(lines) {
            self.shell(line);
        }
    }

    fn open(&self) -> Checkpoints {
        let root = match self.story["root"].as_str() {
            Some(alias) => self.folder.join("out").join(alias),
            None => self.root(),
        };
        let options = OpenOptions { store: self.folder.join("store"), ..OpenOptions::default() };
        Checkpoints::open(&root, &options).unwrap()
    }

    fn checkpoints(&mut self) -> &Checkpoints {
        if self.checkpoints.is_none() {
            self.checkpoints = Some(self.open());
        }
        self.checkpoints.as_ref().unwrap()
    }

    fn take(&mut self, kind: CheckpointKind) -> String {
        let git = self.shell("G").1;
        let options = TakeOptions { kind, ..TakeOptions::default() };
        let id = self.checkpoints().take(&options, &CancelToken::never()).unwrap().id;
        assert!(git == self.shell("G").1, "a take wrote below .git");
        id
    }

    fn turn(&mut self, number: usize, turn: &Value) {
        let session = turn["session"].as_str().unwrap_or("").to_string();
        self.mark(&format!("before-{number}"));
        match turn["by"].as_str().unwrap() {
            "agent" => self.agent_turn(&session, turn),
            "fork" => {
                let from = turn["from"].as_str().unwrap_or("");
                let turns = self.turns.get(from).cloned().unwrap_or_default();
                self.turns.insert(session, turns);
            }
            "step" => self.step(turn),
            _ => self.run(&turn["run"]),
        }
        self.mark(&format!("after-{number}"));
    }

    /// Remembers the tree under a name.
    fn mark(&self, name: &str) {
        if self.is_treed() {
            self.shell(&format!("mark {name}"));
        }
    }

    /// Returns true if the tree is small enough to be read as a whole.
    fn is_treed(&self) -> bool {
        self.story["untreed"] != true
    }

    fn agent_turn(&mut self, session: &str, turn: &Value) {
        let start = self.take(CheckpointKind::Start);
        for edit in turn["edit"].as_array().into_iter().flatten() {
            let path = edit["path"].as_str().unwrap();
            self.checkpoints().note(&[path.as_bytes().to_vec()], Some(session), &CancelToken::never()).unwrap();
            let file = self.root().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, edit["text"].as_str().unwrap()).unwrap();
        }
        self.run(&turn["run"]);
        let end = self.take(CheckpointKind::End);
        // A turn in several parts has one span for each; the last part ends the turn.
        let parts = self.parts.entry(session.to_string()).or_default();
        parts.push((start, end));
        if turn["part"] != "start" {
            let spans = std::mem::take(parts);
            self.turns.entry(session.to_string()).or_default().push(spans);
        }
    }

    fn step(&mut self, step: &Value) {
        let session = step["session"].as_str().unwrap_or("").to_string();
        if step["fresh"] == true {
            self.checkpoints = None;
        }
        if let Some(count) = step["undo"].as_u64() {
            self.undo(&session, count as usize, step);
        } else if let Some(count) = step["redo"].as_u64() {
            for _ in 0..count {
                self.redo(&session, step);
            }
        } else if step["take"] == true {
            self.take(CheckpointKind::Manual);
        }
        self.run(&step["run"]);
    }

    fn undo(&mut self, session: &str, count: usize, step: &Value) {
        let turns = self.turns.entry(session.to_string()).or_default();
        let undone = turns.split_off(turns.len().saturating_sub(count));
        let spans: Spans = undone.concat();
        let Some((first, _)) = spans.first().cloned() else { return };
        let paths = step["paths"].as_array().map(|_| texts(&step["paths"]));
        let force = match &step["force"] {
            Value::Bool(true) => Force::All,
            list @ Value::Array(_) => Force::Paths(texts(list).iter().map(|path| path.as_bytes().to_vec()).collect()),
            _ => Force::None,
        };
        let options = RestoreOptions {
            spans: Some(spans),
            paths: paths.map(|paths| paths.iter().map(|path| path.as_bytes().to_vec()).collect()),
            force,
            ..RestoreOptions::default()
        };
        if let Some(redo) = self.restore(&first, &options, step) {
            self.redo.entry(session.to_string()).or_default().push((redo, undone));
        }
    }

    fn redo(&mut self, session: &str, step: &Value) {
        let Some((redo, turns)) = self.redo.entry(session.to_string()).or_default().pop() else { return };
        self.restore(&redo, &RestoreOptions::default(), step);
        self.turns.entry(session.to_string()).or_default().extend(turns);
    }

    fn restore(&mut self, id: &str, options: &RestoreOptions, step: &Value) -> Option<String> {
        for point in step["kill"].as_array().into_iter().flatten() {
            self.killed_restore(id, options, point.as_u64().unwrap());
            for line in texts(&step["check"]) {
                let (fine, output) = self.shell(line);
                assert!(fine, "after a kill at point {point}: {line}: {output}");
            }
        }
        let git = self.shell("G").1;
        // The first use after a kill cleans up.
        self.checkpoints();
        // A background program may change the tree meanwhile.
        let compares = self.story["kind"] != "late" && self.is_treed();
        let tree = compares.then(|| self.shell("T").1);
        let plan = self.checkpoints().plan(id, options, &CancelToken::never()).unwrap();
        assert!(tree.is_none_or(|tree| tree == self.shell("T").1), "a plan wrote to the tree");
        self.name(&plan);
        let restored = self.checkpoints().restore(id, options, &CancelToken::never()).unwrap();
        assert!(git == self.shell("G").1, "a restore wrote below .git");
        self.name(&restored.plan);
        restored.redo
    }

    /// Runs a restore in a separate process, which is killed at a point between two changes on disk. The stories name
    /// milliseconds, but the number of the point does not depend on the machine.
    fn killed_restore(&mut self, id: &str, options: &RestoreOptions, point: u64) {
        self.checkpoints = None;
        let spans = options.spans.iter().flatten().map(|(start, end)| format!("{start},{end}"));
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::child_tests::does_what_the_environment_names", "--nocapture"])
            .env("SINEW_TEST_ROOT", self.root())
            .env("SINEW_TEST_STORE", self.folder.join("store"))
            .env("SINEW_TEST_RESTORE", id)
            .env("SINEW_TEST_SPANS", spans.collect::<Vec<_>>().join(" "))
            .env("SINEW_TEST_FAULT", point.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
    }

    fn name(&mut self, plan: &Plan) {
        let shown = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let kept = plan.entries.iter().filter(|entry| entry.action.reason().is_some());
        self.named.extend(kept.map(|entry| shown(&entry.path)));
        self.named.extend(plan.repositories.iter().map(|repository| shown(&repository.path)));
    }

    fn play(&mut self) -> Result<(), String> {
        for folder in ["out", "save", "home", "store"] {
            std::fs::create_dir_all(self.folder.join(folder)).unwrap();
        }
        std::fs::create_dir_all(self.root()).unwrap();
        let config = "[user]\n\tname = Somebody\n\temail = somebody@example.com\n[init]\n\tdefaultBranch = main\n";
        std::fs::write(self.folder.join("home/.gitconfig"), config).unwrap();
        self.run(&self.story["setup"]);
        for (at, turn) in self.story["turns"].as_array().into_iter().flatten().enumerate() {
            self.turn(at + 1, turn);
        }
        for step in self.story["undo"].as_array().into_iter().flatten() {
            self.step(step);
        }
        for line in texts(&self.story["expect"]) {
            let (fine, output) = self.shell(line);
            if !fine {
                return Err(format!("{line}: {output}"));
            }
        }
        for path in texts(&self.story["named"]) {
            if !self.named.contains(path) {
                return Err(format!("{path} is not named, but {:?}", self.named));
            }
        }
        for either in self.story["either"].as_array().into_iter().flatten() {
            let (path, mark) = (either["path"].as_str().unwrap(), either["was"].as_str().unwrap());
            let rows = format!(
                "a=$(T | grep -F ' ./{path}'); b=$(grep -F ' ./{path}' $SAVE/{mark}.tree); [ \"$a\" = \"$b\" ]"
            );
            if !self.named.contains(path) && !self.shell(&rows).0 {
                return Err(format!("{path} is neither restored nor named"));
            }
        }
        Ok(())
    }
}

#[test]
fn handles_the_cases_of_public_bug_reports() {
    let path = std::env::var("SINEW_TEST_STORIES").unwrap_or_else(|_| STORIES.into());
    let Ok(text) = std::fs::read(&path) else {
        println!("{path} is missing: no story is played");
        return;
    };
    let file: Value = serde_json::from_slice(&text).unwrap();
    let only = std::env::var("SINEW_TEST_STORY").ok();
    let stories = file["stories"].as_array().unwrap();
    let stories: Vec<&Value> =
        stories.iter().filter(|story| only.is_none() || story["id"].as_str() == only.as_deref()).collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(story) = stories.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(reason) = play(story, file["prelude"].as_str().unwrap()) {
                        failures.lock().push(format!("{}: {reason}", story["id"]));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner();
    assert!(failures.is_empty(), "{} of {} stories failed:\n{}", failures.len(), stories.len(), failures.join("\n"));
}

fn play(story: &Value, prelude: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let mut story = Story {
        story,
        folder: folder.path(),
        prelude,
        checkpoints: None,
        turns: HashMap::new(),
        parts: HashMap::new(),
        redo: HashMap::new(),
        named: HashSet::new(),
    };
    let played = catch_unwind(AssertUnwindSafe(|| story.play()));
    story.shell("chmod -R u+rwX .");
    played.unwrap_or_else(|panic| Err(format!("panic: {:?}", panic.downcast_ref::<String>())))
}
