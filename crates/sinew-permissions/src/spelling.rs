//! Accepts rules in the syntax of another program: `Bash(git push:*)`, `Read(./x)`, `WebFetch(domain:x)`,
//! `mcp__server__tool`.

use sinew_tools::semantics::ToolKind;

use super::pattern::{Fit, Pattern};

/// The prefix of a pattern that is compared with the host of an address.
const DOMAIN: &str = "domain:";

/// Converts a rule to the native syntax; a native rule stays unchanged.
pub(super) fn native(text: &str) -> String {
    let text = text.trim();
    let (tool, inner) = match text.split_once('(') {
        Some((tool, inner)) => (tool.trim(), inner.strip_suffix(')')),
        None => (text, None),
    };
    let named = sinew_tools::named_by_foreign_rule(tool);
    let server = server_tool(tool);
    let name = named.or(server.as_deref()).unwrap_or(tool);
    let inner = inner.map(|inner| match sinew_tools::semantics_of(name).kind {
        ToolKind::Execute => command(inner.trim()),
        // In that syntax, `//x` starts at the root of the file system.
        _ if named.is_some() && inner.starts_with("//") => inner[1..].to_string(),
        _ => inner.to_string(),
    });
    match inner {
        Some(inner) => format!("{name}({inner})"),
        // A missing bracket is preserved, so that the rule is refused.
        None => text.replacen(tool, name, 1),
    }
}

/// Converts `git push:*`, which matches every command that begins with `git push`.
fn command(inner: &str) -> String {
    inner.strip_suffix(":*").map_or_else(|| inner.to_string(), |prefix| format!("{prefix}*"))
}

/// Converts `mcp__server__tool` to `mcp_server_tool`, and `mcp__server` to all tools of a server; `None` for other names.
#[must_use]
pub fn server_tool(tool: &str) -> Option<String> {
    let rest = tool.strip_prefix("mcp__")?;
    Some(match rest.split_once("__") {
        Some((server, name)) => format!("mcp_{server}_{name}"),
        None => format!("mcp_{rest}_*"),
    })
}

/// Returns the result of a rule about the host of an address; `None` for other rules.
pub(super) fn domain_fit(inner: &str, url: &str) -> Option<Fit> {
    let domain = inner.strip_prefix(DOMAIN)?.trim().to_lowercase();
    let url = url::Url::parse(url.trim()).ok();
    let Some(host) = url.as_ref().and_then(url::Url::host_str) else { return Some(Fit::Maybe) };
    let host = host.trim_end_matches('.').to_lowercase();
    Some(if Pattern::text(&domain).fits(&host) { Fit::Yes } else { Fit::No })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_other_agents_are_converted() {
        for (text, expect) in [
            ("Bash(git push:*)", "bash(git push*)"),
            ("Bash(npm run test)", "bash(npm run test)"),
            ("bash(git push:*)", "bash(git push*)"),
            ("Bash", "bash"),
            ("Read(./x)", "read(./x)"),
            ("Read(~/.zshrc)", "read(~/.zshrc)"),
            ("Read(//etc/**)", "read(/etc/**)"),
            ("MultiEdit(src/**)", "edit(src/**)"),
            ("WebFetch(domain:example.com)", "fetch(domain:example.com)"),
            ("mcp__github__create_issue", "mcp_github_create_issue"),
            ("mcp__github", "mcp_github_*"),
            ("mcp__github__*", "mcp_github_*"),
            (" write(/etc/**) ", "write(/etc/**)"),
            ("Bash(git push", "bash(git push"),
            ("Task", "Task"),
        ] {
            assert_eq!(native(text), expect, "{text}");
        }
    }

    #[test]
    fn a_domain_is_compared_with_the_host() {
        let fit = |rule: &str, url: &str| {
            let rule = native(rule);
            domain_fit(rule.strip_prefix("fetch(").unwrap().strip_suffix(')').unwrap(), url)
        };
        for (rule, url, expect) in [
            ("WebFetch(domain:example.com)", "https://example.com/a", Fit::Yes),
            ("WebFetch(domain:Example.com)", "HTTPS://u@EXAMPLE.com.:443/a", Fit::Yes),
            ("WebFetch(domain:*.example.com)", "https://a.example.com", Fit::Yes),
            ("WebFetch(domain:example.com)", "https://example.com.evil.net/", Fit::No),
            ("WebFetch(domain:example.com)", "https://evil.net/?domain:example.com", Fit::No),
            ("WebFetch(domain:example.com)", "no address", Fit::Maybe),
        ] {
            assert_eq!(fit(rule, url), Some(expect), "{rule} {url}");
        }
        assert_eq!(fit("fetch(https://example.com/*)", "https://example.com/"), None);
    }
}
