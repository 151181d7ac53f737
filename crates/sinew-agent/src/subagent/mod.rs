//! Subagents: the agents that a model can start, the call that starts them, and the results that they hand in.
//!
//! | module | contains |
//! |---|---|
//! | `definition` | agents: built in, and from files |
//! | `request` | the arguments of the `task` tool, and the ids of children |
//! | `gate` | the calls that a child may make |
//! | `submission` | the result of a child, and the tool `submit_result` |
//! | `report` | what the parent reads about its children |
//!
//! Nothing here runs a child: a program assembles its sessions itself.

mod definition;
mod gate;
mod report;
mod request;
mod submission;

#[cfg(test)]
mod tests;

pub use definition::{AgentDefinition, AgentDefinitions, AgentFiles, AgentSource};
pub use gate::ChildGate;
pub use report::{ChangedFile, ChildChanges, ChildResult, ChildState, Limit, report, usage};
pub use request::{ChildIds, ResumeRequest, StartRequest, TaskItem, TaskRequest};
pub use submission::{Answer, Submission, SubmitResult};
