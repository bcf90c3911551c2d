# Shared by the scripts of this folder; sourced, not run. Every script runs in the project's folder.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly log_dir=build/logs

# say WHO WHAT: one line about what is being done.
say() { printf '%s: %s\n' "$1" "$2"; }

# fail STEP CAUSE CURE: names all three on standard error and ends the script.
fail() {
  printf '%s: failed at "%s"\n  cause: %s\n  cure:  %s\n' "${0##*/}" "$1" "$2" "$3" >&2
  exit 1
}

# The first line of a log that looks like an error, cut to what a person reads.
first_error() {
  grep -m 1 -E '^E: |[Ee]rror\b|ERROR|FAILED|[Ff]atal|not found|Cannot' "$1" | cut -c 1-300
}

# quietly STEP CURE COMMAND...: runs a command with its output kept in a file, which is shown only
# when the command fails; its first error is named as the cause.
quietly() {
  local step=$1 cure=$2 log status=0
  shift 2
  mkdir -p "$log_dir"
  log="$log_dir/${step//[^A-Za-z0-9]/-}.log"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 25 "$log" >&2
    fail "$step" "$(first_error "$log" || echo "exit code $status of: $*") (log: $log)" "$cure"
  fi
}

# build PRESET [TARGET...]: configures and builds; without targets, everything.
build() {
  local preset=$1 targets=()
  shift
  [ $# -eq 0 ] || targets=(--target "$@")
  quietly "configure $preset" "Run ./deploy/setup, which installs what is missing." \
    cmake --preset "$preset"
  quietly "build $preset" "Mend the first error; ./deploy/setup installs what is missing." \
    cmake --build --preset "$preset" "${targets[@]}"
}
