//! Options by which a command does more than a rule that allows the program says: it writes a file, works in another
//! folder, or runs a program. A rule covers such a command only if it names the option.

use super::pattern::is_listed;
use super::runners::{GIT_VALUES, TOLD};
use super::words::{name, values};

/// Programs, and their options. One-letter options may be combined, and long ones may be abbreviated.
const ESCAPES: &[(&str, &[&str])] = &[
    ("sort", &["-o", "--output", "-T", "--temporary-directory", "--compress-program"]),
    ("shuf tree iconv objdump", &["-o", "--output"]),
    ("git", &["--output", "--output-directory", "--ext-diff", "--textconv", "--edit-description"]),
    ("sed gsed", &["-i", "--in-place"]),
    ("find", &["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("fd fdfind", &["-x", "-X", "--exec", "--exec-batch", "-C", "--base-directory"]),
    (
        "npm pnpm yarn bun",
        &["-C", "--prefix", "--dir", "--cwd", "--script-shell", "--userconfig", "--git", "--shell", "--editor"],
    ),
    ("make gmake", &["-C", "--directory", "-f", "--file", "--makefile", "-I", "--include-dir", "-E", "--eval"]),
    ("cargo", &["--manifest-path", "--config", "--target-dir", "--out-dir", "--artifact-dir", "-C", "-Z"]),
    ("go", &["-C", "-exec", "-toolexec", "-vettool", "-overlay", "-modfile", "-o", "-outputdir", "-coverprofile"]),
    ("pytest", &["--rootdir", "-c", "--override-ini", "--basetemp", "--junitxml", "--junit-xml", "--pdbcls"]),
    (
        "tar gtar bsdtar",
        &["-C", "--directory", "-I", "-F", "--to-command", "--use-compress-program", "--checkpoint-action"],
    ),
    (
        "curl",
        &["-o", "--output", "-O", "--remote-name", "-K", "--config", "-D", "--dump-header", "-c", "--cookie-jar", "-T"],
    ),
    ("wget", &["-O", "--output-document", "-o", "--output-file", "-P", "--directory-prefix", "-e", "--execute"]),
    ("gcc g++ cc clang", &["-o", "-wrapper", "-B", "-specs"]),
    ("jest vitest mocha eslint prettier", &["--config", "--rootDir", "--require", "--outputFile", "--output-file"]),
    ("pip pip3", &["--target", "--prefix", "--root", "--python", "--editor", "--log"]),
    ("less", &["-o", "-O", "--log-file"]),
    ("unzip", &["-d"]),
];

/// Programs whose options have one spelling, and cannot be combined.
const PLAIN: &str = "cargo go find gcc g++ cc clang";

/// Returns the words of a command that are such options.
pub(super) fn escapes(words: &[String]) -> Vec<String> {
    // `python3 -m pytest` has the options of `pytest`.
    let by_module = words.get(1).is_some_and(|word| word == "-m") && words.len() > 2;
    let words = if by_module { &words[2..] } else { words };
    let program = name(words);
    let options = ESCAPES.iter().filter(|(names, _)| is_listed(program, names)).flat_map(|(_, options)| *options);
    let options: Vec<&str> = options.copied().collect();
    let is_escape = |word: &&String| {
        options.iter().any(|option| match is_listed(program, PLAIN) {
            true if option.len() == 2 => word.starts_with(option),
            true => word.split('=').next() == Some(option),
            false => !values(std::slice::from_ref(*word), &[option]).is_empty(),
        })
    };
    let arguments = words.iter().skip(1).filter(|_| !options.is_empty());
    arguments.filter(is_escape).chain(folders(words)).chain(subcommand(words)).cloned().collect()
}

/// Returns the options before the subcommand by which git works in another folder or repository.
fn folders(words: &[String]) -> Vec<&String> {
    let mut found = Vec::new();
    let mut rest = words.iter().skip(1).filter(|_| name(words) == "git");
    while let Some(word) = rest.next().filter(|word| word.starts_with('-')) {
        if ["-C", "--git-dir", "--work-tree"].iter().any(|option| word.starts_with(option)) {
            found.push(word);
        }
        if GIT_VALUES.contains(&word.as_str()) {
            rest.next();
        }
    }
    found
}

/// Returns the subcommand that runs its arguments: `npm exec`. Those of go run code of the project only, like `make`.
fn subcommand(words: &[String]) -> Option<&String> {
    let program = name(words);
    let rows = || TOLD.iter().filter(|(programs, _)| program != "go" && is_listed(program, programs));
    rows().next()?;
    for (before, word) in words.iter().zip(words.iter().skip(1)).filter(|(_, word)| !word.starts_with('-')) {
        if rows().any(|(_, names)| is_listed(word, names)) {
            return Some(word);
        }
        // A word after an option may be its value.
        if !before.starts_with('-') {
            break;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_options_that_write_move_or_run() {
        for (line, expect) in [
            ("sort -uo x y", "-uo"),
            ("sort --outp=x y", "--outp=x"),
            ("git diff --output=x", "--output=x"),
            ("git log -1 --oneline", ""),
            ("npm test --prefix x", "--prefix"),
            ("npm test -- --watch=false", ""),
            ("make test -C x", "-C"),
            ("make -j8 test", ""),
            ("cargo test --manifest-path x", "--manifest-path"),
            ("cargo test --target x", ""),
            ("go test -count=1 ./...", ""),
            ("go test -exec x", "-exec"),
            ("python3 -m pytest -q --rootdir=x", "--rootdir=x"),
            ("find . -name x -delete", "-delete"),
            ("git -C sub log", "-C"),
            ("git log -C", ""),
            ("git -c x=-C --git-dir=/x log", "--git-dir=/x"),
            ("npm exec x", "exec"),
            ("npm --loglevel silent exec x", "exec"),
            ("npm test -- exec", ""),
            ("npm test x", ""),
            ("go vet ./...", ""),
            ("ls -la", ""),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            assert_eq!(escapes(&words).join(" "), expect, "{line}");
        }
    }
}
