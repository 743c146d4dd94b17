/** `layer`: a shard for each layer, embeddings, final norm and head. `size`: shards of limited size. */
export const layouts = ['layer', 'size'] as const;

/** How an output is divided into shards: by layer or by size. */
export type Layout = (typeof layouts)[number];
