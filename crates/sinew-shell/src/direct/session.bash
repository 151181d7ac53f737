builtin . @RUN@ >/dev/null 2>&1 && [[ 1 ]]; builtin eval "$__sinew_c"; {
  __sinew_s=$? __sinew_o=$-
  builtin trap -p DEBUG >|"$__sinew_g/debug"
  builtin trap - DEBUG
  builtin trap -p >|"$__sinew_g/traps"
  builtin set +o >|"$__sinew_g/options"
  builtin trap - ERR EXIT RETURN
  builtin set +eux
  builtin . @SAVE@
} >/dev/null 2>&1
