import { LayerloomError } from '../../../base/errors/errors.js';
import { isForbidden } from '../../../base/files/unless-missing.js';
import { type ModelAddress, parseAddress, printAddress } from '../../../models/address/address.js';
import { splitName, withName } from '../../../models/address/name.js';
import { isBareAdapter, readAdapter } from '../../../models/reading/read-model.js';
import { locateIfHere } from '../../../models/sources/locate.js';

/** Returns `BASE+ADAPTER` for a bare adapter; returns other models unchanged. */
export const onBase = async (model: string, base: string): Promise<string> => {
  const address = await parseAddress(model);
  return (await isBareAdapter(address)) ? withBaseIn(address, base) : model;
};

/** Returns `BASE+ADAPTER`, with the adapter's `NAME=` in front. */
export const withBaseIn = ({ name, ...adapter }: ModelAddress, base: string): string =>
  withName(name, `${splitName(base).rest}+${printAddress(adapter)}`);

/**
 * Returns the base that an adapter names.
 *
 * @throws BASE_NEEDED, READ_FAILED
 */
export const baseOf = async (model: ModelAddress): Promise<string> => {
  const { checkpoint, config } = await readAdapter(model);
  const { base } = config;
  const needed = (reason: string, cause?: unknown) =>
    new LayerloomError('BASE_NEEDED', { adapter: checkpoint.path, reason }, { cause });
  if (base === undefined) throw needed('does not name its base, which is needed');
  const found = await whereOf(base).catch((error: unknown) => {
    // The path is from the training machine; here it may be in an unreadable folder.
    if (!isForbidden(error)) throw error;
    throw needed(`is of the base ${base}, which is needed: ${(error as Error).message}`, error);
  });
  if (found === undefined) throw needed(`is of the base ${base}, which is needed and is not here`);
  return base;
};

const whereOf = async (model: string) => locateIfHere(await parseAddress(model));
