#!/bin/sh
# Adds up what the list costs. Each line of prices.txt is a name, a count and a price.
total=0
while read -r name count price; do
    total=$((total + price))
done <prices.txt
echo "total: $total"
