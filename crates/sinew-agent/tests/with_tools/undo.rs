//! Tests what checkpoints cover if the directory cannot be watched.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sinew_agent::agent::AgentSession;
use sinew_agent::undo::{CheckpointStore, StoreOptions, Turn, TurnRecorder, UndoRequest, plan_text};

use crate::background::{agent, said};
use crate::stage::Stage;

pub(crate) const CASES: &[crate::Case] = &[
    ("a_turn_names_the_watch_limit", a_turn_names_the_watch_limit),
    ("a_slow_directory_is_covered_again_once_it_is_fast", a_slow_directory_is_covered_again_once_it_is_fast),
];

/// Creates an agent that runs one command in each of its turns, with checkpoints.
fn recorded(stage: &Stage, commands: &[String], change: impl FnOnce(&mut StoreOptions)) -> AgentSession {
    let turn = |command: &String| {
        let call = json!({"toolCall": {"name": "bash", "arguments": {"command": command}}});
        [json!({"type": "turn", "content": [call]}), json!({"type": "turn", "content": [{"text": "Done."}]})]
    };
    let script: Vec<Value> = commands.iter().flat_map(turn).collect();
    let store = stage.cwd().with_file_name("checkpoints");
    let mut options = StoreOptions { wait: Duration::from_secs(60), ..StoreOptions::new(&stage.cwd(), &store) };
    change(&mut options);
    let store = Arc::new(CheckpointStore::new(options));
    agent(stage, &script, Some(Arc::new(TurnRecorder::new(store, "s", Arc::new(Vec::new)))))
}

/// Runs a turn and returns what the session records about it.
fn run(stage: &Stage, agent: &AgentSession) -> Turn {
    stage.runtime.block_on(agent.prompt(vec![said("go")], None)).unwrap();
    agent.undo_history().unwrap().turns.pop().unwrap()
}

fn a_turn_names_the_watch_limit() {
    for (most, expect) in [(None, "full"), (Some(1), "watch limit reached: scanned")] {
        let stage = Stage::new();
        for name in ["one", "two"] {
            std::fs::create_dir(stage.cwd().join(name)).unwrap();
        }
        let agent = recorded(&stage, &["echo 1 > one/a".into()], |options| {
            options.sinew = Some(Arc::new(sinew::Sinew::new()));
            options.max_watches = most;
        });
        run(&stage, &agent);
        let plan = stage.runtime.block_on(agent.plan_undo(UndoRequest::default())).unwrap();
        assert_eq!((plan.plan.count(), plan.plan.coverage.to_string()), (1, expect.to_string()), "{most:?}");
        assert_eq!(plan_text(&plan).contains("\n  watch limit reached: scanned\n"), most.is_some(), "{most:?}");
    }
}

fn a_slow_directory_is_covered_again_once_it_is_fast() {
    let stage = Stage::new();
    let many = stage.cwd().join("many");
    std::fs::create_dir(&many).unwrap();
    for name in 0..10_000 {
        std::fs::write(many.join(name.to_string()), "").unwrap();
    }
    let commands: Vec<String> = (0..3_000).map(|turn| format!("echo {turn} > a")).collect();
    let agent = recorded(&stage, &commands, |options| options.longest_scan = Duration::from_millis(5));
    let slow = run(&stage, &agent);
    assert!(slow.gaps[0].contains("takes too long"), "{slow:?}");
    std::fs::remove_dir_all(&many).unwrap();
    // The directory is measured again after a pause.
    let is_covered = |turn: Turn| turn.gaps.is_empty() && !turn.spans.is_empty();
    assert!(commands[1..].iter().any(|_| is_covered(run(&stage, &agent))), "no later turn is covered");
}
