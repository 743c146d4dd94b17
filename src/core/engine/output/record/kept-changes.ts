import { groupBy } from '../../../base/errors/lookup.js';
import type { KeptSums } from '../../../methods/operations/program/lowering.js';
import {
  type KeptChange,
  type KeptTensor,
  keptOf,
} from '../../../methods/operations/quantised/kept-change.js';
import type { MergePlan } from '../../../plan/plan.js';

/** How much of the change from a base survives, for `layerloom.json` and results. */
export interface QuantisedOutput {
  readonly scheme: string;
  readonly tensors: readonly KeptTensor[];
  readonly layers: readonly (KeptChange & { readonly layer: number })[];
  readonly all: KeptChange;
}

export const describeKeptChanges = (
  plan: MergePlan,
  changes: ReadonlyMap<string, KeptSums>,
): QuantisedOutput | undefined => {
  const found = plan.shards.flatMap(({ tensors }) =>
    tensors.flatMap(({ name, layer, expression }) => {
      const sums =
        expression.kind === 'quantise' && expression.part === 'codes' ? changes.get(name) : undefined;
      return sums === undefined ? [] : [{ name, layer, sums }];
    }),
  );
  if (found.length === 0) return undefined;
  return { scheme: String(plan.completeRecipe['quantize']), ...summarise(found) };
};

export const summarise = (
  found: readonly { readonly name: string; readonly layer: number | null; readonly sums: KeptSums }[],
): Omit<QuantisedOutput, 'scheme'> => ({
  tensors: found.map(({ name, layer, sums }) => ({ name, layer, ...keptOf([sums]) })),
  layers: [...groupBy(found, ({ layer }) => layer)]
    .flatMap(([layer, of]) => (layer === null ? [] : [{ layer, ...keptOf(of.map(({ sums }) => sums)) }]))
    .sort((a, b) => a.layer - b.layer),
  all: keptOf(found.map(({ sums }) => sums)),
});
