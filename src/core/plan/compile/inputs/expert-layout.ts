import { invalidParameter } from '../../../base/errors/invalid-parameter.js';
import { groupBy } from '../../../base/errors/lookup.js';
import {
  type ExpertNames,
  expertNamesOf,
  expertNamesOfFamily,
  fusedNameOf,
  fusedParameter,
  nameInModel,
  ofOneExpert,
} from '../../../models/experts/family.js';
import type { ExpertLayout } from '../../../models/experts/layouts.js';
import type { UnplacedTensor } from '../../layout.js';
import type { Composed } from '../composed.js';
import type { OpenedInputs } from './opened-inputs.js';
import type { Cached } from './session.js';

const fusedTensors: Cached<UnplacedTensor> = { most: 1 << 20 };
const fusedFrames: Cached<object> = { most: 512 };

/**
 * Lays out experts as wanted, else as in the first model's files. Matrices of a fused tensor are planned
 * separately and written one after another.
 *
 * @throws INVALID_PARAMETER if the matrices differ in shape or dtype, or the output is an adapter
 */
export const inExpertLayout = (
  composed: Composed,
  { session }: OpenedInputs,
  wanted: ExpertLayout | undefined,
): Composed => {
  const first = composed.models[0]?.checkpoint;
  const { mixture } = composed.compiled;
  const form = wanted ?? mixture?.form ?? (first?.fusedExperts === undefined ? 'separate' : 'fused');
  if (composed.adapter !== undefined && wanted !== undefined)
    throw invalidParameter('experts', wanted, 'nothing where the output is an adapter');
  if (first === undefined || composed.adapter !== undefined) return composed;
  if (form === 'separate') {
    if (wanted === 'separate') refuseWhole(composed.tensors);
    return composed;
  }
  const names = mixture === undefined ? expertNamesOf(first) : expertNamesOfFamily(mixture.family);
  const named = composed.tensors.map((tensor) => ({ tensor, at: fusedNameOf(names, tensor.name) }));
  const groups = groupBy(
    named.filter(({ at }) => at !== undefined),
    ({ at }) => at?.parameter,
  );
  if (wanted === 'fused') refuseParts(composed.tensors, names);
  if (groups.size === 0 && names.renamed.length === 0) return composed;
  const whole = new Map(
    [...groups].flatMap(([parameter, parts]): [string, readonly (typeof parts)[number][]][] => {
      const inOrder = parts.toSorted((a, b) => (a.at?.index ?? 0) - (b.at?.index ?? 0));
      // A set of experts stays separate if some are missing because they are quantised.
      return parameter !== undefined && inOrder.every(({ at }, index) => at?.index === index)
        ? [[parameter, inOrder]]
        : [];
    }),
  );
  const isDone = new Set<string>();
  const tensors = named.flatMap(({ tensor, at }): UnplacedTensor[] => {
    const parts = at === undefined ? undefined : whole.get(at.parameter);
    if (at === undefined || parts === undefined)
      return [
        session.remember(fusedTensors, [session.idOf(tensor)], () => ({
          ...tensor,
          name: nameInModel(names, tensor.name),
        })),
      ];
    if (isDone.has(at.parameter)) return [];
    isDone.add(at.parameter);
    const part = partOf(
      nameInModel(names, at.parameter),
      parts.map((one) => one.tensor),
      at.matrices,
      wanted,
    );
    return parts.map((one) =>
      session.remember(fusedTensors, [session.idOf(one.tensor)], () => ({ ...one.tensor, part })),
    );
  });
  return {
    ...composed,
    tensors,
    ...(composed.frame === undefined
      ? {}
      : { frame: session.remember(fusedFrames, [session.idOf(composed.frame)], () => ({})) }),
  };
};

/** Refuses to separate [in, out] and quantised matrices, which no file stores separately. */
const refuseWhole = (tensors: readonly UnplacedTensor[]): void => {
  const whole = tensors.find(({ name, shape }) => fusedParameter.test(name) && shape.length === 3);
  if (whole !== undefined)
    throw invalidParameter(
      'experts',
      'separate',
      `fused, since ${whole.name} [${whole.shape.join(', ')}] is in a form in which no files have each expert by itself`,
    );
};

/** Refuses to fuse experts that have other tensors than matrices, such as scales. */
const refuseParts = (tensors: readonly UnplacedTensor[], names: ExpertNames): void => {
  const part = tensors.find(({ name }) => ofOneExpert.test(name) && fusedNameOf(names, name) === undefined);
  if (part !== undefined)
    throw invalidParameter(
      'experts',
      'fused',
      `separate, since ${part.name} belongs to one expert and has no place in a fused parameter`,
    );
};

const partOf = (
  name: string,
  parts: readonly UnplacedTensor[],
  matrices: number,
  wanted: ExpertLayout | undefined,
): UnplacedTensor['part'] => {
  const [first, other] = [parts[0], parts.find((one) => !isAlike(one, parts[0]))];
  const [rows = 0, columns = 0] = first?.shape ?? [];
  if (first !== undefined && other !== undefined)
    throw invalidParameter(
      'experts',
      wanted ?? 'fused',
      `separate, since ${first.name} is ${first.dtype} [${first.shape.join(', ')}], and ${other.name} ${other.dtype} [${other.shape.join(', ')}]`,
    );
  return { name, shape: [parts.length / matrices, matrices * rows, columns] };
};

const isAlike = (one: UnplacedTensor, other: UnplacedTensor | undefined): boolean =>
  one.dtype === other?.dtype && one.shape.join() === other.shape.join();
