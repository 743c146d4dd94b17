import { realpathSync } from 'node:fs';
import { LayerloomError } from '../../core/base/errors.js';
import { itemAt } from '../../core/base/lookup.js';
import type { ClaimedVolume } from '../../study/schedulers/kubernetes.js';

/** Parses `CLAIM=PATH` or `CLAIM=PATH:ro`. @throws LayerloomError USAGE */
export const volumeOf = (given: string): ClaimedVolume => {
  const { claim, path, mode } = /^(?<claim>[^=]+)=(?<path>.+?)(?<mode>:ro)?$/s.exec(given)?.groups ?? {};
  if (claim === undefined || path === undefined)
    throw new LayerloomError('USAGE', {
      reason: `--volume ${given}: expected CLAIM=PATH, such as models=/data`,
    });
  return { claim, path, readOnly: mode !== undefined };
};

/** Absolute paths of this Node and this script, because compute nodes may have another PATH. */
export const ownCommand = (): string[] => [process.execPath, realpathSync(itemAt(process.argv, 1))];
