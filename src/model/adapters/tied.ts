import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { isObject } from '../../checkpoint/json.js';

const embeddings = /(^|\.)(embed_tokens|wte|word_embeddings|embed_in|tok_embeddings)\.weight$/;
const heads = /^(language_model\.)?(lm_head|embed_out|output)\.weight$/;

/** Returns the name of the token embeddings. */
export const embeddingOf = ({ tensors }: CheckpointIndex): string | undefined =>
  [...tensors.keys()].find((name) => embeddings.test(name));

/** Returns the name of the head; `lm_head.weight` where the checkpoint has none. */
export const headOf = ({ tensors }: CheckpointIndex): string =>
  [...tensors.keys()].find((name) => heads.test(name)) ?? 'lm_head.weight';

/** True if a checkpoint's head is its embeddings: it has none, or its configuration says so. */
export const isTied = (checkpoint: CheckpointIndex): boolean => {
  const { config, tensors } = checkpoint;
  const text = config?.['text_config'];
  const says = config?.['tie_word_embeddings'] ?? (isObject(text) ? text['tie_word_embeddings'] : undefined);
  return says === true || !tensors.has(headOf(checkpoint));
};
