/** Whole layers, or attention and feed-forward of each. */
export const units = ['layer', 'module'] as const;

export type UnitKind = (typeof units)[number];

/** The language expert's share minus the task expert's, or the former alone. */
export const statistics = ['difference', 'change'] as const;

export type Statistic = (typeof statistics)[number];
