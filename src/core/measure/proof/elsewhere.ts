import { fits, relativeDistance } from './agreement.js';
import type { Evidence, Sampled } from './evidence.js';
import { headSlice } from './slices.js';

/** Place in the expected merge of a tensor that has another name in the output. */
export interface Elsewhere {
  readonly name: string;
  readonly layer: number | null;
  readonly module: string;
}

/**
 * Finds the expected tensor that equals an output's tensor of another name. Tries the same module in other
 * layers, and tensors of its shape in its layer.
 */
export const elsewhereOf = async (evidence: Evidence, own: Sampled): Promise<Elsewhere | undefined> => {
  const { places } = evidence.out.architecture;
  const shape = own.shape.join();
  const { count } = headSlice(own.shape);
  const head = own.found.subarray(0, count);
  for (const [other, expected] of evidence.expected) {
    if (other === own.name || expected.shape.join() !== shape) continue;
    const module = places.get(other)?.module ?? other;
    if (module !== own.module && expected.layer !== own.layer) continue;
    if (!isClose(head, await evidence.headOf(other), own)) continue;
    if (isClose(own.found, await evidence.readWanted(other, own.slices), own))
      return { name: other, layer: expected.layer, module };
  }
  return undefined;
};

/** Maximum distance to another tensor: absolute, and relative to the distance to its namesake. */
const [nearest, share] = [0.05, 0.2];

const isClose = (found: Float32Array, other: Float32Array, { grain, found: all, wanted }: Sampled): boolean =>
  fits(found, other, grain) ||
  relativeDistance(found, other) < Math.min(nearest, share * relativeDistance(all, wanted));
