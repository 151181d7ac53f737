//! Tests that a hand-back that meets a change or an error undoes its steps.

use std::fs;

use sinew_base::CancelToken;
use sinew_checkpoint::Directory;

use super::{Project, apply, outcomes, run_in, tree};
use crate::base::{Base, Contents};
use crate::changes::{ViewFiles, compare};
use crate::execute::{Failure, execute};
use crate::layout::Layout;
use crate::plan::{Step, plan};
use crate::scan::{Stamp, as_name};

const SETUP: &str = "echo 1 > a; echo 2 > b; mkdir -p d/e; echo 3 > d/e/f; echo 4 > kind; mkdir ro; echo r > ro/r; chmod 555 \
                     ro; echo s > s";
const VIEW: &str = "echo x >> a; rm b; rm -r d; rm kind; mkdir kind; echo k > kind/k; chmod 755 s; echo n > n; chmod 755 ro; echo \
                    y >> ro/r; echo z > ro/z; chmod 555 ro; echo last > zz";

/// Plans a hand-back, changes the directory, and executes the plan with another step at its end.
#[track_caller]
fn check(meanwhile: &str, last: Option<Step>) -> Failure {
    let project = Project::new(SETUP);
    let view = project.changed(VIEW);
    let never = CancelToken::never();
    let layout = Layout::of(&project.home(), view.id()).unwrap();
    let base = Base::load(&layout.manifest()).unwrap();
    let contents = Contents::open(layout.contents(), None).unwrap();
    let description = layout.read_description().unwrap();
    let (real, directory) = (Directory::open(&project.root()).unwrap(), Directory::open(view.path()).unwrap());
    let tree_path = layout.tree();
    let files = ViewFiles {
        description: &description,
        base: &base,
        contents: &contents,
        tree: &tree_path,
        view: &directory,
        real: Some(&real),
    };
    let comparison = compare(&files, false, &never).unwrap();
    let mut plan = plan(&files, &real, &comparison.differences, &never).unwrap();
    plan.steps.extend(last);
    run_in(&project.root(), meanwhile);
    let before = tree(&project.root(), false);
    let failure = execute(&layout, &real, &directory, &plan, &never).unwrap_err();
    assert_eq!(tree(&project.root(), false), before, "{meanwhile}");
    assert!(!layout.journal().exists());
    failure
}

#[test]
fn a_step_that_fails_undoes_the_others() {
    let failure = check("true", Some(Step::MakeDirectory { path: vec![b'x'; 300] }));
    let Failure::Error(error) = failure else { panic!("{failure:?}") };
    assert_eq!(error.code(), sinew_base::ErrorCode::NameTooLong);
    assert!(error.message().contains("nothing was applied"), "{error}");
}

#[test]
fn a_change_of_another_program_undoes_all_steps() {
    for meanwhile in [
        "echo r >> a",
        "rm a",
        "rm a; mkdir a",
        "echo r >> b",
        "echo r > d/e/g",
        "mv d moved",
        "rm kind",
        "echo r > zz",
        "ln -s /nowhere n",
        "chmod 755 ro; rm ro/r; chmod 555 ro",
        "mkdir n; chmod 500 n",
        "rm s",
        "mv ro moved; ln -s moved ro",
        "cp -p a copy; mv copy a",
    ] {
        let failure = check(meanwhile, None);
        assert!(matches!(failure, Failure::Changed), "{meanwhile}: {failure:?}");
    }
}

#[test]
fn directories_without_write_permission_keep_their_permissions() {
    let project = Project::new("mkdir -p ro/deep gone; echo 1 > ro/a; echo 2 > gone/b; chmod 555 ro ro/deep gone");
    let mut view =
        project.changed("chmod -R u+w .; echo x >> ro/a; echo n > ro/deep/n; rm -r gone; chmod 555 ro/deep ro");
    assert_eq!(outcomes(&apply(&mut view)), ["deleted gone", "deleted gone/b", "replaced ro/a", "created ro/deep/n"]);
    assert_eq!(tree(&project.root(), false), tree(view.path(), false));
}

#[test]
fn a_directory_that_cannot_be_listed_does_not_count_as_emptied() {
    let project = Project::new("mkdir d; echo 1 > d/a; chmod 755 d");
    let mut view = project.changed("chmod 000 d");
    let result = super::try_apply(&mut view, crate::OnConflict::Merge);
    if rustix::process::geteuid().is_root() {
        assert_eq!(outcomes(&result.unwrap()), ["replaced d"]);
    } else {
        assert_eq!(result.unwrap_err().code(), sinew_base::ErrorCode::PermissionDenied);
    }
    project.run("chmod 755 d; [ -e d/a ]");
    // The same in the directory: the view names what it lacks, and a hand-back leaves it alone.
    let project = Project::new("mkdir d; echo 1 > d/a; echo 2 > f; chmod 000 d f; echo 3 > g");
    let mut view = project.changed("echo 4 > g");
    let missing = if rustix::process::geteuid().is_root() { vec![] } else { vec![b"d".to_vec(), b"f".to_vec()] };
    assert_eq!(view.missing(), missing);
    assert_eq!(outcomes(&apply(&mut view)), ["replaced g"]);
    project.run("chmod 755 d f; cat d/a f");
}

#[test]
fn the_data_of_bare_repositories_is_never_written() {
    let project = Project::new("git init -q --bare mirror.git; mkdir other; echo 1 > other/a");
    let before = tree(&project.root(), true);
    let mut view = project.changed("rm mirror.git/HEAD; echo evil > mirror.git/config; echo evil > mirror.git/new");
    assert_eq!(outcomes(&apply(&mut view)), Vec::<String>::new());
    assert_eq!(tree(&project.root(), true), before);
    let mut view = project.changed("mkdir -p repo/hooks; echo evil > repo/hooks/post-update; echo 2 > repo/b");
    project.run("git init -q --bare repo; rm -r repo/hooks");
    let before = tree(&project.root(), true);
    assert_eq!(apply(&mut view).conflicts().count(), 3);
    assert_eq!(tree(&project.root(), true), before);
}

#[test]
fn a_tampered_journal_reaches_nothing_outside() {
    let project = Project::new("echo 1 > a");
    let view = project.changed("echo 2 > a");
    let layout = Layout::of(&project.home(), view.id()).unwrap();
    fs::write(project.folder().join("outside"), "safe").unwrap();
    let stat = rustix::fs::stat(project.root().as_path()).unwrap();
    let stamp = Stamp::of(&stat);
    let journal = format!("{}\0{}\0mode\0../outside\00\0420\0end\0", stamp.device, stamp.inode);
    fs::write(layout.journal(), journal).unwrap();
    let stage = project.root().join(as_name(format!(".sinew-restore-view-{}", view.id()).as_bytes()));
    fs::create_dir(&stage).unwrap();
    let id = view.id().to_string();
    drop(view);
    for _ in 0..2 {
        let view = crate::IsolatedView::reopen(&project.home(), &id, &CancelToken::never()).unwrap();
        assert_eq!(super::described(&super::changes(&view)), ["changed file a"]);
        // It may have the only copy of a file.
        assert!(stage.exists());
    }
    assert_eq!(project.run("stat -c %a ../outside"), "644\n");
}

#[test]
fn a_view_whose_directory_was_replaced_is_not_applied() {
    let project = Project::new("echo 1 > a; mkdir ../other; echo 2 > ../other/a");
    let mut view = project.open();
    fs::rename(view.path(), project.folder().join("aside")).unwrap();
    assert!(super::try_apply(&mut view, crate::OnConflict::Merge).is_err());
    std::os::unix::fs::symlink(project.folder().join("other"), view.path()).unwrap();
    let error = super::try_apply(&mut view, crate::OnConflict::Merge).unwrap_err();
    assert!(error.message().contains("was removed or replaced"), "{error}");
    assert_eq!(project.run("cat a"), "1\n");
}

#[test]
fn a_folder_of_views_that_is_a_link_is_refused() {
    let project = Project::new("mkdir ../elsewhere ../home; ln -s ../elsewhere ../home/isolated");
    let error = project.try_open(crate::ViewMode::Copy).unwrap_err();
    assert_eq!(error.code(), sinew_base::ErrorCode::InvalidArgument);
    assert_eq!(project.run("ls ../elsewhere"), "");
}
