import { dot, minus } from './agreement.js';
import type { Evidence, Sampled } from './evidence.js';
import { counted, listed } from './faults/kind.js';
import type { Fault, ProvenTensor } from './proof.js';

/** Relative difference of two draws' sums that is allowed, in addition to chance. */
const apart = 0.2;

/**
 * True if a tensor may be another draw of a random method: it moved about as far along each expert's change as the
 * expected tensor.
 */
export const isAsDrawn = (evidence: Evidence, { name, found, wanted, sources }: Sampled): boolean => {
  if (evidence.expected.get(name)?.isRandom !== true) return false;
  const base = [...sources].find(([{ role }]) => role === 'base')?.[1];
  // A mixture's routers are entirely random; the method gives their size.
  if (base === undefined) return Math.abs(Math.log(dot(found, found) / dot(wanted, wanted))) < 1;
  const experts = [...sources.values()]
    .filter((values) => values !== base)
    .map((values) => minus(values, base));
  const [own, other] = [minus(found, base), minus(wanted, base)];
  if (!(dot(own, own) > 0)) return false;
  return experts.every((change) => {
    const length = dot(change, change);
    if (!(length > 0)) return true;
    const chance = Math.sqrt((dot(own, own) + dot(other, other)) / length / change.length);
    return Math.abs(dot(own, change) - dot(other, change)) / length < apart + 4 * chance;
  });
};

export const drawnFaults = (tensors: readonly ProvenTensor[]): readonly Fault[] => {
  const drawn = tensors.filter(({ state }) => state === 'not_comparable').map(({ name }) => name);
  if (drawn.length === 0) return [];
  return [
    {
      kind: 'random',
      tensors: drawn,
      figures: { tensors: drawn.length },
      sentence: `the method draws random numbers that another program cannot draw again: the elements of ${counted(drawn.length, 'tensor')} cannot be compared, though their changes are of the right size and direction (${listed(drawn)})`,
    },
  ];
};
