/**
 * `layer`: one shard per layer, and for embeddings, final norm and head. `size`: filled up to the limit, in
 * model order.
 */
export const layouts = ['layer', 'size'] as const;

/** How an output is divided into shards: by layer or by size. */
export type Layout = (typeof layouts)[number];
