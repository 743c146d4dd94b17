import { resolve } from 'node:path';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { patternsOf } from '../../../../core/measure/partition/patterns.js';
import { readPartition } from '../../../../core/measure/partition/read-partition.js';
import type { TensorParts } from '../../../../core/methods/framework/tensors/tensor-parts.js';
import { isText, type Mapping, type Tree } from '../../../../core/methods/recipe/document/tree.js';

/** Partitions of merges, by their text in the file; an unreadable one is stored as its error. */
export type Partitions = ReadonlyMap<string, TensorParts | LayerloomError>;

const textsIn = (tree: Tree | undefined): string[] => {
  if (tree?.kind === 'list') return tree.items.flatMap(textsIn);
  return tree !== undefined && isText(tree) ? [tree.value] : [];
};

/** Reads the files named by `partition`. Keeps errors until the run, because the file may be made later. */
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

/** @throws READ_FAILED, PARTITION_INVALID */
export const requirePartitions = ({ partitions }: { readonly partitions: Partitions }): void => {
  for (const parts of partitions.values()) if (parts instanceof LayerloomError) throw parts;
};
