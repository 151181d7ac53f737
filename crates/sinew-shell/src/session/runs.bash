{ __sinew_begin; } 9<&"${__sinew_x[LINENO=0]--}"
builtin eval "$__sinew_c"; { builtin trap -p ERR DEBUG >@REPORT@ 9>&-; builtin trap - DEBUG 9>&-; __sinew_o=$-; builtin set +exvTE; __sinew_leave; } >"/dev/null${__sinew_x[__sinew_s=$?]-}" 2>&1; __sinew_end
