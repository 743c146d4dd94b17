import { dirname, join } from 'node:path';
import { LayerloomError } from '../base/errors.js';
import { exists } from '../base/exists.js';
import { describeCollection, describeStore, describeVerification } from '../documents/text/store-text.js';
import { markerName } from '../store/paths.js';
import { ShardStore } from '../store/shard-store.js';
import { interruptSignal } from './interrupt.js';
import type { OutputOptions } from './options.js';
import { printJson, printLine, warn } from './print.js';
import { ProgressDisplay } from './progress.js';

const print = <Result>(
  result: Result,
  describe: (result: Result) => string,
  options: OutputOptions,
): void => {
  if (options.json) printJson(result);
  else if (!options.quiet) printLine(describe(result));
};

/** Opens a store by its directory, or by that of a batch which has it as `.store`. */
const openAt = async (directory: string): Promise<ShardStore> => {
  const inside = join(directory, '.store', markerName);
  const isBatch = !(await exists(join(directory, markerName))) && (await exists(inside));
  return ShardStore.open(isBatch ? dirname(inside) : directory);
};

export const storeLsCommand = async (directory: string, options: OutputOptions): Promise<void> => {
  const store = await openAt(directory);
  print(await store.list(), describeStore, options);
};

/**
 * Verifies a store and prints the result. With `--json` a damaged store's result is printed once, as the
 * error's details.
 *
 * @throws LayerloomError STORE_DAMAGED
 */
export const storeVerifyCommand = async (
  directory: string,
  { threads, ...options }: OutputOptions & { readonly threads?: number },
): Promise<void> => {
  const store = await openAt(directory);
  const progress = new ProgressDisplay(process.stderr);
  const { signal, release } = interruptSignal();
  try {
    const onProgress = options.quiet ? undefined : progress.show;
    const result = await store.verify({ threads, signal, onProgress });
    progress.end();
    if (!options.quiet) result.warnings.forEach(warn);
    const isDamaged = result.damaged.length > 0;
    if (!(isDamaged && options.json)) print(result, describeVerification, options);
    if (isDamaged) throw new LayerloomError('STORE_DAMAGED', result);
  } finally {
    progress.end();
    release();
  }
};

export const storeGcCommand = async (
  directory: string,
  { dryRun, ...options }: OutputOptions & { readonly dryRun?: boolean },
): Promise<void> => {
  const store = await openAt(directory);
  const { signal, release } = interruptSignal();
  try {
    print(await store.gc({ dryRun, signal }), describeCollection, options);
  } finally {
    release();
  }
};
