import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, readJsonObject } from '../checkpoint/json.js';

type Json = Readonly<Record<string, unknown>>;

/** Keys of `config.json` with the most tokens of a prompt and its answer, in the order in which the harness looks. */
const lengthKeys = ['n_positions', 'max_position_embeddings', 'n_ctx'];

/**
 * Returns the harness's `max_length` and `add_bos_token` for a checkpoint behind a server, so that the server is
 * sent the prompts that `hf` would give the model. The harness's own defaults for servers are 2048 tokens, to which
 * it cuts longer prompts from the left without a word (eight exemplars of MGSM are longer in many languages), and no
 * BOS token.
 *
 * @param path of the checkpoint; what its files do not say is left out
 * @param isTemplated true if a chat template is applied, which writes the BOS token itself
 * @throws LayerloomError READ_FAILED, CONFIG_INVALID
 */
export const promptArguments = async (
  path: string,
  isTemplated: boolean,
): Promise<{ max_length?: number; add_bos_token?: true }> => {
  const config = await readIfThere(join(path, 'config.json'));
  const text = config?.['text_config'];
  const maxLength = lengthKeys.flatMap((key) => (isObject(text) ? text : config)?.[key] ?? [])[0];
  return {
    ...(typeof maxLength === 'number' ? { max_length: maxLength } : {}),
    ...(!isTemplated && (await addsBos(path)) ? { add_bos_token: true } : {}),
  };
};

/** True if a checkpoint's tokenizer begins every text with the BOS token: its setting, else its post-processor. */
const addsBos = async (path: string): Promise<boolean> => {
  const stated = (await readIfThere(join(path, 'tokenizer_config.json')))?.['add_bos_token'];
  if (typeof stated === 'boolean') return stated;
  const processor = (await readIfThere(join(path, 'tokenizer.json')))?.['post_processor'];
  return isObject(processor) && processorsIn(processor).some(beginsWithToken);
};

const processorsIn = (processor: Json): Json[] => {
  const inner = processor['processors'];
  return Array.isArray(inner) ? inner.filter(isObject) : [processor];
};

/** True if a template puts a token of its own before a text. */
const beginsWithToken = ({ type, single }: Json): boolean => {
  const first: unknown = Array.isArray(single) ? single[0] : undefined;
  return type === 'TemplateProcessing' && isObject(first) && 'SpecialToken' in first;
};

const readIfThere = async (file: string): Promise<Json | undefined> => {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  return isThere ? await readJsonObject(file) : undefined;
};
