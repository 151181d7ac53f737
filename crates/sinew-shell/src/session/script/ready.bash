# Repairs `builtin` if it is a function or disabled, and ends the shell if that is impossible.
__sinew_b=
\b\uiltin printf -v __sinew_b 1
[[ ${__sinew_b-} ]] || {
@REPAIR@
  \builtin printf -v __sinew_b 1
}
[[ ${__sinew_b:?} ]]
