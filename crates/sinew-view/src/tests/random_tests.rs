//! Random changes of a view and of the directory, compared with `git merge`.

use std::collections::BTreeSet;

use super::{Project, Tree, apply, lossy, outcomes, run_in, tree};

/// A small generator, so that a failure can be repeated.
pub(super) struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[usize::try_from(self.below(list.len() as u64)).unwrap()]
    }
}

const FILES: [&str; 8] = ["a", "b", "d/a", "d/b", "d/e/a", "f/a", "n", "f/n"];
const SETUP: &str = "umask 022; mkdir -p d/e f; for file in a b d/a d/b d/e/a f/a; do seq 1 9 > $file; done; ";

/// Returns shell lines that change some files.
fn script(random: &mut Random, kinds: u64) -> String {
    let mut lines = String::new();
    for _ in 0..=random.below(4) {
        let file = random.pick(&FILES);
        let line = random.below(9) + 1;
        let number = random.below(3);
        lines += "( ";
        lines += &match random.below(kinds) {
            0..=2 => format!("[ ! -f {file} ] || sed -i {line}s/$/x{number}/ {file}"),
            3 => format!("rm -f {file}"),
            4 => format!("mkdir -p $(dirname {file}); [ -e {file} ] || seq 3 1{number} > {file}"),
            5 => format!("[ ! -f {file} ] || chmod 7{number}5 {file}"),
            6 => format!("rm -rf {file}; mkdir -p {file}/deep; echo {number} > {file}/deep/x"),
            7 => format!("rm -rf {file}; mkdir -p $(dirname {file}); ln -s t{number} {file}"),
            8 => format!(
                "rm -rf {}; echo {number} > {}",
                random.pick(&["d", "d/e", "f"]),
                random.pick(&["d", "d/e", "f"])
            ),
            _ => format!("mkdir -p empty{number}; rmdir empty0 || true"),
        };
        lines += " ) 2> /dev/null || true\n";
    }
    lines
}

#[test]
fn changes_of_the_view_alone_are_reproduced() {
    let mut random = Random(1);
    for _ in 0..25 {
        let project = Project::new(SETUP);
        let script = script(&mut random, 10);
        let mut view = project.changed(&script);
        let result = apply(&mut view);
        assert_eq!(result.conflicts().count(), 0, "{script}{:?}", outcomes(&result));
        assert_eq!(tree(&project.root(), false), tree(view.path(), false), "{script}");
        assert_eq!(apply(&mut view).files, [], "{script}");
    }
}

/// Returns the entries without directories, which git does not record, and with the permissions that git records.
fn as_git_sees(tree: &Tree) -> Tree {
    let is_file = |(path, text): (&String, &String)| {
        let text = text.replacen("file 755", "x", 1).replacen("file 715", "x", 1).replacen("file 725", "x", 1);
        (!text.starts_with("directory")).then(|| (path.clone(), text))
    };
    tree.iter().filter_map(is_file).collect()
}

#[test]
fn merges_of_trees_agree_with_git() {
    let mut random = Random(2);
    let (mut clean, mut conflicts) = (0, 0);
    for _ in 0..40 {
        let (for_view, for_real) = (script(&mut random, 5), script(&mut random, 5));
        let shown = format!("{for_view}---\n{for_real}");
        let project = Project::new(&format!("{SETUP} git init -q; git add .; git commit -qm base"));
        let mut view = project.changed(&for_view);
        run_in(&project.folder(), "cp -r root merged");
        project.run(&for_real);
        let merged = project.folder().join("merged");
        let commit = "git add -A; git commit -qm change --allow-empty";
        run_in(&merged, &format!("git checkout -qb view; {for_view}{commit}; git checkout -q -; {for_real}{commit}"));
        let unmerged = run_in(
            &merged,
            "git merge -q --no-edit -s recursive -X no-renames view > /dev/null 2>&1 || true; git diff -z --name-only --diff-filter=U",
        );
        let expect: BTreeSet<&str> = unmerged.split_terminator('\0').collect();
        let result = apply(&mut view);
        let found: BTreeSet<String> = result.conflicts().map(|file| lossy(&file.path)).collect();
        assert_eq!(found.iter().map(String::as_str).collect::<BTreeSet<_>>(), expect, "{shown}{:?}", outcomes(&result));
        if expect.is_empty() {
            clean += 1;
            let (ours, theirs) = (tree(&project.root(), false), tree(&merged, false));
            assert_eq!(as_git_sees(&ours), as_git_sees(&theirs), "{shown}");
        } else {
            conflicts += 1;
        }
    }
    assert!(clean > 10 && conflicts > 3, "{clean} clean, {conflicts} with conflicts");
}

#[test]
fn a_hand_back_never_loses_what_others_wrote() {
    let mut random = Random(3);
    for _ in 0..40 {
        let (for_view, for_real) = (script(&mut random, 10), script(&mut random, 10));
        let project = Project::new(SETUP);
        let base = tree(&project.root(), false);
        let mut view = project.changed(&for_view);
        project.run(&format!("true\n{for_real}"));
        let (in_view, before) = (tree(view.path(), false), tree(&project.root(), false));
        let result = apply(&mut view);
        let after = tree(&project.root(), false);
        let merged: Vec<String> = result
            .files
            .iter()
            .filter(|file| file.outcome == crate::Outcome::Merged)
            .map(|file| format!("{:?}", lossy(&file.path)))
            .collect();
        let paths: BTreeSet<&String> =
            base.keys().chain(before.keys()).chain(in_view.keys()).chain(after.keys()).collect();
        for path in paths {
            let [base, view, real, now] = [&base, &in_view, &before, &after].map(|tree| tree.get(path));
            let shown = || {
                format!(
                    "{path}: {base:?} {view:?} {real:?} -> {now:?}\n{for_view}---\n{for_real}{:?}",
                    outcomes(&result)
                )
            };
            let is_file = |entry: Option<&String>| entry.is_some_and(|entry| !entry.starts_with("directory"));
            if view == base && (is_file(real) || is_file(base)) {
                // A file that only the others changed; a change of its directory can only be refused.
                assert_eq!(now, real, "{}", shown());
            } else if is_file(now) && now != real && now != view {
                let is_mode = now.map(|now| now[9..].to_string());
                let content =
                    |entry: Option<&String>| entry.filter(|entry| entry.len() > 9).map(|entry| entry[9..].to_string());
                let is_known = is_mode == content(view) || is_mode == content(real);
                assert!(merged.contains(path) || is_known, "{}", shown());
            } else if now.is_none() && real.is_some() {
                assert!(view.is_none() || !is_file(real), "{}", shown());
            }
        }
        let again = apply(&mut view);
        assert_eq!(tree(&project.root(), false), after, "{:?}", outcomes(&again));
    }
}
