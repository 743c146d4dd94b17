import { type TrainingFiles, trainInit } from '../../../api/train-init.js';
import { type TrainingStatus, trainingStatus } from '../../../api/training-status.js';
import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { plainTable } from '../../../core/base/table.js';
import { runStates } from '../../../study/training/run-state.js';
import type { TrainingParameters } from '../../../study/training/settings/training-settings.js';
import type { OutputOptions } from '../../options/output.js';
import { estimateText } from '../../text/studies/estimate-text.js';
import { show } from '../running/show.js';

export const trainInitCommand = async ({
  json,
  quiet,
  verbose: _verbose,
  out,
  ...parameters
}: TrainingParameters & { readonly out: string } & OutputOptions): Promise<void> =>
  show(await trainInit(parameters, { out }), { json, quiet }, describeTraining);

export const trainStatusCommand = async ({
  directories,
  ...options
}: { readonly directories: readonly string[] } & OutputOptions): Promise<void> => {
  const status = await trainingStatus(directories);
  show(status, options, describeTrainingStatus);
  const unfinished = status.runs.flatMap(({ name, problem }) =>
    problem === undefined ? [] : [{ run: name, problem }],
  );
  if (unfinished.length > 0)
    throw new LayerloomError('TRAINING_INCOMPLETE', { unfinished, runs: status.runs.length });
};

const mostListed = 20;

const describeTraining = ({ out, files, commands, next, run, runs, ...estimated }: TrainingFiles): string =>
  [
    `${run.preset.title} ${runs.length > 1 ? `${runs.length} runs: ` : ''}${run.steps} steps, a checkpoint every ${run.stepsPerCheckpoint}.`,
    ...(runs.length > 1
      ? [
          ...runs.slice(0, mostListed).map(({ name }) => `  ${name}`),
          ...(runs.length > mostListed ? [`  and ${runs.length - mostListed} more`] : []),
        ]
      : []),
    `written: ${out}${runs.length > 1 ? '' : ` (${files.join(', ')})`}`,
    estimateText(estimated.estimate ?? `${estimated.notEstimated}`, run.devices),
    runs.length > 1 ? 'Next:' : 'Next, in that directory:',
    ...commands.map(([command, purpose]) => `  ${command}    # ${purpose}`),
    ...(runs.length > 1
      ? []
      : [`  ${layerloomCommand('train', 'status', '.')}    # what is there, and what comes next`]),
    next.text,
    ...(next.command === undefined ? [] : [`  ${next.command}`]),
  ].join('\n');

const describeTrainingStatus = ({ runs, next }: TrainingStatus): string => {
  const rows = runs.map(({ name, role, language, state, models, expected, loss }) => [
    name,
    language ?? role,
    runStates[state],
    `${models.filter(({ problem }) => problem === undefined).length} of ${expected}`,
    loss === null ? '–' : `${loss.first.toFixed(3)} → ${loss.last.toFixed(3)}`,
  ]);
  return [
    plainTable([['run', 'of', 'state', 'checkpoints', 'loss'], ...rows], 3),
    ...runs.flatMap(({ name, problem }) => (problem === undefined ? [] : [`  ${name}: ${problem}`])),
    ...(next === undefined ? [] : ['Next:', `  ${next}`]),
  ].join('\n');
};
