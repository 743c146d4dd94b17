import { groupBy, itemAt } from '../../core/base/errors/lookup.js';
import { formatPercent as percent } from '../../core/base/format.js';
import { plainTable } from '../../core/base/table.js';
import type { TruncatedProduct } from '../../core/engine/output/record/truncated.js';

export const describeTruncated = (products: readonly TruncatedProduct[]): string => {
  const table = [['layer', 'merged modules', 'rank', 'error']];
  const byLayer = [...groupBy(products, ({ layer }) => layer ?? Number.POSITIVE_INFINITY)];
  for (const [layer, of] of byLayer.sort(([a], [b]) => a - b))
    table.push([
      layer === Number.POSITIVE_INFINITY ? 'outside' : String(layer),
      String(of.length),
      `${rangeOf(of.map(({ exactRank }) => exactRank))} to ${rangeOf(of.map(({ rank }) => rank))}`,
      percent(errorOf(of)),
    ]);
  const worst = itemAt(
    products.toSorted((a, b) => b.error - a.error),
    0,
  );
  return [
    plainTable(table, 1),
    '',
    `error ‖Δ − B·A‖ / ‖Δ‖ of merged changes after truncation: ${percent(errorOf(products))} over all, at most ${percent(worst.error)} (${worst.parameter}); each in layerloom.json`,
  ].join('\n');
};

type Approximated = Pick<TruncatedProduct, 'norm' | 'error'>;

/** Returns the relative error of all matrices together; 0 if all changes are 0. */
export const errorOf = (products: readonly Approximated[]): number => {
  const squares = (of: (product: Approximated) => number) =>
    products.reduce((total, product) => total + of(product) ** 2, 0);
  const all = squares(({ norm }) => norm);
  return all === 0 ? 0 : Math.sqrt(squares(({ norm, error }) => norm * error) / all);
};

export const rangeOf = (ranks: readonly number[]): string => {
  const [least, most] = [Math.min(...ranks), Math.max(...ranks)];
  return least === most ? String(most) : `${least}–${most}`;
};
