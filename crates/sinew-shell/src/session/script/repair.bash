# Evaluated if `builtin` is disabled or a function of the script: enables it, and saves the function for the next command.
\command enable @BUILTINS@
__sinew_d=$(\command declare -f builtin)
\command unset -f builtin
@CAPTURE@
