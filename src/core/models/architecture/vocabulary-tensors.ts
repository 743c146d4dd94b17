import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import type { Architecture } from './architecture.js';
import { isTokenHead } from './roles.js';

export interface VocabularyTensors {
  readonly rows: number;
  readonly names: ReadonlySet<string>;
  /** Tensors whose tokens are not rows (BART's bias `[1, rows]`), and heads with fewer rows. */
  readonly unmovable: readonly string[];
}

/** Maximum rows: sixty times the largest vocabulary. */
const mostRows = 2 ** 24;

/** Token embeddings. Position embeddings, and norms after embeddings, also have the role `embedding`. */
const embeddings =
  /(^|\.)(embed_tokens|embed_tokens_per_layer|tok_embeddings|embed_in|word_embeddings|wte|shared|embeddings)\.weight$/;
const ofDrafts = /\.layers\.\d+\.(embed_tokens|shared_head\.head)\.weight$/;

/** Gemma 3n's per-layer embeddings, whose vocabulary has another size. */
const ofLayers = /(^|\.)embed_tokens_per_layer\.weight$/;

/** Tensors whose dimension 0 is the vocabulary; undefined if no embeddings are recognised. */
export const vocabularyTensors = (
  { tensors }: CheckpointIndex,
  { places }: Architecture,
): VocabularyTensors | undefined => {
  const isEmbedding = (name: string) => places.get(name)?.role === 'embedding' && embeddings.test(name);
  const first = [...tensors].find(([name]) => isEmbedding(name))?.[1];
  const rows = first?.shape[0];
  // An empty tensor may claim any number of rows, and lists have an item per row.
  if (first === undefined || rows === undefined || first.shape.includes(0) || rows > mostRows)
    return undefined;
  // An unlisted tensor of this length is a head's bias, unless the width is the same number.
  const mayTell = first.shape[1] !== rows;
  const names = new Set(
    [...tensors].flatMap(([name, { shape }]) => {
      const role = places.get(name)?.role;
      const isOne =
        (isEmbedding(name) && !ofLayers.test(name)) ||
        role === 'head' ||
        (role === 'other' && mayTell) ||
        (role === 'tower' && ofDrafts.test(name));
      return isOne && shape[0] === rows ? [name] : [];
    }),
  );
  const unmovable = [...tensors].flatMap(([name, { shape }]) => {
    const role = places.get(name)?.role;
    const isAcross = mayTell && (role === 'head' || role === 'other') && shape.indexOf(rows, 1) > 0;
    const isOne =
      !names.has(name) &&
      (/(^|\.)final_logits_bias$/.test(name) || ofLayers.test(name) || isAcross || isTokenHead(name, role));
    return isOne ? [name] : [];
  });
  return { rows, names, unmovable };
};
