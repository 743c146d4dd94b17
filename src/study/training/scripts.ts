import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shellWord } from '../../core/base/errors/command-line.js';
import { itemAt } from '../../core/base/errors/lookup.js';
import { packageRoot } from '../../core/base/files/shipped.js';
import { finishingSteps, installCommands, preparingCommand, trainingCommand } from './instructions.js';
import { lockSeconds, runFiles, runStates, trainerFiles } from './run-state.js';
import { preparedFile, preparedPart } from './settings/data-mix.js';
import { canResume, resumeWords } from './settings/resume.js';
import type { TrainingRun } from './settings/training-run.js';
import { partitionCopy, trlProgram } from './trainers/trl.js';

export const shippedPrograms = join(packageRoot, 'training');

/** Returns `training/train.sh` for a run. */
export const scriptOfRun = (run: TrainingRun): string => {
  const finishing = finishingSteps(run);
  const train = trainingCommand(run);
  return shipped('train.sh', [
    ...assigned({
      run_name: run.name,
      finished: runStates.finished,
      running: runStates.running,
      ...{ lock: runFiles.lock, starts: runFiles.starts, ended: runFiles.ended },
      ...{ checkpoints: runFiles.checkpoints, aside: runFiles.aside, log_name: runFiles.log },
      ...{ beat_seconds: lockSeconds.beat, stale_seconds: lockSeconds.stale },
      last: `${runFiles.checkpoints}/checkpoint-${run.steps}`,
      install: itemAt(installCommands(run), 0)[0],
      can_resume: canResume(run) ? 'yes' : '',
      programs: programsOf(
        run,
        finishing.map(({ command }) => command),
      ),
      settings: [
        ...['config.yaml', 'data.yaml', 'accelerate.yaml'],
        ...(run.partition === undefined ? [] : [partitionCopy]),
      ],
      data: [
        preparedFile,
        ...(run.mix.parts.length > 1 ? run.mix.parts.map((part) => preparedPart(part)) : []),
      ],
      products: [
        runFiles.ended,
        ...finishing.flatMap(({ makes }) => (makes === partitionCopy ? [] : [makes])),
      ],
      ...{ trainer_mark: trainerFiles.mark, scheduler_file: trainerFiles.scheduler },
      ...{ optimiser_files: trainerFiles.optimisers, weight_files: trainerFiles.weights },
      state_files: [...trainerFiles.optimisers, trainerFiles.weightsAgain],
    }),
    `prepare() { step ${preparingCommand}; }`,
    `train() { step ${train}; }`,
    `resume() { step ${train} ${resumeWords(run, '"$1"')}; }`,
    `finish() {`,
    ...finishing.map(({ makes, command }) => `  making ${shellWord(makes)} ${command}`),
    '  :',
    '}',
  ]);
};

export const scriptOfRuns = (runs: readonly TrainingRun[]): string =>
  shipped('train_runs.sh', assigned({ runs: runs.map(({ name }) => name) }));

const shipped = (name: string, settings: readonly string[]): string =>
  readFileSync(join(shippedPrograms, name), 'utf8').replace('# SETTINGS\n', () => `${settings.join('\n')}\n`);

const assigned = (values: Readonly<Record<string, string | number | readonly string[]>>): string[] =>
  Object.entries(values).map(([name, value]) =>
    typeof value === 'object'
      ? `${name}=(${value.map(shellWord).join(' ')})`
      : `${name}=${shellWord(String(value))}`,
  );

/**
 * Programs that the script checks before it starts: its commands' programs, and TRL if a program of ours needs it.
 */
const programsOf = (run: TrainingRun, finishing: readonly string[]): string[] => [
  ...new Set([
    ...[preparingCommand, trainingCommand(run), ...finishing].map((command) => itemAt(command.split(' '), 0)),
    ...(trlProgram(run) === undefined || run.trainer !== 'trl' ? [] : ['trl']),
  ]),
];
