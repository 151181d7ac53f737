//! The system prompt, and the project's own instructions.

mod files;
mod imports;
mod prompt;

pub use files::{ContextFile, ContextFiles, context_files, nested_context_files};
pub use prompt::{PromptFacts, PromptTool, system_prompt};

#[cfg(test)]
use imports::imports;
#[cfg(test)]
mod tests;
