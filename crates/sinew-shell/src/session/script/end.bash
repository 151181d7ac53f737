# Reports the end of a command and forgets it, then waits for the next one and prepares it. Without `__sinew_e`, which the
# preparation sets, the next line ends the shell instead of running a command twice.
# A restricted shell cannot redirect its output, so no further command could run.
[[ $- != *r* ]] || builtin exit "${__sinew_t:-$__sinew_s}"
[[ ${__sinew_stopped-} ]] && builtin shopt -u extdebug
@EXEC@
[[ ${LINENO@a} == *r* ]] && __sinew_o+=L
# The host wakes up for every write. A script can change `$PWD`, so it may differ from the working directory.
if [[ $PWD == /* && $PWD -ef . ]]; then __sinew_w=$PWD; else __sinew_w=$(builtin pwd -P); fi
builtin printf '\0%s\0%s\0%s\0%s\0%s\0%s\0%s\0' "${__sinew_q:-${__sinew_t:-$__sinew_s}}" "$__sinew_o" \
  "${__sinew_stopped-}" "${__sinew_l-}" "${__sinew_p-}" "${__sinew_d-}" "$__sinew_w" >@REPORT@ || builtin exit 1
builtin unset -v __sinew_b __sinew_c __sinew_d __sinew_e __sinew_f __sinew_l __sinew_o __sinew_p __sinew_q __sinew_s \
  __sinew_stopped __sinew_sums __sinew_t __sinew_w __sinew_x
builtin unset -f __sinew_none
@NEXT@
