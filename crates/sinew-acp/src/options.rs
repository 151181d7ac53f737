//! The options that a user can change for a session in the editor: mode, model and thinking level.

use agent_client_protocol_schema::v1 as acp;
use sinew_control::actions::Control;
use sinew_control::actions::mode::SessionMode;
use sinew_jsonrpc::RpcError;
use sinew_llm::model::ThinkingLevel;

const MODE: &str = "mode";
const MODEL: &str = "model";
const THOUGHT: &str = "thought_level";

/// The modes: id, name, description.
const MODES: [(SessionMode, &str, &str, &str); 2] = [
    (SessionMode::Default, "default", "Default", "All tools; permission rules decide when to ask"),
    (SessionMode::Plan, "plan", "Plan", "Nothing can be changed; the answer is a plan"),
];

fn id_of(mode: SessionMode) -> &'static str {
    MODES.iter().find(|(known, ..)| *known == mode).map_or("default", |(_, id, ..)| id)
}

/// Returns the modes for editors that do not support options.
pub(super) fn modes(control: &Control) -> acp::SessionModeState {
    let available = MODES.iter().map(|(_, id, name, text)| acp::SessionMode::new(*id, *name).description(*text));
    acp::SessionModeState::new(id_of(control.mode()), available.collect())
}

/// Returns all options with their current values.
pub(super) fn all(control: &Control) -> Vec<acp::SessionConfigOption> {
    use acp::SessionConfigOptionCategory::{Mode, Model, ThoughtLevel};
    let choice = |value: &str, name: &str| acp::SessionConfigSelectOption::new(value.to_string(), name);
    let agent = &control.session().agent;
    let current = agent.model().model;
    let mut models: Vec<_> = control.models().iter().map(|model| choice(&model.key(), &model.name)).collect();
    // The current model may be missing in the list, because it comes from a script or its key was removed.
    if models.iter().all(|model| *model.value.0 != *current.key()) {
        models.insert(0, choice(&current.key(), &current.name));
    }
    let levels: Vec<_> = control.thinking_levels().iter().map(|level| choice(level.as_str(), level.as_str())).collect();
    let modes: Vec<_> = MODES.iter().map(|(_, id, name, text)| choice(id, name).description(*text)).collect();
    let select = |id: &'static str, name: &str, current: &str, options: Vec<acp::SessionConfigSelectOption>| {
        acp::SessionConfigOption::select(id, name, current.to_string(), options)
    };
    vec![
        select(MODE, "Mode", id_of(control.mode()), modes).category(Mode),
        select(MODEL, "Model", &current.key(), models).category(Model),
        select(THOUGHT, "Thinking", agent.thinking().as_str(), levels).category(ThoughtLevel),
    ]
}

/// Changes the mode.
///
/// # Errors
/// Returns an error if the mode does not exist, or if the system prompt cannot be built.
pub(super) async fn set_mode(control: &Control, id: &str) -> Result<(), RpcError> {
    let Some((mode, ..)) = MODES.iter().find(|(_, known, ..)| *known == id) else {
        let known: Vec<&str> = MODES.iter().map(|(_, id, ..)| *id).collect();
        let text = format!("/modeId: unknown mode {id:?}; known: {}", known.join(", "));
        return Err(RpcError::invalid_params(text));
    };
    control.set_mode(*mode).await.map_err(|error| RpcError::new(RpcError::INTERNAL_ERROR, error.message))
}

/// Changes an option.
///
/// # Errors
/// Returns an error if the option or value does not exist, or if the model is not available.
pub(super) async fn set(control: &Control, id: &str, value: &str) -> Result<(), RpcError> {
    match id {
        MODE => set_mode(control, value).await,
        MODEL => {
            let wrong = || RpcError::invalid_params(format!("/value: {value:?} is not a model: use provider/id"));
            let (provider, model) = value.split_once('/').ok_or_else(wrong)?;
            if control.session().agent.model().model.key() == value {
                return Ok(());
            }
            control.set_model(provider, model).await.map(drop).map_err(|error| RpcError::invalid_params(error.message))
        }
        THOUGHT => {
            let level = ThinkingLevel::parse(value)
                .ok_or_else(|| RpcError::invalid_params(format!("/value: unknown thinking level {value:?}")))?;
            control.set_thinking(level);
            Ok(())
        }
        _ => {
            let text = format!("/configId: unknown option {id:?}; known: {MODE}, {MODEL}, {THOUGHT}");
            Err(RpcError::invalid_params(text))
        }
    }
}
