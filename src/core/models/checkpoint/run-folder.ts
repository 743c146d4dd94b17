import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError, reasonOf } from '../../base/errors.js';

/** A checkpoint of a run: a folder `checkpoint-N`, as trainers of transformers write them. */
export interface RunCheckpoint {
  /** N: the number of optimizer steps. */
  readonly step: number;
  /** `checkpoint-N`. */
  readonly folder: string;
}

/** The name of a checkpoint's folder. Steps as trainers write them: no zeros in front, and exact as numbers. */
export const checkpointName = /^checkpoint-(?<step>0|[1-9]\d{0,14})$/;

/**
 * Lists the checkpoints of a run's folder in the order of their steps, which is not that of their names. Other folders and
 * files, such as `tmp-checkpoint-N` of a save that goes on, are none; nothing of a checkpoint is read.
 *
 * @throws LayerloomError READ_FAILED
 */
export const listCheckpoints = async (run: string): Promise<RunCheckpoint[]> => {
  const names = await readdir(run).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOTDIR') return [];
    throw new LayerloomError('READ_FAILED', { file: run, reason: reasonOf(cause) }, { cause });
  });
  const found = await Promise.all(
    names.map(async (folder): Promise<RunCheckpoint[]> => {
      const step = checkpointName.exec(folder)?.groups?.['step'];
      if (step === undefined) return [];
      // A link counts, also one that leads nowhere: what cannot be opened is an error then, and never left out in silence.
      const isFolder = await stat(join(run, folder)).then(
        (at) => at.isDirectory(),
        () => true,
      );
      return isFolder ? [{ step: Number(step), folder }] : [];
    }),
  );
  return found.flat().sort((a, b) => a.step - b.step);
};
