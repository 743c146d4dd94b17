import { resolve } from 'node:path';
import { checkInterrupt, LayerloomError } from '../base/errors.js';
import { sidesOf } from '../checkpoint/adapter-text.js';
import { parseHubId } from '../checkpoint/hub-cache.js';
import { locate } from '../checkpoint/locate.js';
import { exists, type Location, splitName } from '../checkpoint/model-place.js';
import { hasAllWeights } from '../checkpoint/whole.js';
import type { Download } from './download.js';
import { hubEnvironment } from './environment.js';
import type { DownloadProgress, HubOptions } from './hub.js';

/** A caller's options, as those of runs over weights. */
export interface BringModelsOptions extends Pick<HubOptions, 'signal'> {
  readonly download?: Download | undefined;
  readonly onProgress?: ((progress: DownloadProgress & { readonly phase: 'download' }) => void) | undefined;
}

/**
 * Fetches headers and small files of models of the hub, where the caller says so, so that `openCheckpoint` finds
 * them. A branch or tag is asked for anew, as the hub's own library does; where the hub cannot be reached, the
 * commit that it had when it was last asked for is taken, with a warning.
 *
 * @param models as recipes spell them; those that are paths here are left alone
 * @returns warnings
 * @throws LayerloomError the codes of `bringHeaders`
 */
export const bringModels = async (
  models: Iterable<string>,
  { download = false, signal, onProgress }: BringModelsOptions,
): Promise<string[]> => {
  if (download === false) return [];
  const wanted = new Set<string>();
  for (const model of models) {
    for (const side of await sidesOf(model)) {
      const text = await hubTextOf(side);
      if (text !== undefined) wanted.add(text);
    }
  }
  const warnings: string[] = [];
  for (const model of wanted) {
    checkInterrupt(signal);
    warnings.push(
      ...(await bringModel(model, {
        signal,
        onProgress: (progress) => onProgress?.({ phase: 'download', ...progress }),
      })),
    );
  }
  return warnings;
};

/** Returns `org/name[@revision]` without a name in front; undefined for a model that is a path here. */
const hubTextOf = async (model: string): Promise<string | undefined> => {
  if (await exists(resolve(model))) return undefined;
  const named = splitName(model);
  if (named !== undefined) return await hubTextOf(named.rest);
  return parseHubId(model) === undefined ? undefined : model;
};

const commit = /@[0-9a-f]{40}$/;

const bringModel = async (model: string, options: HubOptions): Promise<string[]> => {
  const found = await locate(model).catch(notHere);
  const here = found !== undefined && (await hasAllWeights(found.path)) ? found : undefined;
  // A commit does not move.
  if (here !== undefined && commit.test(model)) return [];
  // Loaded on demand: most runs ask nothing of the hub.
  const { bringHeaders } = await import('./bring-headers.js');
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

const notHere = (error: unknown): undefined => {
  if (!(error instanceof LayerloomError) || error.code !== 'MODEL_NOT_FOUND') throw error;
  return undefined;
};

const isUnreachable = (error: unknown): error is LayerloomError =>
  error instanceof LayerloomError && error.code === 'HUB_UNAVAILABLE';

const warningOf = (model: string, { hub, path }: Location, reason: string): string =>
  `${model} is taken as it was when the hub was last asked (${hub?.revision ?? path}): ${reason}`;
