#!/usr/bin/env bash
# Trains the run of this folder: prepares its data, trains, and finishes its model.
#   bash train.sh            goes on from the last whole checkpoint; leaves a finished run as it is
#   bash train.sh --again    sets the checkpoints aside (renamed, never removed) and begins at the first step
#   bash train.sh I/N        part I of N: one run is all of part 0
# Exits with 0 when the run is finished, 75 when another start trains it, 127 when a program is missing.
# Removes nothing that an earlier start made.
set -uo pipefail

# SETTINGS

say() { printf 'train.sh: %s: %s\n' "$run_name" "$*" >&2; }
die() {
  local status=$1
  shift
  say "$@"
  exit "$status"
}
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

again=''
for word; do
  if [ "$word" = --again ]; then
    again=yes
  elif [[ ! $word =~ ^[0-9]+/[1-9][0-9]*$ ]]; then
    say "$word: expected I/N, such as 0/4, or --again"
    exit 2
  elif [ "${word%/*}" != 0 ]; then
    exit 0
  fi
done
cd -- "$(dirname -- "${BASH_SOURCE[0]}")" || exit
script=$(printf 'bash %q' "$PWD/train.sh")

# --- One start at a time -------------------------------------------------------------------------------------------

# The lock says who trains. The first line has the text of layerloom's claims: host, process and its start, since process
# numbers are used again. Lines behind it name the process group of the command at work, which may outlive this script
# (kill -9), and the checkpoints that were here before. A second process appends an empty line every few seconds, for
# hosts that cannot see these processes. All of it is written through one descriptor: who was replaced writes nowhere.
token="$(uname -n)-$$-$(date +%s)-$RANDOM"
place="$(uname -n) $(cat /proc/sys/kernel/random/boot_id 2>/dev/null) $(readlink /proc/self/ns/pid 2>/dev/null)"
heart=0
group=0
is_holder=''
stopping=''
stopped=0

# Prints the start of process $1; nothing if there is none, or a zombie.
started_of() {
  local stat
  if [ -r /proc/self/stat ]; then
    { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 0
    # The name, in parentheses, may hold anything.
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    case $1 in Z | X) ;; *) printf '%s' "${20}" ;; esac
  else
    ps -o lstart= -p "$1" 2>/dev/null | sed 's/^ *//; s/ *$//'
  fi
}
export -f started_of
started=$(started_of $$)

# True if process $1, which began at $2, runs.
runs() { [ -n "$2" ] && [ "$(started_of "$1")" = "$2" ]; }

# Prints state and group of each process.
all_groups() {
  if [ -r /proc/self/stat ]; then
    cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^.*) //' | cut -d' ' -f1,3
  else
    ps -axo stat=,pgid=
  fi
}

# True if group $1, whose first process began at $2, has a process that is no zombie.
works() {
  local begun
  [[ $1 =~ ^[0-9]+$ ]] || return 1
  begun=$(started_of "$1")
  [ -z "$begun" ] || [ "$begun" = "$2" ] || return 1
  # Not by the status of the pipe: processes end while they are listed.
  [ -n "$(all_groups | grep -E "^ *[^ZX ][^ ]* +$1\$")" ]
}

# Prints the value of key $2 in the first line of a lock's text $1.
value() { sed -n "1s/.*\"$2\":\"\{0,1\}\([^\",}]*\).*/\1/p" <<<"$1"; }

# Prints the words behind the last line of a lock's text $1 that begins with $2.
line() { sed -n "s/^$2 //p" <<<"$1" | tail -n 1; }

# True if the command that a lock's text $1 names has a process.
is_at_work() {
  local named
  named=$(line "$1" group)
  works "${named%% *}" "${named#* }"
}

# Gives signs of life while this script or its command lives, and thins out states. Goes on when this script is killed.
beat() {
  local text
  while text=$(cat "$lock" 2>/dev/null) && [ "$(value "$text" token)" = "$token" ]; do
    echo >&3
    [[ $text != *$'\n'"there "* ]] || thin_states " $(line "$text" there) "
    sleep "$beat_seconds"
    runs $$ "$started" || is_at_work "$text" || exit 0
  done
}

# Starts a command as a process group of its own, and waits for nothing.
in_group() {
  set -m
  "$@" &
  set +m
}

cannot_write() { die 1 "cannot write here (is the disk full?); nothing was removed"; }

# Makes the file $1 if there is none: one of several hosts succeeds, on network file systems too.
create() {
  (set -C && : >"$1") 2>/dev/null || return 1
  # A full disk takes the name and not the text.
  printf '{"token":"%s","host":"%s","place":"%s","pid":%d,"started":"%s","since":"%s"}\n' \
    "$token" "$(uname -n)" "$place" $$ "$started" "$(now)" 2>/dev/null >>"$1" && return 0
  rm -f -- "$1"
  cannot_write
}

# Reads the lock $1 into `found`, and its size.
look_at() { found=$(cat -- "$1" 2>/dev/null) size=$(($(wc -c 2>/dev/null <"$1"))); }

# True if process $1 is another user's and this system hides it.
is_hidden() { [ -z "$(started_of "$1")" ] && [[ $(LC_ALL=C kill -0 "$1" 2>&1) == *ermitted* ]]; }

# Sets `verdict` to gone, live or dead for the lock $1, and `found` to its text.
examine() {
  local before pid waited=0
  look_at "$1"
  [ -e "$1" ] || { verdict=gone && return; }
  pid=$(value "$found" pid)
  if [ "$(value "$found" place)" = "$place" ] && ! is_hidden "$pid"; then
    verdict=live
    runs "$pid" "$(value "$found" started)" && return
    # A command that was killed too takes a moment to end.
    while is_at_work "$found"; do
      [ "$waited" -lt 10 ] || return
      waited=$((waited + 1))
      sleep 0.5
    done
    verdict=dead
    return
  fi
  # Of another host or container: without a sign of life for so long, a lock is dead.
  say "a start is noted ($(owner)); waiting up to $stale_seconds seconds for a sign of life"
  before=$size
  while [ "$waited" -lt "$stale_seconds" ]; do
    sleep 5
    waited=$((waited + 5))
    look_at "$1"
    [ -e "$1" ] || { verdict=gone && return; }
    [ "$size" = "$before" ] || { verdict=live && return; }
  done
  verdict=dead
}

# Says who holds the lock that was found.
owner() {
  local host pid since
  host=$(value "$found" host) pid=$(value "$found" pid) since=$(value "$found" since)
  if [ "$(value "$found" place)" = "$place" ] && ! runs "$pid" "$(value "$found" started)" && is_at_work "$found"; then
    printf 'process group %s on %s, since %s (its train.sh was killed)' "$(line "$found" group | cut -d' ' -f1)" "$host" "$since"
  else
    printf 'process %s on %s, since %s' "${pid:-?}" "${host:-?}" "${since:-?}"
  fi
}

# Takes the lock $1. False if somebody else has it. Only the holder of `$1.next` removes a dead lock, and only if its
# text is still the one that was found dead: nobody removes a live lock that has replaced it.
acquire() {
  local dead length turn taken
  for turn in 1 2 3 4 5; do
    create "$1" && return 0
    examine "$1"
    [ "$verdict" = live ] && return 1
    [ "$verdict" = gone ] && continue
    dead=$found length=$size
    acquire "$1.next" || return 1
    taken=1
    look_at "$1"
    if [ "$found" = "$dead" ] && [ "$size" = "$length" ]; then
      rm -f -- "$1"
      create "$1" && taken=0
    fi
    rm -f -- "$1.next"
    [ "$taken" = 0 ] && return 0
  done
  [ -e "$1" ] || cannot_write
  return 1
}

holds_lock() { [ "$(value "$(cat "$lock" 2>/dev/null)" token)" = "$token" ]; }

release() {
  [ "$heart" = 0 ] || kill -TERM -- "-$heart" 2>/dev/null
  [ -n "$is_holder" ] && holds_lock && rm -f -- "$lock"
}
trap release EXIT

# Signal $1 ends the command at work, and this script after it with status $2. No subshells here: a signal may come
# while one is being made.
stop() {
  stopping=$1 stopped=$2
  [ "$group" -gt 0 ] || exit "$stopped"
  kill -s "$1" -- "-$group" 2>/dev/null
}
trap 'stop HUP 129' HUP
trap 'stop INT 130' INT
trap 'stop TERM 143' TERM

# --- Commands ------------------------------------------------------------------------------------------------------

# Runs a command as a group of its own. It begins once the lock names that group, so that a start which finds this
# script killed sees whether its command still works; where another start has the lock by now, it does not begin.
step() {
  local begun status
  # shellcheck disable=SC2016
  in_group bash -c 'echo "group $$ $(started_of $$)" >&3 && grep -q "^group $$ " "$0" && exec 3>&- && exec "$@"' \
    "$lock" "$@" </dev/null
  group=$!
  begun=$(started_of "$group")
  # A signal interrupts the wait, not the command.
  while
    wait "$group"
    status=$?
    [ "$status" -gt 128 ] && kill -0 "$group" 2>/dev/null
  do :; done
  if [ -n "$stopping" ]; then
    while works "$group" "$begun"; do sleep 0.2; done
    note "stopped by $stopping"
    say "stopped by $stopping; $script goes on"
    exit "$stopped"
  fi
  group=0
  [ "$status" = 0 ] && return 0
  [ ! -e "$lock" ] || holds_lock || die 75 "$running: another start has taken over"
  note "ended with $status: $*"
  die "$status" "ended with $status: $*"
}

# Runs a command that makes $1 whole or not at all, unless it is there.
making() {
  local made=$1
  shift
  [ -e "$made" ] || step "$@"
}

note() { printf '%s %s on %s, process %s\n' "$(now)" "$1" "$(uname -n)" $$ >>"$starts"; }

# --- Checkpoints ---------------------------------------------------------------------------------------------------

# Prints the checkpoints' names, by step.
checkpoint_names() {
  local path
  for path in "$checkpoints"/checkpoint-*; do
    [[ ${path##*/} =~ ^checkpoint-[0-9]+$ ]] && [ -d "$path" ] && echo "${path##*/}"
  done | sort -t- -k2 -n
}

# True if a file of safetensors has all bytes that its header speaks of.
has_all_bytes() {
  local header size last
  size=$(($(wc -c <"$1"))) header=$(od -An -t u8 -N 8 -- "$1" | tr -d ' ')
  [[ $header =~ ^[0-9]{1,15}$ ]] && [ $((header + 8)) -le "$size" ] || return 1
  last=$(tail -c +9 -- "$1" | head -c "$header" | grep -oE '"data_offsets" *: *\[ *[0-9]+ *, *[0-9]+' |
    sed 's/.*[, ]//' | sort -n | tail -n 1)
  [ $((8 + header + ${last:-0})) -le "$size" ]
}

# True if a file is there and, where it is an archive of torch, not cut off: its directory stands at its end.
is_there() {
  [ -s "$1" ] || return 1
  [ "$(head -c 2 -- "$1" | tr -d '\0')" != PK ] ||
    [ "$(tail -c 22 -- "$1" | od -An -t x1 -N 4 | tr -d ' \n')" = 504b0506 ]
}

# True if the checkpoint in $1 is whole. The trainer writes its own log last.
is_whole() {
  local log=$1/$log_name weights shard step
  [ -s "$1/config.json" ] || [ -s "$1/adapter_config.json" ] || return 1
  [[ $(tail -c 64 -- "$log" 2>/dev/null | tr -d '[:space:]') == *"}" ]] || return 1
  step=$(grep -oE '"global_step" *: *[0-9]+' -- "$log" | tail -n 1 | grep -oE '[0-9]+$')
  [ "${step:-${1##*-}}" = "${1##*-}" ] || return 1
  if [ -e "$1/model.safetensors.index.json" ]; then
    weights=$(grep -oE '"[^"/]+\.safetensors"' -- "$1/model.safetensors.index.json" | tr -d '"' | sort -u)
  else
    for shard in "${weight_files[@]}"; do
      [ -e "$1/$shard" ] && weights=$shard && break
    done
  fi
  [ -n "${weights:-}" ] || return 1
  while IFS= read -r shard; do
    [ -s "$1/$shard" ] || return 1
    case $shard in
    *.safetensors) has_all_bytes "$1/$shard" ;;
    *) is_there "$1/$shard" ;;
    esac || return 1
  done <<<"$weights"
}

# True if the trainer can go on from the whole checkpoint in $1. transformers, which leaves its mark, begins the optimiser
# and its schedule again, without a word, where their state is missing.
has_state() {
  local path
  [ -e "$1/$trainer_mark" ] || return 0
  is_there "$1/$scheduler_file" || return 1
  for path in "${optimiser_files[@]}"; do is_there "$1/$path" && return 0; done
  return 1
}

# Removes the optimiser's state from checkpoints that this start has made, all but its last two: it is larger than the
# model. Models stay, and so do the checkpoints $1 that were here before.
thin_states() {
  local there=$1 name file older made=()
  for name in $(checkpoint_names); do
    [[ $there == *" $name "* ]] || [ ! -e "$checkpoints/$name/$trainer_mark" ] || made+=("$checkpoints/$name")
  done
  older=$((${#made[@]} - 2))
  # The last one may be in the making.
  [ "$older" -lt 1 ] || is_whole "${made[older + 1]}" || older=$((older - 1))
  [ "$older" -ge 1 ] && has_state "${made[older]}" && has_state "${made[older + 1]}" || return 0
  for name in "${made[@]:0:older}"; do
    for file in "${state_files[@]}"; do rm -f -- "$name/$file"; done
  done
}

# Moves paths into a new folder of $1: renamed, never removed.
set_aside() {
  local place=$1 number=1 path moved=''
  shift
  mkdir -p -- "$place" || cannot_write
  until mkdir -- "$place/$aside-$number" 2>/dev/null; do
    [ -d "$place/$aside-$number" ] || cannot_write
    number=$((number + 1))
  done
  for path; do
    mv -- "$path" "$place/$aside-$number/" || cannot_write
    moved+=" ${path##*/}"
  done
  say "set aside in $place/$aside-$number:$moved"
}

# Sets `from` to the checkpoint to go on from, empty for the first step. Sets aside what is half written or newer, and
# before the first step all that earlier starts made.
choose_start() {
  local name path whole=0 moved=()
  from=''
  if [ -z "$again" ]; then
    for name in $(checkpoint_names | sort -t- -k2 -nr); do
      path=$checkpoints/$name
      is_whole "$path" || continue
      whole=$((whole + 1))
      # The last one needs no further training.
      [ "$path" = "$last" ] || { [ -n "$can_resume" ] && has_state "$path"; } || continue
      from=$path
      break
    done
    [ -n "$from" ] || [ "$whole" = 0 ] ||
      die 1 "cannot go on: no whole checkpoint ($whole) has the state that the trainer goes on from. \`$script --again\` sets them aside and begins at the first step"
  fi
  if [ -n "$from" ]; then
    for name in $(checkpoint_names); do
      path=$checkpoints/$name
      [ "${name##*-}" -le "${from##*-}" ] && is_whole "$path" || moved+=("$path")
    done
    [ "${#moved[@]}" = 0 ] || set_aside "$checkpoints" "${moved[@]}"
    return
  fi
  for path in "$checkpoints"/* "$checkpoints"/.[!.]*; do
    [[ ${path##*/} == "$aside"-* ]] || { [ -e "$path" ] && moved+=("$path"); }
  done
  [ "${#moved[@]}" = 0 ] || set_aside "$checkpoints" "${moved[@]}"
  moved=()
  for path in "${products[@]}"; do [ -e "$path" ] && moved+=("$path"); done
  [ "${#moved[@]}" = 0 ] || set_aside . "${moved[@]}"
}

# --- The run -------------------------------------------------------------------------------------------------------

is_finished() { [ -e "$ended" ] && { [ -z "$again" ] || [ -d "$last" ]; }; }
leave() {
  say "$finished; left as it is"
  exit 0
}
is_finished && leave
missing=''
for program in "${programs[@]}"; do [ -x "$(type -P -- "$program")" ] || missing+=" $program"; done
[ -z "$missing" ] || die 127 "not found:$missing. Activate the environment of the trainer ($install). Nothing was changed"

acquire "$lock" || die 75 "$running: $(owner)"
is_holder=yes
exec 3>>"$lock"
in_group beat </dev/null >/dev/null 2>&1
heart=$!
disown "$heart"
is_finished && leave
choose_start
echo "there $(checkpoint_names | tr '\n' ' ')" >&3 || cannot_write
if [ -n "$from" ]; then note "goes on from ${from##*/}"; else note begins; fi || cannot_write

has_data=yes
for path in "${data[@]}"; do [ -e "$path" ] || has_data=''; done
[ -n "$from" ] && [ -n "$has_data" ] || prepare

# A run is of one configuration and of one set of rows.
sums=''
for path in "${settings[@]}" "${data[@]}"; do [ ! -e "$path" ] || sums+="$(cksum -- "$path"), "; done
if [ -n "$from" ] && grep -q ' trains with ' "$starts"; then
  former=$(sed -n 's/^[^ ]* trains with \(.*\), on .*/\1, /p' "$starts" | tail -n 1)
  for path in "${settings[@]}" "${data[@]}"; do
    [ ! -e "$path" ] || [[ $former == *"$(cksum -- "$path"), "* ]] ||
      die 1 "$path is not what the checkpoints were trained with: put it back to go on. \`$script --again\` sets them aside and begins at the first step"
  done
else
  note "trains with ${sums%, }," || cannot_write
fi

if [ -z "$from" ]; then
  train
elif [ "$from" != "$last" ]; then
  say "goes on from ${from##*/}"
  resume "$from"
fi
finish
: >"$ended" || cannot_write
note finished
