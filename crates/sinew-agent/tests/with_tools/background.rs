//! Tests jobs that end while the agent is idle.

use std::sync::Arc;

use serde_json::{Value, json};
use sinew::base::{Error, Result};
use sinew_agent::agent::{
    AgentParts, AgentSession, AgentSettings, IdlePolicy, ModelResolver, ResolvedModel, Snapshots,
};
use sinew_agent::core::Toolset;
use sinew_agent::event::Event;
use sinew_agent::undo::TurnRecorder;
use sinew_llm::message::{AgentMessage, Content, UserMessage};
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::Auth;
use sinew_llm::scripted::{Script, ScriptedProvider, Variables};
use sinew_session::clock::{Clock, SystemClock};
use sinew_session::{Defaults, Session, SessionOptions, Sync};
use sinew_tools::Settings;

use crate::stage::Stage;

pub(crate) const CASES: &[crate::Case] =
    &[("the_end_of_a_job_wakes_an_idle_agent", the_end_of_a_job_wakes_an_idle_agent)];

/// Resolves no other model.
struct Alone;

impl ModelResolver for Alone {
    fn resolve(&self, pattern: &str) -> Result<ResolvedModel> {
        Err(Error::invalid(format!("Model not found: {pattern}")))
    }
}

/// Creates an agent with the tools of a stage and a scripted model.
pub(crate) fn agent(stage: &Stage, script: &[Value], undo: Option<Arc<TurnRecorder>>) -> AgentSession {
    let lines: Vec<String> = script.iter().map(Value::to_string).collect();
    let script = Script::parse(&lines.join("\n"), &Variables::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let provider = ScriptedProvider::new(script);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options =
        SessionOptions { cwd: stage.cwd(), blobs: None, sync: Sync::Never, clock: Arc::clone(&clock), mask: None };
    let agent = AgentSession::new(AgentParts {
        session: Session::in_memory(options),
        resolved: ResolvedModel { model: provider.model(), provider: Arc::new(provider), auth: Auth::None },
        models: Arc::new(Alone),
        thinking: ThinkingLevel::Off,
        system: Vec::new(),
        tools: Toolset::new(stage.tools.iter().cloned()).0,
        extensions: Vec::new(),
        settings: AgentSettings::default(),
        clock,
        cwd: stage.cwd(),
        has_ui: true,
        open_items: None,
        undo,
        lane: None,
        keep_record: None,
        cache_session: None,
        requester: None,
    });
    agent.unwrap()
}

/// Returns a message of the user.
pub(crate) fn said(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage { content: Content::Text(text.into()), timestamp: 1 })
}

fn the_end_of_a_job_wakes_an_idle_agent() {
    let stage = Stage::with(Settings { jobs: true, ..Settings::default() });
    let command = "while [ ! -e go ]; do sleep 0.01; done; echo built";
    let arguments = json!({"command": command, "background": true});
    let script = [
        json!({"type": "turn", "content": [{"toolCall": {"name": "bash", "arguments": arguments}}]}),
        json!({"type": "turn", "content": [{"text": "It runs."}]}),
        json!({"type": "turn", "expect": {"lastContains": "\nbuilt"}, "content": [{"text": "It is built."}]}),
    ];
    let agent = agent(&stage, &script, None);
    let mut listener = agent.subscribe(Snapshots::Unread);
    let go = stage.cwd().join("go");
    let mut told = Vec::new();
    let watch = async {
        while let Some(event) = listener.recv().await {
            match &*event {
                Event::JobUpdate { job_id, state } => told.push(format!("job {job_id} {state}")),
                Event::AgentSettled {} if go.exists() => break,
                Event::AgentSettled {} => {
                    told.push("settled".into());
                    std::fs::write(&go, "").unwrap();
                }
                _ => {}
            }
        }
    };
    let work = async {
        agent.prompt(vec![said("build it")], None).await.unwrap();
        std::future::pending::<()>().await;
    };
    stage.runtime.block_on(async {
        tokio::select! {
            () = watch => {}
            () = work => {}
            never = agent.forward_notices(&stage.host, IdlePolicy::Wake) => match never {},
        }
    });
    // The start of the job may be reported before or after the end of the run that started it.
    told[..2].sort();
    assert_eq!(told, ["job 1 running", "settled", "job 1 done"]);
    let context = agent.session().context(&Defaults::default()).unwrap().messages;
    let AgentMessage::Assistant(last) = context.last().unwrap() else { panic!("no answer") };
    assert_eq!(last.text(), "It is built.");
}
