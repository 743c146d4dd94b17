/** Whole layers, or the attention and feed-forward modules of each layer. */
export const units = ['layer', 'module'] as const;

export type UnitKind = (typeof units)[number];

/**
 * Ranks units by the language expert's share (`change`), or by this minus the task expert's (`difference`).
 */
export const statistics = ['difference', 'change'] as const;

export type Statistic = (typeof statistics)[number];
