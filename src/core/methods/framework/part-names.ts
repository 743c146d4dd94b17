/**
 * Names of parts: parameters changed by the language training, by the task training, by both, or by neither.
 */
export type PartName = 'language' | 'task' | 'both' | 'neither';

export const partNames: readonly PartName[] = ['language', 'task', 'both', 'neither'];

export type Side = 'language' | 'task';

export const sides: readonly Side[] = ['language', 'task'];
