import { changeIn } from '../../models/adapters/kinds/kinds.js';
import { operandOf } from '../../plan/adapted.js';
import { inSpelling } from '../../plan/compile/in-spelling.js';
import type { OpenedCheckpoint } from '../../plan/compile/inputs/models.js';
import type { Operand } from '../../plan/plan.js';
import type { Shape, TensorChange, TensorReference } from '../../tensor/reference.js';

/** A model whose tensors an output may have by mistake, in place of the expected ones. */
export interface Source {
  readonly name: string;
  /** Role of the model. An adapter's base has the role `base`. */
  readonly role: string;
  readonly isAdapted: boolean;
  /** Tells what an adapter does to a tensor of its base; undefined if nothing. */
  readonly isChanged: (tensor: string) => 'changed' | 'replaced' | undefined;
  /** Returns the base plus a DoRA adapter's product, without magnitudes. */
  readonly withoutMagnitudes: (tensor: string) => Operand | undefined;
  readonly scaleOf: (tensor: string) => { readonly scale: number; readonly rank: number } | undefined;
  readonly tensor: (name: string) => { readonly operand: Operand; readonly shape: Shape } | undefined;
}

/** Returns the inputs as sources. After a base with an adapter comes the base alone. */
export const sourcesOfInputs = (
  inputs: readonly OpenedCheckpoint[],
  bases: ReadonlyMap<number, OpenedCheckpoint>,
): Source[] => {
  const [first] = inputs;
  if (first === undefined) return [];
  return inputs.flatMap((given, index) => {
    const { checkpoint, role } = inSpelling(first, given);
    if (given.adapter !== undefined) return [];
    const base = bases.get(index);
    const own = {
      name: checkpoint.name,
      role,
      isAdapted: base !== undefined,
      tensor: tensorsOf(index, (name) => checkpoint.tensors.get(name)),
      scaleOf: (name: string) => {
        const change = changeOf(checkpoint.tensors.get(name));
        return change === undefined || !('rank' in change)
          ? undefined
          : { scale: change.scale, rank: change.rank };
      },
      withoutMagnitudes: (name: string) => {
        const reference = checkpoint.tensors.get(name);
        const change = changeOf(reference);
        if (reference === undefined || change?.kind !== 'dora') return undefined;
        const { magnitudes: _magnitudes, ...product } = change;
        return operandOf(index, { ...reference, change: { ...product, kind: 'lowRank' } as TensorChange });
      },
      isChanged: (name: string) => {
        const reference = checkpoint.tensors.get(name);
        if (base === undefined || reference === undefined) return undefined;
        if (reference.change !== undefined) return 'changed' as const;
        return reference.file >= base.checkpoint.files.length ? ('replaced' as const) : undefined;
      },
    };
    if (base === undefined) return [own];
    const plain = inSpelling(first, base).checkpoint;
    return [
      own,
      {
        name: plain.name,
        role: 'base',
        isAdapted: false,
        isChanged: () => undefined,
        scaleOf: () => undefined,
        withoutMagnitudes: () => undefined,
        tensor: tensorsOf(index, (name) => plain.tensors.get(name)),
      },
    ];
  });
};

const changeOf = (reference: TensorReference | undefined) =>
  reference === undefined ? undefined : changeIn(reference);

const tensorsOf =
  (input: number, referenceOf: (name: string) => TensorReference | undefined): Source['tensor'] =>
  (name) => {
    const reference = referenceOf(name);
    return reference && { operand: operandOf(input, reference), shape: reference.shape };
  };
