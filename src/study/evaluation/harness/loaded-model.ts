import { LayerloomError } from '../../../core/base/errors/errors.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { parseAddress, printAddress } from '../../../core/models/address/address.js';
import { refuseUnlikeLoaders } from '../../../core/models/reading/as-loaded.js';
import { isBareAdapter, openModel } from '../../../core/models/reading/read-model.js';
import { baseOf } from '../../../core/plan/compile/adapters/named-base.js';

const backendOfAdapters = 'hf';

/**
 * Returns the model arguments `pretrained` and, for an adapter, `peft`.
 *
 * @param path from `pathToLoad`, or a merge's directory
 * @throws ADAPTER_UNSUPPORTED if the back end is not `hf`; BASE_NEEDED, NOT_AS_LOADED, READ_FAILED
 */
export const weightsArguments = async (
  path: string,
  backend: string,
): Promise<{ readonly pretrained: string; readonly peft?: string }> => {
  const address = await parseAddress(path);
  if (address.kind === 'model' && !(await isBareAdapter(address))) return { pretrained: path };
  const adapter = address.kind === 'adapted' ? address.adapter : address;
  if (backend !== backendOfAdapters)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: printAddress(adapter),
      what: 'an adapter',
      reason: `is not loaded by the harness's ${backend}`,
      remedy: `evaluate it with backend: ${backendOfAdapters}, or merge to full weights (${optionName('as', 'full')})`,
    });
  if (address.kind === 'adapted')
    return { pretrained: printAddress(address.base), peft: printAddress(adapter) };
  const base = await openModel(await baseOf(adapter));
  refuseUnlikeLoaders(base, 'evaluate');
  return { pretrained: base.path, peft: printAddress(adapter) };
};
