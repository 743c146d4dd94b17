/**
 * `layer`: one shard per layer, and for embeddings, final norm and head. `size`: filled up to the limit, in
 * model order.
 */
export const layouts = ['layer', 'size'] as const;

export type Layout = (typeof layouts)[number];
