/** What is chosen: whole layers, or attention and feed-forward of each. */
export const units = ['layer', 'module'] as const;

export type UnitKind = (typeof units)[number];

/** By what the top units are chosen: the language expert's share, or that less the task expert's. */
export const statistics = ['difference', 'change'] as const;

export type Statistic = (typeof statistics)[number];
