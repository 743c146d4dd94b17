/**
 * `layer`: a shard for each layer, and for embeddings, final norm and head. `size`: as full as the limit
 * allows, in the model's order.
 */
export const layouts = ['layer', 'size'] as const;

export type Layout = (typeof layouts)[number];
