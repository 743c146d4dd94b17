/** A part of a model's parameters, by which training changes it. */
export type PartName = 'language' | 'task' | 'both' | 'neither';

export const partNames: readonly PartName[] = ['language', 'task', 'both', 'neither'];

/** A training that a partition assigns parameters to. */
export type Side = 'language' | 'task';

export const sides: readonly Side[] = ['language', 'task'];
