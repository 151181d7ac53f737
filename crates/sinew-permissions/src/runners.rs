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
    /// The values in words with these prefixes are shell lines: `scripts.test=x`.
    LinesAfter(&'static [&'static str]),
    /// Shell lines from standard input, a file or an argument; see `line::Line::shell`.
    Shell,
    /// Words with these prefixes may run anything.
    Unknown(&'static [&'static str]),
    /// Words that contain one of these texts, in lower case, may run anything.
    UnknownWithin(&'static [&'static str]),
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
    /// The program runs commands from its input, which may also be a plain file.
    ReadsUnlessFile,
    /// The program runs commands from its input, unless it has more than one argument besides options, of which the
    /// listed ones have a value.
    ReadsUnlessTold(&'static str),
    /// The script is a file, code or the input; see `interpreters.rs`.
    Interpreter,
    /// The values of these options are scripts. A plain file is not counted among the line's commands.
    ScriptOf(&'static [&'static str]),
    /// The program may always run anything.
    Always,
    /// The program may run anything, unless all its arguments are listed.
    AlwaysBut(&'static str),
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
    /// Statements of SQL that start with one of these words, in lower case.
    Sql(&'static str),
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
        newgrp sudo-rs uvx pipx pdm hatch rye autossh",
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
    ("npm pnpm yarn bun", UnknownOptions(&["--script-shell"])),
    ("npm pnpm yarn bun", Unknown(&["--node", "--userc", "--globalc"])),
    ("npm pnpm yarn bun", UnknownWithin(&["script-shell", "script_shell", "scriptshell"])),
    ("npm pnpm yarn bun", LinesOf(&["--git", "--editor", "--viewer", "--shell", "editor", "viewer"])),
    ("npm pnpm yarn bun", LinesAfter(&["scripts", "editor", "viewer", "shell", "git"])),
    ("pip pip3 pip3.*", LinesOf(&["--editor", "--python"])),
    ("mypy dmypy", LinesOf(&["--python-executable"])),
    ("pylint", Code(&["--init-hook"])),
    ("rustdoc", LinesOf(&["--runtool", "--test-runtool", "--test-builder"])),
    ("cargo rustc rustdoc", UnknownWithin(&["linker=", "codegen-backend"])),
    ("ag ack", LinesOf(&["--pager"])),
    ("nano pico", LinesOf(&["-s", "--speller"])),
    ("less", UnknownOptions(&["-k", "--lesskey-file", "--lesskey-src", "--lesskey-content"])),
    ("gh", Unknown(&["!"])),
    ("gh", UnknownOptions(&["--shell"])),
    ("fish", LinesOf(&["-C", "--init-command"])),
    ("groff troff gtroff nroff pic grap", UnknownOptions(&["-U", "--unsafe-mode"])),
    (
        "luatex luahbtex lualatex pdflatex xelatex latex pdftex xetex tex",
        Unknown(&["-shell-escape", "--shell-escape", "-enable-write18", "--enable-write18", "-lua", "--lua", "\\"]),
    ),
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
    ("sqlite3 sqlite mysql mariadb psql", ReadsUnlessFile),
    ("psql", UnknownOptions(&["-f", "--file"])),
    ("psql", UnknownValues(&["-c", "--command"], SQL)),
    ("mysql mariadb", UnknownValues(&["-e", "--execute"], SQL)),
    ("ftp sftp telnet lftp ncftp", Reads),
    ("lftp", UnknownOptions(&["-c", "-e", "-f"])),
    ("dc m4 gm4", Reads),
    ("dc", UnknownOptions(&["-e", "--expression"])),
    ("at batch crontab expect tclsh wish osascript pwsh powershell powershell.exe cmd.exe gnuplot octave", Reads),
    (
        "coverage ipython* bpython* ptpython* xonsh nu osh ysh elvish erb groff troff mongosh mongo racket ocaml utop maxima",
        Reads,
    ),
    ("sage clisp sbcl ecl csi gsi scheme janet fennel hy swipl iex", Reads),
    ("gnuplot octave", Code(&["-e", "--eval"])),
    ("ssh", ReadsUnlessTold("-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w")),
    ("at batch", Always),
    ("crontab", AlwaysBut("-l")),
    (
        "osascript pwsh powershell powershell.exe cmd.exe expect",
        UnknownOptions(&["-e", "-c", "-Command", "-EncodedCommand", "/c", "/C"]),
    ),
    ("make gmake bmake remake", UnknownOptions(&["-E", "--eval"])),
    // Values with functions of make, and assignments that evaluate at once.
    ("make gmake bmake remake", UnknownWithin(&["$(", "${", "!=", ":="])),
    ("make gmake", ScriptOf(&["-f", "--file", "--makefile"])),
    ("ninja", ScriptOf(&["-f"])),
    ("make gmake", Unknown(&["SHELL", ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES"])),
    ("ssh scp sftp", UnknownOptions(&["-F", "-S"])),
    ("socat", UnknownWithin(&["exec", "system", "shell"])),
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
    // Options that make programs run others.
    ("ctest", LinesOf(&["--test-command", "--build-makeprogram"])),
    ("meson", LinesOf(&["--wrapper"])),
    ("bazel bazelisk", LinesOf(&["--run_under"])),
    ("pandoc", LinesOf(&["-F", "--filter", "-L", "--lua-filter", "--pdf-engine"])),
    ("svn", LinesOf(&["--diff-cmd", "--diff3-cmd", "--editor-cmd"])),
    ("svn hg", UnknownOptions(&["--config", "--config-option"])),
    ("borg", LinesOf(&["--rsh", "--remote-path"])),
    ("restic rclone", UnknownWithin(&["sftp.command", "sftp.args", "rclone.program", "password-command", "sftp-ssh"])),
    ("just", LinesOf(&["--shell", "--chooser", "-c", "--command"])),
    ("sftp", LinesOf(&["-D"])),
    ("uv", LinesOf(&["--python"])),
    ("autossh", Lines),
    ("ansible", LinesOf(&["-a", "--args"])),
    ("sqlite3 sqlite", UnknownWithin(&["load_extension", "edit("])),
    ("mysql mariadb", LinesOf(&["--pager"])),
    ("mvn mvnw", UnknownWithin(&["exec.executable"])),
    ("sbt", Unknown(&["!"])),
    ("helm", LinesOf(&["--post-renderer"])),
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

/// Statements that only read or change a database.
const SQL: Values = Values::Sql(
    "select show describe desc explain insert update delete create alter drop with begin commit rollback use analyze vacuum",
);

/// Builtins of the shell, which other programs cannot run, although the tables have rows for them.
pub(super) const BUILTINS: &str = "eval let test [ unset read mapfile readarray declare typeset local export readonly printf \
    wait getopts hash enable bind fc complete compgen exec builtin command coproc then else do";

/// Options whose value is code of the program's language.
pub(super) const INLINE: &str = "-c -e -C -E --eval --exec --execute --command --code --expression --run --script \
    --init-command -eval -exec runner";

/// Words by which a program starts a mode in which it reads code.
pub(super) const SHELL_WORDS: &str = "shell console repl shell_plus dbshell";

/// Modules of Python that run code from their arguments or their input.
pub(super) const READING_MODULES: &str = "code pdb bdb timeit pty idlelib asyncio runpy trace this antigravity sqlite3 \
    webbrowser ptpython bpython xonsh IPython ipykernel __main__";

/// Modules of Python that run the script, or with `-m` the module, in their arguments.
pub(super) const PROFILERS: &str = "cProfile profile doctest coverage";

/// Modules of Python that run no code from their arguments.
pub(super) const MODULES: &str = "json pytest unittest pip pip3 venv virtualenv ensurepip http compileall py_compile zipfile \
    tarfile gzip base64 calendar site sysconfig platform tokenize ast dis pydoc tabnanny inspect mimetypes uuid quopri \
    black ruff flake8 isort mypy pylint pyflakes pycodestyle autopep8 yapf bandit pyright build twine wheel \
    setuptools tox nox pre_commit sphinx mkdocs uvicorn gunicorn hypercorn flask django celery alembic poetry pdm hatch \
    hatchling uv pipx piptools pip_audit pipdeptree cibuildwheel maturin mypy_extensions grpc_tools spacy nltk torch \
    jupyter notebook jupyterlab streamlit behave robot nose2 locust commitizen bumpversion pyinstaller PyInstaller nuitka \
    cython Cython pybind11 numpy matplotlib pygments markdown rich textual httpx requests certifi dotenv fastapi scrapy";

/// The options of a runner of which all are known, and the place of its command.
pub(super) struct CommandAt {
    pub(super) names: &'static str,
    /// One-letter options without a value.
    pub(super) flags: &'static str,
    /// One-letter options with a value.
    pub(super) valued: &'static str,
    /// The number of other arguments before the command.
    pub(super) operands: usize,
    /// Whether variables may come before the command.
    pub(super) variables: bool,
}

const RUNNER: CommandAt = CommandAt { names: "", flags: "", valued: "", operands: 0, variables: false };

/// Runners whose command is found exactly, unless they have another option.
pub(super) const COMMANDS_AT: &[CommandAt] = &[
    CommandAt { names: "timeout gtimeout", flags: "fpv", valued: "ks", operands: 1, ..RUNNER },
    CommandAt { names: "nice gnice", valued: "n", ..RUNNER },
    CommandAt { names: "nohup gnohup setsid", flags: "fw", ..RUNNER },
    CommandAt { names: "stdbuf gstdbuf", valued: "ioe", ..RUNNER },
    CommandAt { names: "ionice", flags: "t", valued: "cn", ..RUNNER },
    CommandAt { names: "time", flags: "pv", valued: "fo", ..RUNNER },
    CommandAt { names: "sudo", flags: "AbEHknPS", valued: "ugpCDRThrt", variables: true, ..RUNNER },
    CommandAt { names: "env genv", flags: "i0", valued: "uC", variables: true, ..RUNNER },
    CommandAt { names: "xargs gxargs", flags: "0ortpx", valued: "adEIJLnPRs", ..RUNNER },
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

/// External commands of git that do not run their arguments.
pub(super) const GIT_EXTERNAL: &str = "lfs flow subtree absorb secret crypt annex town";

/// Settings of git whose value is a shell line.
pub(super) const GIT_LINES: &str = "core.pager core.editor sequence.editor core.sshcommand diff.external";

/// Options of git before the subcommand whose value is the next word.
pub(super) const GIT_VALUES: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];

/// Settings of git that run nothing, in lower case. The list has no whole sections, because a section may be renamed.
pub(super) const GIT_SETTINGS: &str = "user.name user.email user.signingkey user.useconfigonly color.ui color.diff color.status \
    color.branch color.interactive color.grep color.log color.showbranch color.push color.remote color.transport \
    color.advice color.decorate advice.* init.defaultbranch push.default push.autosetupremote push.followtags pull.rebase \
    pull.ff fetch.prune fetch.parallel fetch.recursesubmodules rebase.autostash rebase.autosquash rebase.updaterefs merge.ff \
    merge.conflictstyle merge.renames merge.renamelimit commit.gpgsign commit.verbose commit.status tag.gpgsign tag.sort \
    log.date log.decorate log.abbrevcommit log.follow log.showsignature log.mailmap log.showroot log.diffmerges \
    status.short status.branch status.showuntrackedfiles status.submodulesummary status.relativepaths status.renames \
    status.aheadbehind status.showstash diff.algorithm diff.renames diff.renamelimit diff.context diff.colormoved \
    diff.colormovedws diff.noprefix diff.mnemonicprefix core.autocrlf core.quotepath core.filemode core.ignorecase core.eol \
    core.bare core.longpaths core.abbrev core.symlinks core.safecrlf core.whitespace core.compression core.preloadindex \
    core.untrackedcache core.commentchar http.proxy http.sslverify http.postbuffer http.version http.lowspeedlimit \
    http.lowspeedtime gc.auto gc.autodetach feature.manyfiles safe.directory safe.barerepository protocol.version \
    column.ui column.branch column.status column.tag index.version index.threads index.sparse pack.threads \
    pack.windowmemory transfer.fsckobjects format.pretty help.autocorrect rerere.enabled branch.autosetuprebase \
    branch.autosetupmerge branch.sort grep.linenumber maintenance.auto submodule.recurse checkout.defaultremote blame.date";

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

/// Subcommands of runners that run none of their arguments, separated by commas.
pub(super) const QUIET: &[(&str, &str)] = &[
    (
        "docker podman nerdctl",
        "ps,images,logs,inspect,version,info,stats,top,port,diff,history,events,search,pull,push,tag,rm,rmi,stop,start,\
         restart,kill,pause,unpause,wait,build,image ls,image prune,container ls,container rm,network ls,network inspect,\
         volume ls,volume inspect,system df,context ls,compose ps,compose up,compose down,compose logs,compose config,\
         compose build,compose pull,compose images,compose ls,compose stop,compose start,compose restart,compose rm",
    ),
    (
        "kubectl",
        "get,describe,logs,top,version,cluster-info,api-resources,api-versions,explain,events,auth,wait,rollout,apply,\
         delete,scale,label,annotate",
    ),
    ("uv", "pip,sync,lock,add,remove,tree,venv,version,export,build"),
    ("poetry", "show,install,add,remove,lock,update,check,build,version,about,search"),
    ("pipenv", "install,lock,graph,sync,update,uninstall"),
    ("pdm rye", "install,add,remove,list,show,lock,sync,update,build"),
    ("hatch", "build,version,clean,env show"),
    ("bundle", "install,list,show,info,outdated,update,check,lock,add,remove"),
    ("pyenv rbenv nodenv", "versions,version,which,root,global,local"),
    ("mise asdf", "list,ls,current,which"),
    ("ip", "addr,address,a,link,l,route,r,rule,neigh"),
    ("snap flatpak", "list,info,search"),
    ("vagrant", "status,version"),
];

/// Subcommands of such programs that run their arguments.
pub(super) const TOLD: &[(&str, &str)] = &[
    (
        "git",
        "instaweb send-email difftool mergetool daemon http-backend archive web--browse imap-send svn p4 gui citool filter-branch \
         maintenance for-each-repo merge-index",
    ),
    ("gh", "alias extension extensions ext codespace cs"),
    ("cargo", "watch make script"),
    ("npm pnpm yarn bun", "exec x dlx create init explore config c set pkg"),
    ("conda rustup", "run"),
    ("composer", "exec run-script"),
    ("go", "run generate tool vet"),
];
