# Read once by the bash of a session. A run is five lines on its standard input: begin, the command,
# an empty one (a quote that was not closed leaves the parser in the middle of a line), leave, end.
# Nothing of it is a loop or a function around the command, so that top-level words mean what they mean in a script.

# The request: status, stdin, stdout, directory, number of variables, the variables, the command; each ends with NUL.
__sinew_begin() {
  builtin local i n
  if [[ -n ${__sinew_stopped-} ]]; then __sinew_resume; fi
  builtin mapfile -d '' -t __sinew_q <@REQUEST@
  exec 1>"${__sinew_q[2]}" 2>&1
  __sinew_i=${__sinew_q[1]}
  __sinew_undo= __sinew_fail=
  n=$((5 + __sinew_q[4]))
  __sinew_c=${__sinew_q[n]}
  if [[ -n ${__sinew_q[3]} ]]; then
    builtin printf -v __sinew_undo 'builtin cd -- %q; OLDPWD=%q;' "$PWD" "${OLDPWD-}"
    [[ -v OLDPWD ]] || __sinew_undo+='builtin unset -v OLDPWD;'
    builtin cd -- "${__sinew_q[3]}" >/dev/null 2>&1 || { __sinew_fail=cd __sinew_c=; }
  fi
  for ((i = 5; i < n; i++)); do __sinew_export "${__sinew_q[i]%%=*}" "${__sinew_q[i]#*=}"; done
  i=${__sinew_q[0]}
  __sinew_q=()
  case $__sinew_o in *e*) builtin set -e ;; esac
  # Inside the text, so that neither this nor the `eval` is traced.
  case $__sinew_o in *x*) __sinew_c="set -x;$__sinew_c" ;; esac
  builtin return "$i"
}

# Sets one variable for the run and notes how to take it back.
__sinew_export() {
  builtin local was
  if was=$(builtin declare -p "$1" 2>/dev/null); then
    was=${was/#declare -/declare -g}
    was=${was/#declare -g-/declare -g }
    # A list, a number and the like would not take the value as it is.
    case $was in
      'declare -g '*) __sinew_undo+="builtin export -n $1;" ;;
      'declare -gx'*) ;;
      *) __sinew_undo+="builtin unset -v $1;" && builtin unset -v "$1" ;;
    esac
    __sinew_undo+="${was};"
  else
    __sinew_undo+="builtin unset -v $1;"
  fi
  builtin export "$1=$2" || __sinew_fail="env $1"
}

# Called with its output thrown away, which also hides the trace of `set -x`.
__sinew_leave() {
  __sinew_s=$? __sinew_o=$-
  builtin set +ex
}

__sinew_end() {
  builtin local IFS=$' \t\n'
  if [[ -n ${__sinew_stopped-} ]]; then __sinew_resume; fi
  exec 1>/dev/null 2>&1
  {
    builtin printf '%s\0' "${__sinew_fail:-$__sinew_s}" "$__sinew_o"
    builtin pwd
    builtin printf '\0'
    builtin trap -p ERR
    builtin printf '\0'
  } >@REPORT@
  builtin eval "$__sinew_undo"
}

# The host wants the command to end: from now on every command is skipped, functions return and loops break, until
# the lines of the run itself are reached.
__sinew_stop() {
  if [[ -z ${__sinew_stopped-} ]]; then
    __sinew_stopped=$-
    builtin shopt -q extdebug && __sinew_stopped+=D
  fi
  builtin set +e
  builtin shopt -s extdebug
  builtin set -T
  builtin trap 'case "${FUNCNAME[0]-}:$BASH_COMMAND" in
    __sinew_*:* | *:__sinew_*) __sinew_status 0 ;;
    :*) builtin break 999; __sinew_status 1 ;;
    *) __sinew_status 2 ;;
  esac 2>/dev/null' DEBUG
}
__sinew_status() { builtin return "$1"; }
__sinew_resume() {
  builtin trap - DEBUG
  case $__sinew_stopped in *T*) ;; *) builtin set +T ;; esac
  case $__sinew_stopped in *D) ;; *) builtin shopt -u extdebug ;; esac
  case $__sinew_stopped in *e*) __sinew_o+=e ;; esac
  __sinew_stopped=
}
builtin trap __sinew_stop RTMAX-2
__sinew_o=$-
