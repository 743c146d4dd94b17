/** The parameters that the language training changes, the task training, both, or neither. */
export type PartName = 'language' | 'task' | 'both' | 'neither';

export const partNames: readonly PartName[] = ['language', 'task', 'both', 'neither'];

/** A training to which a partition assigns parameters. */
export type Side = 'language' | 'task';

export const sides: readonly Side[] = ['language', 'task'];
