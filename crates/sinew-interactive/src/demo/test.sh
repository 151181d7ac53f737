#!/bin/sh
# 3 apples at 2, 2 loaves at 4 and a cheese at 9 are 23.
got=$(sh ./total.sh)
if [ "$got" != "total: 23" ]; then
    echo "wrong: $got, expected total: 23"
    exit 1
fi
echo "right: $got"
