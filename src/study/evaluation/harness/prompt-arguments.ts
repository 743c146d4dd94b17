import { join } from 'node:path';
import { exists } from '../../../core/base/exists.js';
import { isObject, readJsonObject } from '../../../core/models/checkpoint/json.js';

/** Keys of `config.json` with the most tokens of a prompt and its answer, in the order in which the harness looks. */
const lengthKeys = ['n_positions', 'max_position_embeddings', 'n_ctx'];

/**
 * Returns the harness's `max_length` and `add_bos_token` for a checkpoint behind a server, so that the server is
 * sent the prompts that `hf` would give the model. The harness's own defaults for servers are 2048 tokens, to which
 * it cuts longer prompts from the left without a word (eight exemplars of MGSM are longer in many languages), and no
 * special tokens. `add_bos_token` lets the tokenizer add those that it adds by itself, which may be none.
 *
 * @param path of the checkpoint; a length that its configuration does not state is left out
 * @param isTemplated true if a chat template is applied, which writes the special tokens itself
 * @throws LayerloomError READ_FAILED, CONFIG_INVALID
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
