//! The effects of environment variables on programs, as data. A variable that a program sees and that no table lists as
//! harmless makes a line unsure.

use super::pattern::{ANY, is_listed};
use super::words::rows;

/// The effect of a variable on the commands that run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// No effect.
    Harmless,
    /// Its value is a shell line or a command.
    Line,
    /// It may make a program run something that the line does not show.
    Obeyed,
}

/// Returns the effect of a variable. If it is not `exported`, only the shell sees it.
pub(super) fn effect(name: &str, value: &str, exported: bool) -> Effect {
    if name.is_empty() || name.contains(ANY) {
        return Effect::Obeyed;
    }
    if is_listed(name, HARMLESS) {
        return Effect::Harmless;
    }
    if is_listed(name, LINES) {
        return Effect::Line;
    }
    if let Some((_, allowed)) = VALUES.iter().find(|(names, _)| names.contains(&name)) {
        return if allowed.permits(value) { Effect::Harmless } else { Effect::Obeyed };
    }
    if is_listed(name, OBEYED) {
        return Effect::Obeyed;
    }
    let known = !name.contains(|letter: char| letter.is_ascii_uppercase())
        || is_listed(name, HARMLESS_ENDS)
        || is_switch(value)
        || is_plain_word(value);
    if !exported || known { Effect::Harmless } else { Effect::Obeyed }
}

/// Returns whether a value is a number or a boolean, which cannot name a program.
fn is_switch(value: &str) -> bool {
    let word = ["true", "false", "yes", "no", "on", "off"].iter().any(|word| value.eq_ignore_ascii_case(word));
    word || value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Returns whether a value is a plain word. Without a folder it can only name a program in `PATH`, which is compared
/// with the rules; programs that run their input are excluded.
fn is_plain_word(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) && rows(value).next().is_none()
}

/// The values of a variable that run nothing.
enum AllowedValues {
    /// Values that contain none of these texts.
    Without(&'static [&'static str]),
    /// Words that begin with one of these.
    Words(&'static [&'static str]),
    /// Relative folders without `..`, where a script of the project could have the same effect.
    FoldersHere,
}

impl AllowedValues {
    fn permits(&self, value: &str) -> bool {
        match self {
            AllowedValues::Without(texts) => {
                !value.contains([ANY, '$', '`']) && !texts.iter().any(|text| value.contains(text))
            }
            AllowedValues::Words(begins) => {
                value.split_whitespace().all(|word| begins.iter().any(|begin| word.starts_with(begin)))
            }
            AllowedValues::FoldersHere => value.split(':').all(|folder| {
                !folder.contains(ANY)
                    && !folder.starts_with(['/', '~', '\\'])
                    && !folder.split('/').any(|part| part == "..")
            }),
        }
    }
}

/// Variables for which some values run nothing.
const VALUES: &[(&[&str], AllowedValues)] = &[
    (
        &["RUSTFLAGS", "RUSTDOCFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"],
        AllowedValues::Without(&["link", "@", "plugin", "codegen-backend"]),
    ),
    (
        &["CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CGO_CFLAGS", "CGO_LDFLAGS", "CGO_CXXFLAGS"],
        AllowedValues::Without(&["-wrapper", "-B", "-specs", "plugin", "@", "-fuse-ld", "-no-canonical"]),
    ),
    (&["GOFLAGS"], AllowedValues::Without(&["exec", "vettool", "overlay"])),
    (&["MAKEFLAGS"], AllowedValues::Words(&["-j", "-s", "-k", "j", "--jobs", "--silent", "--no-print-directory"])),
    (
        &["NODE_OPTIONS"],
        AllowedValues::Words(&[
            "--max-old-space-size",
            "--max_old_space_size",
            "--no-warnings",
            "--no-deprecation",
            "--trace-",
            "--enable-source-maps",
            "--experimental-vm-modules",
            "--openssl-legacy-provider",
            "--dns-result-order",
            "--unhandled-rejections",
        ]),
    ),
    (
        &["JAVA_OPTS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS"],
        AllowedValues::Without(&["OnError", "OnOutOfMemory", "agent", "@", "Flags=", "classpath", "path"]),
    ),
    (
        &["ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "MSAN_OPTIONS"],
        AllowedValues::Without(&["symbolizer", "path", "include"]),
    ),
    (&["PYTHONPATH", "NODE_PATH", "GOPATH", "RUBYLIB", "PERL5LIB"], AllowedValues::FoldersHere),
];

/// Variables that change the output, connections or computations of programs, but not which programs run.
const HARMLESS: &str = "PATH MANPATH IFS CI TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE \
    COLUMNS LINES LANG LANGUAGE TZ TMPDIR TMP TEMP USER LOGNAME HOSTNAME PWD OLDPWD OPTIND OPTARG OPTERR REPLY \
    RANDOM SECONDS TIMEFORMAT DEBUG VERBOSE QUIET LOGLEVEL PORT HOST ADDRESS URL NAME VERSION TAG TARGET MODE STAGE \
    ENVIRONMENT REGION NODE_ENV NODE_DEBUG NODE_NO_WARNINGS NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED \
    RUST_LOG RUST_BACKTRACE RUST_LIB_BACKTRACE RUST_MIN_STACK CARGO_INCREMENTAL CARGO_TARGET_DIR CARGO_BUILD_JOBS \
    CARGO_BUILD_TARGET INSTA_UPDATE PROPTEST_CASES SOURCE_DATE_EPOCH GOOS GOARCH GOARM GOAMD64 GOPROXY GOCACHE \
    GOMAXPROCS GOGC GO111MODULE CGO_ENABLED PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING \
    PYTHONUTF8 PYTHONWARNINGS PYTHONFAULTHANDLER PYTHONTRACEMALLOC PYTHONASYNCIODEBUG GIT_TERMINAL_PROMPT \
    GIT_OPTIONAL_LOCKS GIT_LFS_SKIP_SMUDGE GIT_MERGE_AUTOEDIT GIT_INDEX_FILE DEBIAN_FRONTEND DOCKER_BUILDKIT \
    COMPOSE_DOCKER_CLI_BUILD COMPOSE_PROJECT_NAME DJANGO_SETTINGS_MODULE FLASK_APP AWS_PROFILE PGPASSWORD PGUSER \
    PGDATABASE CUDA_VISIBLE_DEVICES TOKENIZERS_PARALLELISM LESSCHARSET GREP_COLORS LS_COLORS TF_CPP_MIN_LOG_LEVEL \
    LC_* RUST_TEST_* CARGO_TERM_* CARGO_NET_* CARGO_PROFILE_* GIT_AUTHOR_* GIT_COMMITTER_* GIT_TRACE* VITE_* \
    NEXT_PUBLIC_* REACT_APP_* EXPO_PUBLIC_* HOMEBREW_NO_* OMP_* NPM_CONFIG_LOGLEVEL* npm_config_loglevel*";

/// Endings of such names, which apply unless another list contains the name.
const HARMLESS_ENDS: &str = "*_PORT *_HOST *_HOSTNAME *_URL *_URI *_ENDPOINT *_LEVEL *_LOG *_DEBUG *_VERBOSE *_COLOR \
    *_VERSION *_NAME *_EMAIL *_ID *_TIMEOUT *_THREADS *_JOBS *_COUNT *_SIZE *_SEED *_REGION *_ENV *_TOKEN *_KEY \
    *_SECRET *_PASSWORD *_USER *_DATE *_ENABLED *_DISABLED *_MODE *_DB *_DATABASE *_FORMAT *_LANG";

/// Variables whose value is a command or a line.
const LINES: &str = "PROMPT_COMMAND PS0 PS1 PS2 PS4 EDITOR VISUAL PAGER BROWSER FCEDIT GIT_SSH GIT_EXTERNAL_DIFF \
    LESSOPEN LESSCLOSE RSYNC_RSH CVS_RSH SVN_SSH SHELL MAKESHELL MANPAGER CC CXX CPP LD AR AS RANLIB STRIP OBJCOPY \
    FC RUSTC RUSTDOC CARGO MAKE TERMINAL *_EDITOR *_PAGER *_BROWSER *_ASKPASS *_SHELL *_WRAPPER *_LINKER \
    *_RUNNER *_COMMAND *_CMD *_RSH *_PROXY_COMMAND *_SSH_COMMAND";

/// Variables that make programs, including the shell, read configuration or run something that is not in the line.
const OBEYED: &str = "ENV HOME CDPATH SHELLOPTS BASHOPTS GLOBIGNORE EXECIGNORE FIGNORE INPUTRC HISTFILE HISTCONTROL \
    TAR_OPTIONS VIMINIT EXINIT VIMRUNTIME RUBYOPT RUBYSHELL MAKEFILES ZDOTDIR LESSKEY LESS MORE GREP_OPTIONS \
    RIPGREP_CONFIG_PATH GCONV_PATH LOCPATH NLSPATH TERMINFO TERMCAP CLASSPATH KUBECONFIG DOCKER_CONFIG GNUPGHOME \
    CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOROOT GOENV COMPILER_PATH GCC_EXEC_PREFIX POSIXLY_CORRECT \
    FZF_DEFAULT_OPTS ANSIBLE_CONFIG WGETRC CURL_HOME NETRC npm_execpath BASH_* GIT_* LD_* DYLD_* PYTHON* PERL* RUBY* \
    NODE_* NPM_CONFIG_* npm_config_* XDG_* PIP_* YARN_* CARGO_TARGET_* CARGO_ALIAS_* CARGO_BUILD_* DOTNET_* COR_* \
    CORECLR_* BUNDLE_* GEM_* LUA_* PHP* SSH_* SUDO_* JAVA_* JDK_*";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_variables_by_name_value_and_export() {
        use Effect::{Harmless, Line, Obeyed};
        for (name, value, exported, expect) in [
            ("x", "anything", true, Harmless),
            ("RUST_LOG", "debug", true, Harmless),
            ("LC_ALL", "C", true, Harmless),
            ("APP_PORT", "x", true, Harmless),
            ("FOO", "1", true, Harmless),
            ("FOO", "beta", true, Harmless),
            ("FOO", "bash", true, Obeyed),
            ("FOO", "/opt/x", true, Obeyed),
            ("FOO", "a b", true, Obeyed),
            ("FOO", "/opt/x", false, Harmless),
            ("HOME", "/tmp", false, Obeyed),
            ("BASH_ENV", "1", true, Obeyed),
            ("LD_PRELOAD", "x.so", true, Obeyed),
            ("GIT_EXTERNAL_DIFF", "canary", true, Line),
            ("MY_PAGER", "cat", true, Line),
            ("PS4", "x", false, Line),
            ("GIT_AUTHOR_NAME", "me", true, Harmless),
            ("GIT_CONFIG_COUNT", "1", true, Obeyed),
            ("NODE_OPTIONS", "--max-old-space-size=4096", true, Harmless),
            ("NODE_OPTIONS", "--require ./x.js", true, Obeyed),
            ("RUSTFLAGS", "-D warnings", true, Harmless),
            ("RUSTFLAGS", "-C linker=canary", true, Obeyed),
            ("PYTHONPATH", "src:.", true, Harmless),
            ("PYTHONPATH", "/tmp/x", true, Obeyed),
            ("npm_config_script_shell", "canary", true, Obeyed),
            ("\0", "x", false, Obeyed),
        ] {
            assert_eq!(effect(name, value, exported), expect, "{name}={value} {exported}");
        }
    }
}
