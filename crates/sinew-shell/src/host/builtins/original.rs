//! The original builtins of brush.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::LazyLock;

use brush_builtins::{BuiltinSet, default_builtins};
use brush_core::builtins::Registration;
use brush_core::commands::CommandArg;
use brush_core::{Error, ExecutionContext, ExecutionResult};

use super::super::interpreter::BrushExtensions;

pub(super) static THEIRS: LazyLock<HashMap<String, Registration<BrushExtensions>>> =
    LazyLock::new(|| default_builtins(BuiltinSet::BashMode));

pub(super) type BuiltinFuture<'a> = Pin<Box<dyn Future<Output = Result<ExecutionResult, Error>> + Send + 'a>>;

pub(super) fn theirs(context: ExecutionContext<'_, BrushExtensions>, args: Vec<CommandArg>) -> BuiltinFuture<'_> {
    match THEIRS.get(&context.command_name) {
        Some(builtin) => (builtin.execute_func)(context, args),
        None => Box::pin(ready(Ok(ExecutionResult::new(127)))),
    }
}
