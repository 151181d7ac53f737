\b\uiltin eval "${__sinew_e?}${__sinew_f-$(<@COMMAND@)}"; {
@CAPTURE@
  [[ ${__sinew_b-} ]] || {
@REPAIR@
@CAPTURE@
  [[ ${__sinew_b:?} ]]
  }
} 2</dev/null >"/dev/null${__sinew_x[__sinew_s=$?]-}" 2>&1; builtin eval "$(<@END@)"
