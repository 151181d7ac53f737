(
  __sinew_s=$?
  exec 2>/dev/null
  builtin set +eux
  {
    builtin shopt -p
    builtin umask -p
    for __sinew_n in @NAMES@; do
      [[ -v $__sinew_n ]] || builtin printf 'builtin unset -v %s\n' "$__sinew_n"
    done
    for __sinew_n in $(builtin compgen -v); do
      case $__sinew_n in
        BASH | BASHOPTS | BASHPID | BASH_* | COMP_* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS | HISTCMD | LINENO) ;;
        OLDPWD | OPT* | PIPESTATUS | PPID | PWD | RANDOM | SECONDS | SHELLOPTS | SHLVL | SRANDOM | UID | _ | __sinew_*) ;;
        *) builtin declare -p "$__sinew_n" ;;
      esac
    done
    for __sinew_n in $(builtin compgen -A function); do
      case $__sinew_n in __sinew_*) ;; *) builtin declare -f "$__sinew_n" ;; esac
    done
    builtin alias -p
    builtin printf '%s\n' '@WHOLE@'
  } >|'@FILE@'
  builtin exit "$__sinew_s"
)
