import type { Evidence } from './evidence.js';
import { counted, figure } from './faults/kind.js';
import type { Fault } from './proof.js';
import type { RoundingKind } from './rounding.js';

const codes: Readonly<Record<RoundingKind, string>> = {
  strict: 'rounding',
  truncated: 'truncated',
  arithmetic: 'rounded_arithmetic',
  cut: 'rounded_cut',
};

const words: Readonly<Record<RoundingKind, (dtype: string) => string>> = {
  strict: (dtype) => `one rounding of ${dtype} apart at most`,
  truncated: (dtype) => `rounded to ${dtype} towards zero, and not to the nearest number`,
  arithmetic: (dtype) => `apart as by several roundings of ${dtype}, in which the merge was computed`,
  cut: () => 'other changes of equal magnitude were kept at the cut of the density',
};

/** Returns how tensors were rounded, for those that differ only by roundings. */
export const roundingFaults = async (
  evidence: Evidence,
  kinds: ReadonlyMap<string, RoundingKind>,
): Promise<readonly Fault[]> => {
  const groups = new Map<
    string,
    { readonly code: string; readonly kind: RoundingKind; readonly dtype: string; names: string[] }
  >();
  for (const [name, kind] of kinds) {
    const { held, grain = [] } = (await evidence.sampleOf(name)) ?? {};
    const dtype = held ?? grain[0] ?? 'F32';
    const code = codes[kind];
    const group = groups.get(`${code} ${dtype}`) ?? { code, kind, dtype, names: [] };
    group.names.push(name);
    groups.set(`${code} ${dtype}`, group);
  }
  const facts = new Map(evidence.tensors.map((tensor) => [tensor.name, tensor]));
  const sum = (names: readonly string[], of: 'elements' | 'differing') =>
    names.reduce((total, name) => total + (facts.get(name)?.[of] ?? 0), 0);
  return [...groups.values()].map(({ code, kind, dtype, names }) => {
    const [elements, differing] = [sum(names, 'elements'), sum(names, 'differing')];
    return {
      kind: code,
      tensors: names,
      figures: { dtype, differing, elements, share: figure(differing / Math.max(1, elements)) },
      sentence: `${counted(names.length, 'tensor')}: ${words[kind](dtype)}, in ${differing} of ${elements} elements`,
    };
  });
};
