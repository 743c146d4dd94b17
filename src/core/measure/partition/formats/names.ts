/** Formats with one file for both sides of a partition. */
export const formatsOfBoth = ['json', 'python'] as const;

/** Formats with one file a side. */
export const formatsBySide = ['peft', 'llama-factory', 'axolotl', 'names', 'regex'] as const;

/** A form that a partition is written in: for a trainer, as names, or as JSON. */
export type PartitionFormat = (typeof formatsOfBoth)[number] | (typeof formatsBySide)[number];

export const partitionFormats: readonly PartitionFormat[] = [...formatsOfBoth, ...formatsBySide];
