import { checkInterrupt } from '../../base/errors/errors.js';
import { parseAddress, partsOf } from '../address/address.js';
import type { Download, DownloadProgress, FetchOptions } from './source.js';
import { remoteSources } from './sources.js';

export interface BringModelsOptions extends Pick<FetchOptions, 'signal'> {
  readonly download?: Download | undefined;
  readonly onProgress?: ((progress: DownloadProgress & { readonly phase: 'download' }) => void) | undefined;
}

/**
 * Fetches headers and small files of remote models, if allowed, so that `readModel` finds them.
 *
 * @param models as spelt in recipes; local paths are skipped
 * @returns warnings
 * @throws as `bringHeaders`
 */
export const bringModels = async (
  models: Iterable<string>,
  { download = false, signal, onProgress }: BringModelsOptions,
): Promise<string[]> => {
  if (download === false) return [];
  const wanted = new Set<string>();
  for (const model of models)
    for (const part of partsOf(await parseAddress(model)))
      if (part.kind === 'model' && !part.isHere) wanted.add(part.at);
  const warnings: string[] = [];
  for (const at of wanted) {
    const source = remoteSources.find((one) => one.names(at));
    if (source === undefined) continue;
    checkInterrupt(signal);
    const progress = (of: DownloadProgress) => onProgress?.({ phase: 'download', ...of });
    warnings.push(...(await source.bringHeaders(at, { signal, onProgress: progress })));
  }
  return warnings;
};
