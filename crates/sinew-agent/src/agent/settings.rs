//! The settings of an agent: those of the user, and those that may change between two requests.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use sinew_llm::http::HttpConfig;
use sinew_llm::message::LlmMessage;
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::{CacheRetention, PromptPart, Provider, Request, ToolChoice, ToolDef};

use super::meter::Budget;
use super::models::ResolvedModel;
use super::retry::RetrySettings;
use crate::compaction::Limits;
use crate::core::{QueueMode, RunSettings, Toolset, as_called, as_loaded};
use crate::resource::stream::StreamRules;

/// The settings of compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether the context is compacted automatically. Default: true.
    pub enabled: bool,
    /// The number of tokens that stay free, and the number of recent tokens that are kept.
    pub limits: Limits,
    /// Whether the agent continues by itself if the model had open work. Default: true.
    pub auto_continue: bool,
    /// The model that writes summaries: a pattern or a role. Default: the session's model.
    pub model: Option<String>,
    /// A server that is asked for a summary before any model: it receives `{systemPrompt, prompt}` and answers
    /// `{summary}`.
    pub remote_endpoint: Option<String>,
}

impl Default for CompactionSettings {
    fn default() -> CompactionSettings {
        CompactionSettings {
            enabled: true,
            limits: Limits::default(),
            auto_continue: true,
            model: None,
            remote_endpoint: None,
        }
    }
}

/// The settings of branch summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchSummarySettings {
    /// Whether a branch that is left is summarized by default. Default: false.
    pub enabled: bool,
    /// The number of tokens of the window that the branch leaves free. Default: 16,384.
    pub reserve: u64,
}

impl Default for BranchSummarySettings {
    fn default() -> BranchSummarySettings {
        BranchSummarySettings { enabled: false, reserve: 16_384 }
    }
}

/// The settings of an agent.
#[derive(Debug, Clone, Default)]
pub struct AgentSettings {
    /// Turns and tool execution.
    pub run: RunSettings,
    /// Retries.
    pub retry: RetrySettings,
    /// Compaction.
    pub compaction: CompactionSettings,
    /// Whether to switch to a model with a larger window on overflow. Default: false, because it costs more.
    pub promotion: bool,
    /// Whether to remind the model of open items of a todo list. Default: false here; the user setting `todo.reminders`
    /// defaults to true.
    pub todo_reminders: bool,
    /// The number of steering messages that are sent at once.
    pub steering_mode: QueueMode,
    /// The number of follow-up messages that are sent at once.
    pub follow_up_mode: QueueMode,
    /// How long servers cache the common prefix of requests.
    pub cache: CacheRetention,
    /// The thinking budget per level, in tokens.
    pub thinking_budgets: Vec<(ThinkingLevel, u64)>,
    /// The maximum number of tokens of an answer; `None` uses the limit of the model.
    pub max_tokens: Option<u64>,
    /// Branch summaries.
    pub branch_summary: BranchSummarySettings,
    /// Whether a session without title gets one after its first answer. Default: false, because it costs a request.
    pub titles: bool,
    /// The connections of the agent itself; providers have their own.
    pub http: HttpConfig,
    /// The limit on the cost of requests. Default: no limit.
    pub budgets: Vec<Budget>,
    /// Whether an answer without text and calls ends the run as any other. Default: false; the request is repeated once.
    pub allows_empty: bool,
    /// The tools that the model may choose from.
    pub tool_choice: ToolChoice,
    /// The model that is used if the session's model is unavailable: a pattern or a role. Default: none.
    pub fallback: Option<String>,
}

/// The parts of a request that may change between two turns.
#[derive(Clone)]
pub(super) struct TurnSettings {
    pub(super) resolved: ResolvedModel,
    pub(super) thinking: ThinkingLevel,
    pub(super) system: Vec<String>,
    pub(super) tools: Toolset,
}

/// All settings that may change while an agent runs. A change applies from the next decision or request on.
pub(super) struct LiveSettings {
    user: Mutex<Arc<AgentSettings>>,
    turn: Mutex<TurnSettings>,
    /// Additions of extensions to the system prompt of the current run.
    appended: Mutex<Vec<String>>,
    /// The rules that answers are checked against.
    rules: Mutex<Option<Arc<StreamRules>>>,
}

impl LiveSettings {
    pub(super) fn new(user: AgentSettings, turn: TurnSettings) -> LiveSettings {
        LiveSettings {
            user: Mutex::new(Arc::new(user)),
            turn: Mutex::new(turn),
            appended: Mutex::default(),
            rules: Mutex::default(),
        }
    }

    /// Returns the current settings of the user.
    pub(super) fn user(&self) -> Arc<AgentSettings> {
        Arc::clone(&self.user.lock())
    }

    /// Changes the settings of the user and returns the new ones. Callers that have the old ones are not affected.
    pub(super) fn change_user(&self, change: impl FnOnce(&mut AgentSettings)) -> Arc<AgentSettings> {
        let mut user = self.user.lock();
        change(Arc::make_mut(&mut user));
        Arc::clone(&user)
    }

    /// Returns the parts of the next request.
    pub(super) fn turn(&self) -> MutexGuard<'_, TurnSettings> {
        self.turn.lock()
    }

    /// Sets the additions of extensions to the system prompt.
    pub(super) fn append_to_system(&self, appended: Vec<String>) {
        *self.appended.lock() = appended;
    }

    pub(super) fn rules(&self) -> Option<Arc<StreamRules>> {
        self.rules.lock().clone()
    }

    /// Sets the rules and returns the previous ones.
    pub(super) fn replace_rules(&self, rules: Option<Arc<StreamRules>>) -> Option<Arc<StreamRules>> {
        std::mem::replace(&mut *self.rules.lock(), rules)
    }

    /// Returns the current provider and the request of a turn with `messages`. Equal inputs produce equal requests.
    pub(super) fn request(&self, messages: Vec<Arc<LlmMessage>>) -> (Arc<dyn Provider>, Request) {
        let user = self.user();
        let TurnSettings { resolved, thinking, system, tools } = self.turn().clone();
        let appended = self.appended.lock().clone();
        let native = tools.catalogue().filter(|_| resolved.model.loads_tools());
        let (messages, loaded) = match native {
            Some(catalogue) => as_loaded(messages, &**catalogue),
            None => (as_called(messages, &tools), Vec::new()),
        };
        let tools = tools.all().iter().filter(|tool| !tool.flags().hidden).map(|tool| ToolDef {
            name: tool.name().to_string(),
            description: tool.description().to_string(),
            parameters: tool.parameters(),
            loading: native.map(|catalogue| catalogue.loading(tool.name())).unwrap_or_default(),
        });
        let request = Request {
            thinking: resolved.model.clamp_level(thinking),
            model: resolved.model,
            auth: resolved.auth,
            system: system.into_iter().chain(appended).map(PromptPart::from).collect(),
            messages,
            tools: tools.chain(loaded).collect(),
            tool_choice: user.tool_choice.clone(),
            thinking_budgets: user.thinking_budgets.clone(),
            max_tokens: user.max_tokens,
            cache: user.cache,
            ..Request::default()
        };
        (resolved.provider, request)
    }
}

#[cfg(test)]
mod tests {
    use sinew_llm::model::Model;
    use sinew_llm::provider::Auth;
    use sinew_tools::tool::{Concurrency, ToolFlags, ToolOutput};

    use super::*;
    use crate::test_tools::{ScriptedProvider, TestTool, tool};

    fn live() -> LiveSettings {
        let model = Model { id: "m".into(), provider: "p".into(), ..Model::default() };
        let resolved = ResolvedModel { provider: Arc::new(ScriptedProvider::new(Vec::new())), model, auth: Auth::None };
        let shown = tool("shown", |_| Box::pin(async { Ok(ToolOutput::text("")) }));
        let hidden = Arc::new(TestTool {
            name: "hidden",
            concurrency: Concurrency::Shared,
            flags: ToolFlags { hidden: true, ..ToolFlags::default() },
            body: |_| -> sinew_tools::tool::Boxed<'static, _> { Box::pin(async { Ok(ToolOutput::text("")) }) },
        });
        let tools = Toolset::new([shown, hidden]).0;
        let turn = TurnSettings { resolved, thinking: ThinkingLevel::High, system: vec!["be good".into()], tools };
        LiveSettings::new(AgentSettings { max_tokens: Some(7), ..AgentSettings::default() }, turn)
    }

    #[test]
    fn a_request_uses_the_current_settings() {
        let live = live();
        live.append_to_system(vec!["be kind".into()]);
        let (_, request) = live.request(Vec::new());
        let system: Vec<&str> = request.system.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(system, ["be good", "be kind"]);
        assert_eq!(request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["shown"]);
        assert_eq!((request.max_tokens, request.model.id.as_str()), (Some(7), "m"));
        // The model does not support thinking.
        assert_eq!(request.thinking, request.model.clamp_level(ThinkingLevel::High));
        assert_eq!(live.turn().thinking, ThinkingLevel::High);
        live.turn().resolved.model.id = "other".into();
        live.append_to_system(Vec::new());
        let (_, request) = live.request(Vec::new());
        assert_eq!((request.model.id.as_str(), request.system.len()), ("other", 1));
    }

    #[test]
    fn a_change_does_not_affect_settings_that_were_read_before() {
        let live = live();
        let before = live.user();
        let after = live.change_user(|user| user.max_tokens = Some(9));
        assert_eq!((before.max_tokens, after.max_tokens, live.user().max_tokens), (Some(7), Some(9), Some(9)));
    }
}
