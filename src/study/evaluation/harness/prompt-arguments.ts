import { join } from 'node:path';
import { exists } from '../../../core/base/files/exists.js';
import { isObject, readJsonObject } from '../../../core/models/checkpoint/files/json.js';

/** Keys for the context length in `config.json`, in the harness's order. */
const lengthKeys = ['n_positions', 'max_position_embeddings', 'n_ctx'];

/**
 * Returns the harness's `max_length` and `add_bos_token` for a checkpoint behind a server, so that prompts
 * equal those of `hf`. By default the harness adds no special tokens and silently cuts prompts from the left
 * to 2048 tokens. MGSM's eight exemplars are longer in many languages.
 *
 * @param isTemplated true if a chat template writes the special tokens
 * @throws READ_FAILED, CONFIG_INVALID
 */
export const promptArguments = async (
  path: string,
  isTemplated: boolean,
): Promise<{ max_length?: number; add_bos_token: boolean }> => {
  const maxLength = await maxLengthOf(join(path, 'config.json'));
  return { ...(maxLength === undefined ? {} : { max_length: maxLength }), add_bos_token: !isTemplated };
};

const maxLengthOf = async (file: string): Promise<number | undefined> => {
  if (!(await exists(file))) return undefined;
  const config = await readJsonObject(file);
  const text = config['text_config'];
  const stated = lengthKeys.map((key) => (isObject(text) ? text : config)[key]);
  return stated.find((length) => typeof length === 'number');
};
