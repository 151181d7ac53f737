# Runs right after a command, with everything that it has set still in force and without output. The DEBUG trap of the
# command and the one of an abort know these lines by the spelling of `builtin`.
\b\uiltin trap -p ERR DEBUG >@REPORT@
\b\uiltin trap - DEBUG
__sinew_o=$-
\b\uiltin set +exvTEu
# From here to the next command the signal has no effect: the supervisor repeats it until the host has read the report,
# so it can also arrive while the lines below undo its effects.
\b\uiltin trap '' RTMAX-2
\b\uiltin shopt -q expand_aliases && __sinew_o+=A
\b\uiltin shopt -u expand_aliases
\b\uiltin declare -F command && __sinew_c=1
\b\uiltin printf -v __sinew_b 1
