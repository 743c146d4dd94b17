import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import type { Role } from '../../models/architecture/role.js';
import { claimsOf, partOf, type Share } from '../framework/parts.js';
import { layerSwap } from './layer-swap.js';
import { countsFor } from './swap-counts.js';
import { partsOf } from './swap-parts.js';

/** Source of a group of modules, in a layer or outside the layers. */
export interface SwapOrigin {
  readonly module: string;
  /** Shares of `task`, `language` and `base`. */
  readonly shares: readonly Share[];
}

/**
 * Returns sources by layer, and outside the layers, from the parameters alone. If counts exceed the number of
 * layers, earlier counts win.
 *
 * @throws INVALID_PARAMETER
 */
export const swapOrigins = (
  parameters: Readonly<Record<string, unknown>>,
  layers: number,
): { readonly inside: readonly (readonly SwapOrigin[])[]; readonly outside: readonly SwapOrigin[] } => {
  const { bottom, top, bottomTransition, topTransition, others, scaled, langLayers, baseLayers, parts } =
    parameters;
  const { data: checked, error } = layerSwap.schema.safeParse({
    ...{ task: 'task', language: 'language', base: 'base' },
    ...{ bottom, top, bottomTransition, topTransition, others, scaled, langLayers, baseLayers, parts },
  });
  if (checked === undefined) {
    const { path: [name = ''] = [], message = '' } = error.issues[0] ?? {};
    throw invalidParameter(String(name), parameters[String(name)], message);
  }
  const average = partOf({ models: ['task', 'language'], layers: 'rest' }, 0).shares;
  const found = partsOf(checked, countsFor(checked, layers), layers, average);
  const originOf = (layer: number | undefined, role: Role, module: string): SwapOrigin => ({
    module,
    shares: claimsOf(found, { layer, role, module })[0]?.shares ?? [],
  });
  return {
    inside: Array.from({ length: layers }, (_, layer) => [
      originOf(layer, 'attention', 'attention'),
      originOf(layer, 'feedForward', 'feed-forward'),
      originOf(layer, 'blockNorm', 'norms'),
    ]),
    outside: [originOf(undefined, 'embedding', 'embeddings'), originOf(undefined, 'finalNorm', 'final norm')],
  };
};
