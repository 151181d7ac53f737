# The bash of a session reads this file once, and then runs the two lines of `runs.bash` for each command. No loop and no
# function surrounds the command, so that `return`, `break` and the like have the same meaning as in a script. The traps
# and options of the script are disabled while these generated lines run; assignments in the redirection of a group are
# used because no trap sees them.

# Waits for a request and reads it: status, stdin, stdout, directory, traps, number of variables, the variables, the
# command. Each field ends with NUL.
__sinew_begin() {
  builtin local i n TMOUT=
  # A signal that the script traps interrupts the wait.
  until builtin read -r -N 1 i <@WISH@; do (($? > 128)) || builtin exit 1; done
  builtin mapfile -d '' -t __sinew_q <@REQUEST@
  exec <"${__sinew_q[1]}" >"${__sinew_q[2]}" 2>&1
  __sinew_undo= __sinew_fail= __sinew_t=
  n=$((6 + __sinew_q[5]))
  __sinew_c=${__sinew_q[n]}
  BASH_EXECUTION_STRING=$__sinew_c
  if [[ -n ${__sinew_q[3]} ]]; then
    builtin printf -v __sinew_undo 'builtin cd -- %q; OLDPWD=%q;' "$PWD" "${OLDPWD-}"
    [[ -v OLDPWD ]] || __sinew_undo+='builtin unset -v OLDPWD;'
    builtin cd -- "${__sinew_q[3]}" >/dev/null 2>&1 || { __sinew_fail=cd __sinew_c=; }
  fi
  for ((i = 6; i < n; i++)); do __sinew_export "${__sinew_q[i]%%=*}" "${__sinew_q[i]#*=}"; done
  i=${__sinew_q[0]} n=${__sinew_q[4]}
  __sinew_q=()
  builtin trap __sinew_stop RTMAX-2
  builtin eval "$n"
  # A part of the text, so that neither this line nor the `eval` is traced or echoed.
  case $__sinew_o in *[xvTE]*) __sinew_c="__sinew_set ${__sinew_o//[!xvTE]/} $i 2>/dev/null;$__sinew_c" ;; esac
  case $__sinew_o in *e*) builtin set -e ;; esac
  builtin return "$i"
}

# Sets options and keeps the status.
__sinew_set() {
  builtin set -"$1"
  builtin return "$2"
}

# Sets one variable for the run and records how to restore it.
__sinew_export() {
  builtin local was
  if was=$(builtin declare -p "$1" 2>/dev/null); then
    was=${was/#declare -/declare -g}
    was=${was/#declare -g-/declare -g }
    # An array, an integer and similar variables would not accept the value unchanged.
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

# Called with its output discarded. From here to the next command the signal has no effect: the supervisor repeats it
# until the host has read the report, so it can also arrive while the lines below undo its effects.
__sinew_leave() {
  builtin trap '' RTMAX-2
}

__sinew_end() {
  builtin local IFS=$' \t\n'
  if [[ -n ${__sinew_stopped-} ]]; then __sinew_resume; fi
  exec </dev/null >/dev/null 2>&1
  __sinew_s=${__sinew_fail:-${__sinew_t:-$__sinew_s}}
  # The host wakes up for every write. A script can change `$PWD`, so it may differ from the working directory.
  if [[ $PWD == /* && $PWD -ef . ]]; then
    builtin printf '\0%s\0%s\0%s\n\0' "$__sinew_s" "$__sinew_o" "$PWD" >@REPORT@
  else
    {
      builtin printf '\0%s\0%s\0' "$__sinew_s" "$__sinew_o"
      builtin pwd
      builtin printf '\0'
    } >@REPORT@
  fi
  builtin eval "$__sinew_undo"
}

# The host aborts the command: from now on every command is skipped, functions return and loops break, until the lines of
# the run itself are reached.
#
# A `break` outside of a loop makes bash skip everything that follows, including the lines of the session. This happens
# while bash expands the words of a loop or evaluates its first line. So the signal is ignored from here on (a second call
# would be skipped with a `break`, because a trap keeps the `$BASH_COMMAND` that it interrupts), and the first line of a
# loop is only skipped, which ends the loop. An arithmetic command looks like such a line, and can be the whole body of an
# endless loop: after twenty of them, one breaks. A `break` also ends the handler; its status decides if the command runs.
__sinew_stop() {
  builtin trap '' RTMAX-2
  if [[ -z ${__sinew_stopped-} ]]; then
    __sinew_stopped=$-
    builtin shopt -q extdebug && __sinew_stopped+=D
  fi
  builtin set +e
  builtin shopt -s extdebug
  builtin set -T
  builtin trap 'case "${FUNCNAME[0]-}:$BASH_COMMAND" in
    __sinew_*:* | *:__sinew_* | :"builtin trap "*" 9>&-") __sinew_status 0 ;;
    :"for "* | :"select "*) __sinew_status 1 ;;
    :"(("*) ((++__sinew_sums < 20)) || ! builtin break 999; __sinew_status 1 ;;
    :*) ! builtin break 999; __sinew_status 1 ;;
    *) __sinew_status 2 ;;
  esac 2>/dev/null' DEBUG
}
__sinew_status() { builtin return "$1"; }
__sinew_resume() {
  builtin trap - DEBUG
  case $__sinew_stopped in *T*) ;; *) builtin set +T && __sinew_o=${__sinew_o//T/} ;; esac
  case $__sinew_stopped in *D) ;; *) builtin shopt -u extdebug ;; esac
  case $__sinew_stopped in *e*) __sinew_o+=e ;; esac
  __sinew_stopped= __sinew_sums=0
}
builtin trap '' RTMAX-2
__sinew_o=$-
