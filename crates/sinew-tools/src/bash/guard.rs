//! A protection against accidents that recognises some commands in plain form. It is not a sandbox: simple quoting
//! bypasses it.

mod words;

use std::cell::Cell;
use std::sync::LazyLock;

use regex::Regex;

use crate::settings::GuardSettings;
use words::Command;

/// The verdict of the guard on a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The rule that refuses it; `None` if none does.
    pub(super) rule: Option<String>,
    /// Errors in the user's rules.
    pub(super) warnings: Vec<String>,
}

/// Checks `command` against the rules.
pub(super) fn check(settings: &GuardSettings, command: &str) -> Verdict {
    let mut verdict = Verdict::default();
    if !settings.enabled || settings.allow.iter().any(|allowed| allowed.trim() == command.trim()) {
        return verdict;
    }
    verdict.rule = accident(command).map(String::from);
    for rule in &settings.deny {
        match Regex::new(rule) {
            Ok(regex) if verdict.rule.is_none() && regex.is_match(command) => verdict.rule = Some(rule.clone()),
            Ok(_) => {}
            Err(error) => {
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                verdict.warnings.push(format!("bashGuard.deny: \"{rule}\" is skipped: {reason}"));
            }
        }
    }
    verdict
}

const DISK: &str = "^(of=)?/dev/((sd|hd|vd|xvd)([a-z]+[0-9]*|[*?])|nvme[0-9]+(n[0-9]+(p[0-9]+)?)?|mmcblk[0-9]+(p[0-9]+)?\
                    |r?disk[0-9]+(s[0-9]+)?|disk/by-.*)$";
static DISK_NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(DISK).expect("a constant pattern"));

/// The number of lines and commands inside a command that are checked. Each runner has several places where its command
/// may begin, so that their number could grow with each runner in the words.
const INNER: usize = 300;

/// Returns the rule for a command that is almost always an accident; `None` for other commands.
fn accident(command: &str) -> Option<&'static str> {
    of_line(command, None)
}

/// Checks a line. `left` is the number of checks that the command around it may still make; `None` for an outermost line.
fn of_line(command: &str, left: Option<&Cell<usize>>) -> Option<&'static str> {
    let line = words::read(&command.to_lowercase());
    let dense: String = line.code.split_whitespace().collect();
    if dense.contains(":(){:|:&};:") {
        return Some("fork bomb");
    }
    if line.targets.iter().any(|target| !target.starts_with("of=") && DISK_NAME.is_match(target)) {
        return Some("write to a disk");
    }
    line.commands.iter().enumerate().find_map(|(at, Command { words, pipeline })| {
        let own = Cell::new(INNER);
        let left = left.unwrap_or(&own);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let before = at.checked_sub(1).map(|at| &line.commands[at]).filter(|before| before.pipeline == *pipeline);
        of_words(&words, left).or_else(|| of_input(&words, before?, left))
    })
}

/// Checks what `echo` or `printf` writes to a shell that executes its input.
fn of_input(shell: &[&str], before: &Command, left: &Cell<usize>) -> Option<&'static str> {
    let arguments =
        shell.strip_prefix(&["sudo"]).unwrap_or(shell).split_first().filter(|(name, _)| words::is_shell(name))?.1;
    let (program, text) = before.words.split_first()?;
    let executes_input = arguments.iter().all(|word| word.starts_with('-') && !word.contains('c'));
    if !executes_input || !["echo", "printf"].contains(&program.as_str()) {
        return None;
    }
    left.set(left.get().checked_sub(1)?);
    of_line(&text.join(" ").replace("\\n", "\n"), Some(left))
}

/// Programs that run the rest of their command line, and the number of arguments before it. The crate of permissions
/// has a complete list, but depends on this one.
const RUNNERS: [(&str, usize); 2] = [
    (
        "sudo doas run0 pkexec runuser env time nohup command exec builtin nice ionice setsid stdbuf xargs busybox toybox \
         unbuffer fakeroot caffeinate chronic eatmydata systemd-run setpriv unshare strace coproc gnice genv gnohup \
         gstdbuf gxargs",
        0,
    ),
    ("timeout gtimeout chroot flock taskset chrt", 1),
];

/// Programs whose option `-c`, or `-S` of `env`, has a shell line.
const LINE_OPTIONS: [(&str, &[&str]); 2] =
    [("su runuser script flock sg", &["-c", "--command"]), ("env genv", &["-s", "--split-string"])];

/// Programs whose arguments after options are a shell line.
const LINES: [&str; 3] = ["eval", "trap", "watch"];

fn names(list: &str, program: &str) -> bool {
    list.split(' ').any(|name| name == program)
}

fn own_arguments(program: &str) -> Option<usize> {
    RUNNERS.iter().find(|(list, _)| names(list, program)).map(|(_, count)| *count)
}

fn is_runner(program: &str) -> bool {
    own_arguments(program).is_some()
}

/// Returns the positions where the command of a runner may begin. The word after an option is its value or the command.
fn starts(arguments: &[&str], mut own: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut is_after_option = false;
    for (at, word) in arguments.iter().enumerate() {
        if word.starts_with('-') {
            is_after_option = *word != "--" && !word.contains('=');
        } else if word.contains('=') {
            is_after_option = false;
        } else {
            found.push(at);
            match (is_after_option, own) {
                (true, _) => is_after_option = false,
                (false, 0) => break,
                (false, _) => own -= 1,
            }
        }
    }
    found
}

/// Returns the script of a shell that is among its arguments; `None` if it is in a file or in the input.
fn script<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    if let Some(at) = arguments.iter().position(|word| *word == words::HERE_STRING) {
        return arguments.get(at + 1).copied();
    }
    let (mut is_script, mut has_value) = (false, false);
    for word in arguments {
        if std::mem::take(&mut has_value) {
            continue;
        }
        match word.strip_prefix(['-', '+']) {
            Some(long) if long.starts_with('-') => has_value = ["-rcfile", "-init-file"].contains(&long),
            Some(letters) => {
                is_script |= letters.contains('c');
                has_value = letters.contains('o');
            }
            None => return is_script.then_some(*word),
        }
    }
    None
}

/// Checks the commands that a command runs.
fn of_inner(program: &str, arguments: &[&str], left: &Cell<usize>) -> Option<&'static str> {
    let inner_line = |line: &str| {
        left.set(left.get().checked_sub(1)?);
        of_line(line, Some(left))
    };
    if words::is_shell(program) {
        return script(arguments).and_then(inner_line);
    }
    if LINES.contains(&program) {
        return starts(arguments, 0).into_iter().find_map(|at| inner_line(&arguments[at..].join(" ")));
    }
    let options = LINE_OPTIONS.iter().find(|(list, _)| names(list, program)).map_or(&[][..], |(_, options)| *options);
    let value = |pair: &[&str]| options.contains(&pair[0]).then(|| inner_line(pair[1])).flatten();
    if let Some(rule) = arguments.windows(2).find_map(value) {
        return Some(rule);
    }
    let places = match program {
        "find" => {
            let runs = |word: &&str| ["-exec", "-execdir", "-ok", "-okdir"].contains(word);
            arguments.iter().position(runs).map(|at| at + 1).into_iter().collect()
        }
        _ => starts(arguments, own_arguments(program)?),
    };
    places.into_iter().find_map(|at| {
        left.set(left.get().checked_sub(1)?);
        of_words(&arguments[at..], left)
    })
}

fn of_words(words: &[&str], left: &Cell<usize>) -> Option<&'static str> {
    let start = words.iter().position(|word| !word.contains('='))?;
    let (program, arguments) = words[start..].split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    if let Some(rule) = of_inner(program, arguments, left) {
        return Some(rule);
    }
    let short = |letter: char| {
        arguments.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    let has = |wanted: &str| arguments.contains(&wanted);
    match program {
        "rm" if (short('r') || has("--recursive"))
            && (short('f') || has("--force"))
            && arguments.iter().any(|word| is_all(word)) =>
        {
            Some("rm -rf of everything")
        }
        "dd" if arguments.iter().any(|word| word.starts_with("of=") && DISK_NAME.is_match(word)) => {
            Some("dd to a disk")
        }
        "tee" | "shred" | "wipefs" | "blkdiscard" if arguments.iter().any(|word| DISK_NAME.is_match(word)) => {
            Some("write to a disk")
        }
        "cp" | "mv" if arguments.last().is_some_and(|word| DISK_NAME.is_match(word)) => Some("write to a disk"),
        "chmod" if (has("777") || has("0777") || has("a+rwx")) && arguments.iter().any(|word| is_root(word)) => {
            Some("chmod 777 /")
        }
        "git" if is_forced_push(arguments) => Some("git push --force"),
        _ if program == "mkfs" || program.starts_with("mkfs.") => {
            arguments.iter().any(|word| word.starts_with("/dev/") || word.starts_with('$')).then_some("mkfs")
        }
        _ => None,
    }
}

/// Returns true if the arguments of git are a push that overwrites a branch, and not a dry run.
fn is_forced_push(arguments: &[&str]) -> bool {
    let mut words = arguments.iter();
    let command = loop {
        match words.next() {
            // These options have a separate value.
            Some(&("-c" | "--git-dir" | "--work-tree" | "--namespace")) => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            other => break other,
        }
    };
    let push: Vec<&str> = words.copied().collect();
    let short =
        |letter| push.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter));
    let is_dry = short('n') || push.contains(&"--dry-run");
    let is_forced = short('f') || push.contains(&"--force") || push.iter().any(|word| word.starts_with('+'));
    command == Some(&"push") && is_forced && !is_dry
}

/// Returns the names of a path without those that do not change where it leads: `.`, `x/..`, and `*` at the end, which
/// means everything in a directory. The root directory has no names.
fn names_of(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/').filter(|name| !["", "."].contains(name)) {
        match (name, names.last()) {
            ("..", Some(&above)) if above != ".." => drop(names.pop()),
            ("..", None) if path.starts_with('/') => {}
            _ => names.push(name),
        }
    }
    names.pop_if(|last| *last == "*" && path.contains('/'));
    names
}

fn is_root(word: &str) -> bool {
    word.starts_with('/') && names_of(word).is_empty()
}

/// Returns true if a word is the root directory or a whole home directory: `~`, `~name`, `$HOME`, `${HOME:?}`.
fn is_all(word: &str) -> bool {
    let is_home = |name: &str| {
        let is_variable =
            name.strip_prefix("${home").is_some_and(|end| end == "}" || (end.starts_with(':') && end.ends_with('}')));
        name.starts_with('~') || name == "$home" || is_variable
    };
    is_root(word) || matches!(names_of(word)[..], [name] if is_home(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destructive_commands_are_refused_in_any_spacing_and_order() {
        for command in [
            "rm -rf /",
            "rm   -fr   /",
            "rm -r -f /*",
            "rm -Rf ~",
            "sudo rm -f -r $HOME",
            "rm --recursive --force \"$HOME\"/",
            "rm -rf ${HOME}",
            "cd x && rm -rf /",
            "/bin/rm -rf --no-preserve-root /",
            ":(){ :|:& };:",
            ":()  {  :  |  : & } ; :",
            "dd if=/dev/zero of=/dev/sda bs=1M",
            "mkfs.ext4 /dev/sda1",
            "mkfs -t ext4 /dev/vdb",
            "mkfs.xfs $DISK",
            "echo x > /dev/sda",
            "cat a >/dev/nvme0n1",
            "chmod 777 /",
            "chmod -R 777 /",
            "git push --force",
            "git  push origin main -f",
            "git -C x push -uf origin",
            "git commit -m x; rm -rf /",
            "echo \"$(rm -rf /)\"",
            "echo `rm -rf /`",
            "echo \"a `rm -rf ~` b\"",
            "echo 'a' && rm -rf '/'",
            "echo x > \"/dev/sda\"",
            "echo x >| /dev/sda",
            "bash <<EOF\nrm -rf /\nEOF",
            "cat <<EOF | sh\nrm -rf /\nEOF",
            "cat <<EOF\nx\nEOF\nrm -rf /",
            "(cd x; rm -rf /)",
            "if true; then rm -rf /; fi",
            "dd if=x of=\"/dev/sda\"",
            // Programs that run the rest of their words, with options and arguments of their own.
            "sudo -u root rm -rf /",
            "sudo -uroot -- rm -rf /",
            "sudo --user root rm -rf /",
            "timeout 5 rm -rf /",
            "timeout -k 1 -s KILL 5m rm -rf /",
            "env -i rm -rf /",
            "env -u HOME A=1 rm -rf /",
            "nice -n 5 rm -rf /",
            "ionice -c 3 nice -n5 rm -rf ~",
            "setsid stdbuf -o L rm -rf /",
            "FOO=1 nohup rm -rf /",
            "flock /tmp/lock rm -rf /",
            "chroot /mnt rm -rf /",
            "busybox rm -rf /",
            "doas -u root mkfs.ext4 /dev/sda1",
            "find . | xargs -n 1 rm -rf /",
            "time -p rm -rf /",
            // Lines that a shell runs.
            "bash -c 'rm -rf /'",
            "sudo bash -lc \"cd x && rm -rf /\"",
            "sh -e -c 'rm -rf \"$HOME\"'",
            "bash -o pipefail -c 'rm -rf /'",
            "eval 'rm -rf /'",
            "eval rm -rf /",
            "bash -c \"bash -c 'rm -rf /'\"",
            "bash -c $'cd x\\nrm -rf /'",
            "bash <<< 'rm -rf /'",
            "su -c 'rm -rf /' root",
            "echo $'it\\'s' && rm -rf /",
            "$'rm' -rf $'/'",
            "r\\m -rf /",
            "sudo bash <<EOF\nrm -rf /\nEOF",
            "bash -euo pipefail -c 'rm -rf /'",
            "env -S 'rm -rf /'",
            "watch -n 5 'cd x; rm -rf /'",
            "find x -exec rm -rf / \\;",
            "'rm' -rf /",
            // Substitutions in the text of a here-document.
            "cat <<EOF\nit's \"$(rm -rf /)\"\nEOF",
            "cat <<EOF\n`rm -rf ~`\nEOF",
            "echo 'rm -rf /' | sh",
            "printf 'cd x\\nrm -rf /' | sudo bash -s",
            "2>&1 rm -rf /",
            "2>/dev/null rm -rf /",
            "trap 'rm -rf /' EXIT",
            "rm -rf /home/..",
            "rm -rf /usr/lib/../../",
            "rm -rf ${HOME:?}",
            "rm -rf ~root",
            "tee /dev/sda < image",
            "cat image | sudo tee /dev/nvme0n1 > log",
            "cp disk.img /dev/sdb",
            "shred /dev/sda1",
            "git push origin +main",
            "git --git-dir x push -f",
            "echo x > /dev/disk/by-id/a",
        ] {
            assert!(accident(command).is_some(), "{command}");
        }
    }

    #[test]
    fn intended_commands_pass() {
        for command in [
            "rm -rf ./target",
            "rm -rf /tmp/x",
            "rm -r /",
            "rm file",
            "rm -rf ~/project/target",
            "git push --force-with-lease",
            "git push origin feature",
            "git log -f push-notes",
            "git commit -m 'docs; rm -rf / is bad'",
            "git commit -m \"a && rm -rf / (b) > /dev/sda\"",
            "git commit -m \"it's; rm -rf / is bad\"",
            "echo a\\; rm -rf / b",
            "ls # then rm -rf /",
            "ls\n# rm -rf /\nls",
            "cat > notes.md <<EOF\nrm -rf /\nEOF",
            "git commit -F - <<'END'\nrm -rf / is bad\ndd of=/dev/sda\nEND\nls",
            "rg ':(){ :|:& };:' docs",
            "printf '%s' 'mkfs.ext4'",
            "dd if=/dev/sda of=disk.img",
            "chmod 777 ./a",
            "echo rm -rf /",
            "echo x > /dev/null",
            "echo $'it\\'s; rm -rf /'",
            "echo \"$'it\\\"s; rm -rf /\"",
            "git commit -m $'a\\n\\'rm -rf /\\'; rm -rf /'",
            "bash -c 'echo \"rm -rf /\"'",
            "bash script.sh -c 'rm -rf /'",
            "timeout 5 echo rm -rf /",
            "sudo -u root ls rm -rf /",
            "sudo echo 'rm -rf /'",
            "env A='rm -rf /' ls",
            "grep -c 'rm -rf /' a",
            "xargs echo rm -rf /",
            "mkfs.ext4 disk.img",
            "mkfs.ext4 --help",
            "./mkfs-tests /dev/null",
            "mkfs_helper.sh /dev/sda",
            "git stash push -mfoo",
            "git push -n --force",
            "git push --dry-run -f",
            "echo x > /dev/vda.log",
            "echo x > /dev/disk.txt",
            "cat > notes.md <<'EOF' && bash build.sh\nrm -rf /\nEOF",
            "cat > notes.md <<EOF; sh build.sh\nrm -rf /\nEOF",
            "cat <<'EOF'\n$(rm -rf /)\nEOF",
            "cat <<EOF\n$(echo 'rm -rf /')\nEOF",
            "echo 'rm -rf /' | sh script.sh",
            "echo 'rm -rf /' | grep rm",
            "trap 'rm -rf /tmp/x' EXIT",
            "rm -rf ~/..x",
            "rm -rf ~user/target",
            "rm -rf ${HOME:?}/target",
            "rm -rf ../x/..",
            "cp /dev/sda disk.img",
            "",
        ] {
            assert_eq!(accident(command), None, "{command}");
        }
    }

    #[test]
    fn many_runners_are_checked_in_bounded_time() {
        for runner in ["sudo -a ", "watch sudo -a ", "eval ", "env -s ", "find -exec timeout -a "] {
            accident(&runner.repeat(2_000));
        }
        // The limit is that of one command.
        assert!(accident(&format!("{}\ntimeout 5 rm -rf /", "sudo -a ".repeat(2_000))).is_some());
    }

    #[test]
    fn settings_add_and_remove_guard_patterns() {
        let settings = GuardSettings {
            enabled: true,
            deny: vec!["terraform\\s+destroy".into(), "(".into()],
            allow: vec!["git push --force".into()],
        };
        assert_eq!(check(&settings, "git push --force "), Verdict::default());
        let verdict = check(&settings, "terraform  destroy");
        assert_eq!(verdict.rule.as_deref(), Some("terraform\\s+destroy"));
        assert_eq!(verdict.warnings, ["bashGuard.deny: \"(\" is skipped: error: unclosed group"]);
        let off = GuardSettings { enabled: false, ..settings };
        assert_eq!(check(&off, "rm -rf /").rule, None);
    }
}
