/** A part of a model's parameters, by who trains it. */
export type PartName = 'language' | 'task' | 'both' | 'neither';

export const partNames: readonly PartName[] = ['language', 'task', 'both', 'neither'];

/** A training whose parameters a partition names: that of a language, or that of a task. */
export type Side = 'language' | 'task';

export const sides: readonly Side[] = ['language', 'task'];
