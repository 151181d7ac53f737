# Evaluated if `builtin` is disabled or a function of the script: saves the function for the next command, removes it and
# enables all builtins. In the mode of POSIX, no function replaces `unset`.
  __sinew_d+=$(POSIXLY_CORRECT=; \unset -f command declare; \command declare -f builtin)$'\n'
  [[ ${POSIXLY_CORRECT+1} ]] || { __sinew_m=1 POSIXLY_CORRECT=; }
  \unset -f builtin
  \builtin enable @BUILTINS@ || \command enable @BUILTINS@ || \enable @BUILTINS@ || [[ 1 ]]
  [[ ! ${__sinew_m-} ]] || \builtin unset -v POSIXLY_CORRECT __sinew_m
  \builtin shopt -u expand_aliases
  \builtin set +exvTEu
