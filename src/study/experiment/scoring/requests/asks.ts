import { join } from 'node:path';
import * as z from 'zod';
import { pick } from '../../../../core/base/errors/lookup.js';
import { namesIn } from '../../../../core/base/files/unless-missing.js';
import type { Part } from '../../../batch/planning/part.js';
import { evaluationsName } from '../../../evaluation/result-files.js';
import type { AskedRows } from '../../../evaluation/rows.js';
import { examine } from '../../../store/claims/claim-file.js';
import { taskFolder } from './evaluation-folders.js';

export interface Asks extends AskedRows {
  readonly only?: readonly string[] | undefined;
  readonly part?: Part | undefined;
  readonly tasks?: readonly string[] | undefined;
}

export const asksOf = (options: Asks): Asks => pick(options, 'only', 'part', 'tasks', 'limit', 'rows');

const texts = z.array(z.string()).readonly();
const row = z.int().min(0);
const schema = z.object({
  only: texts.exactOptional(),
  part: z.object({ index: row, count: z.int().min(1) }).exactOptional(),
  tasks: texts.exactOptional(),
  limit: z.int().min(1).exactOptional(),
  rows: z.tuple([row, row]).readonly().exactOptional(),
});

/**
 * Returns the options of each running evaluation.
 *
 * @throws READ_FAILED
 */
export const asksNow = async (experiment: string): Promise<Asks[]> => {
  const claims = join(experiment, evaluationsName, '.claims');
  const asks: Asks[] = [];
  for (const name of (await namesIn(claims)).filter((each) => each.startsWith(taskFolder))) {
    // Uses this host's clock: reading the store's clock would write a file.
    const { state, claimant } = await examine(join(claims, name), () => Promise.resolve(Date.now()));
    const found = schema.safeParse((claimant as { asks?: unknown } | undefined)?.asks).data;
    if (state === 'live' && found !== undefined) asks.push(found);
  }
  return asks;
};
