# The handler of the signal by which the host aborts a command: from now on every command is skipped, functions return and
# loops break, until the lines of the session itself are reached.
#
# A `break` outside of a loop makes bash skip everything that follows, including the lines of the session. This happens
# while bash expands the words of a loop or evaluates its first line. So the signal is ignored from here on (a second call
# would be skipped with a `break`, because a trap keeps the `$BASH_COMMAND` that it interrupts), and the first line of a
# loop is only skipped, which ends the loop. An arithmetic command looks like such a line, and can be the whole body of an
# endless loop: after twenty of them, one breaks. A `break` also ends the handler; its status decides if the command runs:
# with 0 it runs, with 1 it is skipped, with 2 the function returns.
\builtin trap '' RTMAX-2
__sinew_stopped=$-
\builtin shopt -q extdebug && __sinew_stopped+=D
\builtin shopt -q expand_aliases && __sinew_stopped+=A
\builtin shopt -u expand_aliases
\builtin set +e
\builtin shopt -s extdebug
\builtin set -T
\builtin trap 'case "${FUNCNAME[0]-}:$BASH_COMMAND" in
    __sinew_*:* | *:__sinew_* | :"\b\uiltin "*) builtin test 1 ;;
    :"for "* | :"select "*) builtin test "" ;;
    :"(("*) ((++__sinew_sums < 20)) || ! builtin break 999; builtin test "" ;;
    :*) ! builtin break 999; builtin test "" ;;
    *) builtin test 1 -eq x ;;
  esac 2>/dev/null' DEBUG
