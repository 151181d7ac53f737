//! Settings of an agent: those of the user, and what may change between two requests.

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

/// Settings of compactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Default true.
    pub enabled: bool,
    /// Tokens that stay free, and tokens of the end that stay as they are.
    pub limits: Limits,
    /// The agent goes on by itself where the model had open work. Default true.
    pub auto_continue: bool,
    /// The model that writes summaries: a pattern or a role; default the session's model.
    pub model: Option<String>,
    /// A server that sums up before any model is asked: it gets `{systemPrompt, prompt}` and answers `{summary}`.
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

/// Settings of summaries of branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchSummarySettings {
    /// A branch that is left is summed up where nobody says otherwise. Default false.
    pub enabled: bool,
    /// Tokens of the window that the branch leaves free. Default 16,384.
    pub reserve: u64,
}

impl Default for BranchSummarySettings {
    fn default() -> BranchSummarySettings {
        BranchSummarySettings { enabled: false, reserve: 16_384 }
    }
}

/// Settings of an agent.
#[derive(Debug, Clone, Default)]
pub struct AgentSettings {
    /// Turns and tools.
    pub run: RunSettings,
    /// Attempts.
    pub retry: RetrySettings,
    /// Long contexts.
    pub compaction: CompactionSettings,
    /// A model with a larger window takes over on overflow. Default false: it costs more.
    pub promotion: bool,
    /// Reminds the model of open items, where there is a list. Default false; the setting `todo.reminders` is true
    /// where nobody sets it.
    pub todo_reminders: bool,
    /// The steering messages that are taken at once.
    pub steering_mode: QueueMode,
    /// The follow-up messages that are taken at once.
    pub follow_up_mode: QueueMode,
    /// The time for which servers cache the common start of requests.
    pub cache: CacheRetention,
    /// Tokens of thought by level.
    pub thinking_budgets: Vec<(ThinkingLevel, u64)>,
    /// Tokens of an answer at most.
    pub max_tokens: Option<u64>,
    /// Branches that are left.
    pub branch_summary: BranchSummarySettings,
    /// A session without title gets one after its first answer. Default false: a request more.
    pub titles: bool,
    /// Connections of the agent itself; providers have their own.
    pub http: HttpConfig,
    /// The amount that requests may cost. Default none: no limit.
    pub budget: Option<Budget>,
    /// The model that answers once the session's one cannot: a pattern or a role. Default none.
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

/// Everything that may be set while an agent lives. A change holds from the next decision or request on.
pub(super) struct LiveSettings {
    user: Mutex<Arc<AgentSettings>>,
    turn: Mutex<TurnSettings>,
    /// Additions of extensions to the system prompt of the run that is under way.
    appended: Mutex<Vec<String>>,
    /// The rules that answers are held against.
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

    /// The settings of the user as they are now.
    pub(super) fn user(&self) -> Arc<AgentSettings> {
        Arc::clone(&self.user.lock())
    }

    /// Changes the settings of the user and gives the new ones. Who has read the old ones keeps them.
    pub(super) fn change_user(&self, change: impl FnOnce(&mut AgentSettings)) -> Arc<AgentSettings> {
        let mut user = self.user.lock();
        change(Arc::make_mut(&mut user));
        Arc::clone(&user)
    }

    /// The parts of the next request.
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

    /// Sets the rules and gives those before.
    pub(super) fn replace_rules(&self, rules: Option<Arc<StreamRules>>) -> Option<Arc<StreamRules>> {
        std::mem::replace(&mut *self.rules.lock(), rules)
    }

    /// The provider that answers now, and the request of a turn with `messages`. Equal inputs give equal requests.
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
            tool_choice: ToolChoice::Auto,
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
    fn a_request_is_made_of_what_is_set_now() {
        let live = live();
        live.append_to_system(vec!["be kind".into()]);
        let (_, request) = live.request(Vec::new());
        let system: Vec<&str> = request.system.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(system, ["be good", "be kind"]);
        assert_eq!(request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["shown"]);
        assert_eq!((request.max_tokens, request.model.id.as_str()), (Some(7), "m"));
        // The model knows no thinking.
        assert_eq!(request.thinking, request.model.clamp_level(ThinkingLevel::High));
        assert_eq!(live.turn().thinking, ThinkingLevel::High);
        live.turn().resolved.model.id = "other".into();
        live.append_to_system(Vec::new());
        let (_, request) = live.request(Vec::new());
        assert_eq!((request.model.id.as_str(), request.system.len()), ("other", 1));
    }

    #[test]
    fn a_change_leaves_the_settings_that_somebody_reads_as_they_were() {
        let live = live();
        let before = live.user();
        let after = live.change_user(|user| user.max_tokens = Some(9));
        assert_eq!((before.max_tokens, after.max_tokens, live.user().max_tokens), (Some(7), Some(9), Some(9)));
    }
}
