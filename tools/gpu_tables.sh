#!/usr/bin/env bash
# Fills the tables of docs/bench.md on a machine with one GPU: tools/gpu_tables.sh OUT [RECIPE...]
# Needs torch for CUDA, megatron-core and recompute-lint; transformer-engine is used where it imports. Under ten minutes
# with the three recipes of examples/advise: 200 s at most for smoke and predictions, 120 s for each bench.
# OUT gets every answer as JSON, tables.md for docs/bench.md, and calibration.md to set beside advise's bounds.
# Environment: RECOMPUTE_LINT and PYTHON, the commands to run; GPU, as advise names it (h200).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -gt 0 ] || { echo "usage: tools/gpu_tables.sh OUT [RECIPE...]" >&2; exit 2; }
out=$1
shift
[ $# -gt 0 ] || set -- "$here"/examples/advise/*.yaml
lint=${RECOMPUTE_LINT:-recompute-lint}
python=${PYTHON:-python3}
mkdir -p "$out" || exit 2
until=$((SECONDS + 200))

# Predictions want processors and no GPU: all at once, beside smoke, and done before anything is timed.
for recipe in "$@"; do
  name=$(basename "${recipe%.*}")
  timeout 195 "$lint" bench --device cpu --timeout 180 --output-format json "$recipe" >"$out/predicted.$name.json" \
    2>"$out/predicted.$name.log" &
done
for recipe in "$@"; do
  name=$(basename "${recipe%.*}")
  left=$((until - SECONDS - 5))
  [ "$left" -gt 0 ] || break
  timeout "$left" "$lint" smoke --device cuda --memory-limit 48 --timeout 60 --output-format json "$recipe" \
    >"$out/smoke.$name.json" 2>"$out/smoke.$name.log"
done
wait
for recipe in "$@"; do
  name=$(basename "${recipe%.*}")
  timeout 120 "$lint" bench --device cuda --no-predict --memory-limit 48 --timeout 60 --repeats 20 \
    --output-format json "$recipe" >"$out/bench.$name.json" 2>"$out/bench.$name.log"
done
"$python" "$here/tools/gpu_tables.py" "$out" --gpu "${GPU:-h200}"
