import { type SelectParameters, selectFromFiles } from '../../../api/select-from-files.js';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { writeWhole } from '../../../core/engine/output/durable.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../../core/texts/json.js';
import type { OutputOptions } from '../../options/output.js';
import { printNext, warn } from '../../print.js';
import { describeSelection } from '../../text/studies/selection-text.js';
import { show, watched } from '../running/show.js';

/** Selects checkpoints and writes the choice to a file for `experiment init`. */
export const selectCommand = async ({
  out,
  ...given
}: SelectParameters & OutputOptions & { readonly out?: string }): Promise<void> => {
  const { json, quiet, verbose: _verbose, ...parameters } = given;
  if (out !== undefined) await checkReplaceable(out);
  const selection = await watched(given, (watch) => selectFromFiles(parameters, watch));
  const next = out === undefined || selection.models === undefined ? undefined : nextOf(out);
  if (out !== undefined) await writeWhole(out, `${JSON.stringify(selection, null, 2)}\n`);
  if (!quiet) selection.warnings.forEach(warn);
  show(next === undefined ? selection : { ...selection, next }, { json, quiet }, describeSelection);
  if (!json && !quiet) printNext(next);
};

/** Replaces only an earlier choice, not for instance the file of scores. */
const checkReplaceable = async (file: string): Promise<void> => {
  const former = await readSmallFile(file).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? undefined : Buffer.alloc(0),
  );
  if (former === undefined || isSelection(former.toString())) return;
  throw new LayerloomError('OUTPUT_INVALID', {
    out: file,
    reason: `exists, and is no choice that \`${layerloomCommand('select')}\` wrote; choose another file`,
  });
};

const isSelection = (text: string): boolean => {
  const found = jsonOrNone(text);
  return isObject(found) && Array.isArray(found['chosen']) && typeof found['balance'] === 'number';
};

const nextOf = (file: string): string =>
  layerloomCommand(
    'experiment',
    'init',
    '--preset',
    'paper',
    '--selection',
    argument(file),
    '-o',
    'study.yaml',
  );
