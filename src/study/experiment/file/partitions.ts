import { resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors.js';
import { patternsOf } from '../../../core/measure/partition/patterns.js';
import { readPartition } from '../../../core/measure/partition/read-partition.js';
import type { TensorParts } from '../../../core/methods/framework/tensors/tensor-parts.js';
import { isText, type Mapping, type Tree } from '../../../core/methods/recipe/tree.js';

/** The partitions that merges of an experiment name, by the text that names each; an error for one that cannot be read. */
export type Partitions = ReadonlyMap<string, TensorParts | LayerloomError>;

const textsIn = (tree: Tree | undefined): string[] => {
  if (tree?.kind === 'list') return tree.items.flatMap(textsIn);
  return tree !== undefined && isText(tree) ? [tree.value] : [];
};

/**
 * Reads the files under `partition` of merges. An error is kept for whoever carries the experiment out: the file
 * may be made after it.
 *
 * @param directory in which relative paths begin
 */
export const partitionsOf = async (trees: readonly Mapping[], directory: string): Promise<Partitions> => {
  const files = new Set(trees.flatMap(({ entries }) => textsIn(entries.get('partition')?.value)));
  return new Map(
    await Promise.all(
      [...files].map(async (file) => {
        const parts = await readPartition(resolve(directory, file))
          .then(patternsOf)
          .catch((error: unknown) => {
            if (error instanceof LayerloomError) return error;
            throw error;
          });
        return [file, parts] as const;
      }),
    ),
  );
};

/** @throws LayerloomError READ_FAILED, PARTITION_INVALID for a partition that cannot be read */
export const requirePartitions = ({ partitions }: { readonly partitions: Partitions }): void => {
  for (const parts of partitions.values()) if (parts instanceof LayerloomError) throw parts;
};
