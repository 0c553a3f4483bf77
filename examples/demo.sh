#!/bin/sh
# Ingests the sample book into a temporary data folder and asks it questions. Needs no key, no server and no network.
set -eu
BIN=${BIN:-.venv/bin}
BOOKWISE_DATA_DIR=$(mktemp -d)
export BOOKWISE_DATA_DIR
trap 'rm -rf "$BOOKWISE_DATA_DIR"' EXIT

show() { printf '\n$ bookwise %s\n' "$*"; }

show ingest examples/physical-ai
"$BIN/bookwise" ingest examples/physical-ai

show search "\"How do nodes exchange messages?\"" --limit 2
"$BIN/bookwise" search "How do nodes exchange messages?" --limit 2

show search "\"How do I create a workspace?\"" --module ros2 --tier 1 --limit 1
"$BIN/bookwise" search "How do I create a workspace?" --module ros2 --tier 1 --limit 1

show ingest examples/physical-ai "   # again: nothing changed, so nothing is done"
"$BIN/bookwise" ingest examples/physical-ai

show ask "\"What is a node?\""
"$BIN/bookwise" ask "What is a node?"

show ask "\"How do I bake bread?\"" "   # not in the book"
"$BIN/bookwise" ask "How do I bake bread?"

printf '\n%s\n' "\$ printf 'What is a node?\\nHow do I write one in Python?\\n' | bookwise chat    # the second question refers to the first"
printf 'What is a node?\nHow do I write one in Python?\n' | "$BIN/bookwise" chat

printf '\nNow try it on your own book:  %s/bookwise ingest PATH, then  %s/bookwise ask "your question"\n' "$BIN" "$BIN"
printf 'Or open the sample book in a browser:  make serve, then open http://127.0.0.1:8000/\n'
