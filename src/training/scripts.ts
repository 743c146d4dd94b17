import { shellWord } from '../base/command-line.js';
import { workCommands } from './instructions.js';
import type { TrainingRun } from './training-run.js';

/** Name of the script that runs what a directory describes. */
export const scriptName = 'train.sh';

/** The empty file that says that a run has ended well. */
export const endedName = 'trained';

/** Returns the script of one run. What has ended is left as it is. */
export const scriptOfRun = (run: TrainingRun): string => `#!/usr/bin/env bash
# Prepares the data and trains. A run that has ended is left as it is; an interrupted one begins anew.
set -euo pipefail
# One run is the first of any number of parts; the others have nothing to do.
[[ \${1:-0/1} == 0/* ]] || exit 0
cd -- "$(dirname -- "\${BASH_SOURCE[0]}")"
[ -e ${endedName} ] && exit 0
rm -rf checkpoints reverted merged
${workCommands(run)
  .map(([command]) => command)
  .join('\n')}
touch ${endedName}
`;

/** Returns the script that runs those of its folders. */
export const scriptOfRuns = (runs: readonly TrainingRun[]): string => `#!/usr/bin/env bash
# Trains the runs of this directory one after the other: all of them, or part I of N (bash ${scriptName} I/N).
# Runs that have ended are left as they are; an interrupted one begins anew.
set -uo pipefail
cd -- "$(dirname -- "\${BASH_SOURCE[0]}")"
part=\${1:-0/1}
[[ $part =~ ^[0-9]+/[1-9][0-9]*$ ]] || { echo "${scriptName}: $part: expected I/N, such as 0/4" >&2; exit 2; }
runs=(${runs.map(({ name }) => shellWord(name)).join(' ')})
failed=0
for ((at = \${part%/*}; at < \${#runs[@]}; at += \${part#*/})); do
  echo "run $((at + 1)) of \${#runs[@]}: \${runs[at]}" >&2
  bash "\${runs[at]}/${scriptName}" || { echo "${scriptName}: \${runs[at]} failed" >&2; failed=1; }
done
exit "$failed"
`;
