/** Whole layers, or attention and feed-forward of each. */
export const units = ['layer', 'module'] as const;

export type UnitKind = (typeof units)[number];

/**
 * Statistics that rank units: `difference` is the language expert's share minus the task expert's share;
 * `change` is the language expert's share alone.
 */
export const statistics = ['difference', 'change'] as const;

export type Statistic = (typeof statistics)[number];
