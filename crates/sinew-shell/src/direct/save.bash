# The bash of a run reads this file at its end. It writes the state that the next run restores.

builtin set +o posix
builtin unset -v __sinew_c
{
  builtin printf '%s\0%s\0' "${__sinew_f:-${__sinew_t:-$__sinew_s}}" "$__sinew_o"
  @PWD@
} >|"$__sinew_g/report"

# Restores the directory and the variables that were only set for this run.
if [[ -n ${__sinew_d-} ]]; then
  builtin cd -- "$__sinew_d"
  if [[ -n ${__sinew_w+x} ]]; then OLDPWD=$__sinew_w; else builtin unset -v OLDPWD; fi
fi
builtin eval "builtin unset -v ${__sinew_n-}"$'\n'"${__sinew_u-}"
[[ $PWD == /* && $PWD -ef . ]] || PWD=$(builtin pwd -P)
builtin unset -v __sinew_{d,f,n,o,s,t,u,w}

# Functions follow the options that they need to be parsed, and precede the aliases, which are already expanded in them.
{
  builtin shopt -p
  builtin umask -p
  builtin declare -f
  builtin declare -F
  builtin alias -p
  builtin declare -p
  builtin printf 'builtin cd -- %q || builtin cd -- %q\n' "$PWD" @NOWHERE@
  for ((__sinew_i = ${#DIRSTACK[@]} - 1; __sinew_i > 0; __sinew_i--)); do
    builtin printf 'builtin pushd -n %q\n' "${DIRSTACK[__sinew_i]}"
  done
  if [[ -n ${OLDPWD+x} ]]; then builtin printf 'OLDPWD=%q\n' "$OLDPWD"; else builtin printf 'unset -v OLDPWD\n'; fi
  builtin printf 'builtin set --'
  (($#)) && builtin printf ' %q' "$@"
  builtin printf '\n'
} >|"$__sinew_g/state"

# The state is complete only now.
builtin printf '\0' >>"$__sinew_g/report"
