#!/bin/sh
# Ingests the sample book into a temporary data folder and asks it questions. Needs no key, no server and no network.
set -eu
BIN=${BIN:-.venv/bin}
BOOKWISE_DATA_DIR=$(mktemp -d)
export BOOKWISE_DATA_DIR
trap 'rm -rf "$BOOKWISE_DATA_DIR"' EXIT

heading() { printf '\n──── %s\n' "$1"; }

show() { printf '\n$ bookwise %s\n' "$*"; }

ask() {
    heading "$1"
    show ask "\"$2\""
    "$BIN/bookwise" ask "$2"
}

heading "Read a book: 29 lessons of the sample book"
show ingest examples/physical-ai
"$BIN/bookwise" ingest examples/physical-ai

ask "How do I …? The commands, and where they stand in the book" "How do I create a workspace?"

ask "Which …? The table of the book" "Which joint type should I use for a wheel that can turn forever, and which ones need limits?"

ask "Why …? The explanation" "Why does visual odometry drift more and more while SLAM does not?"

ask "Not in the book: a refusal" "How do I bake bread?"

heading "A conversation: the second question refers to the first"
printf '\n%s\n' "\$ printf 'What is a node?\\nHow do I write one in Python?\\n' | bookwise chat"
printf 'What is a node?\nHow do I write one in Python?\n' | "$BIN/bookwise" chat

heading "Passages only, for one module"
show search "\"How do nodes exchange messages?\"" --module ros2 --limit 2
"$BIN/bookwise" search "How do nodes exchange messages?" --module ros2 --limit 2

heading "Ingest again: nothing changed, so nothing is done"
show ingest examples/physical-ai
"$BIN/bookwise" ingest examples/physical-ai

printf '\nNow try it on your own book:  %s/bookwise ingest PATH, then  %s/bookwise ask "your question"\n' "$BIN" "$BIN"
printf 'Or open the sample book in a browser:  make serve, then open http://127.0.0.1:8000/\n'
