# The bash of a session reads this text once. After it, the shell repeats `runs.bash`, which reads the other texts of this
# folder. While a command runs, the shell contains no function and no variable of ours, so a command cannot remove,
# replace or lock them. Every text turns off what a command may have changed before it relies on it:
# aliases by backslashes, functions by `builtin`, options by `set`.
#
# No loop and no function surrounds a command, so that `return`, `break` and the like have the same meaning as in a
# script. Assignments in a redirection are used where a trap or a trace would see a command.
#
# The environment, its `BASH_ENV` and the snapshot may set the same as a command. The first command gets options, traps
# and a function `builtin` back.
__sinew_a=$- __sinew_n=$BASHOPTS
\b\uiltin shopt -u expand_aliases
\b\uiltin set +exvTEu
@READY@
{
  builtin trap '' RTMAX-2
  @SNAPSHOT@
}
__sinew_a+=$- __sinew_n+=$BASHOPTS
\b\uiltin shopt -u expand_aliases
\b\uiltin set +exvTEu
@READY@
@TRAPS@
builtin unset -v __sinew_b
@NEXT@
