/** Units to choose: whole layers, or the attention and feed-forward modules of each layer. */
export const units = ['layer', 'module'] as const;

export type UnitKind = (typeof units)[number];

/**
 * Statistics by which units are ranked: `difference` is the language expert's share minus the task expert's;
 * `change` is the language expert's share.
 */
export const statistics = ['difference', 'change'] as const;

export type Statistic = (typeof statistics)[number];
