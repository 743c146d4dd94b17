export const formatsOfBoth = ['json', 'python'] as const;

export const formatsBySide = ['peft', 'llama-factory', 'axolotl', 'names', 'regex'] as const;

/** Format of a partition: for a trainer, as names, or as JSON. */
export type PartitionFormat = (typeof formatsOfBoth)[number] | (typeof formatsBySide)[number];

export const partitionFormats: readonly PartitionFormat[] = [...formatsOfBoth, ...formatsBySide];
