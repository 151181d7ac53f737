//! The table of commands.

use std::sync::Arc;

use sinew_tools::tool::Boxed;

use super::client::{Fields, Rpc};
use super::reply::{Answer, Reply};
use super::{mcp, model, prompt, session, shell, state, subagents, switches, tools, undo};

/// A command.
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) run: Run,
}

/// How a command runs and when it is answered.
pub(super) enum Run {
    /// Answered before the next command is processed.
    Now(fn(Arc<Rpc>, Fields) -> Boxed<'static, Answer>),
    /// Started before the next command is processed, and answered when it has finished.
    Beside(fn(Arc<Rpc>, Fields) -> Boxed<'static, Answer>),
    /// The same, but the command sends its answer itself, before it has finished.
    Own(fn(Arc<Rpc>, Fields, Reply) -> Boxed<'static, ()>),
}

macro_rules! row {
    ($name:literal, Own, $run:path) => {
        Command { name: $name, run: Run::Own(|rpc, fields, reply| Box::pin($run(rpc, fields, reply))) }
    };
    ($name:literal, $how:ident, $run:path) => {
        Command { name: $name, run: Run::$how(|rpc, fields| Box::pin($run(rpc, fields))) }
    };
}

pub(super) fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

pub(super) static COMMANDS: &[Command] = &[
    row!("prompt", Own, prompt::prompt),
    row!("steer", Own, prompt::steer),
    row!("follow_up", Own, prompt::follow_up),
    row!("abort", Beside, prompt::abort),
    row!("abort_and_prompt", Own, prompt::abort_and_prompt),
    row!("clear_queue", Now, prompt::clear_queue),
    row!("new_session", Now, session::new),
    row!("get_state", Now, state::state),
    row!("set_mode", Now, switches::mode),
    row!("set_model", Now, model::set),
    row!("cycle_model", Now, model::cycle),
    row!("get_available_models", Now, model::available),
    row!("set_thinking_level", Now, model::set_thinking),
    row!("cycle_thinking_level", Now, model::cycle_thinking),
    row!("get_available_thinking_levels", Now, model::available_thinking),
    row!("set_steering_mode", Now, switches::steering),
    row!("set_follow_up_mode", Now, switches::follow_up),
    row!("set_interrupt_mode", Now, switches::interrupt),
    row!("compact", Own, switches::compact),
    row!("set_auto_compaction", Now, switches::auto_compaction),
    row!("set_auto_retry", Now, switches::auto_retry),
    row!("abort_retry", Now, switches::abort_retry),
    row!("abort_compaction", Now, switches::abort_compaction),
    row!("bash", Beside, shell::bash),
    row!("abort_bash", Now, shell::abort),
    row!("get_session_stats", Now, state::stats),
    row!("export_html", Beside, session::export_html),
    row!("switch_session", Now, session::switch),
    row!("branch", Now, session::branch),
    row!("get_branch_messages", Now, state::branch_points),
    row!("get_last_assistant_text", Now, state::last_text),
    row!("set_session_name", Now, session::name),
    row!("get_messages", Now, state::messages),
    row!("set_todos", Now, tools::set_todos),
    row!("set_host_tools", Now, tools::set_host),
    row!("get_tools", Now, tools::get),
    row!("set_tools", Now, tools::set),
    row!("get_commands", Now, state::commands),
    row!("fork", Now, session::fork),
    // The same command under the name that clients of pi use.
    row!("get_fork_messages", Now, state::branch_points),
    row!("clone", Now, session::clone),
    row!("get_entries", Own, state::entries),
    row!("get_tree", Own, state::tree),
    row!("navigate_tree", Own, session::navigate),
    row!("undo", Beside, undo::undo),
    row!("redo", Beside, undo::redo),
    row!("plan_undo", Beside, undo::plan),
    row!("list_checkpoints", Now, undo::list),
    row!("subagent_list", Now, subagents::list),
    row!("subagent_steer", Now, subagents::steer),
    row!("subagent_abort", Now, subagents::abort),
    row!("subagent_background", Now, subagents::background),
    row!("subagent_apply", Now, subagents::apply),
    row!("subagent_drop", Now, subagents::drop),
    row!("review", Beside, subagents::review),
    row!("set_subagent_events", Now, subagents::set_events),
    row!("list_sessions", Beside, session::list),
    row!("reload", Now, tools::reload),
    row!("mcp_list", Now, mcp::list),
    row!("mcp_set", Now, mcp::set),
    row!("mcp_reload", Beside, mcp::reload),
    row!("mcp_call", Beside, mcp::call),
    row!("mcp_login", Beside, mcp::login),
    row!("mcp_logout", Now, mcp::logout),
];
