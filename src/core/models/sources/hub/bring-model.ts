import { checkInterrupt, LayerloomError } from '../../../base/errors/errors.js';
import type { FoundModel } from '../../address/found-model.js';
import { isCommit, parseHubId } from '../../address/remote.js';
import { hasAllWeights } from '../../checkpoint/whole.js';
import type { FetchOptions } from '../source.js';
import { bringHeaders } from './bring-headers.js';
import { hubEnvironment } from './environment.js';
import { findInCaches } from './find-in-caches.js';

/**
 * Fetches a model's headers. Like the hub's library, resolves a branch or tag every time. If the hub cannot
 * be reached, warns and uses the last known commit.
 *
 * @returns warnings
 * @throws as `bringHeaders`
 */
export const bringModel = async (model: string, options: FetchOptions): Promise<string[]> => {
  const found = await findInCaches(model);
  const here =
    found !== undefined && 'path' in found && (await hasAllWeights(found.path)) ? found : undefined;
  if (here !== undefined && isCommit(parseHubId(model)?.revision ?? '')) return [];
  try {
    await bringHeaders(model, options);
    const { offline } = await hubEnvironment();
    return here === undefined || offline === undefined
      ? []
      : [warningOf(model, here, `${offline} forbids asking it`)];
  } catch (error) {
    checkInterrupt(options.signal);
    if (here === undefined || !isUnreachable(error)) throw error;
    return [warningOf(model, here, error.message)];
  }
};

const isUnreachable = (error: unknown): error is LayerloomError =>
  error instanceof LayerloomError && error.code === 'HUB_UNAVAILABLE';

const warningOf = (model: string, { hub, path }: FoundModel, reason: string): string =>
  `${model} is taken as it was when the hub was last asked (${hub?.revision ?? path}): ${reason}`;
