//! Tests hand-backs.

use std::fs;
use std::os::unix::fs::MetadataExt;

use sinew_base::{CancelHandle, CancelToken, ErrorCode};

use super::{Project, apply, changes, described, outcomes, run_in, tree, try_apply};
use crate::base::Base;
use crate::layout::Layout;
use crate::{ApplyOptions, IsolatedView, OnConflict, Outcome, ViewMode};

const LINES: &str = "seq 1 20 > lines; mkdir d; echo 1 > d/a; echo 2 > d/b; ln -s lines link; printf 'x\\0y' > binary; echo s > script; ";

/// Changes a view and the directory, applies the changes, and compares the results and the directory with what the
/// script `expect` makes of the directory.
#[track_caller]
fn check(view: &str, real: &str, expect_outcomes: &[&str], expect: &str) {
    for mode in ["", "git init -q; "] {
        let project = Project::new(&format!("{LINES}{mode}"));
        let expected = Project::new(&format!("{LINES}{real}\n{expect}"));
        let mut isolated = project.changed(view);
        project.run(&format!("true\n{real}"));
        let result = apply(&mut isolated);
        assert_eq!(outcomes(&result), expect_outcomes, "{view} | {real}");
        assert!(result.is_applied);
        assert_eq!(tree(&project.root(), false), tree(&expected.root(), false), "{view} | {real}");
        // The second time nothing is left to apply but conflicts.
        let again = apply(&mut isolated);
        let is_left =
            |file: &&crate::FileResult| !file.outcome.is_conflict() && !matches!(file.outcome, Outcome::Kept(_));
        assert_eq!(again.files.iter().filter(is_left).count(), 0, "{:?}", outcomes(&again));
        assert_eq!(tree(&project.root(), false), tree(&expected.root(), false), "{view} | {real}");
    }
}

/// The same for changes of the view alone.
#[track_caller]
fn check_alone(script: &str, outcomes: &[&str]) {
    check(script, "", outcomes, script);
}

#[test]
fn each_kind_of_change_is_applied() {
    check_alone(
        "echo 3 > new; mkdir -p e/f; echo 4 > e/f/g",
        &["created e", "created e/f", "created e/f/g", "created new"],
    );
    check_alone("rm lines; rm -r d", &["deleted d", "deleted d/a", "deleted d/b", "deleted lines"]);
    check_alone("echo more >> lines; printf 'a\\0b' > binary", &["replaced binary", "replaced lines"]);
    check_alone("mv lines renamed", &["deleted lines", "created renamed"]);
    check_alone("chmod 755 script; chmod 700 d", &["replaced d", "replaced script"]);
    check_alone("ln -sfn d link; ln -s /nowhere other", &["replaced link", "created other"]);
    check_alone("mkdir empty; mkdir -m 555 closed", &["created closed", "created empty"]);
    check_alone("printf '1\\r\\n2\\r\\n' > lines", &["replaced lines"]);
    check_alone(": > lines; : > empty", &["created empty", "replaced lines"]);
    check_alone("chmod 000 script; chmod 4755 binary", &["replaced binary", "replaced script"]);
    check_alone("printf x > \"$(printf 'a\\nb')\"; printf y > ' \"\\\\'", &["created  \"\\\\", "created a\nb"]);
}

#[test]
fn changes_of_type_are_applied() {
    check_alone("rm lines; mkdir lines; echo 5 > lines/in", &["replaced lines", "created lines/in"]);
    check_alone("rm -r d; echo 6 > d", &["replaced d", "deleted d/a", "deleted d/b"]);
    check_alone("rm -r d; ln -s lines d", &["replaced d", "deleted d/a", "deleted d/b"]);
    check_alone("rm link; cp lines link", &["replaced link"]);
    check_alone("rm lines; ln -s script lines", &["replaced lines"]);
    check_alone("rm link; mkdir link", &["replaced link"]);
}

#[test]
fn changes_in_different_places_are_merged() {
    check("sed -i 2s/$/v/ lines", "sed -i 18s/$/r/ lines", &["merged lines"], "sed -i 2s/$/v/ lines");
    check("sed -i 2s/$/v/ lines", "rm d/a; echo n > n", &["replaced lines"], "sed -i 2s/$/v/ lines");
    check("chmod 755 script", "echo more >> script", &["replaced script"], "chmod 755 script");
    check("echo more >> script", "chmod 755 script", &["replaced script"], "echo more >> script");
    check("echo n > d/n", "rm -r d", &["created d/n"], "mkdir d; echo n > d/n");
    check("rm -r d", "echo n > d/n", &["kept d", "deleted d/a", "deleted d/b"], "rm d/a d/b");
    check("echo x > e", "mkdir f", &["created e"], "echo x > e");
}

#[test]
fn equal_changes_are_there_already() {
    check("sed -i 2s/$/v/ lines", "sed -i 2s/$/v/ lines", &["unchanged lines"], "");
    check("rm d/a; echo n > n", "rm d/a; echo n > n", &["unchanged d/a", "unchanged n"], "");
    check("rm -r d", "rm -r d", &["unchanged d", "unchanged d/a", "unchanged d/b"], "");
    check("ln -sfn d link", "ln -sfn d link", &["unchanged link"], "");
    check("chmod 755 script; mkdir m", "chmod 755 script; mkdir m", &["unchanged m", "unchanged script"], "");
}

#[test]
fn conflicts_leave_the_directory_as_it_is() {
    let both = "changed in the view and in the directory";
    let overlap = format!("conflict lines: {both} in the same lines");
    check("sed -i 2s/$/v/ lines", "sed -i 2s/$/r/ lines", &[&overlap], "");
    check("sed -i 2s/$/v/ lines", "sed -i 3s/$/r/ lines", &[&overlap], "");
    check("printf 'x\\0v' > binary", "printf 'x\\0r' > binary", &[&format!("conflict binary: {both}, and binary")], "");
    check("ln -sfn v link", "ln -sfn r link", &[&format!("conflict link: {both}")], "");
    check("rm lines", "echo r >> lines", &["conflict lines: deleted in the view and changed in the directory"], "");
    check("echo v >> lines", "rm lines", &["conflict lines: changed in the view and deleted in the directory"], "");
    check("echo v > n", "echo r > n", &["conflict n: created in the view and in the directory"], "");
    check("echo v > n", "mkdir n", &["conflict n: the directory has a directory there"], "");
    check(
        "mkdir n; echo v > n/x",
        "echo r > n",
        &["conflict n: the directory has a file there", "conflict n/x: \"n\" is not a directory"],
        "",
    );
    check("echo v > d/n", "rm -r d; ln -s / d", &["conflict d/n: \"d\" is not a directory"], "");
    check(
        "rm -r d; echo v > d",
        "echo r > d/n",
        &["conflict d: replaced in the view, but the directory contains other entries", "deleted d/a", "deleted d/b"],
        "rm d/a d/b",
    );
    check(
        "chmod 755 script",
        "chmod 600 script",
        &["conflict script: the view sets the permissions 755, and the directory has 600"],
        "",
    );
    // The other files are applied.
    check("sed -i 2s/$/v/ lines; echo n > n", "sed -i 2s/$/r/ lines", &[&overlap, "created n"], "echo n > n");
}

#[test]
fn the_text_of_a_conflict_is_in_the_views_folder() {
    let project = Project::new(LINES);
    let mut view = project.changed("sed -i 2s/$/v/ lines");
    project.run("sed -i 2s/$/r/ lines");
    let result = apply(&mut view);
    let Outcome::Conflict { merged: Some(file), .. } = &result.files[0].outcome else { panic!("{result:?}") };
    assert!(file.starts_with(project.home()));
    let text = fs::read_to_string(file).unwrap();
    assert!(text.starts_with("1\n<<<<<<< directory\n2r\n=======\n2v\n>>>>>>> view\n3\n"), "{text}");
}

#[test]
fn stop_applies_nothing_and_names_all_conflicts() {
    let project = Project::new(LINES);
    let mut view = project.changed("sed -i 2s/$/v/ lines; rm d/a; echo n > n");
    project.run("sed -i 2s/$/r/ lines; echo r > d/a");
    let before = tree(&project.root(), false);
    let result = try_apply(&mut view, OnConflict::Stop).unwrap();
    assert_eq!((result.is_applied, result.conflicts().count()), (false, 2));
    assert_eq!(tree(&project.root(), false), before);
    project.run("seq 1 20 > lines; echo 1 > d/a");
    let result = try_apply(&mut view, OnConflict::Stop).unwrap();
    assert_eq!((result.is_applied, result.conflicts().count()), (true, 0));
    assert!(!project.root().join("d/a").exists());
}

#[test]
fn a_file_that_was_changed_and_put_back_is_not_touched() {
    let project = Project::new(LINES);
    let before = fs::metadata(project.root().join("lines")).unwrap();
    let mut view = project.changed("cp lines old; echo x > lines; cp old lines; rm old; rm link; ln -s lines link");
    assert_eq!(described(&changes(&view)), Vec::<String>::new());
    assert_eq!(outcomes(&apply(&mut view)), Vec::<String>::new());
    let after = fs::metadata(project.root().join("lines")).unwrap();
    assert_eq!((before.ino(), before.mtime(), before.mtime_nsec()), (after.ino(), after.mtime(), after.mtime_nsec()));
}

#[test]
fn large_files_are_applied_if_only_the_view_changed_them() {
    let large = "head -c 6000000 /dev/zero | tr '\\0' x > large; cp large other; touch -d '1 hour ago' large other";
    let project = Project::new(large);
    let mut view = project.changed("echo v >> large; echo v >> other");
    project.run("echo r >> other");
    let lines = outcomes(&apply(&mut view));
    assert_eq!(lines[0], "replaced large");
    // Where files share data, the old content is there for the comparison.
    assert!(lines[1].starts_with("conflict other: changed in the view and in the directory"), "{lines:?}");
}

#[test]
fn ignored_files_are_applied_only_on_request() {
    let project = Project::new("git init -q; echo 'out/\n*.o' > .gitignore; git add .; git commit -qm 1");
    let mut view = project.changed("mkdir -p out/x src/gen; touch out/x/y out/z a.o b src/gen/c.o");
    let listed: Vec<_> = changes(&view).remainder.ignored.iter().map(|path| super::lossy(path)).collect();
    assert_eq!(listed, ["a.o", "out", "src/gen/c.o"]);
    assert_eq!(outcomes(&apply(&mut view)), ["created b"]);
    let result = view.apply(&ApplyOptions { ignored: true, ..ApplyOptions::default() }, &CancelToken::never()).unwrap();
    assert_eq!(result.files.len(), 8, "{:?}", outcomes(&result));
    assert!(project.root().join("src/gen/c.o").exists());
}

#[test]
fn nothing_inside_of_repositories_is_written() {
    let project =
        Project::new("git init -q; echo 1 > a; git add a; git commit -qm 1; git init -q nested; echo n > nested/n");
    let before = tree(&project.root().join(".git"), true);
    let nested = tree(&project.root().join("nested/.git"), true);
    let mut view = project.changed(
        "echo 2 >> a; git commit -qam 2; echo evil > .git/hooks; echo evil > nested/.git/config; echo m > nested/m; rm -rf \
         .git; ln -s / .git",
    );
    assert_eq!(outcomes(&apply(&mut view)), ["replaced a", "created nested/m"]);
    assert_eq!(tree(&project.root().join(".git"), true), before);
    assert_eq!(tree(&project.root().join("nested/.git"), true), nested);
}

#[test]
fn links_in_the_directory_are_never_followed() {
    let project = Project::new("mkdir d; echo 1 > d/a; mkdir ../outside; echo 1 > ../outside/a");
    let mut view = project.changed("echo 2 > d/a; echo 3 > d/b");
    project.run("mv d ../moved; ln -s ../outside d");
    let result = apply(&mut view);
    assert_eq!(result.conflicts().count(), 2, "{:?}", outcomes(&result));
    assert_eq!(project.run("cat ../outside/*; ls ../outside"), "1\na\n");
}

#[test]
fn a_deleted_directory_is_an_error_and_the_view_stays() {
    let project = Project::new(LINES);
    let mut view = project.changed("echo 3 > c");
    fs::rename(project.root(), project.folder().join("elsewhere")).unwrap();
    assert_eq!(try_apply(&mut view, OnConflict::Merge).unwrap_err().code(), ErrorCode::NotFound);
    assert_eq!(described(&changes(&view)), ["added file c"]);
    fs::rename(project.folder().join("elsewhere"), project.root()).unwrap();
    assert_eq!(outcomes(&apply(&mut view)), ["created c"]);
}

#[test]
fn a_cancelled_hand_back_changes_nothing() {
    let project = Project::new(LINES);
    let mut view = project.changed("rm lines; rm -r d; echo n > a; mkdir b; chmod 755 script");
    let before = tree(&project.root(), false);
    let (handle, cancel) = CancelHandle::new();
    handle.cancel();
    let error = view.apply(&ApplyOptions::default(), &cancel).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Aborted);
    assert_eq!(tree(&project.root(), false), before);
    assert_eq!(apply(&mut view).conflicts().count(), 0);
}

#[test]
fn several_views_of_a_directory_are_merged_one_after_the_other() {
    let project = Project::new(LINES);
    let mut views: Vec<_> = (0..10).map(|number| (number, project.open())).collect();
    std::thread::scope(|scope| {
        for (number, view) in &mut views {
            scope.spawn(move || {
                run_in(view.path(), &format!("sed -i {}s/$/v{number}/ lines; echo > n{number}", *number * 2 + 1));
                assert_eq!(apply(view).conflicts().count(), 0);
            });
        }
    });
    assert_eq!(project.run("grep -c v lines; ls n* | wc -l"), "10\n10\n");
}

#[test]
fn modes_of_views_agree() {
    let project = Project::new(&format!("{LINES} git init -q; git add .; git commit -qm 1"));
    let mut results = Vec::new();
    for mode in [ViewMode::Worktree, ViewMode::Copy] {
        let view = project.try_open(mode).unwrap();
        run_in(view.path(), "echo x >> lines; rm -r d; chmod 755 script; git status > /dev/null");
        results.push((described(&changes(&view)), changes(&view).patch));
    }
    assert_eq!(results[0], results[1]);
}

#[test]
fn permissions_that_the_views_file_system_cannot_store_are_not_applied() {
    let project = Project::new("mkdir d; echo 1 > d/a; echo 2 > b; chmod 640 d/a b; chmod 750 d");
    let view = project.open();
    let layout = Layout::of(&project.home(), view.id()).unwrap();
    drop(view);
    // As if each entry of the view had all permissions from the start.
    let mut base = Base::load(&layout.manifest()).unwrap();
    base.entries.values_mut().for_each(|entry| entry.view_mode = 0o777);
    base.save(&layout.manifest()).unwrap();
    run_in(&layout.tree(), "chmod -R 777 d b; echo more >> b");
    let mut view = IsolatedView::reopen(&project.home(), &layout.id, &CancelToken::never()).unwrap();
    assert_eq!(outcomes(&apply(&mut view)), ["replaced b"]);
    run_in(view.path(), "echo more >> b");
    assert_eq!(outcomes(&apply(&mut view)), ["replaced b"]);
    assert_eq!(project.run("stat -c '%a %s' d d/a b | cut -d' ' -f1; wc -l < b"), "750\n640\n640\n3\n");
}

#[test]
fn a_hand_back_between_two_checkpoints_can_be_undone() {
    let project = Project::new(LINES);
    let never = CancelToken::never();
    let options = sinew_checkpoint::OpenOptions { store: project.home().join("store"), ..Default::default() };
    let checkpoints = sinew_checkpoint::Checkpoints::open(&project.root(), &options).unwrap();
    let before = (checkpoints.take(&Default::default(), &never).unwrap().id, tree(&project.root(), false));
    let mut view = project.changed("rm lines; rm -r d; echo n > d; ln -sfn x link; chmod 700 script; mkdir e");
    apply(&mut view);
    checkpoints.take(&Default::default(), &never).unwrap();
    let restored = checkpoints.restore(&before.0, &Default::default(), &never).unwrap();
    assert_eq!((restored.done == restored.planned, tree(&project.root(), false)), (true, before.1));
}

#[test]
fn a_merge_needs_no_copy_of_what_git_has() {
    let project = Project::new(&format!("{LINES} git init -q; git add .; git commit -qm 1; git gc -q"));
    let mut view = project.changed("sed -i 2s/$/v/ lines");
    project.run("sed -i 18s/$/r/ lines; git commit -qam 2; git gc -q");
    let copies = fs::read_dir(Layout::of(&project.home(), view.id()).unwrap().contents()).unwrap().count();
    assert_eq!(outcomes(&apply(&mut view)), ["merged lines"]);
    // Where files share data, sharing is cheaper.
    assert!(copies == 0 || copies == 6, "{copies}");
    // An object that is lost is a conflict, and nothing else.
    let project = Project::new(&format!("{LINES} git init -q; git add .; git commit -qm 1"));
    let mut view = project.changed("sed -i 2s/$/v/ lines; echo n > n");
    project.run("sed -i 18s/$/r/ lines; rm -rf .git");
    let result = apply(&mut view);
    assert!(matches!(result.files[0].outcome, Outcome::Conflict { .. } | Outcome::Merged));
    assert_eq!(outcomes(&result)[1], "created n");
}
