import { LayerloomError } from '../base/errors.js';
import { splitAdapter } from '../checkpoint/adapter-text.js';
import { locate } from '../checkpoint/locate.js';
import { baseOf } from '../compile/adapters/form.js';
import { isBareAdapter } from '../model/adapters/open-adapter.js';

/** The back end of the harness that loads adapters on their base. */
const backendOfAdapters = 'hf';

/**
 * Returns the harness's arguments that name the weights of a model: `pretrained`, and `peft` for an adapter, which is
 * `BASE+ADAPTER` or a directory whose configuration names its base.
 *
 * @param path absolute: of a model's directory, or of two with a plus between
 * @throws LayerloomError ADAPTER_UNSUPPORTED for other back ends than `hf`; BASE_NEEDED
 */
export const weightsArguments = async (
  path: string,
  backend: string,
): Promise<{ readonly pretrained: string; readonly peft?: string }> => {
  const parts = await splitAdapter(path);
  const adapter = parts?.adapter ?? ((await isBareAdapter(path)) ? path : undefined);
  if (adapter === undefined) return { pretrained: path };
  if (backend !== backendOfAdapters)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: adapter,
      what: 'an adapter',
      reason: `is not loaded by the harness's ${backend}`,
      remedy: `evaluate it with backend: ${backendOfAdapters}, or merge to full weights (--as full)`,
    });
  return { pretrained: parts?.base ?? (await locate(await baseOf(adapter))).path, peft: adapter };
};
