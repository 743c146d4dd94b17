#!/usr/bin/env bash
# Trains the runs of this folder one after the other: all of them, or part I of N (bash train.sh I/N).
# Each goes on where it was interrupted; finished ones are left as they are, and so are those that another start trains.
# --again sets the checkpoints of unfinished runs aside (renamed, never removed), and begins these at the first step.
set -uo pipefail

# SETTINGS

part=0/1
again=()
for word; do
  if [ "$word" = --again ]; then
    again=(--again)
  elif [[ $word =~ ^[0-9]+/[1-9][0-9]*$ ]]; then
    part=$word
  else
    echo "train.sh: $word: expected I/N, such as 0/4, or --again" >&2
    exit 2
  fi
done
cd -- "$(dirname -- "${BASH_SOURCE[0]}")" || exit

# A signal ends the run at work, and no further one begins.
stopping=''
child=0
stop() {
  stopping=$2
  [ "$child" -gt 0 ] || exit "$2"
  kill -s "$1" "$child" 2>/dev/null
}
trap 'stop HUP 129' HUP
trap 'stop INT 130' INT
trap 'stop TERM 143' TERM

failed=0
busy=0
for ((at = ${part%/*}; at < ${#runs[@]}; at += ${part#*/})); do
  echo "run $((at + 1)) of ${#runs[@]}: ${runs[at]}" >&2
  # In a group of its own, so that a signal reaches it once.
  set -m
  bash "${runs[at]}/train.sh" ${again[@]+"${again[@]}"} </dev/null &
  child=$!
  set +m
  while
    wait "$child"
    status=$?
    [ "$status" -gt 128 ] && kill -0 "$child" 2>/dev/null
  do :; done
  child=0
  [ -z "$stopping" ] || exit "$stopping"
  case $status in
  0) ;;
  75) busy=75 ;;
  *)
    failed=1
    echo "train.sh: ${runs[at]} failed" >&2
    ;;
  esac
done
[ "$failed" = 0 ] || exit 1
exit "$busy"
