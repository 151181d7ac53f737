//! The settings of a repository that its view takes over. Settings that start programs are not among them.

/// The settings by section; names in lower case.
const COPIED: [(&str, &[&str]); 13] = [
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bigfilethreshold",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "protecthfs",
            "protectntfs",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
            "whitespace",
        ],
    ),
    ("extensions", &["compatobjectformat", "objectformat", "partialclone", "refstorage"]),
    ("user", &["email", "name"]),
    ("author", &["email", "name"]),
    ("committer", &["email", "name"]),
    ("index", &["skiphash", "sparse", "version"]),
    ("remote", &["fetch", "partialclonefilter", "promisor", "pushurl", "tagopt", "url"]),
    ("branch", &["description", "merge", "rebase", "remote"]),
    ("submodule", &["active", "branch", "ignore", "url"]),
    ("push", &["default"]),
    ("pull", &["ff", "rebase"]),
    ("merge", &["conflictstyle", "ff", "renames"]),
    ("diff", &["algorithm", "renames"]),
];

/// The settings that every view has. Files are compared by size and seconds, because the copied index has the inodes of
/// the original files.
const OWN: &str = "[core]\n\tbare = false\n\tcheckStat = minimal\n\ttrustctime = false\n\tfsmonitor = false\n\
                   \tuntrackedCache = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// Returns the settings of a view of a repository with these settings.
pub(crate) fn view_config(configs: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for config in configs {
        copy_settings(config, &mut out);
    }
    out.extend_from_slice(OWN.as_bytes());
    out
}

/// Returns the value of a setting in lower case, for settings without a subsection and quotes.
pub(crate) fn value(config: &[u8], section: &str, key: &str) -> Option<String> {
    let mut current = String::new();
    let mut found = None;
    for line in logical_lines(config) {
        let text = String::from_utf8_lossy(line).trim().to_lowercase();
        let rest = if text.starts_with('[') {
            let Some(end) = text.find(']') else { continue };
            current = text[1..end].trim().to_string();
            text[end + 1..].trim().to_string()
        } else {
            text
        };
        if current == section
            && let Some((name, value)) = rest.split_once('=')
            && name.trim() == key
        {
            found = Some(value.trim().trim_matches('"').to_string());
        }
    }
    found
}

/// Copies the permitted settings, each below the header of its section.
fn copy_settings(config: &[u8], out: &mut Vec<u8>) {
    let mut header: Vec<u8> = Vec::new();
    let mut keys: &[&str] = &[];
    for line in logical_lines(config) {
        let mut rest = line.trim_ascii_start();
        if rest.first() == Some(&b'[') {
            let Some(end) = header_end(rest) else { continue };
            header = rest[..end].to_vec();
            let name: String = rest[1..end]
                .iter()
                .map(|byte| char::from(byte.to_ascii_lowercase()))
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
                .collect();
            keys = COPIED.iter().find(|(section, _)| *section == name).map_or(&[], |(_, keys)| keys);
            rest = rest[end..].trim_ascii_start();
        }
        let key: String = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
            .map(|byte| char::from(byte.to_ascii_lowercase()))
            .collect();
        if keys.contains(&&*key) {
            out.extend_from_slice(&header);
            out.extend_from_slice(b"\n\t");
            out.extend_from_slice(rest);
            out.push(b'\n');
        }
    }
}

/// Returns the length of a section header, whose subsection can contain any character in quotes.
fn header_end(line: &[u8]) -> Option<usize> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (at, byte) in line.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Splits a file into lines; a line that ends with an odd number of backslashes continues in the next one. The second
/// part of a continued line stays a part of it, so that it is never taken for a setting of its own.
fn logical_lines(config: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, _) in config.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let line = config[start..at].strip_suffix(b"\r").unwrap_or(&config[start..at]);
        let backslashes = line.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            lines.push(line);
            start = at + 1;
        }
    }
    lines.push(&config[start..]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(config: &str, expect: &str) {
        let mut out = Vec::new();
        copy_settings(config.as_bytes(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn settings_that_start_programs_are_not_copied() {
        check("[core]\n\tfsmonitor = ./evil\n\thooksPath = h\n\tautocrlf = true\n", "[core]\n\tautocrlf = true\n");
        check("[filter \"x\"]\n clean = evil\n[alias]\n st = !evil\n[include]\n path = x\n", "");
        check("[remote \"o\"]\n\turl = u\n\tuploadpack = evil\n", "[remote \"o\"]\n\turl = u\n");
        check("[submodule \"s\"]\n\tupdate = !evil\n\tactive\n", "[submodule \"s\"]\n\tactive\n");
    }

    #[test]
    fn headers_quotes_and_continued_lines_are_understood() {
        check("[Core] EOL = lf\n", "[Core]\n\tEOL = lf\n");
        check("[branch \"a]b\\\"c\"] merge = m\n", "[branch \"a]b\\\"c\"]\n\tmerge = m\n");
        check("[alias]\n x = a \\\n[core]\n eol = lf\n", "");
        check("[user]\n name = a \\\n b\n", "[user]\n\tname = a \\\n b\n");
        check("# [core]\n[user]\nname = n ; comment", "[user]\n\tname = n ; comment\n");
        assert_eq!(value(b"[extensions]\n\tobjectFormat = SHA256\n", "extensions", "objectformat").unwrap(), "sha256");
    }
}
