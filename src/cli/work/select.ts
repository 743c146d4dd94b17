import { writeFile } from 'node:fs/promises';
import { type SelectParameters, selectFromFiles } from '../../api/select-from-files.js';
import { layerloomCommand } from '../../base/command-line.js';
import { LayerloomError, reasonOf } from '../../base/errors.js';
import { describeSelection } from '../../documents/text/selection-text.js';
import type { OutputOptions } from '../options/output.js';
import { printNext } from '../print.js';
import { show, watched } from './show.js';

/** Prints the chosen checkpoints, and writes them to a file that an experiment is made of. */
export const selectCommand = async ({
  out,
  ...given
}: SelectParameters & OutputOptions & { readonly out?: string }): Promise<void> => {
  const { json, quiet, verbose: _verbose, ...parameters } = given;
  const selection = await watched(given, (watch) => selectFromFiles(parameters, watch));
  const next = out === undefined || selection.models === undefined ? undefined : nextOf(out);
  if (out !== undefined)
    await writeFile(out, `${JSON.stringify(selection, null, 2)}\n`).catch((cause: unknown) => {
      throw new LayerloomError('WRITE_FAILED', { file: out, reason: reasonOf(cause) }, { cause });
    });
  show(next === undefined ? selection : { ...selection, next }, { json, quiet }, describeSelection);
  if (!json && !quiet) printNext(next);
};

const nextOf = (file: string): string =>
  layerloomCommand('experiment', 'init', '--preset', 'paper', '--selection', file, '-o', 'study.yaml');
