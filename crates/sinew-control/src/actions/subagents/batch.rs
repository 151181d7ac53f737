//! From a call to its children: who calls, what may be started, and with which rights.

use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sinew::base::CancelToken;
use sinew::search::GlobOptions;
use sinew::view::ViewMode;
use sinew::walk::FileType;
use sinew_agent::agent::{Amount, Budget, Meter, MeteredModels, PrefixSize, WorkPermit};
use sinew_agent::compaction::text_tokens;
use sinew_agent::core::is_named;
use sinew_agent::event::Event;
use sinew_agent::subagent::{
    AgentDefinition, AgentDefinitions, ChildResult, ChildState, ResumeRequest, StartRequest, TaskItem, TaskRequest,
};
use sinew_llm::model::ThinkingLevel;
use sinew_session::{Defaults, Session};
use sinew_tools::Requester;
use sinew_tools::tool::{Boxed, Call, ToolError, ToolOutput};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::super::mode::SessionMode;
use super::super::{Control, ControlError};
use super::permit::ChildPermit;
use super::record::{ChildRecord, write_started};
use super::view::mode_named;
use super::{Child, Figures, result};
use crate::app::OpenSession;
use crate::app::child::ChildRights;
use crate::app::task::RunsTasks;
use crate::failure::known_names;
use crate::models::Choice;
use crate::schema::Schema;

/// The first two levels of a directory.
const TREE_PATTERN: &str = "{*,*/*}";
/// The maximum number of files that children are told at their start.
const TREE_ENTRIES: usize = 200;
/// Ends of children in the background that follow each other within this time start one run.
const TOGETHER: Duration = Duration::from_millis(50);
/// The shortest prefix that servers cache, in tokens.
const CACHED_TOKENS: u64 = 1_024;
/// The maximum time that children wait for the first answer to another child of their call.
const CACHE_WAIT: Duration = Duration::from_secs(3);
/// The shortest interval between two reports of a child's progress.
const PROGRESS: Duration = Duration::from_millis(150);

/// The session or child that makes a call.
struct Caller {
    /// The session that the user sees.
    root: Arc<OpenSession>,
    /// The session that makes the call.
    open: Arc<OpenSession>,
    /// The child that makes the call; `None` for the session that the user sees.
    child: Option<Arc<Child>>,
}

impl Caller {
    /// Returns the token that releases a call. It is cancelled if the call returns at once: because it says so, or
    /// otherwise because its agent does.
    ///
    /// # Errors
    /// Returns an error if the caller is a child, which must wait.
    fn released(
        &self,
        said: Option<bool>,
        agent: &AgentDefinition,
        what: &str,
    ) -> Result<CancellationToken, ControlError> {
        let is_background = said.unwrap_or(agent.background && self.child.is_none());
        if is_background && self.child.is_some() {
            return Err(format!("task: a subagent cannot {what} in the background").into());
        }
        let released = CancellationToken::new();
        if is_background {
            released.cancel();
        }
        Ok(released)
    }
}

/// The common properties of a call's children.
pub(super) struct Brief {
    pub(super) definition: AgentDefinition,
    pub(super) root: Arc<OpenSession>,
    pub(super) parent: Arc<OpenSession>,
    pub(super) call: String,
    pub(super) choice: Choice,
    pub(super) context: Option<String>,
    /// The files of the project, for the system prompt of new children.
    pub(super) tree: Option<String>,
    pub(super) schema: Option<serde_json::Value>,
    pub(super) depth: u64,
    is_read_only: bool,
    may_spawn: bool,
    /// The record of the child that continues; `None` for new children.
    pub(super) before: Option<ChildRecord>,
    /// Cancelled once the call does not wait for its children.
    pub(super) released: CancellationToken,
    /// How the files of each child are isolated; `None` for children that work where their parent does.
    pub(super) isolation: Option<ViewMode>,
    /// The child whose request writes the common prefix of all requests of the call to the cache of the server.
    lead: OnceLock<Arc<Child>>,
}

impl Brief {
    /// Returns true if the children work in the background.
    pub(super) fn is_background(&self) -> bool {
        self.released.is_cancelled()
    }

    pub(super) fn rights(&self) -> ChildRights<'_> {
        let Brief { parent, definition, is_read_only, may_spawn, before, .. } = self;
        let only = before.as_ref().map(|before| &*before.tools);
        ChildRights { parent, definition, is_read_only: *is_read_only, may_spawn: *may_spawn, only }
    }

    /// Waits until the server can read the common prefix of all requests of the call from its cache. The first child that
    /// calls this does not wait.
    pub(super) async fn await_cache(&self, child: &Arc<Child>, open: &OpenSession) {
        if Arc::ptr_eq(self.lead.get_or_init(|| Arc::clone(child)), child)
            || !open.agent.model().provider.caches_prefixes()
        {
            return;
        }
        if text_tokens(self.request_bytes(open)) < CACHED_TOKENS {
            return;
        }
        let Some(lead) = self.lead.get() else { return };
        tokio::select! {
            () = lead.meter.answered() => {}
            () = child.cancel.cancelled() => {}
            () = tokio::time::sleep(CACHE_WAIT) => {}
        }
    }

    /// Returns the size of the texts with which each request of a session and of its children begins.
    fn request_bytes(&self, open: &OpenSession) -> usize {
        let PrefixSize { system, tools } = open.agent.prefix_size();
        system + tools + self.context.as_ref().map_or(0, String::len)
    }

    /// Estimates the tokens of the common part of the first requests, before a child is open: the texts of the parent,
    /// and for forks its conversation.
    fn shared_tokens(&self) -> u64 {
        let texts = text_tokens(self.request_bytes(&self.parent));
        // If the session can no longer be read, a warning was shown already.
        let conversation = || self.parent.agent.context_usage().ok().flatten().map_or(0, |usage| usage.tokens);
        if self.definition.is_fork() { texts.max(conversation()) } else { texts }
    }

    /// Returns the record for the session of a child with these tools.
    pub(super) fn record(&self, child: &Child, tools: Vec<String>) -> ChildRecord {
        ChildRecord {
            definition: self.definition.clone(),
            description: child.requester.description.clone(),
            depth: self.depth,
            is_read_only: self.is_read_only,
            tools,
            schema: self.schema.clone(),
            isolation: self.isolation.map(|mode| mode.as_str().to_string()),
        }
    }
}

impl RunsTasks for Control {
    fn run_tasks(
        self: Arc<Self>,
        request: TaskRequest,
        call: Call,
        caller: Option<String>,
    ) -> Boxed<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.run(request, call, caller).await.map_err(|error| ToolError::Failed(error.message)) })
    }
}

impl Control {
    /// Runs the children of a call and returns their results in the order of its tasks; in the background, returns when
    /// they are registered.
    ///
    /// # Errors
    /// Returns an error before any child starts if the call asks for something that is not available.
    async fn run(
        self: Arc<Self>,
        request: TaskRequest,
        call: Call,
        caller: Option<String>,
    ) -> Result<ToolOutput, ControlError> {
        let caller = self.caller(caller.as_deref())?;
        let (brief, children) = match request {
            TaskRequest::Start(start) => self.start(start, &caller, &call.id).await?,
            TaskRequest::Resume(resume) => self.resume(resume, &caller, &call.id).await?,
        };
        let brief = Arc::new(brief);
        self.register(&brief, &children)?;
        if brief.is_background() {
            for (index, child) in children.iter().cloned().enumerate() {
                brief.root.agent.begin_outside_work();
                let work = Arc::clone(&self).run_in_background(Arc::clone(&brief), child, index);
                self.subagents.background.spawn(work);
            }
            return Ok(result::started(&children));
        }
        let parent = caller.child;
        if let Some(child) = &parent {
            child.permit.pause();
        }
        let output = self.run_in_foreground(brief, children.into(), call).await;
        if let Some(child) = &parent {
            child.permit.resume().await;
        }
        Ok(output)
    }

    /// Runs the children of a call and returns their results in the order of its tasks. If the user moves the call to
    /// the background, returns at once.
    async fn run_in_foreground(
        self: &Arc<Self>,
        brief: Arc<Brief>,
        children: Arc<[Arc<Child>]>,
        call: Call,
    ) -> ToolOutput {
        let stops: Vec<CancellationToken> = children.iter().map(|child| child.cancel.clone()).collect();
        let _hook = call.cancel.on_cancel(move || stops.iter().for_each(CancellationToken::cancel));
        let changed: Arc<dyn Fn() + Send + Sync> = {
            let (brief, children) = (Arc::clone(&brief), Arc::clone(&children));
            Arc::new(move || {
                if !brief.is_background() {
                    call.updates.send(result::progress(&children));
                }
            })
        };
        // The permits are acquired in the order of the tasks. Then each child runs in a separate Tokio task: in one
        // task, all would share a core and a budget of polls, which the first ones would use up.
        let work = children.iter().cloned().enumerate().map(|(index, child)| {
            let (control, brief, changed) = (Arc::clone(self), Arc::clone(&brief), Arc::clone(&changed));
            async move {
                let may_begin = control.await_permit(&child).await;
                let work = async move {
                    let result = control.run_child(&brief, &child, index, may_begin, &*changed).await;
                    changed();
                    result
                };
                // A panic is passed on.
                AbortOnDropHandle::new(tokio::spawn(work))
                    .await
                    .unwrap_or_else(|error| resume_unwind(error.into_panic()))
            }
        });
        let mut work: FuturesUnordered<_> = work.collect();
        let mut results = Vec::with_capacity(children.len());
        tokio::select! {
            biased;
            () = async { while let Some(result) = work.next().await { results.push(result) } } => {}
            () = report_progress(&brief, &children) => unreachable!("it never ends"),
            () = brief.released.cancelled() => {}
        }
        results.sort_by_key(|result: &ChildResult| result.index);
        if work.is_empty() {
            return result::output(&results);
        }
        for _ in 0..work.len() {
            brief.root.agent.begin_outside_work();
        }
        for child in children.iter().filter(|child| child.is_at_work()) {
            let recorder = child.recorder.lock().clone();
            if let Some(recorder) = recorder
                && let Some(warning) = recorder.uncover().await
            {
                brief.root.agent.warn(warning).await;
            }
        }
        let output = result::moved(&results, &children);
        // From here on the session ends the children, and no longer the call.
        let stop = self.subagents.stop_token(&brief.root);
        self.subagents.background.spawn(Arc::clone(self).continue_in_background(brief, children, work, stop));
        output
    }

    /// Waits for the rest of a call that was moved to the background, and reports the end of each child to the model.
    /// `stop` ends the children.
    async fn continue_in_background(
        self: Arc<Self>,
        brief: Arc<Brief>,
        children: Arc<[Arc<Child>]>,
        mut work: FuturesUnordered<impl Future<Output = ChildResult> + Send + 'static>,
        stop: CancellationToken,
    ) {
        let ends = async {
            while let Some(result) = work.next().await {
                let (control, brief) = (Arc::clone(&self), Arc::clone(&brief));
                self.subagents.background.spawn(async move { control.report_end(&brief, &result).await });
            }
        };
        let stopped = async {
            stop.cancelled().await;
            children.iter().for_each(|child| child.cancel.cancel());
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = ends => {}
            () = stopped => unreachable!("it never ends"),
            () = report_progress(&brief, &children) => unreachable!("it never ends"),
        }
    }

    /// Runs one child for a person, and returns its result and what it has submitted. It ends with the children in the
    /// background, or when the caller stops waiting.
    ///
    /// # Errors
    /// Returns an error, before the child starts, if the request asks for something that is not available.
    pub(in crate::actions) async fn run_for_person(
        &self,
        request: StartRequest,
    ) -> Result<(ChildResult, Option<serde_json::Value>), ControlError> {
        let control = self.me.upgrade().ok_or("the session is over")?;
        let caller = self.caller(None)?;
        // No call of the model waits for it.
        let request = StartRequest { background: Some(true), ..request };
        let call = format!("user-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let (brief, children) = self.start(request, &caller, &call).await?;
        self.register(&brief, &children)?;
        let child = children.into_iter().next().ok_or("a request without tasks starts no child")?;
        let _stop = child.cancel.clone().drop_guard();
        let working = Arc::clone(&child);
        brief.root.agent.begin_outside_work();
        let work = self.subagents.background.spawn(async move {
            let result = control.run_reporting(&brief, &working, 0).await;
            brief.root.agent.end_outside_work().await;
            result
        });
        let result = work.await.map_err(|panic| panic.to_string())?;
        let submitted = child.submitted.lock().take();
        Ok((result, submitted))
    }

    /// Returns `id` if no child of the session has it, otherwise a free id that begins with it.
    pub(in crate::actions) fn free_child_id(&self, id: &str) -> String {
        self.subagents.with_family(&self.session(), |family| family.ids.free(id))
    }

    /// Runs a child whose call has returned, and reports its end to the model.
    async fn run_in_background(self: Arc<Self>, brief: Arc<Brief>, child: Arc<Child>, index: usize) {
        let result = self.run_reporting(&brief, &child, index).await;
        self.report_end(&brief, &result).await;
    }

    /// Reports the end of a child in the background to the model, which begins a run if it is idle.
    async fn report_end(&self, brief: &Brief, result: &ChildResult) {
        let root = &brief.root.agent;
        result::tell(root, result);
        tokio::time::sleep(TOGETHER).await;
        if let Some(outcome) = root.take_up().await {
            *self.subagents.last_stop.lock() = Some(outcome.stop);
        }
        root.end_outside_work().await;
    }

    /// Runs a child and reports its progress.
    async fn run_reporting(&self, brief: &Brief, child: &Arc<Child>, index: usize) -> ChildResult {
        let work = async {
            let may_begin = self.await_permit(child).await;
            self.run_child(brief, child, index, may_begin, &|| {}).await
        };
        tokio::select! {
            result = work => result,
            () = report_progress(brief, std::slice::from_ref(child)) => unreachable!("it never ends"),
        }
    }

    fn caller(&self, id: Option<&str>) -> Result<Caller, ControlError> {
        let root = self.session();
        let Some(id) = id else { return Ok(Caller { open: Arc::clone(&root), root, child: None }) };
        let child = self.child(id)?;
        let open = child.open.lock().upgrade().ok_or_else(|| format!("task: {id} is no longer running"))?;
        Ok(Caller { root, open, child: Some(child) })
    }

    /// Prepares the children of a call that starts new ones.
    async fn start(
        &self,
        request: StartRequest,
        caller: &Caller,
        call: &str,
    ) -> Result<(Brief, Vec<Arc<Child>>), ControlError> {
        let definitions = self.app.agent_definitions();
        let definition = self.startable(&definitions, &request.agent, caller)?.clone();
        let schema = request.schema.as_ref().or(definition.schema.as_ref()).map(Schema::new).transpose();
        let schema = schema.map_err(|reason| match &request.schema {
            Some(_) => format!("task: schema: {reason}"),
            None => format!("task: agent {}: output: {reason}", definition.name),
        })?;
        let released = caller.released(request.background, &definition, "start children")?;
        let model = definition.model.clone();
        let level = definition.thinking;
        let isolation = match request.isolated {
            Some(false) => None,
            Some(true) => Some(definition.isolation.as_deref().map_or(ViewMode::Auto, mode_named)),
            None => definition.isolation.as_deref().map(mode_named),
        };
        let depth = caller.child.as_ref().map_or(1, |child| child.depth + 1);
        let skills = self.app.skill_texts(&definition.name, definition.skills.iter().chain(&request.skills))?;
        let context = request.context.into_iter().chain(skills).collect::<Vec<_>>().join("\n\n");
        let brief = Brief {
            is_read_only: definition.is_read_only || self.is_read_only(caller),
            may_spawn: !definition.spawns.is_empty() && depth < self.subagents.settings.max_depth,
            schema: schema.map(|schema| schema.value().clone()),
            context: Some(context).filter(|context| !context.is_empty()),
            tree: (!definition.is_fork()).then(|| self.project_tree(&caller.open)).flatten(),
            call: call.to_string(),
            root: Arc::clone(&caller.root),
            parent: Arc::clone(&caller.open),
            choice: self.child_choice(&definition.name, model.as_deref(), level, caller).await?,
            before: None,
            depth,
            released,
            isolation,
            lead: OnceLock::new(),
            definition,
        };
        self.app.check_child(brief.rights())?;
        self.check_cost(&brief, &request.tasks)?;
        let parent = caller.child.as_ref().map(|child| child.id());
        let ids = self.subagents.reserve(&caller.root, &request.tasks, parent)?;
        let children = ids.into_iter().zip(request.tasks).map(|(id, item)| {
            let requester = Requester::new(id, brief.definition.name.clone(), item.description);
            self.new_child(&brief, caller, requester, item.assignment)
        });
        let children = children.collect();
        Ok((brief, children))
    }

    /// Lists the files of the project down to the second level, without ignored files and those that a rule denies;
    /// `None` if there are none.
    fn project_tree(&self, parent: &OpenSession) -> Option<String> {
        let cwd = parent.workplace.as_ref().map_or(&self.app.startup.paths.cwd, |workplace| &workplace.cwd);
        let options = GlobOptions { max_results: Some(TREE_ENTRIES), ..GlobOptions::new(cwd, TREE_PATTERN) };
        let found = tokio::task::block_in_place(|| self.app.searches.glob_so_far(&options, &CancelToken::never()));
        // A child can list the directory itself, and is told the error then.
        let (found, _) = found.ok()?;
        let access = parent.host.attachment_access(cwd);
        let allowed = found.matches().filter(|entry| access.allows(&cwd.join(&*entry.path)));
        let names: Vec<String> = allowed
            .map(|entry| if entry.file_type == FileType::Dir { format!("{}/", entry.path) } else { entry.path.into() })
            .collect();
        let more = if found.limit_reached { "\n(more files are not listed)" } else { "" };
        (!names.is_empty()).then(|| format!("Files of the project, down to two levels:\n{}{more}", names.join("\n")))
    }

    /// Prepares a child that ended and is continued.
    async fn resume(
        &self,
        request: ResumeRequest,
        caller: &Caller,
        call: &str,
    ) -> Result<(Brief, Vec<Arc<Child>>), ControlError> {
        let ResumeRequest { id, assignment, background } = request;
        let known = self.child(&id).ok();
        if let Some(child) = known.as_ref().filter(|child| child.is_at_work()) {
            let state = child.state().as_str();
            return Err(format!(
                "task: {} is {state}; the user can write to it with /steer {} TEXT",
                child.id(),
                child.id()
            )
            .into());
        }
        let id = known.map_or(id, |child| child.id().to_string());
        let (own, before) = self.session_of(caller, &id)?;
        let released = caller.released(background, &before.definition, "continue a child")?;
        let conversation = own.context(&Defaults::default())?;
        let thinking = ThinkingLevel::parse(&conversation.thinking_level);
        let mut choice = self.child_choice(&before.definition.name, None, thinking, caller).await?;
        let key = conversation.models.get("default");
        if let Some(key) = key.filter(|key| **key != choice.reached.model.key()) {
            let reached = self.app.models.again(key).await;
            choice.reached = reached.map_err(|error| format!("task: {id}: {key}: {}", error.message))?;
        }
        let brief = Brief {
            is_read_only: before.is_read_only || self.is_read_only(caller),
            may_spawn: !before.definition.spawns.is_empty() && before.depth < self.subagents.settings.max_depth,
            schema: before.schema.clone(),
            context: None,
            tree: None,
            call: call.to_string(),
            root: Arc::clone(&caller.root),
            parent: Arc::clone(&caller.open),
            choice,
            depth: before.depth,
            released,
            isolation: before.isolation.as_deref().map(mode_named),
            lead: OnceLock::new(),
            definition: before.definition.clone(),
            before: Some(before.clone()),
        };
        self.app.check_child(brief.rights())?;
        let requester = Requester::new(id, brief.definition.name.clone(), before.description);
        let child = self.new_child(&brief, caller, requester, assignment);
        Ok((brief, vec![child]))
    }

    /// Returns the session of a child and its record, to read.
    ///
    /// # Errors
    /// Returns an error that lists the known ids if there is no such child.
    fn session_of(&self, caller: &Caller, id: &str) -> Result<(Session, ChildRecord), ControlError> {
        let session = caller.root.agent.session();
        let file = self.app.store.child_file(&session, id);
        if let Some(file) = file.filter(|file| file.is_file()) {
            let own = self.app.store.view(&file)?;
            if let Some(record) = ChildRecord::read(&own)? {
                return Ok((own, record));
            }
        }
        drop(session);
        let list = known_names(super::record::started_ids(&caller.root));
        Err(format!("task: no subagent {id:?} that can continue: {list}").into())
    }

    fn startable<'a>(
        &self,
        definitions: &'a AgentDefinitions,
        name: &str,
        caller: &Caller,
    ) -> Result<&'a AgentDefinition, ControlError> {
        let definition = definitions.get(name)?;
        let (own, spawns) = match (&caller.child, self.app.agent()) {
            (Some(child), _) => (&child.requester.agent, &child.spawns),
            (None, Some(agent)) => (&agent.name, &agent.spawns),
            (None, None) => return Ok(definition),
        };
        let forks = definition.is_fork() && caller.child.is_some();
        if forks || !is_named(spawns, name) {
            return Err(format!("task: agent {own} cannot start {name}; its spawns: {}", spawns.join(", ")).into());
        }
        Ok(definition)
    }

    /// Returns true if the caller cannot change anything.
    fn is_read_only(&self, caller: &Caller) -> bool {
        self.mode() == SessionMode::Plan || caller.child.as_ref().is_some_and(|child| child.is_read_only)
    }

    /// Returns the model of a child: that of its agent, or that of its parent.
    async fn child_choice(
        &self,
        agent: &str,
        pattern: Option<&str>,
        thinking: Option<ThinkingLevel>,
        caller: &Caller,
    ) -> Result<Choice, ControlError> {
        let thinking = thinking.unwrap_or_else(|| caller.open.agent.thinking());
        let Some(pattern) = pattern else {
            let current = caller.open.agent.model();
            // The model of a child adds to its own meters.
            let reached = match caller.child {
                None => current,
                Some(_) => self.app.models.again(&current.model.key()).await?,
            };
            return Ok(Choice { reached, thinking });
        };
        let found = self.app.models.matching(&[pattern.to_string()]);
        let Some(selection) = found.into_iter().next() else {
            return Err(format!("agent {agent}: model {pattern}: no such model with a key").into());
        };
        Ok(Choice { reached: self.app.models.connect(selection.model).await?, thinking })
    }

    /// Checks that the first requests of new children fit into `task.maxCost` and `--max-cost`.
    ///
    /// # Errors
    /// Returns an error with the calculation if they do not.
    fn check_cost(&self, brief: &Brief, tasks: &[TaskItem]) -> Result<(), ControlError> {
        let shared = brief.shared_tokens();
        let tokens: u64 = tasks.iter().map(|task| shared + text_tokens(task.assignment.len())).sum();
        let needed = tokens as f64 * brief.choice.reached.model.cost.input / 1e6;
        for budget in self.tree_budget().into_iter().chain(brief.parent.agent.settings().budgets.iter().cloned()) {
            let (Amount::Cost(spent), Amount::Cost(limit)) = (budget.spent(), budget.limit) else { continue };
            if spent + needed > limit {
                let (count, left) = (tasks.len(), (limit - spent).max(0.0));
                return Err(format!(
                    "task: the first requests of {count} children cost about ${needed:.4} ({tokens} tokens of input), and \
                     ${left:.4} of ${limit:.4} are left ({})",
                    budget.name
                )
                .into());
            }
        }
        Ok(())
    }

    fn tree_budget(&self) -> Option<Budget> {
        let limit = Amount::Cost(self.subagents.settings.max_cost?);
        Some(Budget { name: "task.maxCost", limit, meter: Arc::clone(&self.subagents.meter) })
    }

    /// Returns the budgets of a child: that of all children, and its own.
    pub(super) fn budgets(&self, brief: &Brief, child: &Child) -> Vec<Budget> {
        let own = |name, limit| Budget { name, limit, meter: Arc::clone(&child.meter) };
        let tokens = brief.definition.max_tokens.unwrap_or(self.subagents.settings.max_tokens);
        let tokens = (tokens > 0).then(|| own("task.maxTokens", Amount::Tokens(tokens)));
        let cost = brief.definition.max_cost.map(|cost| own("maxCost of the agent", Amount::Cost(cost)));
        self.tree_budget().into_iter().chain(tokens).chain(cost).collect()
    }

    /// Returns models that add the use of a child to its own meter and to that of all children.
    pub(super) fn child_models(&self, child: &Child) -> MeteredModels {
        let meters = vec![Arc::clone(&self.subagents.meter), Arc::clone(&child.meter)];
        MeteredModels::new(Arc::clone(&self.app.models) as Arc<_>, meters)
    }

    fn new_child(&self, brief: &Brief, caller: &Caller, requester: Requester, assignment: String) -> Arc<Child> {
        let cancel = match brief.is_background() {
            true => self.subagents.stop_token(&caller.root),
            false => CancellationToken::new(),
        };
        let permit = Arc::new(ChildPermit::new(&self.subagents.permits));
        Arc::new(Child {
            requester: Arc::new(requester),
            assignment,
            model: brief.choice.reached.model.key(),
            session: caller.root.agent.session().id().to_string(),
            call: brief.call.clone(),
            depth: brief.depth,
            is_read_only: brief.is_read_only,
            spawns: brief.definition.spawns.clone(),
            state: ChildState::Queued.into(),
            started: Default::default(),
            open: Default::default(),
            meter: Arc::new(Meter::with_permit(Arc::clone(&permit) as Arc<_>)),
            turns_before: Default::default(),
            turns: Default::default(),
            permit,
            recorder: Default::default(),
            mail: Default::default(),
            forwarding: Default::default(),
            submitted: Default::default(),
            released: brief.released.clone(),
            cancel,
        })
    }

    /// Lists children, and records them in the session that the user sees. A child that is continued replaces its earlier
    /// entry.
    fn register(&self, brief: &Brief, children: &[Arc<Child>]) -> Result<(), ControlError> {
        write_started(&brief.root, children)?;
        let mut all = self.subagents.children.lock();
        all.retain(|known| children.iter().all(|child| child.session != known.session || child.id() != known.id()));
        all.extend(children.iter().cloned());
        Ok(())
    }
}

/// Reports the progress of waiting and running children; never ends.
async fn report_progress(brief: &Brief, children: &[Arc<Child>]) {
    let mut told: Vec<Option<(ChildState, Figures, Option<String>)>> = vec![None; children.len()];
    let mut ticks = tokio::time::interval(PROGRESS);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first tick is immediate.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        for (child, told) in children.iter().zip(&mut told).filter(|(child, _)| child.is_at_work()) {
            let (state, figures) = (child.state(), child.figures());
            // A line is part of an answer, so without another one the session need not be read.
            let last_line = match &told {
                Some((_, before, line)) if before.turns == figures.turns => line.clone(),
                _ => child.last_line(),
            };
            let now = (state, figures, last_line.clone());
            if told.as_ref() == Some(&now) {
                continue;
            }
            *told = Some(now);
            let event = Event::SubagentProgress { child: child.status(state, figures), last_line };
            brief.root.agent.emit(event).await;
        }
    }
}
