import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt } from '../../../base/errors/lookup.js';
import { vocabularyTensors } from '../../../models/architecture/vocabulary-tensors.js';
import { vocabularyEdits } from '../../../models/checkpoint/config/token-ids.js';
import type { TokenizerReader } from '../../../models/tokenizer/files/read-tokenizer.js';
import { quote } from '../../../models/tokenizer/files/words.js';
import type { TensorReference } from '../../../tensor/reference.js';
import type { Model } from '../inputs/compatible.js';

export interface WithSharedRows<M extends Model> {
  readonly models: readonly M[];
  readonly isDecided: boolean;
  readonly warnings: readonly string[];
}

/**
 * Cuts embeddings and heads before the first id whose token differs between models: fine-tuning adds tokens
 * at the end, and an added token has no task vector. Does nothing if vocabularies are equal or tokenizers
 * unreadable.
 *
 * @param models the base, then experts
 * @throws TOKENIZER_MISMATCH if a token has different ids; READ_FAILED, CONFIG_INVALID
 */
export const withSharedRows = async <M extends Model>(
  models: readonly M[],
  tokenizers: TokenizerReader,
): Promise<WithSharedRows<M>> => {
  const unchanged = { models, isDecided: false, warnings: [] };
  const found = models.map(({ checkpoint, architecture }) => vocabularyTensors(checkpoint, architecture));
  const counts = found.flatMap((one) => one?.rows ?? []);
  const readable = await Promise.all(models.map(({ checkpoint }) => tokenizers.hasTokens(checkpoint)));
  if (counts.length < models.length || readable.includes(false)) return unchanged;
  const ids = await Promise.all(models.map(({ checkpoint }) => tokenizers.idsOf(checkpoint)));
  const first = itemAt(models, 0).checkpoint;
  let shared = Math.min(...counts);
  for (const [index, { checkpoint }] of models.entries()) {
    if (index === 0) continue;
    const [a, b] = [itemAt(ids, 0), itemAt(ids, index)];
    const tokens = [...b].filter(([token, id]) => (a.get(token) ?? id) !== id);
    if (tokens.length > 0)
      throw new LayerloomError('TOKENIZER_MISMATCH', {
        first: first.path,
        other: checkpoint.path,
        tokens: tokens.map(([token, id]) => `${quote(token)} ${id} against ${a.get(token)}`),
        remedy: 'Only experts whose shared tokens have the ids of the base can be compared with it',
      });
    for (const [token, id] of a) if (id < shared && !b.has(token)) shared = id;
    for (const [token, id] of b) if (id < shared && !a.has(token)) shared = id;
  }
  if (counts.every((count) => count === shared)) return { ...unchanged, isDecided: true };
  if (shared === 0) return unchanged;
  const most = Math.max(...counts);
  return {
    models: models.map((model, index) => cut(model, itemAt(counts, index), shared, itemAt(found, index))),
    isDecided: true,
    warnings: [
      `vocabularies differ: of the embeddings and the head the first ${shared} of up to ${most} rows are compared, whose tokens all models share`,
    ],
  };
};

const cut = <M extends Model>(
  model: M,
  from: number,
  to: number,
  vocabulary: ReturnType<typeof vocabularyTensors>,
): M => {
  const { checkpoint } = model;
  const { config } = checkpoint;
  const cutTensor = (tensor: TensorReference): TensorReference => ({
    ...tensor,
    shape: [to, ...tensor.shape.slice(1)],
    end: tensor.begin + ((tensor.end - tensor.begin) / from) * to,
  });
  const edits = config && vocabularyEdits(config, { from, to, idOf: (id) => id });
  return {
    ...model,
    checkpoint: {
      ...checkpoint,
      config: config && { ...config, ...edits },
      tensors: new Map(
        [...checkpoint.tensors].map(([name, tensor]) => [
          name,
          vocabulary?.names.has(name) ? cutTensor(tensor) : tensor,
        ]),
      ),
    },
  };
};
