//! The permission rules as the last hook, so that they judge a call as the other hooks have changed it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use sinew_llm::fetch::AddressCheck;
use sinew_llm::message::ToolCall;
use sinew_permissions::{CallSite, Decision, Permissions};
use sinew_tools::PathCheck;
use sinew_tools::tool::Boxed;

use crate::extension::{Context, Extension, Verdict};

impl Extension for Permissions {
    fn name(&self) -> Cow<'static, str> {
        "permissions".into()
    }

    fn asks_person(&self) -> bool {
        Permissions::asks_person(self)
    }

    fn path_check(&self, tool: &str, call: Option<&str>, cwd: &Path) -> Option<Arc<dyn PathCheck>> {
        Permissions::path_check(self, tool, call, cwd)
    }

    fn address_check(&self, tool: &str, call: &str) -> Option<AddressCheck> {
        Permissions::address_check(self, tool, call)
    }

    fn before_tool_call<'a>(&'a self, call: &'a ToolCall, context: &'a Context) -> Boxed<'a, Result<Verdict, String>> {
        Box::pin(async move {
            let Context { session, cwd, has_ui, requester, .. } = context;
            let site = CallSite { session, cwd, has_ui: *has_ui, requester: requester.as_ref() };
            match self.judge(call, site).await {
                Ok(Decision::Allow) => Ok(Verdict::Allow),
                Ok(Decision::Block(reason)) => Ok(Verdict::Block(reason)),
                Err(error) => Err(error.message().to_string()),
            }
        })
    }
}
