import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readBlock } from '../../../../core/models/checkpoint/files/read-block.js';
import { RequestCounter } from '../../../evaluation/harness/harness-progress.js';
import { evaluationsName } from '../../../evaluation/result-files.js';
import type { RunningRequests } from './time-left.js';

export const logNameOf = (model: string): string => `${model.replace(/[^\w.+-]/g, '_')}.log`;

/** Milliseconds without a write after which a run counts as dead. */
const quietMs = 300_000;

const tailBytes = 1 << 20;

const beginning = 'Selected tasks';

/** Finds models that other processes are scoring: recent logs with an unfinished progress bar. */
export const runningRequests = async (
  directory: string,
  models: readonly string[],
  now: number = Date.now(),
): Promise<RunningRequests[]> => {
  const found = await Promise.all(
    models.map(async (model): Promise<RunningRequests[]> => {
      const log = join(directory, evaluationsName, 'logs', logNameOf(model));
      const status = await stat(log).catch(() => undefined);
      if (status === undefined || now - status.mtimeMs > quietMs) return [];
      const text = await tailOf(log, status.size).catch(() => '');
      const counter = new RequestCounter();
      counter.feed(text.slice(Math.max(0, text.lastIndexOf(beginning))));
      const { requests } = counter;
      return requests === undefined || requests.done >= requests.total ? [] : [{ model, ...requests }];
    }),
  );
  return found.flat();
};

const tailOf = async (path: string, size: number): Promise<string> => {
  const file = await open(path);
  try {
    const from = Math.max(0, size - tailBytes);
    return (await readBlock(file, Buffer.alloc(size - from), from)).toString('latin1');
  } finally {
    await file.close();
  }
};
