import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readFailed } from '../../../base/files/writing.js';

/** A run's checkpoint: a folder `checkpoint-N`, as transformers' trainers write. */
export interface RunCheckpoint {
  readonly step: number;
  readonly folder: string;
}

/** Steps without leading zeros, exact as float64. */
export const checkpointName = /^checkpoint-(?<step>0|[1-9]\d{0,14})$/;

/**
 * Lists a run's checkpoints by step, without reading them. Ignores other names, such as an unfinished save's
 * `tmp-checkpoint-N`.
 *
 * @throws READ_FAILED
 */
export const listCheckpoints = async (run: string): Promise<RunCheckpoint[]> => {
  const names = await readdir(run).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOTDIR') return [];
    throw readFailed(run, cause);
  });
  const found = await Promise.all(
    names.map(async (folder): Promise<RunCheckpoint[]> => {
      const step = checkpointName.exec(folder)?.groups?.['step'];
      if (step === undefined) return [];
      // Includes broken links: opening one reports an error instead of silently skipping it.
      const isFolder = await stat(join(run, folder)).then(
        (at) => at.isDirectory(),
        () => true,
      );
      return isFolder ? [{ step: Number(step), folder }] : [];
    }),
  );
  return found.flat().sort((a, b) => a.step - b.step);
};
