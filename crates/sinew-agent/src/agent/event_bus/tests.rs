use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use sinew_llm::event::{EventStream, StreamEvent};
use sinew_llm::message::AssistantMessage;
use sinew_llm::provider::{Provider, Request};

use super::*;
use crate::agent::{ResolvedModel, Stop};
use crate::event::AnswerStep;
use crate::test_tools::{text, user};

fn update(kind: &str, content_index: usize, delta: &str, so_far: usize) -> Event {
    let delta = delta.to_string();
    let event = match kind {
        "text_delta" => StreamEvent::TextDelta { content_index, delta },
        _ => StreamEvent::ThinkingDelta { content_index, delta },
    };
    let message = Some(AgentMessage::from(text(&"x".repeat(so_far))));
    Event::MessageUpdate { message, step: AnswerStep { event, content: None } }
}

/// Sends 100 MB, one piece each millisecond, and counts the bytes that were accepted.
struct Talks(Arc<AtomicUsize>);

const PIECE: usize = 100_000;
const ALL: usize = 1_000 * PIECE;

impl Provider for Talks {
    fn api(&self) -> &str {
        "talks"
    }

    fn stream(&self, _: Request, _: CancellationToken) -> EventStream {
        let sent = Arc::clone(&self.0);
        EventStream::run(AssistantMessage::default(), move |out| async move {
            out.send(StreamEvent::Start).await;
            out.send(StreamEvent::TextStart { content_index: 0 }).await;
            while sent.load(Ordering::SeqCst) < ALL {
                out.send(StreamEvent::TextDelta { content_index: 0, delta: "x".repeat(PIECE) }).await;
                sent.fetch_add(PIECE, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            std::future::pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_reads_nothing_bounds_memory_and_delays_no_abort() {
    let sent = Arc::new(AtomicUsize::new(0));
    let env = crate::agent::tests::env(Vec::new(), |parts| {
        parts.resolved = ResolvedModel { provider: Arc::new(Talks(Arc::clone(&sent))), ..parts.resolved.clone() };
    });
    let mut stuck = env.listener;
    let agent = Arc::new(env.agent);
    let own = Arc::clone(&agent);
    let prompt = tokio::spawn(async move { own.prompt(vec![user("go")], None).await.unwrap().stop });
    // The paused clock advances only when every task waits.
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let (taken, held) = (sent.load(Ordering::SeqCst), stuck.waiting_bytes());
    assert!(taken <= 2 * CAPACITY_BYTES, "the model is blocked: {taken} bytes were accepted");
    assert!(held <= CAPACITY_BYTES, "{held} bytes wait");
    agent.abort();
    assert_eq!(prompt.await.unwrap(), Stop::Aborted);
    drop(agent);
    let mut told = Vec::new();
    while let Some(event) = stuck.recv().await {
        told.push(event.name());
    }
    told.retain(|name| *name != "message_update");
    let expected = ["agent_start", "message_start", "message_end", "turn_start", "message_start", "message_end"];
    assert_eq!(told, [&expected[..], &["turn_end", "agent_end", "agent_settled"]].concat());
}

#[tokio::test(start_paused = true)]
async fn an_event_waits_for_a_full_listener_and_reaches_the_others_at_once() {
    let event_bus = EventBus::default();
    let mut slow = event_bus.subscribe(Snapshots::Each);
    let cancel = CancellationToken::new();
    for _ in 0..CAPACITY {
        event_bus.send(Event::TurnStart, &cancel).await;
    }
    let mut quick = event_bus.subscribe(Snapshots::Each);
    let mut late = Box::pin(event_bus.send(Event::AgentStart, &cancel));
    assert!(futures_util::poll!(late.as_mut()).is_pending());
    assert_eq!(quick.try_recv().as_deref(), Some(&Event::AgentStart));
    assert_eq!(slow.recv().await.as_deref(), Some(&Event::TurnStart));
    late.as_mut().await;
    drop(late);
    for _ in 1..CAPACITY {
        assert_eq!(slow.recv().await.as_deref(), Some(&Event::TurnStart));
    }
    assert_eq!(slow.recv().await.as_deref(), Some(&Event::AgentStart));
    drop(slow);
    event_bus.send(Event::AgentStart, &cancel).await;
    drop(event_bus);
    assert_eq!(quick.recv().await.as_deref(), Some(&Event::AgentStart));
    assert_eq!(quick.recv().await, None);
}

#[test]
fn the_newest_update_of_a_tool_replaces_unread_ones() {
    let event_bus = EventBus::default();
    let mut listener = event_bus.subscribe(Snapshots::Each);
    let update = |id: &str, at: usize| Event::ToolExecutionUpdate {
        tool_call_id: id.into(),
        tool_name: "t".into(),
        args: json!({}),
        partial_result: sinew_tools::tool::ToolOutput::text(at.to_string()).into(),
    };
    let channel = Arc::clone(&listener.channel);
    let put = |event: Event| assert!(channel.offer(&Arc::new(event), 1, false));
    (0..BEHIND).for_each(|_| put(Event::TurnStart));
    (0..9).for_each(|at| put(update("a", at)));
    put(update("b", 9));
    let rest: Vec<Event> =
        std::iter::from_fn(|| listener.try_recv()).skip(BEHIND).map(|event| (*event).clone()).collect();
    assert_eq!(rest, [update("a", 8), update("b", 9)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// In any order of reads, no delta is lost or reordered relative to other events, and the limits hold.
    #[test]
    fn merging_loses_nothing(steps in prop::collection::vec((0..4_u8, 0..2_usize, "[a-z]{1,9}", 0..3_usize), 0..300)) {
        let event_bus = EventBus::default();
        let mut listener = event_bus.subscribe(Snapshots::Each);
        let (mut said, mut heard) = (String::new(), String::new());
        let hear = |event: Option<Arc<Event>>, heard: &mut String| {
            let Some(event) = event else { return };
            match &*event {
                Event::MessageUpdate { step, .. } => {
                    let (delta, kind, index) = (step.event.delta().unwrap(), step.event.name(), step.event.content_index());
                    heard.extend(delta.chars().flat_map(|c| format!("{kind}{index:?}{c}").chars().collect::<Vec<_>>()));
                }
                _ => heard.push('|'),
            }
        };
        let mut size = 0;
        for (kind, index, delta, reads) in steps {
            let event = if kind == 0 { Event::TurnStart } else {
                size += delta.len();
                update(["text_delta", "thinking_delta"][usize::from(kind == 1)], index, &delta, size)
            };
            hear(Some(Arc::new(event.clone())), &mut said);
            let bytes = weight(&event);
            while !listener.channel.offer(&Arc::new(event.clone()), bytes, false) {
                hear(listener.try_recv(), &mut heard);
            }
            prop_assert!(listener.channel.lock().waiting.len() <= CAPACITY);
            prop_assert!(listener.waiting_bytes() <= CAPACITY_BYTES.max(bytes));
            for _ in 0..reads.saturating_sub(1) {
                hear(listener.try_recv(), &mut heard);
            }
        }
        while let Some(event) = listener.try_recv() {
            hear(Some(event), &mut heard);
        }
        prop_assert_eq!(listener.waiting_bytes(), 0);
        prop_assert_eq!(said, heard);
    }
}

#[tokio::test]
async fn answers_are_copied_only_if_a_listener_reads_the_copies() {
    let answer = || vec![text("one two three")];
    let without = crate::agent::tests::env(answer(), |_| {});
    drop(without.listener);
    let mut deltas = without.agent.subscribe(Snapshots::Unread);
    without.agent.prompt(vec![user("go")], None).await.unwrap();
    let with = crate::agent::tests::env(answer(), |_| {});
    let (mut whole, mut beside) = (with.listener, with.agent.subscribe(Snapshots::Unread));
    with.agent.prompt(vec![user("go")], None).await.unwrap();
    let snapshots = |subscriber: &mut Subscriber| {
        let mut found = Vec::new();
        while let Some(event) = subscriber.try_recv() {
            if let Event::MessageUpdate { message, .. } = &*event {
                found.push(message.clone());
            }
        }
        assert!(!found.is_empty());
        found
    };
    assert!(snapshots(&mut deltas).iter().all(Option::is_none));
    let (whole, beside) = (snapshots(&mut whole), snapshots(&mut beside));
    assert!(whole.iter().all(Option::is_some));
    for pair in whole.iter().zip(&beside) {
        let (Some(AgentMessage::Assistant(one)), Some(AgentMessage::Assistant(other))) = pair else {
            panic!("no answer")
        };
        assert!(Arc::ptr_eq(one, other), "one copy for all");
    }
}
