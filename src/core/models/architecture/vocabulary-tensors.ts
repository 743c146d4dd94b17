import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import type { Architecture } from './architecture.js';
import { isTokenHead } from './roles.js';

/** Tensors with a row for each token. */
export interface VocabularyTensors {
  /** The number of rows: those of the token embeddings. */
  readonly rows: number;
  /** Names of the embeddings, of the head and its bias, and of those of draft layers. */
  readonly names: ReadonlySet<string>;
  /**
   * Names of tensors that give a number to each token and not one row: BART's bias `[1, rows]`, and a head of fewer rows than
   * there are embeddings. Their tokens cannot be moved.
   */
  readonly unmovable: readonly string[];
}

/** Limit on rows, sixty times as many as any vocabulary has. */
const mostRows = 2 ** 24;

/** Embeddings of tokens; those of positions, and norms behind embeddings, have the same role. */
const embeddings =
  /(^|\.)(embed_tokens|embed_tokens_per_layer|tok_embeddings|embed_in|word_embeddings|wte|shared|embeddings)\.weight$/;
/** Draft layers for multi-token prediction have embeddings and a head of their own. */
const ofDrafts = /\.layers\.\d+\.(embed_tokens|shared_head\.head)\.weight$/;

/** Embeddings that Gemma 3n has besides, for its layers, in a vocabulary of a size of its own. */
const ofLayers = /(^|\.)embed_tokens_per_layer\.weight$/;

/**
 * Returns a model's tensors whose dimension 0 is the vocabulary; undefined for a model without embeddings that
 * are known as such.
 */
export const vocabularyTensors = (
  { tensors }: CheckpointIndex,
  { places }: Architecture,
): VocabularyTensors | undefined => {
  const isEmbedding = (name: string) => places.get(name)?.role === 'embedding' && embeddings.test(name);
  const first = [...tensors].find(([name]) => isEmbedding(name))?.[1];
  const rows = first?.shape[0];
  // Lists are made of as many as there are rows: a tensor without elements may say any number.
  if (first === undefined || rows === undefined || first.shape.includes(0) || rows > mostRows)
    return undefined;
  const names = new Set(
    [...tensors].flatMap(([name, { shape }]) => {
      const role = places.get(name)?.role;
      const isOne =
        (isEmbedding(name) && !ofLayers.test(name)) ||
        role === 'head' ||
        (role === 'tower' && ofDrafts.test(name));
      return isOne && shape[0] === rows ? [name] : [];
    }),
  );
  const unmovable = [...tensors.keys()].filter(
    (name) =>
      !names.has(name) &&
      (/(^|\.)final_logits_bias$/.test(name) ||
        ofLayers.test(name) ||
        isTokenHead(name, places.get(name)?.role)),
  );
  return { rows, names, unmovable };
};
