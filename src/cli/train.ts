import { trainInit } from '../api/train-init.js';
import type { TrainingParameters } from '../training/training-settings.js';
import { type OutputOptions, requireOut } from './options.js';
import { printJson, printLine } from './print.js';

export interface TrainInitCliOptions extends OutputOptions, TrainingParameters {
  readonly out?: string;
}

/** Runs `layerloom train init`, and prints what to type next. */
export const trainInitCommand = async (options: TrainInitCliOptions): Promise<void> => {
  const { json, quiet, verbose: _verbose, out: _out, ...parameters } = options;
  const result = await trainInit(parameters, { out: requireOut(options) });
  if (json) printJson(result);
  else if (!quiet) printLine(describe(result));
};

const describe = ({ out, files, commands, next, run }: Awaited<ReturnType<typeof trainInit>>): string =>
  [
    `${run.preset.title} ${run.steps} steps, a checkpoint every ${run.stepsPerCheckpoint}.`,
    `written: ${out} (${files.join(', ')})`,
    'Next, in that directory:',
    ...commands.map(([command, purpose]) => `  ${command}    # ${purpose}`),
    next.text,
    ...(next.command === undefined ? [] : [`  ${next.command}`]),
  ].join('\n');
