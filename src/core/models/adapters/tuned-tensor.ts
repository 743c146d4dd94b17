import { argument, layerloomCommand } from '../../base/errors/command-line.js';
import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { Shape, TensorReference } from '../../tensor/reference.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import type { Adapter, LowRankPair } from './adapter.js';
import { isConv1d } from './conv1d.js';
import { mismatchOf } from './experts.js';
import { type FactoredChange, matrix } from './kinds/factored.js';
import type { ParameterChange } from './kinds/tuner.js';

/** Refuses a base tensor that is quantised or in pieces if the kind's change cannot be summed. */
export const checkStored = (
  base: CheckpointIndex,
  { config, checkpoint }: Adapter,
  name: string,
  { quantised, blocks, pieces }: TensorReference,
): void => {
  const isQuantised = quantised !== undefined || blocks !== undefined;
  if (!(isQuantised || pieces !== undefined) || config.kind.noSum === undefined) return;
  const written = isQuantised
    ? layerloomCommand('relayout', argument(base.path), '--dtype', 'bfloat16', '-o', 'DIR')
    : layerloomCommand('relayout', argument(base.path), '-o', 'DIR');
  throw new LayerloomError('ADAPTER_UNSUPPORTED', {
    file: checkpoint.path,
    what: `tensor ${name}`,
    reason: `is ${isQuantised ? 'quantised' : 'in pieces'} in the base, and the adapter's change ${config.kind.noSum}`,
    remedy: `write the base first (${written}), and add the adapter to that`,
  });
};

interface TunedParameter {
  readonly name: string;
  readonly change: ParameterChange;
  readonly place: (tensor: TensorReference) => TensorReference;
}

export const tunedTensor = (
  base: CheckpointIndex,
  adapter: Adapter,
  reference: TensorReference,
  { name, change, place }: TunedParameter,
): TensorReference => {
  checkStored(base, adapter, name, reference);
  const made = change.change({
    shape: reference.shape,
    transposed: isConv1d(base.config, name) ?? adapter.config.fanInFanOut,
    place,
    mismatch: (reason) => {
      throw mismatchOf(base, adapter, name, reason);
    },
    unsupported: (reason) => {
      throw new LayerloomError('ADAPTER_UNSUPPORTED', {
        file: itemAt(adapter.checkpoint.files, 0).path,
        what: `tensor ${change.from.name}`,
        reason,
      });
    },
  });
  return { ...reference, change: made };
};

interface ConvolutionPair {
  readonly name: string;
  readonly pair: LowRankPair;
  readonly shape: Shape;
  readonly place: (tensor: TensorReference) => TensorReference;
}

/** Returns a convolution's change [out, in, kernel…] as a matrix [out, in·kernel]. */
export const convolved = (
  base: CheckpointIndex,
  adapter: Adapter,
  { name, pair: { a, b, scale }, shape, place }: ConvolutionPair,
): FactoredChange => {
  const product = [itemAt(b.shape, 0), ...a.shape.slice(1)];
  if (product.join() !== shape.join())
    throw mismatchOf(
      base,
      adapter,
      name,
      `is [${shape.join(', ')}] in the base, but the adapter's product is [${product.join(', ')}]`,
    );
  return { kind: 'factored', scale, kronecker: false, factors: [[matrix(place(b)), matrix(place(a))]] };
};
