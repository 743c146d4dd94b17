import { parseAddress, printAddress } from '../address/address.js';
import { LayerloomError } from '../base/errors.js';
import { optionName } from '../base/option-name.js';
import { baseOf } from '../compile/adapters/form.js';
import { isBareAdapter } from '../model/adapters/open-adapter.js';
import { locateText } from '../sources/locate.js';

/** The back end of the harness that loads adapters on their base. */
const backendOfAdapters = 'hf';

/**
 * Returns the harness's arguments that name the weights of a model: `pretrained`, and `peft` for an adapter, which is
 * `BASE+ADAPTER` or a directory whose configuration names its base.
 *
 * @param path absolute: of a model's directory, or of two with a plus between
 * @throws LayerloomError ADAPTER_UNSUPPORTED for other back ends than `hf`; BASE_NEEDED, READ_FAILED
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
  const pretrained =
    address.kind === 'adapted' ? printAddress(address.base) : (await locateText(await baseOf(adapter))).path;
  return { pretrained, peft: printAddress(adapter) };
};
