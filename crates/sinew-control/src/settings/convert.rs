//! Converts the settings to the options of other crates.

use std::time::Duration;

use serde_json::Value;
use sinew::shell::Engine;
use sinew_agent::agent::{AgentSettings, BranchSummarySettings, CompactionSettings, RetrySettings};
use sinew_agent::compaction::Limits;
use sinew_agent::core::RunSettings;
use sinew_agent::resource::stream::StreamSettings;
use sinew_agent::resource::{ResourceFolders, ResourceOptions};
use sinew_llm::http::HttpConfig;
use sinew_llm::model::ThinkingLevel;
use sinew_session::Sync;
use sinew_tools::{EditSettings, GuardSettings, ImageSettings, InterceptorSettings, OutsideSandbox};

use super::table::{BashInterceptor, Search, Settings};
use super::words::{ApproveOutside, ContextMode, IndexPolicy, RepeatMode};

impl Settings {
    /// Returns the settings of the agent, without the options of the command line.
    pub(crate) fn agent(&self) -> AgentSettings {
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let Settings { retry, compaction, branch_summary, thinking_budgets: budgets, .. } = self;
        let budgets = [
            (ThinkingLevel::Minimal, budgets.minimal),
            (ThinkingLevel::Low, budgets.low),
            (ThinkingLevel::Medium, budgets.medium),
            (ThinkingLevel::High, budgets.high),
            (ThinkingLevel::XHigh, budgets.xhigh),
        ];
        AgentSettings {
            run: RunSettings {
                max_turns: small(self.max_turns),
                execution: self.tool_execution,
                interrupt: self.interrupt_mode,
            },
            retry: RetrySettings {
                enabled: retry.enabled,
                max_retries: small(retry.max_retries),
                base_delay_ms: retry.base_delay_ms,
                max_delay_ms: retry.max_delay_ms,
            },
            compaction: CompactionSettings {
                enabled: compaction.enabled,
                limits: Limits { reserve: compaction.reserve_tokens, keep_recent: compaction.keep_recent_tokens },
                auto_continue: compaction.auto_continue,
                model: compaction.model.clone(),
                remote_endpoint: compaction.remote_endpoint.clone(),
            },
            http: HttpConfig::default(),
            branch_summary: BranchSummarySettings {
                enabled: branch_summary.enabled,
                reserve: branch_summary.reserve_tokens,
            },
            titles: false,
            promotion: self.context_promotion.enabled,
            todo_reminders: self.todo.reminders,
            steering_mode: self.steering_mode,
            follow_up_mode: self.follow_up_mode,
            cache: self.cache_retention,
            thinking_budgets: budgets.into_iter().filter_map(|(level, tokens)| Some((level, tokens?))).collect(),
            max_tokens: None,
            budgets: Vec::new(),
            allows_empty: false,
            tool_choice: Default::default(),
            fallback: None,
        }
    }

    /// Returns the settings of the tools. The app adds the rest: keys of providers, active tools, `CI`.
    pub fn tools(&self) -> sinew_tools::Settings {
        let shell = Engine::from_name(&self.shell_path);
        sinew_tools::Settings {
            file_guard: self.file_guard,
            outside_sandbox: match self.approve.outside {
                ApproveOutside::Ask => OutsideSandbox::Ask,
                ApproveOutside::Deny => OutsideSandbox::Deny,
            },
            images: self.images(),
            edit: EditSettings { mode: self.edit.mode, fuzzy: self.edit.fuzzy, stream_guard: self.edit.stream_guard },
            bash_guard: GuardSettings {
                enabled: self.bash_guard.enabled,
                deny: self.bash_guard.deny.clone(),
                allow: self.bash_guard.allow.clone(),
            },
            bash_interceptor: InterceptorSettings {
                enabled: self.bash_interceptor.enabled,
                patterns: self.bash_interceptor.patterns(),
            },
            bash_timeout_seconds: self.bash.timeout_seconds,
            // `auto`, `bash` and `brush` are names; any other value is the path of a bash.
            engine: shell.unwrap_or_default(),
            bash: shell.is_none().then(|| self.shell_path.clone().into()),
            jobs: self.jobs.enabled,
            auto_background_ms: self.bash.auto_background.threshold_ms,
            todo_auto_clear_seconds: self.todo.auto_clear_seconds,
            shell_command_prefix: self.shell_command_prefix.clone(),
            pass_through: self.env.pass_through.clone(),
            env: self.env.variables.clone().into_iter().collect(),
            fetch: self.fetch.enabled,
            fetch_allow_private: self.fetch.allow_private.clone(),
            ask_timeout_seconds: self.ask.timeout_seconds,
            ..sinew_tools::Settings::default()
        }
    }

    /// Returns the settings of images.
    pub(crate) fn images(&self) -> ImageSettings {
        ImageSettings { auto_resize: self.images.auto_resize, block_images: self.images.block_images }
    }

    /// Returns the options of skills, commands, templates and rules in `folders`, without flags.
    pub(crate) fn resources(&self, folders: ResourceFolders) -> ResourceOptions {
        let skills = &self.skills;
        ResourceOptions {
            skills: skills.enabled,
            skill_commands: skills.enable_commands,
            skill_directories: skills.directories.iter().map(|path| folders.resolve(path)).collect(),
            skill_include: skills.include.clone(),
            skill_ignore: skills.ignore.clone(),
            claude_skills: skills.enable_claude,
            foreign_rules: self.rules.enable_foreign,
            ..ResourceOptions::new(folders)
        }
    }

    /// Returns the settings of rules that check answers while they are streamed.
    pub(crate) fn stream_rules(&self) -> StreamSettings {
        let rules = &self.stream_rules;
        StreamSettings {
            enabled: rules.enabled,
            keep: rules.context_mode == ContextMode::Keep,
            gap: (rules.repeat_mode == RepeatMode::AfterGap).then_some(rules.repeat_gap),
            interrupt: rules.interrupt_mode,
            disabled: rules.disabled_rules.clone(),
        }
    }

    /// Returns when session files are flushed to disk.
    pub fn sync(&self) -> Sync {
        self.sessions.fsync
    }

    /// Returns the time limit for a connection; `None` for no limit.
    pub(crate) fn connect_timeout(&self) -> Option<Duration> {
        limit(self.provider_timeouts.connect_ms)
    }

    /// Returns the time limit for a pause within an answer; `None` for no limit.
    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        limit(self.provider_timeouts.idle_ms)
    }
}

fn limit(ms: u64) -> Option<Duration> {
    (ms > 0).then(|| Duration::from_millis(ms))
}

impl Search {
    /// Returns true if the repository is watched, and indexed if that is worthwhile.
    pub fn is_indexed(&self) -> bool {
        self.index == IndexPolicy::Auto
    }
}

impl BashInterceptor {
    fn patterns(&self) -> Vec<(String, String)> {
        let text = |rule: &Value, key: &str| rule.get(key)?.as_str().map(str::to_string);
        self.rules.iter().filter_map(|rule| Some((text(rule, "pattern")?, text(rule, "tool")?))).collect()
    }
}
