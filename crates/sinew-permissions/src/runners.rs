//! Programs that run other commands, and where the command is among their arguments, as data.
//!
//! A program may have several rows. The contents of scripts, makefiles and code files are not checked.

/// Where a program finds the command that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandPosition {
    /// The words from some position on.
    Words,
    /// The words from some position on, followed by words from its input.
    WordsAndInput,
    /// Each word may be a shell line.
    Lines,
    /// The values of these options are shell lines.
    LinesOf(&'static [&'static str]),
    /// Shell lines from standard input, a file or an argument; see `line::Line::shell`.
    Shell,
    /// Words with these prefixes may run anything.
    Unknown(&'static [&'static str]),
    /// Words with this prefix may run anything, unless their first part is listed.
    UnknownBut(char, &'static str),
    /// Options with these names may run anything.
    UnknownOptions(&'static [&'static str]),
    /// The values of these options may run anything, unless they are known.
    UnknownValues(&'static [&'static str], Values),
    /// The options are followed by code in a language that is not checked.
    Code(&'static [&'static str]),
    /// The program runs commands from its input.
    Reads,
    /// The script is a file, code or the input; see `interpreters.rs`.
    Interpreter,
    /// The values of these options are scripts. A plain file is not counted among the line's commands.
    ScriptOf(&'static [&'static str]),
    /// The program may always run anything.
    Always,
    /// The program evaluates arguments as expressions, in which substitutions run.
    Evaluates,
    /// The script is for `sed`, whose command `e` runs a shell.
    Sed,
    /// The script is for `awk`.
    Awk,
    /// Unknown subcommands may be aliases.
    Git,
}

/// The values of an option that run nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Files, but not pipes to a command.
    Files,
    /// `name=value` with one of these names, in lower case.
    Settings(&'static str),
}

use CommandPosition::*;

/// Names of programs, separated by spaces (a final `*` matches any ending), and where they find commands.
pub(super) const RUNNERS: &[(&str, CommandPosition)] = &[
    // Programs that run their remaining arguments.
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
         retry timelimit dumb-init tini gosu su-exec s6-setuidgid catatonit screen tmux abduco dtach ssh-agent choom \
        newgrp sudo-rs uvx pipx",
        Words,
    ),
    ("xargs gxargs parallel sem", WordsAndInput),
    // Shells.
    ("bash sh dash zsh ksh ksh93 mksh ash fish rbash lksh yash tcsh csh posh su busybox-sh bash-static", Shell),
    // Programs with arguments that are shell lines.
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
    // Programs with a command language.
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
        UnknownOptions(&["-c", "--cmd", "-S", "-s", "-u", "--remote-expr", "-e", "-E", "-l"]),
    ),
    ("vi vim vim.* nvim view gvim vimdiff", Unknown(&["+"])),
    ("ex ed red", Reads),
    ("ex", Always),
    (
        "emacs emacsclient",
        UnknownOptions(&["--eval", "-f", "--funcall", "-l", "--load", "--script", "--execute", "-e", "-x"]),
    ),
    ("less more most pg", Unknown(&["+"])),
    // gdb also accepts long options with one dash, and abbreviated.
    (
        "gdb lldb",
        Unknown(&[
            "-e", "--e", "-x", "--x", "-c", "--c", "-i", "--i", "-o", "--o", "-s", "--s", "-O", "-S", "-k", "--k",
        ]),
    ),
    ("gdb lldb", Reads),
    (
        "sqlite3 sqlite",
        UnknownBut(
            '.',
            ".tables .schema .mode .headers .header .dump .indexes .indices .databases .help .width .separator .nullvalue \
             .timeout .quit .exit .stats .show .fullschema .version",
        ),
    ),
    ("sqlite3 sqlite", Unknown(&["-init", "--init"])),
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
    ("make gmake", ScriptOf(&["-f", "--file", "--makefile"])),
    ("ninja", ScriptOf(&["-f"])),
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
    // Interpreters with code in the call itself.
    ("bun deno ts-node tsx", Code(&["-e", "--eval", "-p", "--print", "eval"])),
    ("guile* Rscript R elixir erl groovy julia scala raku", Code(&["-e", "-c", "--eval", "-eval", "-E"])),
    ("bun deno ts-node tsx guile* R elixir erl groovy julia raku", Reads),
    ("python* pypy* perl* ruby* node nodejs php* lua* luajit Rscript", Interpreter),
    // Options that make programs run others.
    ("cargo", UnknownOptions(&["--config"])),
    (
        "gcc g++ cc c++ clang clang++ gfortran cpp",
        Unknown(&["-wrapper", "-B", "-specs", "--specs", "-fplugin", "-Xclang", "@"]),
    ),
    ("rustc", Unknown(&["-Clinker", "linker", "-Zcodegen", "@"])),
    ("install ginstall", UnknownOptions(&["--strip-program"])),
    ("wget wget2", UnknownOptions(&["--use-askpass", "-e", "--execute", "--config"])),
    (
        "ssh scp sftp ssh-copy-id",
        UnknownValues(
            &["-o"],
            Values::Settings(
                "stricthostkeychecking userknownhostsfile connecttimeout connectionattempts batchmode loglevel \
                 serveraliveinterval serveralivecountmax port user identityfile identitiesonly compression \
                 passwordauthentication pubkeyauthentication preferredauthentications forwardagent controlmaster \
                 controlpersist controlpath hostname addkeystoagent",
            ),
        ),
    ),
    ("strace ltrace", UnknownValues(&["-o", "--output"], Values::Files)),
    ("ed red", Unknown(&["!"])),
    ("git", Unknown(&["ext::"])),
    ("openssl", Unknown(&["-engine", "-provider"])),
    ("curl", UnknownOptions(&["-K", "--config"])),
];

/// The built-in commands of git, which an alias cannot override.
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

/// Options of git before the subcommand whose value is the next word.
pub(super) const GIT_VALUES: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];

/// Settings of git that run nothing, in lower case; a final `*` matches any ending.
pub(super) const GIT_SETTINGS: &str = "user.name user.email user.signingkey user.useconfigonly color.* advice.* \
    init.defaultbranch push.default push.autosetupremote push.followtags pull.rebase pull.ff fetch.prune fetch.parallel \
    fetch.recursesubmodules rebase.autostash rebase.autosquash rebase.updaterefs merge.ff merge.conflictstyle merge.renames \
    merge.renamelimit commit.gpgsign commit.verbose commit.status tag.gpgsign tag.sort log.* status.* diff.algorithm \
    diff.renames diff.renamelimit diff.context diff.color* diff.noprefix diff.mnemonicprefix core.autocrlf core.quotepath \
    core.filemode core.ignorecase core.eol core.bare core.longpaths core.abbrev core.symlinks core.safecrlf core.whitespace \
    core.compression core.preloadindex core.untrackedcache core.commentchar http.proxy http.sslverify http.postbuffer \
    http.version http.lowspeedlimit http.lowspeedtime gc.auto gc.autodetach feature.manyfiles safe.directory \
    safe.barerepository protocol.version column.* index.* pack.threads pack.windowmemory transfer.fsckobjects format.pretty \
    help.autocorrect rerere.enabled branch.autosetuprebase branch.autosetupmerge branch.sort grep.linenumber \
    maintenance.auto submodule.recurse checkout.defaultremote blame.date";

/// Programs whose arguments are data. They run none of them, except as listed in the rows above.
pub(super) const DATA: &str = "echo printf cat head tail wc cut tr uniq tee nl tac rev fold fmt column paste join comm diff \
    cmp cksum md5sum sha1sum sha256sum shasum b2sum base64 xxd od hexdump strings file stat ls dir tree du df touch mkdir \
    rmdir rm cp mv ln chmod chown chgrp truncate mktemp basename dirname realpath readlink pwd cd pushd popd dirs seq yes \
    sleep date cal true false : test [ expr bc which whereis whatis type apropos man info less more whoami id groups users \
    hostname uname arch nproc free uptime ps pgrep pkill kill killall jobs fg bg wait disown lsof ss netstat ping dig nslookup \
    host curl jq yq grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk nawk sort dd sync clear tput stty tokei cloc \
    git gh cargo rustup rustfmt go gofmt npm pnpm yarn bun pytest jest vitest mocha tsc eslint prettier ruff black mypy flake8 \
    isort pip pip3 brew apt apt-get apt-cache dpkg dnf yum pacman apk zypper conda gem composer gzip gunzip bzip2 bunzip2 xz \
    unxz zstd zcat lz4 unzip export unset declare typeset local readonly set shopt shift read mapfile readarray getopts let \
    alias unalias hash history ulimit umask return exit break continue trap eval exec times logger";

/// Subcommands of such programs that run their arguments.
pub(super) const TOLD: &[(&str, &str)] = &[
    (
        "git",
        "instaweb send-email difftool mergetool daemon http-backend archive web--browse imap-send svn p4 gui citool filter-branch \
         maintenance for-each-repo",
    ),
    ("gh", "alias extension extensions ext codespace cs"),
    ("cargo", "watch make script"),
    ("npm pnpm yarn bun", "exec x dlx create init explore config c set"),
    ("conda rustup", "run"),
    ("composer", "exec run-script"),
    ("go", "run generate tool vet"),
];
