import { isWhole } from '../architecture/canonical-names.js';
import { type Family, familyOfType, typesIn, usualStacks, usualWholes } from '../architecture/families.js';
import { findStacks } from '../architecture/stacks.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/files/json.js';
import { moduleOf } from '../checkpoint/module-folders.js';

/**
 * Returns prefixes of a model's layers that are foreign to its family, such as a training program's attribute
 * (`policy`, `actor.module`), which no loader accepts. Unknown families and models with code may have any
 * names.
 */
export const foreignPrefixesOf = ({
  config,
  tensors,
}: Pick<CheckpointIndex, 'config' | 'tensors'>): readonly string[] => {
  // A known language model does not tell how an unknown model around it names its other towers.
  const [own = ''] = typesIn(config);
  const family = familyOfType(own);
  if (family === undefined || family.form === 'diffusion transformer' || config?.['auto_map'] !== undefined)
    return [];
  const names = [...tensors.keys()].filter((name) => moduleOf(name) === undefined);
  const foreign = findStacks(names, family).stacks.map((stack) => {
    const parts = partsBefore(stack, family);
    return isObject(config?.['text_config']) ? beforeWhole(parts) : beforeWholesOf(family, parts);
  });
  return [...new Set(foreign.map((parts) => parts.join('.')))].filter((prefix) => prefix !== '');
};

/** Returns a stack's name before the family's words, in parts: `policy`, `model` of `policy.model.layers`. */
const partsBefore = (stack: string, { stacks = usualStacks }: Family): readonly string[] => {
  const words = new Set([...stacks.flatMap((words) => words.split('.')), 'encoder', 'decoder']);
  const parts = stack.split('.');
  return parts.slice(0, parts.findLastIndex((part) => !words.has(part)) + 1);
};

const beforeWhole = (parts: readonly string[]): readonly string[] => {
  const first = parts.findIndex(isWhole);
  return parts.slice(0, first < 0 ? parts.length : first);
};

/** Returns the parts before the family's own prefix, which transformers accepts up to twice. */
const beforeWholesOf = ({ wholes = usualWholes }: Family, parts: readonly string[]): readonly string[] => {
  const own = parts.length - 1 - parts.findLastIndex((part) => !wholes.includes(part));
  return parts.slice(0, parts.length - Math.min(own, 2));
};
