/**
 * `layer`: a shard for each layer, and for embeddings, final norm and head. `size`: as full as the limit
 * allows, in the model's order.
 */
export const layouts = ['layer', 'size'] as const;

/** Shards of an output: one a layer, or of up to a size. */
export type Layout = (typeof layouts)[number];
