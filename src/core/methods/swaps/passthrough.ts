import { mergekit } from '../framework/declaration/papers.js';
import { anyNumber, type SettingInput } from '../framework/declaration/settings.js';
import { tensorMethod } from '../framework/tensors/tensor-method.js';
import type { TensorMethod } from '../framework/tensors/tensor-parameters.js';

/** Parameters of `passthrough` except models. */
export interface PassthroughParameters {
  /** Factor of all tensors. Default 1, which copies them byte for byte. */
  scale?: SettingInput<number> | undefined;
}

/** Copies one model's tensors, times `scale`; with `slices`, stacks layers (mergekit's `passthrough`). */
export const passthrough: TensorMethod<'ignored', PassthroughParameters, 'scale'> = tensorMethod({
  name: 'passthrough',
  title: 'Passthrough',
  citations: [mergekit],
  base: 'ignored',
  models: { least: 1, most: 1 },
  perModel: { scale: anyNumber(1) },
  expression: ({ models: [source], perModel: [{ scale: weight }] }) =>
    weight === 1 ? { kind: 'copy', source } : { kind: 'linear', terms: [{ source, weight }] },
});
