import type { Evidence, Sampled } from './evidence.js';
import { beyondRounding, dot, minus } from './agreement.js';
import { rounded } from './precision.js';
import { allSlices } from './slices.js';

/** Elements that are read at once. */
const blockElements = 1024 * 1024;

/** Share of the way to another model by which roundings alone may move a tensor. */
const mostTowards = 0.05;

/**
 * True if a tensor is the expected one up to roundings: no element is further away than one rounding, and the
 * differences do not lead towards an input. Without the second test, a change that is smaller than a unit in
 * the last place would be lost unseen.
 */
export const isRounding = async (evidence: Evidence, sample: Sampled): Promise<boolean> => {
  const { name, found, wanted, grain, sources, shape } = sample;
  if (beyondRounding(found, wanted, grain, [...sources.values()]) > 0) return false;
  // A bitwise copy of an input that was to be changed is no rounding.
  if (sample.copyOf.length > 0 || leadsElsewhere(sample)) return false;
  for (const slice of allSlices(shape, blockElements)) {
    const [own, other] = [
      await evidence.readFound(name, [slice]),
      await evidence.readWanted(name, [slice]),
    ];
    if (beyondRounding(own, other, grain) === 0) continue;
    const terms: Float32Array[] = [];
    for (const source of sources.keys()) {
      const tensor = source.tensor(name);
      if (tensor !== undefined) terms.push(await evidence.read(tensor.operand, shape, [slice]));
    }
    if (beyondRounding(own, other, grain, terms) > 0) return false;
  }
  return true;
};

const leadsElsewhere = ({ found, wanted, sources, grain: [dtype = 'F32'] }: Sampled): boolean => {
  const expected = wanted.map((value) => rounded(value, dtype));
  const apart = minus(found, expected);
  const noise = dot(apart, apart) / Math.max(1, apart.length);
  return [...sources.values()].some((values) => {
    const direction = minus(values.map((value) => rounded(value, dtype)), expected);
    const length = dot(direction, direction);
    if (!(length > 0)) return false;
    return Math.abs(dot(apart, direction) / length) > mostTowards + 4 * Math.sqrt(noise / length);
  });
};
