//! Redirects commands to better tools.

use std::sync::LazyLock;

use regex::Regex;

use crate::settings::InterceptorSettings;

static RULES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (r"^(echo|cat)\s.*>\s*\S+$", "write"),
        (r"^(sed\s+(-\S+\s+)*-i|perl\s+(-\S+\s+)*-\w*i|awk\s+-i\s+inplace)", "edit"),
        (r"^(cat|head|tail)\s+(-\S+\s+)*[^-\s<>]\S*$", "read"),
        (r"^(grep|rg)\s", "grep"),
        (r"^(find|fd)\s", "find"),
    ]
    .map(|(pattern, tool)| (Regex::new(pattern).expect("a constant pattern"), tool))
    .into()
});

/// Returns the tool to use instead of `command`, if it is active, and the errors in the user's rules.
pub(super) fn better(
    settings: &InterceptorSettings,
    command: &str,
    active: impl Fn(&str) -> bool,
) -> (Option<String>, Vec<String>) {
    let (mut warnings, command) = (Vec::new(), command.trim());
    if !settings.enabled || command.contains(['|', ';', '&', '\n', '`']) || command.contains("$(") {
        return (None, warnings);
    }
    let mut found = RULES.iter().find(|(regex, _)| regex.is_match(command)).map(|(_, tool)| (*tool).to_string());
    for (pattern, tool) in &settings.patterns {
        match Regex::new(pattern) {
            Ok(regex) if found.is_none() && regex.is_match(command) => found = Some(tool.clone()),
            Ok(_) => {}
            Err(error) => {
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                warnings.push(format!("bashInterceptor.rules: \"{pattern}\" is skipped: {reason}"));
            }
        }
    }
    (found.filter(|tool| active(tool)), warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expect: Option<&str>) {
        let settings = InterceptorSettings { enabled: true, patterns: vec![("(".into(), "x".into())] };
        let (tool, warnings) = better(&settings, command, |tool| tool != "find");
        assert_eq!(tool.as_deref(), expect, "{command}");
        assert_eq!(warnings.len(), usize::from(!command.contains('|')));
        assert_eq!(better(&InterceptorSettings::default(), command, |_| true).0, None);
    }

    #[test]
    fn commands_with_a_better_tool_name_that_tool() {
        check("cat a.rs", Some("read"));
        check("head -n 5 a.rs", None);
        check("head -5 a.rs", Some("read"));
        check("rg foo src", Some("grep"));
        check("sed -i s/a/b/ x", Some("edit"));
        check("perl -pi -e s/a/b/ x", Some("edit"));
        check("echo x > y", Some("write"));
        check("find . -name x", None);
        check("cat a | wc", None);
        check("cargo test", None);
    }
}
