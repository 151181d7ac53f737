//! Finds cycles among the modules of a crate from paths that begin with `crate` or `super`, and from paths of a module
//! to its own children.
//!
//! A re-export is not a dependency: a path through one leads to the module that defines the name, and the module that
//! re-exports it does not count as a user. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

/// The most files that may form a cycle.
const MOST: usize = 4;

/// A file of a crate: its module path from the root (`[]` for `lib.rs`), and its code without comments, texts and
/// tests.
pub(super) struct File {
    pub(super) module: Vec<String>,
    pub(super) code: String,
}

/// The cycles of a crate.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Circles {
    /// Cycles of top-level modules, each sorted by name.
    pub(super) top: Vec<Vec<String>>,
    /// Cycles of more than four files.
    pub(super) large: Vec<Vec<String>>,
}

/// Finds the cycles among the files of one crate. The time is linear in the code, apart from the look-up of names.
pub(super) fn circles(files: &[File]) -> Circles {
    let index = Index::new(files);
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let from = name(&file.module);
        let known = edges.entry(from.clone()).or_default();
        known.extend(index.known_by(file).into_iter().filter(|to| *to != from));
    }
    let mut top: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, known) in &edges {
        let first = |path: &str| path.split("::").next().unwrap_or_default().to_string();
        let known = known.iter().map(|to| first(to)).filter(|to| to != ROOT && *to != first(from));
        top.entry(first(from)).or_default().extend(known);
    }
    top.remove(ROOT);
    let large = components(&edges).into_iter().filter(|circle| circle.len() > MOST).collect();
    Circles { top: components(&top).into_iter().filter(|circle| circle.len() > 1).collect(), large }
}

const ROOT: &str = "(root)";

fn name(module: &[String]) -> String {
    if module.is_empty() { ROOT.into() } else { module.join("::") }
}

/// The modules of a crate and the names that they re-export.
struct Index {
    modules: BTreeSet<Vec<String>>,
    /// The module and the exported name, with the path that it stands for.
    exports: BTreeMap<(Vec<String>, String), Vec<String>>,
}

impl Index {
    fn new(files: &[File]) -> Index {
        let modules: BTreeSet<Vec<String>> = files.iter().map(|file| file.module.clone()).collect();
        let mut index = Index { modules, exports: BTreeMap::new() };
        for file in files {
            for (tree, public) in uses(&file.code) {
                for (path, alias) in flat(&tree).into_iter().filter(|_| public) {
                    if let Some(path) = index.absolute(&file.module, &path) {
                        index.exports.insert((file.module.clone(), alias), path);
                    }
                }
            }
        }
        index
    }

    /// The path from the crate's root; `None` if it leaves the crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut base = module.to_vec();
        let mut rest = path;
        match rest.first().map(String::as_str)? {
            "crate" => (base, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    base.pop()?;
                    rest = &rest[1..];
                }
            }
            child => {
                base.push(child.to_string());
                let known = self.modules.contains(&base);
                base.pop();
                if !known {
                    return None;
                }
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// The module to which a path from the root leads, through re-exports.
    fn module_of(&self, path: &[String]) -> Vec<String> {
        let mut path = path.to_vec();
        // A chain of re-exports is short, and a cycle of them would not compile.
        for _ in 0..8 {
            let length = (0..=path.len()).rev().find(|&length| self.modules.contains(&path[..length])).unwrap_or(0);
            let (module, rest) = path.split_at(length);
            let export = rest.first().and_then(|item| self.exports.get(&(module.to_vec(), item.clone())));
            match export {
                Some(target) if *target != path => path = [target, &rest[1..]].concat(),
                _ => return module.to_vec(),
            }
        }
        path
    }

    fn known_by(&self, file: &File) -> BTreeSet<String> {
        let mut known = BTreeSet::new();
        let mut code = file.code.clone();
        for (tree, public) in uses(&file.code) {
            code = code.replacen(&tree, "", 1);
            for (path, _) in flat(&tree).into_iter().filter(|_| !public) {
                known.extend(self.absolute(&file.module, &path).map(|path| name(&self.module_of(&path))));
            }
        }
        for path in paths(&code) {
            known.extend(self.absolute(&file.module, &path).map(|path| name(&self.module_of(&path))));
        }
        known
    }
}

/// The trees of the `use` items without the keyword, and whether they are visible to others.
fn uses(code: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(at) = code[start..].find("use ").map(|at| at + start) {
        start = at + 4;
        let line = code[..at].rsplit(['\n', ';', '}', '{']).next().unwrap_or_default().trim();
        if !line.is_empty() && !line.starts_with("pub") {
            continue;
        }
        let Some(end) = code[start..].find(';') else { break };
        found.push((code[start..start + end].to_string(), line.starts_with("pub")));
        start += end;
    }
    found
}

/// The paths of a use tree, each with its local name.
fn flat(tree: &str) -> Vec<(Vec<String>, String)> {
    let tree = tree.trim();
    let Some((prefix, inner)) = tree.split_once('{') else {
        let (path, alias) = match tree.split_once(" as ") {
            Some((path, alias)) => (path, Some(alias.trim().to_string())),
            None => (tree, None),
        };
        let mut path: Vec<String> = words(path);
        if path.len() > 1 && path.last().is_some_and(|word| word == "self") {
            path.pop();
        }
        let alias = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        return vec![(path, alias)];
    };
    let prefix = prefix.trim();
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let join =
        |part: &str| if part == "self" { prefix.trim_end_matches("::").to_string() } else { format!("{prefix}{part}") };
    parts(inner).into_iter().flat_map(|part| flat(&join(part))).collect()
}

/// Splits at the commas outside of braces.
fn parts(list: &str) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                out.push(list[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(list[from..].trim());
    out.retain(|part| !part.is_empty());
    out
}

fn words(path: &str) -> Vec<String> {
    path.split("::").map(|word| word.trim().to_string()).collect()
}

/// The paths in the code outside of `use`: names joined by `::`, except those of `pub(in …)`.
fn paths(code: &str) -> Vec<Vec<String>> {
    let parts = code.split("pub(in ").enumerate();
    let code: String =
        parts.map(|(at, part)| if at == 0 { part } else { part.split_once(')').unwrap_or_default().1 }).collect();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut joined = false;
    let mut rest = code.as_str();
    while let Some(c) = rest.chars().next() {
        if is_name(c) {
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            if !joined && !path.is_empty() {
                found.push(std::mem::take(&mut path));
            }
            path.push(rest[..length].to_string());
            joined = false;
            rest = &rest[length..];
        } else if let Some(after) = rest.strip_prefix("::") {
            joined = true;
            rest = after;
        } else {
            if !path.is_empty() {
                found.push(std::mem::take(&mut path));
            }
            // `<T>::name` does not begin with a module.
            joined = false;
            rest = &rest[c.len_utf8()..];
        }
    }
    found.push(path);
    found.retain(|path| path.len() > 1);
    found
}

/// The strongly connected components of a graph, each sorted. The time is quadratic, which is fine for a crate.
fn components(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|from| (from.as_str(), reach(edges, from))).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for (from, targets) in &reached {
        if seen.contains(from) || !targets.contains(from) {
            continue;
        }
        let circle: Vec<&str> =
            targets.iter().copied().filter(|to| reached.get(to).is_some_and(|back| back.contains(from))).collect();
        seen.extend(&circle);
        found.push(circle.into_iter().map(str::to_string).collect());
    }
    found
}

fn reach<'a>(edges: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = edges.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(to) = open.pop() {
        if found.insert(to) {
            open.extend(edges.get(to).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], top: &[&str], large: &[&str]) {
        let file = |(module, code): &(&str, &str)| File {
            module: words(module).into_iter().filter(|word| !word.is_empty()).collect(),
            code: (*code).into(),
        };
        let found = circles(&files.iter().map(file).collect::<Vec<_>>());
        let joined = |circles: &[Vec<String>]| circles.iter().map(|circle| circle.join(" ")).collect::<Vec<_>>();
        assert_eq!((joined(&found.top), joined(&found.large)), {
            (top.iter().map(ToString::to_string).collect(), large.iter().map(ToString::to_string).collect())
        });
    }

    #[test]
    fn top_level_modules_form_no_circle() {
        check(&[("", "mod a; mod b;"), ("a", "use crate::b::B;"), ("b", "")], &[], &[]);
        check(&[("", ""), ("a", "use crate::b::B;"), ("b", "use super::a::{A, C as D};")], &["a b"], &[]);
        check(&[("", ""), ("a", "fn a(x: crate::b::B) {}"), ("b", "fn b() { super::a::run() }")], &["a b"], &[]);
        check(
            &[("", ""), ("a", "use crate::{c::C, b::{self, B}};"), ("b", ""), ("b::x", "use crate::a;")],
            &["a b"],
            &[],
        );
        check(
            &[("", ""), ("a", "use crate::b::B;"), ("b", "use crate::c::C;"), ("c", "use crate::a::A;")],
            &["a b c"],
            &[],
        );
    }

    #[test]
    fn a_re_export_leads_to_its_source_and_knows_nothing() {
        let root = "mod a; mod b; pub use a::A; pub(crate) use b::{B, inner as outer};";
        check(&[("", root), ("a", "use crate::B;"), ("b", "use crate::c::C;"), ("c", "")], &[], &[]);
        check(&[("", root), ("a", "use crate::B;"), ("b", "use crate::A;")], &["a b"], &[]);
        check(&[("", root), ("a", "fn f() { crate::outer() }"), ("b", "use super::A;")], &["a b"], &[]);
        let deep =
            [("", "pub use a::A;"), ("a", "mod x; pub use x::A;"), ("a::x", "use crate::b;"), ("b", "use crate::A;")];
        check(&deep, &["a b"], &[]);
    }

    #[test]
    fn a_module_and_its_children_are_no_circle_of_the_top_level() {
        let children = [
            ("a::x", "use super::A;"),
            ("a::y", "use super::{A, x};"),
            ("a::z", "use super::y::B;"),
            ("a::w", "use super::{A, z};"),
        ];
        // No module uses the last two, so they are not in a cycle.
        let small = [&[("", ""), ("a", "fn f() { x::g(); y::h() }")], &children[..]].concat();
        check(&small, &[], &[]);
        let large = [&[("", ""), ("a", "fn f() { x::g(); w::h() }")], &children[..]].concat();
        check(&large, &[], &["a a::w a::x a::y a::z"]);
    }

    #[test]
    fn five_files_in_a_circle_are_too_many() {
        let ring = |count: usize| -> Vec<(String, String)> {
            (0..count).map(|at| (format!("a::f{at}"), format!("use super::f{}::X;", (at + 1) % count))).collect()
        };
        let four = ring(4);
        let files: Vec<(&str, &str)> = four.iter().map(|(module, code)| (module.as_str(), code.as_str())).collect();
        check(&files, &[], &[]);
        let five = ring(5);
        let files: Vec<(&str, &str)> = five.iter().map(|(module, code)| (module.as_str(), code.as_str())).collect();
        check(&files, &[], &["a::f0 a::f1 a::f2 a::f3 a::f4"]);
    }

    #[test]
    fn foreign_paths_and_visibilities_are_no_edges() {
        check(
            &[("", ""), ("a", "use std::b; use b_crate::b; pub(in crate::b) fn f() {}"), ("b", "use crate::a;")],
            &[],
            &[],
        );
        check(&[("", ""), ("a", "fn f() { T::b(); x.b::<u8>(); <B>::b() }"), ("b", "use crate::a;")], &[], &[]);
    }
}
