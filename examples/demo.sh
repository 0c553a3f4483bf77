#!/bin/sh
# The main job on the sample book, in a data folder of its own. Needs no key, no server and no network.
set -eu
BIN=${BIN:-.venv/bin}
BOOKWISE_DATA_DIR=$(mktemp -d)
export BOOKWISE_DATA_DIR
trap 'rm -rf "$BOOKWISE_DATA_DIR"' EXIT

say() { printf '\n$ bookwise %s\n' "$*"; }

say ingest examples/physical-ai
"$BIN/bookwise" ingest examples/physical-ai

say search "\"How do nodes exchange messages?\"" --limit 2
"$BIN/bookwise" search "How do nodes exchange messages?" --limit 2

say search "\"How do I create a workspace?\"" --module ros2 --tier 1 --limit 1
"$BIN/bookwise" search "How do I create a workspace?" --module ros2 --tier 1 --limit 1

say ingest examples/physical-ai "   # again: nothing changed, nothing is done"
"$BIN/bookwise" ingest examples/physical-ai

say ask "\"What is a node?\""
"$BIN/bookwise" ask "What is a node?"

say ask "\"How do I bake bread?\"" "   # not in the book"
"$BIN/bookwise" ask "How do I bake bread?"

printf '\n%s\n' "\$ printf 'What is a node?\\nHow do I write one in Python?\\n' | bookwise chat    # the second leans on the first"
printf 'What is a node?\nHow do I write one in Python?\n' | "$BIN/bookwise" chat

printf '\nNow try it on your own book:  %s/bookwise ingest PATH, then  %s/bookwise ask "your question"\n' "$BIN" "$BIN"
printf 'Or see the sample book in a browser:  make serve, then open http://127.0.0.1:8000/\n'
