import type { TensorParts } from '../../methods/framework/tensors/tensor-parts.js';
import { type Partition, type PartName, partNames } from './partition.js';

/** A common prefix: its names, and below it the names by next part. */
interface Branch {
  readonly names: string[];
  readonly parts: Set<PartName>;
  readonly below: Map<string, Branch>;
}

const branch = (): Branch => ({ names: [], parts: new Set(), below: new Map() });

/**
 * Returns patterns that match exactly a part's names: `PREFIX.*` where all names with a prefix are in the
 * part, otherwise whole names.
 */
export const patternsOf = ({ parts }: Pick<Partition, 'parts'>): TensorParts => {
  const found: Record<PartName, string[]> = { language: [], task: [], both: [], neither: [] };
  const collect = (prefix: string, { names, parts: within, below }: Branch): void => {
    const [part] = within;
    const isPrefix = names.every((name) => name.startsWith(`${prefix}.`));
    if (within.size === 1 && part !== undefined && (names.length === 1 || (isPrefix && prefix !== '')))
      found[part].push(...(names.length === 1 ? names : [`${prefix}.*`]));
    else {
      for (const own of names) if (own === prefix) found[partOf(own)].push(own);
      for (const [piece, next] of below) collect(prefix === '' ? piece : `${prefix}.${piece}`, next);
    }
  };
  const partOf = (name: string): PartName => partNames.find((part) => parts[part].includes(name)) as PartName;
  collect('', treeOf(parts));
  return Object.fromEntries(Object.entries(found).filter(([, patterns]) => patterns.length > 0));
};

const treeOf = (parts: Partition['parts']): Branch => {
  const root = branch();
  for (const part of partNames)
    for (const name of parts[part]) {
      let at = root;
      at.names.push(name);
      at.parts.add(part);
      for (const piece of name.split('.')) {
        const next = at.below.get(piece) ?? branch();
        at.below.set(piece, next);
        next.names.push(name);
        next.parts.add(part);
        at = next;
      }
    }
  return root;
};
