//! Tests that a workspace reports every change.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::changes::Changes;
use crate::tree::{Dice, seeds};
use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_search::{Boost, FindOptions, PathUse, Workspace, WorkspaceChanges, WorkspaceOptions, Workspaces};

fn changes_since(workspace: &Workspace, since: Option<&str>) -> WorkspaceChanges {
    workspace.changes(since, &Pool::new("test", 1), &CancelToken::never()).unwrap()
}

/// Returns every entry that a search would list, with the content of files and the target of links.
fn contents(root: &Path, global: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let options = sinew_walk::ScanOptions {
        hidden: true,
        global_excludes: Some(global.to_path_buf().into()),
        ..sinew_walk::ScanOptions::new(root)
    };
    let scan = sinew_walk::scan(&options, &Pool::new("test", 1), &CancelToken::never()).unwrap();
    let content = |path: &Path| match fs::read_link(path) {
        // A link changes if it gets another target; a change of the target's content is a change of the target.
        Ok(target) => Some(target.into_os_string().into_encoded_bytes()),
        Err(_) => fs::read(path).ok(),
    };
    scan.iter().map(|entry| (entry.path().into_owned(), content(&root.join(&*entry.path())))).collect()
}

#[test]
fn reports_every_difference_between_two_calls() {
    let mut named = 0;
    for seed in seeds(700, 6) {
        let mut dice = Dice::new(seed);
        let mut changes = Changes::new(seed % 2 == 0);
        let (root, global) = (changes.root(), changes.global());
        let options = WorkspaceOptions { global_excludes: Some(global.clone().into()), ..WorkspaceOptions::default() };
        let workspace = Workspaces::default().open(&root, &options).unwrap();
        let mut last = (changes_since(&workspace, None).token, contents(&root, &global));
        for step in 0..60 {
            let mut story = format!("seed {seed}, step {step}:");
            for _ in 0..=dice.below(3) {
                story += &format!(" {};", changes.step(&mut dice));
            }
            let answer = changes_since(&workspace, Some(&last.0));
            let now = contents(&root, &global);
            let paths = last.1.keys().chain(now.keys());
            for path in paths.filter(|path| last.1.get(*path) != now.get(*path)) {
                let is_named = answer.paths.iter().any(|named| {
                    path.strip_prefix(named.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                });
                assert!(answer.all || is_named, "{path:?} is not in {answer:?}\n{story}");
            }
            named += answer.paths.len();
            last = (answer.token, now);
        }
    }
    assert!(named > 200, "{named} changes were named");
}

#[test]
fn reports_only_changed_paths_and_everything_for_an_unknown_token() {
    let place = tempfile::tempdir().unwrap();
    for file in ["a/one", "a/two", "b/three"] {
        fs::create_dir_all(place.path().join(file).parent().unwrap()).unwrap();
        fs::write(place.path().join(file), "text\n").unwrap();
    }
    let workspace = Workspaces::default().open(place.path(), &WorkspaceOptions::default()).unwrap();
    let first = changes_since(&workspace, None);
    assert!(first.all);
    assert_eq!(changes_since(&workspace, Some(&first.token)), WorkspaceChanges { all: false, ..first.clone() });
    fs::write(place.path().join("a/one"), "other\n").unwrap();
    fs::remove_file(place.path().join("b/three")).unwrap();
    let second = changes_since(&workspace, Some(&first.token));
    assert_eq!((second.all, second.paths), (false, vec!["a/one".to_string(), "b/three".to_string()]));
    let third = changes_since(&workspace, Some(&second.token));
    assert_eq!((third.all, third.paths.len()), (false, 0));
    // Another workspace of the same directory has other tokens.
    let other = WorkspaceOptions { sweep: true, ..WorkspaceOptions::default() };
    let other = Workspaces::default().open(place.path(), &other).unwrap();
    assert!(changes_since(&other, Some(&second.token)).all);
    // A swept workspace does not receive changes.
    let token = changes_since(&other, None).token;
    assert!(changes_since(&other, Some(&token)).all);
}

#[test]
fn a_boost_only_changes_the_order() {
    let place = tempfile::tempdir().unwrap();
    for file in ["app/view.ts", "lib/view.ts", "sub/view.ts", "app/view.test.ts", "view"] {
        fs::create_dir_all(place.path().join(file).parent().unwrap()).unwrap();
        fs::write(place.path().join(file), "text\n").unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(place.path().join(file)).unwrap().set_modified(old).unwrap();
    }
    let workspace = Workspaces::default().open(place.path(), &WorkspaceOptions::default()).unwrap();
    let (pool, never) = (Pool::new("test", 1), CancelToken::never());
    let options = FindOptions::new("", "view");
    let paths = |boost: Option<&Boost>| -> (Vec<String>, usize) {
        let found = match boost {
            Some(boost) => workspace.fuzzy_find_boosted(&options, boost, &pool, &never).unwrap(),
            None => workspace.fuzzy_find(&options, &pool, &never).unwrap(),
        };
        (found.matches.into_iter().map(|found| found.path).collect(), found.total_matches)
    };
    let plain = paths(None);
    assert_eq!(paths(Some(&Boost::default())), plain, "an empty boost changes nothing");
    workspace.note(place.path().join("lib/view.ts"), PathUse::Edit, std::time::SystemTime::now());
    workspace.note("../elsewhere.ts", PathUse::Edit, std::time::SystemTime::now());
    let boost = Boost { current: Some("app/view.ts".into()), recent: vec!["sub/view.ts".into()] };
    let boosted = paths(Some(&boost));
    assert_eq!(plain.0[..4], ["view", "app/view.ts", "lib/view.ts", "sub/view.ts"]);
    assert_eq!(boosted.0[..4], ["view", "sub/view.ts", "lib/view.ts", "app/view.ts"]);
    let sorted = |found: &(Vec<String>, usize)| {
        let mut paths = found.0.clone();
        paths.sort();
        (paths, found.1)
    };
    assert_eq!(sorted(&boosted), sorted(&plain));
    assert_eq!(paths(None), plain, "the plain order is unchanged");
    let below = FindOptions { path: "lib".into(), ..options.clone() };
    let plain_below = workspace.fuzzy_find(&below, &pool, &never).unwrap().matches[0].score;
    let below = workspace.fuzzy_find_boosted(&below, &boost, &pool, &never).unwrap();
    assert_eq!(below.matches[0].score, 7 + 4 + plain_below, "used, and named like the current file");
}
