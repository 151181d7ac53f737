use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_llm::message::{Content, CustomMessage, StopReason};

use super::*;
use crate::core::tests::{TestEnv, echo, say};
use crate::test_tools::{calls, text};

/// Stops the first answers that contain `word`, or lets them finish and adds a reminder.
struct Strict {
    word: &'static str,
    stops: bool,
    discard: bool,
    seen: Mutex<String>,
    left: AtomicUsize,
}

fn strict(stops: bool, discard: bool, times: usize) -> Option<Box<dyn StreamMonitor>> {
    Some(Box::new(Strict { word: "bad", stops, discard, seen: Mutex::default(), left: AtomicUsize::new(times) }))
}

impl StreamMonitor for Strict {
    fn turn_start(&self) {
        self.seen.lock().unwrap().clear();
    }

    fn see(&self, event: &StreamEvent) -> Option<Vec<String>> {
        let mut seen = self.seen.lock().unwrap();
        match event {
            StreamEvent::ToolCallEnd { tool_call, .. } => seen.push_str(&tool_call.arguments.to_string()),
            event => seen.push_str(event.delta().unwrap_or_default()),
        }
        (self.stops && seen.contains(self.word) && self.left.load(Ordering::Relaxed) > 0).then(|| vec!["mild".into()])
    }

    fn catch_up(&self) -> Option<Vec<String>> {
        None
    }

    fn settle(&self, answer: &AssistantMessage, interrupted: bool) -> Correction {
        let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
        let found = interrupted || (!failed && !self.stops && self.seen.lock().unwrap().contains(self.word));
        if !found || self.left.load(Ordering::Relaxed) == 0 {
            return Correction::default();
        }
        self.left.fetch_sub(1, Ordering::Relaxed);
        let message = AgentMessage::Custom(CustomMessage {
            custom_type: "ttsr-injection".into(),
            content: Content::Text("Be mild.".into()),
            ..CustomMessage::default()
        });
        let call = answer.tool_calls().next();
        Correction {
            discard: interrupted && self.discard,
            injected: vec!["mild".into()],
            messages: if call.is_some() && !interrupted { Vec::new() } else { vec![message] },
            reminders: call.map(|call| (call.id.clone(), "Mind.".to_string())).into_iter().collect(),
        }
    }
}

fn told(messages: &[AgentMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match message {
            AgentMessage::Assistant(answer) => format!("{:?}: {}", answer.stop_reason, answer.text()),
            AgentMessage::Custom(custom) => format!("custom: {}", custom.content.text()),
            other => other.role().to_string(),
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_stopped_answer_leaves_the_context_and_the_run_continues() {
    let mut env = TestEnv::new(vec![text("a bad word"), text("a mild word")], vec![]);
    env.monitor = strict(true, true, 1);
    let mut messages = Vec::new();
    let ended = env.run(&mut messages).await;
    assert_eq!(told(&messages), ["user", "custom: Be mild.", "Stop: a mild word"]);
    assert_eq!(ended.turns, 2);
    assert_eq!(env.names().iter().filter(|name| *name == "ttsr_triggered").count(), 1);
    let names = env.names();
    let at = |name: &str| names.iter().position(|other| other == name).unwrap();
    assert!(at("ttsr_triggered") < at("turn_end"), "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_answer_may_stay_and_its_calls_do_not_run() {
    let mut env = TestEnv::new(vec![calls(&[("1", "echo", say("bad"))]), text("ok")], vec![echo()]);
    env.monitor = strict(true, false, 1);
    let mut messages = Vec::new();
    env.run(&mut messages).await;
    assert_eq!(
        told(&messages),
        ["user", "Aborted: ", "toolResult", "custom: Be mild.", "Stop: ok"],
        "the call has a result nevertheless"
    );
    assert!(!env.names().contains(&"tool_execution_start".to_string()));
}

#[tokio::test(start_paused = true)]
async fn a_reminder_precedes_the_result_of_its_call() {
    let mut env = TestEnv::new(vec![calls(&[("1", "echo", say("bad"))]), text("ok")], vec![echo()]);
    env.monitor = strict(false, true, 1);
    env.run(&mut Vec::new()).await;
    assert_eq!(env.results(), [("Mind.\nbad".to_string(), false)]);
}

#[tokio::test(start_paused = true)]
async fn a_good_answer_may_be_followed_by_another_turn() {
    let mut env = TestEnv::new(vec![text("a bad word"), text("sorry")], vec![]);
    env.monitor = strict(false, true, 1);
    let mut messages = Vec::new();
    env.run(&mut messages).await;
    assert_eq!(told(&messages), ["user", "Stop: a bad word", "custom: Be mild.", "Stop: sorry"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_takes_precedence_over_a_monitor() {
    let mut env = TestEnv::new(vec![text("a bad word"), text("never")], vec![]);
    env.monitor = strict(true, true, 1);
    env.cancel.cancel();
    let mut messages = Vec::new();
    let ended = env.run(&mut messages).await;
    assert_eq!(ended.answer.unwrap().stop_reason, StopReason::Aborted);
    assert!(!told(&messages).iter().any(|text| text.starts_with("custom")), "{messages:?}");
    assert_eq!(ended.turns, 1);
}
