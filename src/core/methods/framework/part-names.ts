/** Names of parts: parameters that the language training changes, the task training, both, or neither. */
export type PartName = 'language' | 'task' | 'both' | 'neither';

export const partNames: readonly PartName[] = ['language', 'task', 'both', 'neither'];

export type Side = 'language' | 'task';

export const sides: readonly Side[] = ['language', 'task'];
