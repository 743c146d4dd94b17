import { dirname, join } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { exists } from '../../../core/base/files/exists.js';
import { markerName } from '../../../study/store/files/paths.js';
import { ShardStore } from '../../../study/store/shard-store.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { describeCollection, describeStore, describeVerification } from '../../text/studies/store-text.js';
import { show, watched } from '../running/show.js';

/** Opens a store by its own directory, or by the directory of a batch that has it in `.store`. */
const openAt = async (directory: string): Promise<ShardStore> => {
  const inside = join(directory, '.store', markerName);
  const isBatch = !(await exists(join(directory, markerName))) && (await exists(inside));
  return ShardStore.open(isBatch ? dirname(inside) : directory);
};

interface StoreCommandOptions extends OutputOptions {
  readonly directory: string;
}

export const storeLsCommand = async (options: StoreCommandOptions): Promise<void> => {
  const store = await openAt(options.directory);
  show(await store.list(), options, describeStore);
};

/**
 * With `--json`, a damaged store prints its result only as `details` of the error.
 *
 * @throws STORE_DAMAGED
 */
export const storeVerifyCommand = async (
  options: StoreCommandOptions & { readonly threads?: number },
): Promise<void> => {
  const { threads } = options;
  const store = await openAt(options.directory);
  const result = await watched(options, (watch) => store.verify({ threads, ...watch }));
  if (!options.quiet) result.warnings.forEach(warn);
  const isDamaged = result.damaged.length > 0;
  if (!(isDamaged && options.json)) show(result, options, describeVerification);
  if (isDamaged) throw new LayerloomError('STORE_DAMAGED', result);
};

export const storeGcCommand = async (
  options: StoreCommandOptions & { readonly dryRun?: boolean },
): Promise<void> => {
  const { dryRun } = options;
  const store = await openAt(options.directory);
  show(await watched(options, ({ signal }) => store.gc({ dryRun, signal })), options, describeCollection);
};
