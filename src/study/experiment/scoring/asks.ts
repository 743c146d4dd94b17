import { join } from 'node:path';
import * as z from 'zod';
import { namesIn } from '../../../core/base/unless-missing.js';
import type { Part } from '../../batch/part.js';
import { evaluationsName } from '../../evaluation/result-files.js';
import type { AskedRows } from '../../evaluation/rows.js';
import { examine } from '../../store/claim-file.js';
import { taskFolder } from './evaluation-folders.js';

/** The options that say which part of an experiment an evaluation measures. */
export interface Asks extends AskedRows {
  readonly only?: readonly string[] | undefined;
  readonly part?: Part | undefined;
  readonly tasks?: readonly string[] | undefined;
}

export const asksOf = ({ only, part, tasks, limit, rows }: Asks): Asks => ({
  only,
  part,
  tasks,
  limit,
  rows,
});

const texts = z.array(z.string()).readonly();
const row = z.int().min(0);
const schema = z.object({
  only: texts.exactOptional(),
  part: z.object({ index: row, count: z.int().min(1) }).exactOptional(),
  tasks: texts.exactOptional(),
  limit: z.int().min(1).exactOptional(),
  rows: z.tuple([row, row]).readonly().exactOptional(),
});

/** Returns what each evaluation asks for that works in an experiment's directory now. @throws LayerloomError READ_FAILED */
export const asksNow = async (experiment: string): Promise<Asks[]> => {
  const claims = join(experiment, evaluationsName, '.claims');
  const asks: Asks[] = [];
  for (const name of (await namesIn(claims)).filter((each) => each.startsWith(taskFolder))) {
    // The times of claims are compared with this host's clock: a look changes nothing.
    const { state, claimant } = await examine(join(claims, name), () => Promise.resolve(Date.now()));
    const found = schema.safeParse((claimant as { asks?: unknown } | undefined)?.asks).data;
    if (state === 'live' && found !== undefined) asks.push(found);
  }
  return asks;
};
