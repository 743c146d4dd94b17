import { tiesIn } from '../../models/architecture/ties.js';
import { expertNamesOf, nameInFiles, nameInModel } from '../../models/experts/family.js';
import { inSpelling, withCheckpoint } from '../../plan/compile/in-spelling.js';
import type { OpenedCheckpoint } from '../../plan/compile/inputs/models.js';
import type { TensorReference } from '../../tensor/reference.js';
import type { Expected, ExpectedTensor } from './expected.js';

/** An expected tensor, and the tensor of the output that a loader would use for it. */
export interface Pair {
  readonly name: string;
  readonly expected: ExpectedTensor | undefined;
  readonly found: TensorReference | undefined;
}

/**
 * Pairs tensors by name. If only one side stores the head of tied embeddings, pairs it with the other's
 * embeddings, as loaders do. Leaves out buffers that one side lacks, because loaders compute them.
 *
 * @param first the model whose spelling the expected names have
 */
export const pairsOf = (
  { tensors: expected }: Expected,
  first: OpenedCheckpoint,
  given: OpenedCheckpoint,
): { readonly pairs: readonly Pair[]; readonly out: OpenedCheckpoint } => {
  const out = inMixtureSpelling(inSpelling(first, asStored(given, expected)), expected);
  const found = out.checkpoint.tensors;
  const names = [...new Set([...expected.keys(), ...found.keys()])];
  const roleOf = (name: string) =>
    (out.architecture.places.get(name) ?? first.architecture.places.get(name))?.role;
  const pairs = names.flatMap((name): Pair[] => {
    const [wanted, own] = [expected.get(name), found.get(name)];
    if (wanted !== undefined && own !== undefined) return [{ name, expected: wanted, found: own }];
    if (roleOf(name) === 'buffer' || out.checkpoint.copies?.has(name) === true) return [];
    const source = sourceOfCopy(name, expected, found, out);
    if (source === undefined) return [{ name, expected: wanted, found: own }];
    return [{ name, expected: wanted ?? expected.get(source), found: own ?? found.get(source) }];
  });
  return { pairs, out };
};

/** Returns an output with its codes and scales if those are expected, rather than their values. */
const asStored = (out: OpenedCheckpoint, expected: ReadonlyMap<string, ExpectedTensor>): OpenedCheckpoint => {
  const { tensors, quantisation } = out.checkpoint;
  const areExpected = [...(quantisation?.stored.keys() ?? [])].some(
    (name) => !tensors.has(name) && expected.has(name),
  );
  if (quantisation === undefined || !areExpected) return out;
  return withCheckpoint(out, { ...out.checkpoint, tensors: quantisation.stored });
};

const sourceOfCopy = (
  name: string,
  expected: ReadonlyMap<string, ExpectedTensor>,
  found: ReadonlyMap<string, TensorReference>,
  { architecture }: OpenedCheckpoint,
): string | undefined => {
  // Loaders initialise a missing head at random, unless it is tied.
  if (!found.has(name) && architecture.tied === false) return undefined;
  const wanted = [...expected].map(
    ([other, { dtype, shape }]) => [other, { file: 0, begin: 0, end: 0, dtype, shape }] as const,
  );
  const tensors = new Map<string, TensorReference>([...wanted, ...found]);
  const source = tiesIn({ tensors }).find(({ copy }) => copy === name)?.source;
  return source !== undefined && expected.has(source) && found.has(source) ? source : undefined;
};

/** Renames parameters of mixtures, such as routers, whose names depend on the version of transformers. */
const inMixtureSpelling = (
  out: OpenedCheckpoint,
  expected: ReadonlyMap<string, ExpectedTensor>,
): OpenedCheckpoint => {
  const names = expertNamesOf(out.checkpoint);
  const { tensors } = out.checkpoint;
  const spelt = [...tensors].map(([name, reference]) => {
    const other = [nameInFiles(names, name), nameInModel(names, name)].find(
      (one) => one !== name && expected.has(one) && !tensors.has(one),
    );
    return [expected.has(name) ? name : (other ?? name), reference] as const;
  });
  if (spelt.every(([name]) => tensors.has(name))) return out;
  return withCheckpoint(out, { ...out.checkpoint, tensors: new Map(spelt) });
};
