/** Whole layers, or each layer's attention and feed-forward modules. */
export const units = ['layer', 'module'] as const;

export type UnitKind = (typeof units)[number];

/**
 * Statistic that ranks units: the language expert's share (`change`), or that minus the task expert's
 * (`difference`).
 */
export const statistics = ['difference', 'change'] as const;

export type Statistic = (typeof statistics)[number];
