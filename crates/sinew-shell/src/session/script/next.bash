# Waits for the next command. A signal that the script traps interrupts the wait. A limit of its own keeps `TMOUT` out.
until builtin read -N 1 "-r${TMOUT:+t86400000}" __sinew_w <@WISH@; do (($? > 128)) || builtin exit 1; done
builtin unset -v __sinew_w
builtin eval "$(<@SETUP@)"
