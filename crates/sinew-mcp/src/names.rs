//! The names of servers' tools for the model.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

/// The maximum length of a name that every provider accepts.
pub const NAME_LIMIT: usize = 64;

/// The number of hexadecimal digits that distinguish equal names.
const MARK_DIGITS: usize = 6;

/// Names the tools of all servers. `tools` are pairs of server and tool in the order of the files; `reserved` are the
/// names of other tools.
///
/// A name is `mcp_<server>_<tool>`, in lower case, with `_` for everything except letters, digits and `_`, and has at
/// most [`NAME_LIMIT`] bytes. If names are equal, all except the first get `_` and six digits of a hash of server and
/// tool; the same applies to names that were cut or are reserved. The names depend only on the arguments.
#[must_use]
pub fn name_tools(tools: &[(&str, &str)], reserved: &[&str]) -> Vec<String> {
    let mut taken: HashMap<String, usize> = reserved.iter().map(|name| ((*name).to_string(), usize::MAX)).collect();
    let mut names = Vec::with_capacity(tools.len());
    for (index, (server, tool)) in tools.iter().enumerate() {
        let plain = plain_name(server, tool);
        let mut name = plain.clone();
        let mut round = 0;
        if plain.len() > NAME_LIMIT {
            name = marked(&plain, server, tool, round);
        }
        while taken.contains_key(&name) {
            name = marked(&plain, server, tool, round);
            round += 1;
        }
        taken.insert(name.clone(), index);
        names.push(name);
    }
    names
}

fn plain_name(server: &str, tool: &str) -> String {
    let (server, tool) = (words(server), words(tool));
    // Many servers prefix their tools with their own name.
    let tool = tool.strip_prefix(&format!("{server}_")).filter(|rest| !rest.is_empty()).unwrap_or(&tool);
    format!("mcp_{server}_{tool}")
}

/// Returns lower-case letters and digits with single `_` between them.
fn words(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for char in text.chars() {
        match char.to_ascii_lowercase() {
            char @ ('a'..='z' | '0'..='9') => plain.push(char),
            _ if plain.ends_with('_') => {}
            _ => plain.push('_'),
        }
    }
    let plain = plain.trim_matches('_');
    if plain.is_empty() { "x".to_string() } else { plain.to_string() }
}

fn marked(plain: &str, server: &str, tool: &str, round: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(server);
    hash.update([0]);
    hash.update(tool);
    if round > 0 {
        hash.update(round.to_be_bytes());
    }
    let mark: String = hash.finalize().iter().take(MARK_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
    let front = &plain[..plain.len().min(NAME_LIMIT - MARK_DIGITS - 1)];
    format!("{}_{mark}", front.trim_end_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(tools: &[(&str, &str)], reserved: &[&str], expect: &[&str]) {
        assert_eq!(name_tools(tools, reserved), expect);
    }

    #[test]
    fn names_contain_only_letters_digits_and_underscores() {
        check(&[("github", "create_issue")], &[], &["mcp_github_create_issue"]);
        check(&[("github", "github_create-Issue")], &[], &["mcp_github_create_issue"]);
        check(
            &[("My Server.v2", "ünï--x"), ("s", "s_"), ("日本", "語")],
            &[],
            &["mcp_my_server_v2_n_x", "mcp_s_s", "mcp_x_x"],
        );
    }

    #[test]
    fn all_colliding_names_except_the_first_get_a_hash() {
        let names = name_tools(&[("a_b", "c"), ("a", "b_c"), ("A", "B.C")], &[]);
        assert_eq!(names[0], "mcp_a_b_c");
        assert!(names[1].starts_with("mcp_a_b_c_") && names[1].len() == 16, "{names:?}");
        assert_ne!(names[1], names[2]);
    }

    #[test]
    fn does_not_use_reserved_names() {
        let names = name_tools(&[("x", "y")], &["mcp_x_y", "read"]);
        assert!(names[0].starts_with("mcp_x_y_"), "{names:?}");
    }

    #[test]
    fn long_names_are_cut_and_get_a_hash() {
        let long = "t".repeat(200);
        let names = name_tools(&[("s", &long), ("s", &format!("{long}2"))], &[]);
        assert!(names.iter().all(|name| name.len() == 64));
        assert_ne!(names[0], names[1]);
    }

    proptest! {
        #[test]
        fn names_are_valid_unique_and_deterministic(
            tools in proptest::collection::vec(("[aAbB_. é]{0,4}|.{0,80}", "[aAbB_. é]{0,4}|.{0,80}"), 0..200),
        ) {
            let tools: Vec<(&str, &str)> = tools.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
            let names = name_tools(&tools, &["mcp_a_a", "mcp_x_x"]);
            for name in &names {
                prop_assert!(name.len() <= NAME_LIMIT && name.starts_with("mcp_"), "{}", name);
                prop_assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'));
                prop_assert!(name != "mcp_a_a" && name != "mcp_x_x");
            }
            let distinct: std::collections::HashSet<&String> = names.iter().collect();
            prop_assert_eq!(distinct.len(), names.len());
            prop_assert_eq!(name_tools(&tools, &["mcp_a_a", "mcp_x_x"]), names);
        }
    }
}
