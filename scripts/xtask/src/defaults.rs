//! Compares the defaults in the reference of `@sinew/natives` with those of the core: the "Default: X." in the comments
//! of an options interface with the values in the struct expression of the core's defaults.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

mod rust;
mod typescript;

/// An options interface and the struct for its values.
struct Pair {
    /// The file of the interfaces, and the interfaces that make up the options.
    typescript: (&'static str, &'static [&'static str]),
    /// The file of the struct, and its name.
    rust: (&'static str, &'static str),
    /// Keys that have another name in Rust.
    renamed: &'static [(&'static str, &'static str)],
    /// Keys that exist only in TypeScript, which has their defaults.
    only_typescript: &'static [&'static str],
    /// Keys that are optional in the core, which replaces a missing one by a value where it uses it, with the default
    /// in the reference.
    absent: &'static [(&'static str, &'static str)],
}

const NONE: Pair = Pair { typescript: ("", &[]), rust: ("", ""), renamed: &[], only_typescript: &[], absent: &[] };

const PAIRS: &[Pair] = &[
    Pair {
        typescript: ("grep.ts", &["SearchOptions", "GrepOptions"]),
        rust: ("sinew-search/src/grep.rs", "GrepOptions"),
        renamed: &[("type", "file_type")],
        absent: &[("context", "0"), ("maxColumns", "16 Mi")],
        ..NONE
    },
    Pair {
        typescript: ("glob.ts", &["GlobOptions"]),
        rust: ("sinew-search/src/glob.rs", "GlobOptions"),
        only_typescript: &["pattern", "ignore", "onlyFiles", "onlyDirectories", "absolute"],
        ..NONE
    },
    Pair { typescript: ("find.ts", &["FuzzyFindOptions"]), rust: ("sinew-search/src/find.rs", "FindOptions"), ..NONE },
    Pair { typescript: ("diff.ts", &["DiffOptions"]), rust: ("sinew-diff/src/lib.rs", "DiffOptions"), ..NONE },
    Pair {
        typescript: ("diff.ts", &["UnifiedDiffOptions"]),
        rust: ("sinew-diff/src/unified.rs", "UnifiedOptions"),
        ..NONE
    },
    Pair {
        typescript: ("watch.ts", &["WatchOptions"]),
        rust: ("sinew-watch/src/types.rs", "WatchOptions"),
        renamed: &[("debounceMs", "debounce")],
        only_typescript: &["signal"],
        ..NONE
    },
    Pair {
        typescript: ("patch.ts", &["ApplyPatchOptions"]),
        rust: ("sinew-patch/src/directory.rs", "ApplyOptions"),
        ..NONE
    },
    Pair { typescript: ("html.ts", &["HtmlToMarkdownOptions"]), rust: ("sinew-html/src/lib.rs", "Options"), ..NONE },
    Pair { typescript: ("image.ts", &["FitImageOptions"]), rust: ("sinew-image/src/fit.rs", "FitOptions"), ..NONE },
    Pair {
        typescript: ("output-sink.ts", &["OutputSinkOptions"]),
        rust: ("sinew-shell/src/output/sink.rs", "SinkOptions"),
        renamed: &[("spillPath", "spill")],
        ..NONE
    },
    Pair {
        typescript: ("process.ts", &["TerminateOptions"]),
        rust: ("sinew-process/src/process.rs", "Terminate"),
        renamed: &[("gracefulMs", "graceful"), ("timeoutMs", "timeout")],
        ..NONE
    },
    Pair {
        typescript: ("pty.ts", &["PtyOptions"]),
        rust: ("sinew-shell/src/pty/options.rs", "PtyOptions"),
        only_typescript: &["command", "encoding", "env", "view"],
        ..NONE
    },
    Pair {
        typescript: ("shell.ts", &["ShellOptions"]),
        rust: ("sinew-shell/src/options.rs", "ShellOptions"),
        renamed: &[("snapshotPath", "snapshot")],
        only_typescript: &["sessionEnv", "view"],
        ..NONE
    },
];

/// A default, as far as both languages can express it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Bool(bool),
    Number(u64),
    /// A text, or the name of a variant as in the options.
    Text(String),
    /// No default, however it is written.
    Absent,
    /// A Rust expression that is not a literal. No text matches it.
    Unread(String),
}

/// Fails if the reference states a default that the core does not have.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let mut faults = Vec::new();
    for pair in PAIRS {
        let read = |path: String| {
            fs::read_to_string(root.join(&path)).map_err(|cause| format!("failed to read {path}: {cause}"))
        };
        let typescript = read(format!("packages/natives/src/{}", pair.typescript.0))?;
        let rust = read(format!("crates/{}", pair.rust.0))?;
        compare(pair, &typescript, &rust, &mut faults)?;
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("the reference states defaults that the core does not have:\n  {}", faults.join("\n  ")))
}

fn compare(pair: &Pair, typescript: &str, rust: &str, faults: &mut Vec<String>) -> Result<(), String> {
    let core = rust::defaults(rust, pair.rust.1).map_err(|cause| format!("crates/{}: {cause}", pair.rust.0))?;
    let mut keys = BTreeMap::new();
    for name in pair.typescript.1 {
        let found = typescript::options(typescript, name).map_err(|cause| format!("{}: {cause}", pair.typescript.0))?;
        keys.extend(found.into_iter().map(|(key, default)| (key, (*name, default))));
    }
    let listed = pair.only_typescript.iter().chain(pair.renamed.iter().chain(pair.absent).map(|(key, _)| key));
    for key in listed.filter(|key| !keys.contains_key(**key)) {
        faults
            .push(format!("{}: no interface has {key}, which scripts/xtask/src/defaults.rs lists", pair.typescript.0));
    }
    for (key, (interface, stated)) in &keys {
        if pair.only_typescript.contains(&key.as_str()) {
            continue;
        }
        let renamed = pair.renamed.iter().find(|(name, _)| name == key);
        let field = renamed.map_or_else(|| snake_case(key), |(_, field)| (*field).to_owned());
        let place = format!("{}: {interface}.{key}", pair.typescript.0);
        let Some(value) = core.get(&field) else {
            faults.push(format!("{place}: {} has no field {field}", pair.rust.1));
            continue;
        };
        let absent = pair.absent.iter().find(|(name, _)| name == key).map(|(_, words)| *words);
        if let Some(fault) = fault(stated.as_deref(), value, absent) {
            faults.push(format!("{place}: {fault}"));
        }
    }
    Ok(())
}

/// Says what is wrong with a stated default; `None` if it is that of the core.
fn fault(stated: Option<&str>, core: &Value, absent: Option<&str>) -> Option<String> {
    let shown = stated.map_or("no default".to_owned(), |words| format!("\"Default: {words}\""));
    let right = match (stated, absent) {
        (Some(words), Some(absent)) => *core == Value::Absent && words == absent,
        (None, Some(_)) => false,
        (Some(words), None) => typescript::value(words) == *core,
        (None, None) => *core == Value::Absent,
    };
    (!right).then(|| match absent {
        Some(absent) => format!("states {shown}, not {absent}; the core has {core:?}"),
        None => format!("states {shown}, the core has {core:?}"),
    })
}

fn snake_case(key: &str) -> String {
    let mut out = String::new();
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "
        const MOST: usize = 2 * 1024;
        #[derive(Default)]
        pub enum Kind { #[default] LineByLine, Word }
        pub struct Options { pub deep: bool, pub most: usize, pub shell: String, pub kind: Kind, pub limit: Option<u32>, pub wait: Duration }
        impl Other { fn new() -> Other { Other { deep: true } } }
        impl Options {
            /// A brace } and a quote \" in prose.
            pub fn new(most: usize) -> Options {
                Options { deep: false, most: MOST, shell: \"sh\".to_string(), kind: Kind::LineByLine, limit: None, wait: Duration::from_secs(2) }
            }
        }";

    /// The interface of a struct that is as `RUST` has it, but for one line.
    fn faults(key: &str, line: &str) -> Vec<String> {
        let all = [
            ("deep", "/** It is. Default: false, in order. */\ndeep?: boolean | undefined;"),
            ("most", "/** The most.\n * Default: 2,048 (2 KiB). */\nmost?: number | undefined;"),
            ("shell", "/** One. Default: `\"sh\"`. */\nshell?: string;"),
            ("kind", "/** Default: `\"lineByLine\"`; else words. */\nkind?: Kind;"),
            ("limit", "/** Default: 16 Mi; 0 means the same. */\nlimit?: number;"),
            ("waitMs", "/** Default: 2000. */\nwaitMs?: number;"),
            ("must", "/** It has to be there. Default: 7. */\nmust: number;"),
        ];
        let body: String =
            all.iter().map(|(name, text)| format!("  {}\n", if *name == key { line } else { text })).collect();
        let typescript =
            format!("export interface Other {{\n a?: 1;\n}}\nexport interface TheOptions extends Other {{\n{body}}}\n");
        let pair = Pair {
            typescript: ("x.ts", &["TheOptions"]),
            rust: ("x.rs", "Options"),
            renamed: &[("waitMs", "wait")],
            absent: &[("limit", "16 Mi")],
            ..NONE
        };
        let mut faults = Vec::new();
        compare(&pair, &typescript, RUST, &mut faults).unwrap();
        faults
    }

    #[track_caller]
    fn check(key: &str, line: &str, expect: &str) {
        assert_eq!(faults(key, line), [expect]);
    }

    #[test]
    fn what_agrees_has_no_fault() {
        assert_eq!(faults("", ""), [""; 0]);
    }

    #[test]
    fn a_wrong_default_is_found() {
        check(
            "deep",
            "/** Default: true. */\ndeep?: boolean;",
            "x.ts: TheOptions.deep: states \"Default: true\", the core has Bool(false)",
        );
        check(
            "most",
            "/** Default: 2000. */\nmost?: number;",
            "x.ts: TheOptions.most: states \"Default: 2000\", the core has Number(2048)",
        );
        check(
            "most",
            "/** Default: all. */\nmost?: number;",
            "x.ts: TheOptions.most: states \"Default: all\", the core has Number(2048)",
        );
        check(
            "shell",
            "/** Default: `\"bash\"`. */\nshell?: string;",
            "x.ts: TheOptions.shell: states \"Default: `\"bash\"`\", the core has Text(\"sh\")",
        );
        check(
            "kind",
            "/** Default: `\"word\"`. */\nkind?: Kind;",
            "x.ts: TheOptions.kind: states \"Default: `\"word\"`\", the core has Text(\"lineByLine\")",
        );
        check(
            "limit",
            "/** Default: 8 Mi. */\nlimit?: number;",
            "x.ts: TheOptions.limit: states \"Default: 8 Mi\", not 16 Mi; the core has Absent",
        );
        check(
            "waitMs",
            "/** Default: 3000. */\nwaitMs?: number;",
            "x.ts: TheOptions.waitMs: states \"Default: 3000\", the core has Number(2000)",
        );
    }

    #[test]
    fn a_default_that_is_not_stated_and_a_key_that_the_core_lacks_are_found() {
        check(
            "deep",
            "/** It is. */\ndeep?: boolean;",
            "x.ts: TheOptions.deep: states no default, the core has Bool(false)",
        );
        check("must", "/** Default: 7. */\nnewKey?: number;", "x.ts: TheOptions.newKey: Options has no field new_key");
        let gone = "x.ts: no interface has waitMs, which scripts/xtask/src/defaults.rs lists";
        check("waitMs", "", gone);
    }

    #[test]
    fn a_value_that_is_not_understood_agrees_with_nothing() {
        let source = RUST.replace("most: MOST", "most: most.min(7)");
        let core = rust::defaults(&source, "Options").unwrap();
        assert_eq!(core["most"], Value::Unread("most.min(7)".into()));
        assert_eq!(
            fault(Some("7"), &core["most"], None).unwrap(),
            "states \"Default: 7\", the core has Unread(\"most.min(7)\")"
        );
        assert!(rust::defaults(RUST, "Missing").is_err());
    }

    #[test]
    fn this_checkout_agrees() {
        super::check(&crate::programs::root()).unwrap();
    }
}
