//! Tests the opening of views.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use sinew_base::{CancelHandle, CancelToken, ErrorCode};

use super::{Project, apply, changes, described, lossy, run_in, tree};
use crate::{ChangesOptions, IsolatedView, OpenOptions, ViewMode, leftovers};

const COMMITTED: &str =
    "git init -q; echo 1 > a; mkdir d; echo 2 > d/b; echo '*.o' > .gitignore; git add .; git commit -qm first; ";

/// Opens a view of a repository; git must report the same in both, and the repository must stay as it is.
#[track_caller]
fn check_git(script: &str) {
    let project = Project::new(script);
    let before = tree(&project.folder(), true);
    let view = project.try_open(ViewMode::Worktree).unwrap();
    let queries = "git status --porcelain=v2 --branch -z --no-optional-locks; git rev-list --all; git stash list; git \
                   for-each-ref; git ls-files -s; git fsck 2>&1 | grep -v notice || true";
    let queries =
        queries.replace("git status", "git --no-optional-locks status").replace("-z --no-optional-locks", "-z");
    assert_eq!(run_in(view.path(), &queries), project.run(&queries), "{script}");
    run_in(
        view.path(),
        "echo more >> new; git add new; git commit -qm second 2> /dev/null || true; git branch -q other 2> /dev/null || true; git stash list; git gc -q",
    );
    apply_nothing(&view);
    let mut after = tree(&project.folder(), true);
    after.retain(|path, _| !path.starts_with("\"home"));
    let mut before = before;
    before.retain(|path, _| !path.starts_with("\"home"));
    assert_eq!(before, after, "{script}");
}

fn apply_nothing(view: &IsolatedView) {
    assert!(described(&changes(view)).contains(&"added file new".to_string()));
}

#[test]
fn a_worktree_view_has_the_state_of_the_checkout() {
    check_git(COMMITTED);
    check_git("git init -q");
    check_git(&format!("{COMMITTED} echo dirty >> a; echo staged > s; git add s; echo u > untracked; rm d/b"));
    check_git(&format!("{COMMITTED} git checkout -q --detach; git tag -am t t; git pack-refs --all; git gc -q"));
    check_git(&format!("{COMMITTED} echo x >> a; git stash -q; git branch 'feature/x'; echo y >> d/b"));
    check_git(&format!("{COMMITTED} git update-index --split-index; echo z > z; git add z"));
    check_git(&format!(
        "{COMMITTED} git config core.autocrlf true; printf 'x\\r\\n' > crlf; git add crlf 2> /dev/null"
    ));
    check_git(&format!("{COMMITTED} mkdir e; echo 3 > e/c; git add e; git commit -qm e; git sparse-checkout set d"));
    check_git(&format!("{COMMITTED} git update-index --index-version 4"));
    check_git(&format!("{COMMITTED} git update-index --assume-unchanged a; echo hidden > a"));
    check_git("git init -q --object-format=sha256; echo 1 > a; git add a; git commit -qm first");
    check_git("git init -q --ref-format=reftable; echo 1 > a; git add a; git commit -qm first");
    check_git(&format!(
        "cd ..; git init -q origin; cd origin; {COMMITTED} cd ..; rm -r root; git clone -qs origin root; cd root"
    ));
    check_git(&format!(
        "cd ..; git init -q main; cd main; {COMMITTED} git branch linked; cd ..; rm -r root; git -C main worktree add -q \
         ../root linked; cd root; echo dirty >> a"
    ));
    check_git(&format!(
        "cd ..; rm -r root; git init -q --separate-git-dir=elsewhere root; cd root; {COMMITTED} echo dirty >> a"
    ));
    check_git(&format!(
        "cd ..; git init -q lib; cd lib; {COMMITTED} cd ../root; {COMMITTED} git -c protocol.file.allow=always submodule \
         --quiet add ../lib lib 2> /dev/null; git commit -qm lib; echo dirty >> lib/a"
    ));
    check_git(&format!("{COMMITTED} mv .git ../real.git; ln -s ../real.git .git; echo dirty >> a"));
    check_git(&format!(
        "{COMMITTED} mkdir e; echo 3 > e/c; git add e; git commit -qm e; git sparse-checkout set --sparse-index d"
    ));
    check_git(&format!(
        "{COMMITTED} git checkout -qb side; echo s > a; git commit -qam s; git checkout -q -; echo m > a; \
         git commit -qam m; git merge side > /dev/null || true"
    ));
    check_git(&format!("{COMMITTED} git init -q nested; cd nested; {COMMITTED} echo dirty >> a"));
    check_git(&format!(
        "{COMMITTED} printf x > \"$(printf 'new\\nline')\"; printf x > \"$(printf 'bad\\377')\"; git add ."
    ));
}

#[test]
fn programs_of_the_user_do_not_run() {
    let project = Project::new(COMMITTED);
    project.run(
        "for hook in post-checkout post-index-change pre-commit fsmonitor; do printf '#!/bin/sh\\ntouch \
         \"'\"$PWD\"'/../ran\"\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook; done; git config core.fsmonitor \
         .git/hooks/fsmonitor; git config filter.evil.clean 'touch ../ran; cat'; git config filter.evil.smudge 'touch \
         ../ran; cat'; echo '* filter=evil' > .gitattributes; rm -f ../ran",
    );
    let mut view = project.open();
    run_in(view.path(), "echo 3 >> a; git status > /dev/null; git commit -qam inside");
    changes(&view);
    apply(&mut view);
    assert!(!project.folder().join("ran").exists());
}

#[test]
fn ignored_files_are_named_if_they_cannot_share_data() {
    let project = Project::new(&format!(
        "{COMMITTED} touch tracked.o; git add -f tracked.o; mkdir out; echo 1 > x.o; echo 2 > out/y.o"
    ));
    project.run(
        "printf '/build\\n/mirror.git\\n/trees\\n' > .git/info/exclude; mkdir -p build/deep; echo 3 > build/deep/z; git commit \
         -qm o; git init -q --bare mirror.git; git worktree add -q trees/one -b one",
    );
    let mut view = project.open();
    let missing: Vec<String> = view.missing().iter().map(|path| lossy(path)).collect();
    let shares = view.path().join("x.o").exists();
    assert_eq!(missing, if shares { vec![] } else { vec!["build", "mirror.git", "out/y.o", "trees", "x.o"] });
    assert!(view.path().join("tracked.o").exists());
    assert_eq!(view.path().join("mirror.git").exists(), shares);
    // A file that exists in the directory and that the view lacked is not replaced, and nothing is deleted.
    if !shares {
        run_in(view.path(), "rm -r out; echo own > x.o");
        let result = view.apply(&crate::ApplyOptions { ignored: true, ..Default::default() }, &CancelToken::never());
        let lines = super::outcomes(&result.unwrap());
        assert_eq!(lines, ["kept out", "conflict x.o: created in the view and in the directory"]);
    }
    let copy = project.try_open(ViewMode::Copy).unwrap();
    assert_eq!((copy.missing().len(), copy.mode()), (0, ViewMode::Copy));
    assert!(copy.path().join("build/deep/z").exists());
}

#[test]
fn a_copy_has_everything_but_special_files() {
    let project = Project::new(
        "mkdir -p d/e empty; echo 1 > d/e/f; chmod 600 d/e/f; ln -s d l; ln -s /nowhere out; mkfifo pipe; chmod 555 d/e; \
         truncate -s 8M sparse; mkdir .hg; echo x > .hg/store; printf x > \"$(printf 'a\\nb')\"; printf y > \"$(printf '\\377')\"",
    );
    let view = project.open();
    let mut expect = tree_without_sparse(&project.root());
    expect.remove("\"pipe\"");
    assert_eq!(tree_without_sparse(view.path()), expect);
    let sparse = fs::metadata(view.path().join("sparse")).unwrap();
    assert_eq!((sparse.len(), sparse.blocks()), (8 << 20, 0));
    assert_eq!((view.mode(), described(&changes(&view))), (ViewMode::Copy, vec![]));
    view.discard().unwrap();
    assert_eq!(leftovers(&project.home(), &CancelToken::never()).unwrap(), []);
    assert_eq!(fs::read_dir(project.home().join("isolated")).unwrap().count(), 0);
}

fn tree_without_sparse(root: &std::path::Path) -> super::Tree {
    let sparse = root.join("sparse");
    let size = fs::metadata(&sparse).unwrap().len();
    fs::rename(&sparse, root.parent().unwrap().join("aside")).unwrap();
    let mut tree = tree(root, true);
    fs::rename(root.parent().unwrap().join("aside"), &sparse).unwrap();
    tree.insert("sparse".into(), size.to_string());
    tree
}

#[test]
fn paths_of_any_bytes_and_lengths_work() {
    let project = Project::new("");
    let root = project.root().join(std::ffi::OsStr::from_bytes(b"new\nline \" \xff"));
    fs::create_dir(&root).unwrap();
    run_in(&root, COMMITTED);
    run_in(
        &root,
        "name=$(printf 'x%.0s' $(seq 200)); for i in $(seq 30); do mkdir $name; cd $name; done; echo deep > file",
    );
    let home = project.folder().join(std::ffi::OsStr::from_bytes(b"ho\nme\xfe"));
    let mut view = IsolatedView::open(&root, &OpenOptions::new(&home), &CancelToken::never()).unwrap();
    assert_eq!(run_in(view.path(), "git log --format=%s"), "first\n");
    run_in(
        view.path(),
        "name=$(printf 'x%.0s' $(seq 200)); for i in $(seq 30); do cd $name; done; echo more >> file; echo n > new",
    );
    let id = view.id().to_string();
    assert_eq!(apply(&mut view).files.len(), 2);
    drop(view);
    assert_eq!(leftovers(&home, &CancelToken::never()).unwrap()[0].root, root);
    IsolatedView::reopen(&home, &id, &CancelToken::never()).unwrap().discard().unwrap();
}

#[test]
fn what_cannot_be_isolated_is_refused_with_a_way_out() {
    #[track_caller]
    fn check(script: &str, mode: ViewMode, code: ErrorCode, words: &str) {
        let project = Project::new(script);
        let error = project.try_open(mode).unwrap_err();
        assert_eq!((error.code(), error.message().contains(words)), (code, true), "{error}");
        assert!(!project.home().exists());
    }
    check("", ViewMode::Overlay, ErrorCode::Unsupported, "use worktree or copy");
    check("", ViewMode::Worktree, ErrorCode::NotFound, "use the mode copy");
    check("git init -q ..", ViewMode::Worktree, ErrorCode::InvalidArgument, "is a part of the checkout");
    check("git init -q --bare .", ViewMode::Auto, ErrorCode::InvalidArgument, "open a view of a checkout");
    check("echo 'gitdir: /nowhere' > .git", ViewMode::Worktree, ErrorCode::InvalidData, "git worktree repair");
    check("echo nonsense > .git", ViewMode::Worktree, ErrorCode::InvalidData, "is not a git directory");
    check("cd ..; rm -r root", ViewMode::Auto, ErrorCode::NotFound, "root");
    check("cd ..; rm -r root; touch root", ViewMode::Auto, ErrorCode::NotADirectory, "root");
}

#[test]
fn a_failed_or_cancelled_call_leaves_nothing() {
    let project = Project::new("touch a b c");
    let options = OpenOptions { max_entries: 2, ..OpenOptions::new(project.home()) };
    let error = IsolatedView::open(&project.root(), &options, &CancelToken::never()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::LimitExceeded);
    let (handle, cancel) = CancelHandle::new();
    handle.cancel();
    let error = IsolatedView::open(&project.root(), &OpenOptions::new(project.home()), &cancel).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Aborted);
    assert_eq!(fs::read_dir(project.home().join("isolated")).unwrap().count(), 0);
}

#[test]
fn auto_copies_where_git_cannot_help_and_says_why() {
    #[track_caller]
    fn check(script: &str, mode: ViewMode, note: Option<&str>) {
        let view = Project::new(script).open();
        assert_eq!(view.mode(), mode, "{script}");
        let has = |words: &str| view.notes().iter().any(|note| note.contains(words));
        assert!(note.map_or(view.notes().is_empty(), has), "{:?}", view.notes());
    }
    check("touch a", ViewMode::Copy, None);
    check("git init -q", ViewMode::Worktree, None);
    check("git init -q ..", ViewMode::Copy, Some("is a part of the checkout"));
    check("echo 'gitdir: /nowhere' > .git", ViewMode::Copy, Some("not a git directory"));
    check("ln -s \"$PWD/x\" l", ViewMode::Copy, Some("leads to the original directory"));
}

#[test]
fn pipes_in_a_git_directory_do_not_block() {
    for name in ["config", "index", "packed-refs", "objects/info/alternates", "refs/heads/pipe", "commondir"] {
        let project = Project::new(&format!("{COMMITTED} rm -f .git/{name}; mkfifo .git/{name}"));
        let view = project.open();
        changes(&view);
        run_in(
            view.path(),
            &format!("rm -rf .git/{name}; mkdir -p .git/objects/info .git/refs/heads; mkfifo .git/{name}"),
        );
        changes(&view);
    }
    let project = Project::new("mkfifo .git");
    assert_eq!(project.open().mode(), ViewMode::Copy);
}

#[test]
fn the_programs_own_folder_is_not_in_the_view() {
    let project = Project::new("mkdir own; touch own/secret a");
    let options = OpenOptions::new(project.root().join("own"));
    let mut view = IsolatedView::open(&project.root(), &options, &CancelToken::never()).unwrap();
    assert!(!view.path().join("own").exists());
    run_in(view.path(), "rm a");
    assert_eq!(super::outcomes(&apply(&mut view)), ["deleted a"]);
    assert!(project.root().join("own/secret").exists());
    let error = IsolatedView::open(&project.root(), &OpenOptions::new(project.root()), &CancelToken::never());
    assert_eq!(error.unwrap_err().code(), ErrorCode::InvalidArgument);
}

#[test]
fn a_view_of_a_view_and_a_view_of_a_link_work() {
    let project = Project::new(COMMITTED);
    let mut outer = project.changed("echo outer > o");
    let options = OpenOptions::new(project.home());
    let link = project.folder().join("link");
    std::os::unix::fs::symlink(outer.path(), &link).unwrap();
    let mut inner = IsolatedView::open(&link, &options, &CancelToken::never()).unwrap();
    run_in(inner.path(), "echo inner > i; git add .; git commit -qm inner");
    assert_eq!(super::outcomes(&apply(&mut inner)), ["created i"]);
    assert_eq!(super::outcomes(&apply(&mut outer)), ["created i", "created o"]);
}

#[test]
fn leftovers_are_views_whose_process_ended() {
    let project = Project::new(COMMITTED);
    let never = CancelToken::never();
    let options = OpenOptions { label: Some("child".into()), ..OpenOptions::new(project.home()) };
    let view = IsolatedView::open(&project.root(), &options, &never).unwrap();
    run_in(view.path(), "echo 3 > c");
    assert_eq!(leftovers(&project.home(), &never).unwrap(), []);
    assert_eq!(IsolatedView::reopen(&project.home(), view.id(), &never).unwrap_err().code(), ErrorCode::InvalidState);
    let id = view.id().to_string();
    drop(view);
    let file = project.root().join("file");
    fs::write(&file, "").unwrap();
    for missing in [project.root().join("nowhere"), file.join("home")] {
        assert_eq!(leftovers(&missing, &never).unwrap(), []);
    }
    fs::remove_file(&file).unwrap();
    // A view whose creation was interrupted is removed.
    fs::create_dir(project.home().join("isolated/interrupted")).unwrap();
    // A removal of expired views does not list those that stay.
    assert_eq!(crate::remove_expired(&project.home(), crate::VIEW_LIFETIME, &never).unwrap(), Vec::<String>::new());
    let found = leftovers(&project.home(), &never).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].is_new && !leftovers(&project.home(), &never).unwrap()[0].is_new);
    assert_eq!((&found[0].id, &found[0].root, found[0].label.as_deref()), (&id, &project.root(), Some("child")));
    assert!(!project.home().join("isolated/interrupted").exists());
    let view = IsolatedView::reopen(&project.home(), &id, &never).unwrap();
    assert_eq!(described(&changes(&view)), ["added file c"]);
    drop(view);
    assert_eq!(crate::remove_expired(&project.home(), crate::VIEW_LIFETIME, &never).unwrap(), Vec::<String>::new());
    assert_eq!(crate::remove_expired(&project.home(), std::time::Duration::ZERO, &never).unwrap(), [&*id]);
    for id in [&*id, "../x", ""] {
        let code = IsolatedView::reopen(&project.home(), id, &never).unwrap_err().code();
        assert!(matches!(code, ErrorCode::NotFound | ErrorCode::InvalidArgument));
    }
}

#[test]
fn commits_and_new_repositories_stay_in_the_view_and_are_named() {
    let project = Project::new(COMMITTED);
    let view = project.changed(
        "echo 3 >> a; git commit -qam 'one thing'; git commit -q --allow-empty -m another; git init -q inner; mkfifo p",
    );
    let changes = view.changes(&ChangesOptions::default(), &CancelToken::never()).unwrap();
    let commits: Vec<&str> = changes.remainder.commits.iter().map(|commit| &*commit.subject).collect();
    assert_eq!(commits, ["another", "one thing"]);
    assert_eq!(changes.remainder.repositories, [b"inner/.git"]);
    assert_eq!(changes.remainder.special, 1);
    assert_eq!(described(&changes), ["changed file a", "added directory inner"]);
}
