//! Programs that run other commands, and the place of the command among their words, as data.
//!
//! A program may have several rows. What a started script, a makefile or code in a file does is not looked at.

/// The place of a command among the words of a program that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// The words from some place on.
    Words,
    /// The words from some place on, and behind them what it reads.
    WordsAndInput,
    /// Each word may be a line of shell.
    Lines,
    /// The values of these options are lines of shell.
    LinesOf(&'static [&'static str]),
    /// Lines of shell in its standard input, a file or an argument: see `line::Line::shell`.
    Shell,
    /// Words with these beginnings may run anything.
    Unknown(&'static [&'static str]),
    /// Options with these names may run anything.
    UnknownOptions(&'static [&'static str]),
    /// Code with one of these in it may run anything; it follows one of the options.
    Code(&'static [&'static str]),
    /// It runs commands that it reads from its input.
    Reads,
    /// The same where no file or code is named.
    ReadsWithoutFile,
    /// The same where an argument names its input.
    ReadsByName,
    /// It may always run anything.
    Always,
    /// It evaluates words as expressions, in which substitutions run.
    Evaluates,
    /// Its script is one of `sed`, whose command `e` runs a shell.
    Sed,
    /// Its program is one of `awk`.
    Awk,
    /// Subcommands that are not known may be aliases.
    Git,
}

use Takes::*;

/// Names of programs, divided by blanks (`*` at the end is any end), and what they take.
pub(super) const RUNNERS: &[(&str, Takes)] = &[
    // Run the rest of their words.
    (
        "sudo doas pkexec run0 env nice nohup time timeout command builtin exec setsid stdbuf ionice chrt taskset unshare \
         nsenter chroot busybox toybox strace ltrace ptrace flock unbuffer caffeinate systemd-run systemd-inhibit runuser \
         su sg setpriv setarch linux32 linux64 i386 x86_64 uname26 prlimit numactl cgexec firejail bwrap fakeroot \
         fakechroot faketime proot torsocks tsocks proxychains proxychains4 dbus-run-session dbus-launch xvfb-run \
         start-stop-daemon rlwrap valgrind perf rr gdb chpst setuidgid softlimit envdir envuidgid daemonize daemon watch \
         hyperfine entr fd fdfind find parallel xargs ip aa-exec capsh cpulimit schedtool eatmydata ccache distcc \
         poetry pipenv uv bundle direnv nix nix-shell mise asdf pyenv rbenv nodenv dotenv doppler op chronic ts sem \
         ssh sshpass mosh docker podman nerdctl kubectl lxc lxc-attach incus machinectl distrobox toolbox flatpak snap \
         vagrant wsl winpty script expect_unbuffer catchsegv gtimeout gnice genv gxargs gstdbuf gnohup trickle \
         coproc then else do ld-linux* ld-musl* ld.so* ld64.so* npx pnpx bunx watchexec nodemon concurrently \
         retry timelimit dumb-init tini gosu su-exec s6-setuidgid catatonit screen tmux abduco dtach",
        Words,
    ),
    ("xargs gxargs parallel sem", WordsAndInput),
    // Shells.
    ("bash sh dash zsh ksh ksh93 mksh ash fish rbash lksh yash tcsh csh posh su busybox-sh bash-static", Shell),
    // Words that are lines.
    (
        "eval watch ssh mosh parallel sem hyperfine entr watchexec nodemon concurrently vagrant ansible pssh xvfb-run screen \
         tmux dtach abduco expect unbuffer doas script",
        Lines,
    ),
    (
        "script su sg runuser flock mosh newgrp npm npx yarn pnpm vagrant docker-compose",
        LinesOf(&["-c", "--command", "--call"]),
    ),
    ("entr watchexec", LinesOf(&["-s", "--shell"])),
    ("mapfile readarray", LinesOf(&["-C"])),
    ("compgen complete", LinesOf(&["-C", "-W", "-F"])),
    ("split", LinesOf(&["--filter"])),
    ("rsync", LinesOf(&["-e", "--rsh", "--rsync-path"])),
    ("sort", LinesOf(&["--compress-program"])),
    ("man", LinesOf(&["-P", "--pager", "-H", "--html"])),
    ("bat batcat delta", LinesOf(&["--pager"])),
    ("rg", LinesOf(&["--pre", "--hostname-bin"])),
    ("fzf sk", LinesOf(&["--preview", "--bind"])),
    ("zip", LinesOf(&["-TT", "--unzip-command"])),
    ("tcpdump", LinesOf(&["-z"])),
    ("cpio", LinesOf(&["--rsh-command"])),
    ("dpkg-buildpackage debuild", LinesOf(&["--hook"])),
    ("nc ncat netcat", LinesOf(&["-e", "-c", "--exec", "--sh-exec", "--lua-exec"])),
    (
        "git",
        LinesOf(&[
            "-x",
            "--exec",
            "--extcmd",
            "--upload-pack",
            "--receive-pack",
            "-u",
            "--tree-filter",
            "--msg-filter",
            "--index-filter",
            "--env-filter",
            "--commit-filter",
            "--parent-filter",
            "--tag-name-filter",
            "--setup",
            "-O",
            "--open-files-in-pager",
            "--sendmail-cmd",
            "--to-cmd",
            "--cc-cmd",
        ]),
    ),
    ("go", LinesOf(&["-exec", "-toolexec", "-vettool"])),
    ("env", UnknownOptions(&["-S", "--split-string"])),
    // Builtins of the shell.
    ("hash", UnknownOptions(&["-p"])),
    ("enable", UnknownOptions(&["-f"])),
    ("bind fc", Always),
    ("complete", UnknownOptions(&["-F"])),
    ("let test [ unset read mapfile readarray declare typeset local export readonly printf wait getopts", Evaluates),
    // Programs with commands in their own languages.
    ("sed gsed ssed", Sed),
    ("awk gawk mawk nawk original-awk goawk", Awk),
    ("git", Git),
    (
        "tar gtar bsdtar star",
        UnknownOptions(&[
            "-I",
            "-F",
            "--to-command",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
        ]),
    ),
    ("tar gtar star", LinesOf(&["--checkpoint-action"])),
    (
        "vi vim vim.* nvim ex view rvim gvim vimdiff vimtutor",
        UnknownOptions(&["-c", "--cmd", "-S", "-s", "-u", "--remote-expr", "-E", "-l"]),
    ),
    ("vi vim vim.* nvim view gvim vimdiff", Unknown(&["+"])),
    ("ex ed red", Reads),
    ("ex", Always),
    (
        "emacs emacsclient",
        UnknownOptions(&["--eval", "-f", "--funcall", "-l", "--load", "--script", "--execute", "-e", "-x"]),
    ),
    ("less more most pg", Unknown(&["+"])),
    (
        "gdb",
        UnknownOptions(&["-ex", "-x", "--ex", "--eval-command", "--command", "-iex", "-ix", "--init-eval-command"]),
    ),
    ("lldb", UnknownOptions(&["-o", "-s", "-O", "-S", "--one-line", "--source"])),
    ("gdb lldb", Reads),
    ("sqlite3 sqlite", Unknown(&[".sh", ".sy"])),
    ("sqlite3 sqlite mysql mariadb psql", Reads),
    ("psql mysql mariadb", UnknownOptions(&["-c", "-e", "--command", "--execute", "-f", "--file"])),
    ("ftp sftp telnet lftp ncftp", Reads),
    ("lftp", UnknownOptions(&["-c", "-e", "-f"])),
    ("dc m4 gm4", Reads),
    ("dc", UnknownOptions(&["-e", "--expression"])),
    ("at batch crontab expect tclsh wish osascript pwsh powershell powershell.exe cmd.exe gnuplot octave", Reads),
    ("at batch crontab", Always),
    (
        "osascript pwsh powershell powershell.exe cmd.exe expect",
        UnknownOptions(&["-e", "-c", "-Command", "-EncodedCommand", "/c", "/C"]),
    ),
    ("make gmake", UnknownOptions(&["-E", "--eval"])),
    ("make gmake ninja", ReadsByName),
    ("make gmake", Unknown(&["SHELL", ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES"])),
    ("ssh scp sftp", UnknownOptions(&["-F", "-S"])),
    ("socat", Unknown(&["EXEC", "SYSTEM", "SHELL", "exec", "system", "shell"])),
    ("rpm rpmbuild rpmspec", UnknownOptions(&["-E", "--eval", "--define", "-D", "--pipe"])),
    (
        "apt apt-get aptitude dpkg",
        UnknownOptions(&["-o", "--option", "-c", "--config-file", "--pre-invoke", "--post-invoke"]),
    ),
    (
        "screen tmux",
        Unknown(&[
            "send", "-X", "stuff", "paste", "source", "load", "set-hook", "bind", "run", "pipe", "respawn", "if",
        ]),
    ),
    ("gpg gpg2", UnknownOptions(&["--photo-viewer", "--agent-program", "--keyserver", "--pinentry-program"])),
    ("nmap", UnknownOptions(&["--script"])),
    ("run-parts logrotate", Always),
    ("dialog whiptail jshell irb pry ghci scala", Reads),
    // Code of other languages in the call itself, where it has words that start programs.
    ("python* pypy*", Code(&["-c"])),
    ("perl*", Code(&["-e", "-E", "-M", "-n", "-p"])),
    ("ruby*", Code(&["-e"])),
    ("node nodejs bun deno ts-node tsx", Code(&["-e", "--eval", "-p", "--print", "eval"])),
    ("php*", Code(&["-r", "-B", "-R", "-E"])),
    ("lua* luajit", Code(&["-e"])),
    ("guile* Rscript R elixir erl groovy julia scala raku", Code(&["-e", "-c", "--eval", "-eval", "-E"])),
    ("python* pypy* perl* ruby* node nodejs bun deno php* lua* luajit Rscript", ReadsWithoutFile),
];

/// Words of other languages that start a program, or make code from text.
pub(super) const STARTS: &[&str] = &[
    "system",
    "exec",
    "spawn",
    "popen",
    "subprocess",
    "child_process",
    "pty.",
    "fork",
    "qx",
    "`",
    "eval",
    "__import__",
    "importlib",
    "ctypes",
    "syscall",
    "Process",
    "Command",
    "shell",
    "open(\"|",
    "open('|",
    "%x",
    "posix",
    "getattr",
    "globals",
    "Kernel",
    "dofile",
    "compile(",
    "Function(",
    "vm.",
    "binding",
    "dlopen",
    "FFI",
];

/// Variables whose value is a command, or a line.
pub(super) const LINE_VARIABLES: &[&str] = &[
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "MANPAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "BROWSER",
    "FCEDIT",
    "SUDO_EDITOR",
    "RSYNC_RSH",
    "CVS_RSH",
    "SVN_SSH",
    "BAT_PAGER",
    "SYSTEMD_PAGER",
    "SYSTEMD_EDITOR",
    "RUSTC_WRAPPER",
    "RIPGREP_CONFIG_PATH",
    "SHELL",
    "MAKESHELL",
];

/// Variables that make programs run what is not in the line.
pub(super) const UNKNOWN_VARIABLES: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "BASH_ALIASES",
    "BASH_CMDS",
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "SHELLOPTS",
    "BASHOPTS",
    "TAR_OPTIONS",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "VIMINIT",
    "EXINIT",
    "PERL5OPT",
    "PERL5DB",
    "RUBYOPT",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "MAKEFLAGS",
    "ZDOTDIR",
    "LESSKEY",
];

/// The commands that git has of its own. An alias cannot have one of these names.
pub(super) const GIT_COMMANDS: &str = " add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore \
check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit commit-graph commit-tree \
config count-objects credential daemon describe diff diff-files diff-index diff-tree difftool fast-export fast-import fetch \
fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep gui hash-object help \
hook http-backend imap-send index-pack init init-db instaweb interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit \
maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes \
pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase receive-pack reflog remote \
repack replace request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shortlog show show-branch \
show-index show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects \
update-index update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged \
worktree write-tree ";

/// Options of git before its command that take the next word.
pub(super) const GIT_VALUES: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];

/// Settings of git that run nothing, by their beginnings.
pub(super) const GIT_SETTINGS: &[&str] = &[
    "user.",
    "color.",
    "advice.",
    "init.",
    "branch.",
    "push.",
    "pull.",
    "fetch.",
    "rebase.",
    "merge.ff",
    "merge.conflict",
    "commit.gpgsign",
    "commit.verbose",
    "tag.",
    "log.",
    "status.",
    "diff.algorithm",
    "diff.renames",
    "diff.context",
    "diff.color",
    "core.autocrlf",
    "core.quotepath",
    "core.filemode",
    "core.ignorecase",
    "core.eol",
    "core.bare",
    "core.longpaths",
    "core.abbrev",
    "core.symlinks",
    "http.proxy",
    "http.sslverify",
    "remote.origin.url",
    "gc.",
    "feature.",
    "safe.",
    "protocol.",
    "column.",
    "index.",
    "pack.",
    "transfer.",
    "format.",
    "help.autocorrect",
];
