import { itemAt } from '../../../base/errors/lookup.js';
import { type Lowering, undefinedMerge } from '../../../methods/operations/program/lowering.js';

const dot = (a: Float64Array, b: Float64Array): number => {
  let sum = 0;
  for (const [index, number] of a.entries()) sum += number * itemAt(b, index);
  return sum;
};

/**
 * Returns unit vectors [vector][input]: the normalised columns of a stored matrix [input, vector]. With
 * `orthogonal`, by modified Gram-Schmidt.
 */
export const reflectionsOf = (
  stored: Float64Array,
  { vectors, orthogonal }: { readonly vectors: number; readonly orthogonal: boolean },
  to: Pick<Lowering, 'tensor'>,
): Float64Array => {
  const inputs = stored.length / vectors;
  const units = new Float64Array(stored.length);
  const unit = (vector: number) => units.subarray(vector * inputs, (vector + 1) * inputs);
  for (let vector = 0; vector < vectors; vector += 1) {
    const own = unit(vector);
    for (let input = 0; input < inputs; input += 1) own[input] = itemAt(stored, input * vectors + vector);
    for (let before = 0; orthogonal && before < vector; before += 1) {
      const other = unit(before);
      const along = dot(own, other);
      for (let input = 0; input < inputs; input += 1)
        own[input] = itemAt(own, input) - along * itemAt(other, input);
    }
    const norm = Math.sqrt(dot(own, own));
    if (!(norm > 0))
      throw undefinedMerge(
        to.tensor,
        'HRA',
        `vector ${vector} of its reflections is 0, and has no direction`,
      );
    for (let input = 0; input < inputs; input += 1) own[input] = itemAt(own, input) / norm;
  }
  return units;
};
