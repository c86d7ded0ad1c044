# Functions for the readers' scripts: `source "$(dirname "$0")/../lib.sh"`.
set -euo pipefail

reader=$(basename "$0")
reader=${reader%.py}
here=$PIPELINE_ROOT/Scripts/pipeline
examples=$PIPELINE_ROOT/Examples/pipeline
work=$PIPELINE_RUN/$reader
packages=$PIPELINE_HOME/packages
python=$PIPELINE_HOME/venv/bin/python
# Lines for readers with default settings, and longer lines for readers that are configured for them.
short=$PIPELINE_RUN/short.jsonl
long=$PIPELINE_RUN/long.jsonl
multiarch=$(uname -m)-linux-gnu

# The loader's search path for the libraries of an unpacked package.
libraries() { echo "$1/usr/lib/$multiarch:$1/lib/$multiarch:$1/lib/$multiarch/systemd:$1/usr/lib/syslog-ng"; }

# within ROOT COMMAND…: runs COMMAND with the libraries of the package that is unpacked in ROOT.
within() { env LD_LIBRARY_PATH="$(libraries "$1")" "${@:2}"; }

started=()
# start ROOT COMMAND…: the same in the background, until the script exits. Does not call `within`, so that $! is the program's process ID.
start() {
    env LD_LIBRARY_PATH="$(libraries "$1")" "${@:2}" >>"$work/log" 2>&1 &
    started+=("$!")
}

end_started() {
    local pid
    for pid in ${started[@]+"${started[@]}"}; do kill "$pid" 2>/dev/null || true; done
    for pid in ${started[@]+"${started[@]}"}; do
        # Each has ten seconds to exit normally.
        for _ in $(seq 100); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    started=()
}
trap end_started EXIT

# wait_until SECONDS COMMAND…
wait_until() {
    local tries=$(($1 * 10))
    shift
    while ! "$@"; do
        ((tries-- > 0)) || return 1
        sleep 0.1
    done
}

count_lines() { if [[ -e $1 ]]; then wc -l <"$1"; else echo 0; fi; }

# has_lines FILE N
has_lines() { [[ $(count_lines "$1") -ge $2 ]]; }

# wait_for_lines FILE N SECONDS: waits until FILE has N lines. After a timeout the script continues with the lines that have arrived.
wait_for_lines() { wait_until "$3" has_lines "$1" "$2" || { echo "$reader: timed out after $3 s, waiting for $2 lines" >&2; tail -5 "$work/log" >&2 || true; }; }

# render EXAMPLE FROM TO [FROM TO]…: prints an example's file with each FROM replaced by TO, such as paths of this run.
render() {
    local text
    text=$(<"$examples/$1")
    shift
    while [[ $# -gt 0 ]]; do
        [[ $text == *"$1"* ]] || { echo "$reader: the example does not contain $1" >&2; return 1; }
        text=${text//"$1"/"$2"}
        shift 2
    done
    printf '%s\n' "$text"
}

compare() { "$python" "$here/compare.py" "$@"; }
