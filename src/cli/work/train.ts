import { trainInit } from '../../api/train-init.js';
import type { TrainingParameters } from '../../training/training-settings.js';
import type { OutputOptions } from '../options/output.js';
import { show } from './show.js';

/** Writes the configuration of a training run, and prints what to type next. */
export const trainInitCommand = async ({
  json,
  quiet,
  verbose: _verbose,
  out,
  ...parameters
}: TrainingParameters & { readonly out: string } & OutputOptions): Promise<void> =>
  show(await trainInit(parameters, { out }), { json, quiet }, describe);

const describe = ({ out, files, commands, next, run }: Awaited<ReturnType<typeof trainInit>>): string =>
  [
    `${run.preset.title} ${run.steps} steps, a checkpoint every ${run.stepsPerCheckpoint}.`,
    `written: ${out} (${files.join(', ')})`,
    'Next, in that directory:',
    ...commands.map(([command, purpose]) => `  ${command}    # ${purpose}`),
    next.text,
    ...(next.command === undefined ? [] : [`  ${next.command}`]),
  ].join('\n');
