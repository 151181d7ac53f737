//! Tests that git and this crate apply random diffs of git alike, to trees that may have changed in the meantime.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use fastrand::Rng;
use sinew_base::CancelToken;
use sinew_patch::{ApplyOptions, apply_to_directory};

use crate::tree::{self, File, Tree};

/// The number of pairs of trees; each yields about eight diffs.
const PAIRS: usize = 130;

#[test]
fn agrees_with_git_byte_for_byte_on_random_diffs() {
    let mut random = Rng::with_seed(20);
    // Thousands of small files are written and flushed, which is faster in memory than on a disk.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let top = folder.path().canonicalize().unwrap();
    let repository = top.join("repository");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q"]);
    git(&repository, &["config", "core.fsync", "none"]);
    let (mut diffs, mut applied) = (0, 0);
    for _ in 0..PAIRS {
        let (before, after) = trees(&mut random);
        let context = format!("-U{}", random.usize(1..5));
        let (old, new) = (write_tree(&repository, &before), write_tree(&repository, &after));
        let patch = git(&repository, &["diff-tree", "-p", "-M", "-C", "--find-copies-harder", &context, &old, &new]);
        for diff in split(&patch) {
            let meanwhile = if random.bool() { before.clone() } else { disturbed(&before, &mut random) };
            applied += usize::from(agree(&top, &meanwhile, diff));
            diffs += 1;
        }
    }
    assert!(diffs >= 1000, "only {diffs} diffs");
    assert!(
        (diffs / 4..diffs).contains(&applied),
        "{applied} of {diffs} apply: the trees are too alike or too different"
    );
}

/// Runs git without the settings of the user and returns its output.
fn git(folder: &Path, args: &[&str]) -> Vec<u8> {
    let output = command(folder).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").current_dir(folder);
    command.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap());
    command
}

fn write_tree(repository: &Path, tree: &Tree) -> String {
    for entry in fs::read_dir(repository).unwrap().map(|entry| entry.unwrap()) {
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() == ".git" => {}
            true => fs::remove_dir_all(entry.path()).unwrap(),
            false => fs::remove_file(entry.path()).unwrap(),
        }
    }
    tree::write(repository, tree);
    git(repository, &["add", "-A"]);
    String::from_utf8(git(repository, &["write-tree"])).unwrap().trim().to_owned()
}

/// Returns the diffs of single files.
fn split(patch: &[u8]) -> Vec<&[u8]> {
    let mark = b"diff --git ";
    let starts: Vec<usize> =
        (0..patch.len()).filter(|at| patch[*at..].starts_with(mark) && (*at == 0 || patch[at - 1] == b'\n')).collect();
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    starts.iter().zip(ends).map(|(start, end)| &patch[*start..end]).collect()
}

/// Lines of which many are equal, so that a hunk matches at several positions.
fn line(random: &mut Rng) -> Vec<u8> {
    let known: [&[u8]; 12] = [
        b"{",
        b"}",
        b"",
        b"  end",
        b"return x",
        b"foo(bar)",
        b"-- rule",
        b"++ more",
        b" lead",
        b"tab\t",
        b"caf\xe9",
        b"@@ -1 +1 @@",
    ];
    let mut line = match random.usize(0..20) {
        at if at < known.len() => known[at].to_vec(),
        _ => format!("line {}", random.u8(0..30)).into_bytes(),
    };
    line.extend_from_slice(if random.u8(0..20) == 0 { b"\r\n" } else { b"\n" });
    line
}

fn lines(random: &mut Rng) -> Vec<Vec<u8>> {
    (0..random.usize(0..40)).map(|_| line(random)).collect()
}

fn changed(lines: &[Vec<u8>], random: &mut Rng, rate: usize) -> Vec<Vec<u8>> {
    let mut new = Vec::new();
    for old in lines {
        match random.usize(0..rate * 3) {
            0 => {}
            1 => new.extend([line(random), old.clone()]),
            2 => new.push(line(random)),
            _ => new.push(old.clone()),
        }
    }
    new
}

fn text(lines: &[Vec<u8>], random: &mut Rng) -> Vec<u8> {
    let mut text = lines.concat();
    if random.u8(0..5) == 0 && text.ends_with(b"\n") {
        text.pop();
    }
    text
}

const NAMES: [&str; 12] =
    ["a", "b c", "d/e", "d/f\tg", "d/h/i", "ü", "a.txt", "quote\"d", "b/b", "x~", "deep/er/and/deeper", "-dash"];

fn trees(random: &mut Rng) -> (Tree, Tree) {
    let (mut before, mut after) = (Tree::new(), Tree::new());
    for name in NAMES {
        let old = lines(random);
        let executable = random.u8(0..5) == 0;
        let file = File::Text(text(&old, random), executable);
        match random.usize(0..16) {
            0 => drop(after.insert(name.into(), file)),
            1 => drop(before.insert(name.into(), file)),
            kind => {
                before.insert(name.into(), file.clone());
                let new = File::Text(text(&changed(&old, random, 4), random), executable != (kind == 2));
                match kind {
                    3 => drop(after.insert(format!("{name}.moved"), file)),
                    4 => drop(after.insert(format!("moved/{name}"), new)),
                    5 => drop((after.insert(format!("{name}.copy"), file.clone()), after.insert(name.into(), file))),
                    _ => drop(after.insert(name.into(), new)),
                }
            }
        }
    }
    (before, after)
}

/// Returns a tree in which somebody changed something in the meantime.
fn disturbed(tree: &Tree, random: &mut Rng) -> Tree {
    let mut changed_tree = Tree::new();
    for (name, file) in tree {
        let File::Text(old, executable) = file else { continue };
        let old: Vec<Vec<u8>> = old.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let mut new = if random.bool() { changed(&old, random, 12) } else { old };
        if random.u8(0..3) == 0 {
            let above: Vec<Vec<u8>> = (0..random.usize(1..6)).map(|_| line(random)).collect();
            let at = random.usize(0..=new.len());
            new.splice(at..at, above);
        }
        if random.u8(0..20) != 0 {
            changed_tree.insert(name.clone(), File::Text(new.concat(), *executable));
        }
    }
    changed_tree
}

/// Applies a diff with git and with this crate, and compares the results. Returns true if it applies.
fn agree(top: &Path, tree: &Tree, diff: &[u8]) -> bool {
    let (theirs, ours) = (top.join("theirs"), top.join("ours"));
    for folder in [&theirs, &ours] {
        fs::create_dir(folder).unwrap();
        tree::write(folder, tree);
    }
    let patch = top.join("patch");
    fs::write(&patch, diff).unwrap();
    let mut apply = command(&theirs);
    apply.args(["apply", "--whitespace=nowarn"]).arg(&patch).stdout(Stdio::null());
    let git = apply.stderr(Stdio::piped()).output().unwrap();
    let result = apply_to_directory(&ours, diff, ApplyOptions::default(), &CancelToken::never());
    let shown = String::from_utf8_lossy(diff);
    let said = String::from_utf8_lossy(&git.stderr);
    assert_eq!(result.is_ok(), git.status.success(), "{result:?}\n{said}\n{shown}");
    assert_eq!(tree::read(&ours), tree::read(&theirs), "{shown}");
    assert!(result.is_ok() || tree::read(&ours) == *tree, "changed something: {shown}");
    fs::remove_dir_all(theirs).unwrap();
    fs::remove_dir_all(ours).unwrap();
    result.is_ok()
}
