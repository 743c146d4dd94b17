import { LayerloomError } from '../../../core/base/errors/errors.js';
import { itemAt } from '../../../core/base/errors/lookup.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import type { Landscape, Rows } from './landscape.js';

/**
 * Outcomes of configurations. Each configuration has outcomes on the first rows up to its own limit, so any
 * two can be compared on common rows.
 */
export class Outcomes {
  readonly #landscape: Landscape;
  readonly #of: (number[] | null)[];
  /** Limits so far. Blocks of rows end at these, so that results of earlier runs can be reused. */
  readonly #borders: number[] = [0];
  #spent = 0;

  constructor(landscape: Landscape, points: number) {
    this.#landscape = landscape;
    this.#of = Array.from({ length: points }, () => []);
  }

  get spent(): number {
    return this.#spent;
  }

  get borders(): readonly number[] {
    return this.#borders;
  }

  of(point: number): readonly number[] {
    return itemAt(this.#of, point) ?? [];
  }

  hasFailed(point: number): boolean {
    return itemAt(this.#of, point) === null;
  }

  costOf(point: number, limit: number): number {
    return this.hasFailed(point) ? 0 : Math.max(0, limit - this.of(point).length) * this.#landscape.cost;
  }

  meanOf(point: number, limit = Number.POSITIVE_INFINITY): number {
    const outcomes = this.of(point).slice(0, limit);
    return outcomes.reduce((sum, outcome) => sum + outcome, 0) / outcomes.length;
  }

  async raise(points: readonly number[], limit: number): Promise<void> {
    if (!this.#borders.includes(limit)) {
      this.#borders.push(limit);
      this.#borders.sort((a, b) => a - b);
    }
    for (const [index, to] of this.#borders.entries()) {
      if (index === 0 || to > limit) continue;
      const from = itemAt(this.#borders, index - 1);
      const lacking = points.filter((point) => !this.hasFailed(point) && this.of(point).length === from);
      if (lacking.length > 0) await this.#evaluate(lacking, [from, to]);
    }
  }

  async #evaluate(points: readonly number[], rows: Rows): Promise<void> {
    const [from, to] = rows;
    const results = await this.#landscape.evaluate(points, rows);
    for (const [index, point] of points.entries()) {
      const outcomes = itemAt(results, index);
      if (outcomes === null) {
        this.#of[point] = null;
        continue;
      }
      if (outcomes.length !== to - from)
        throw new LayerloomError('SEARCH_INVALID', {
          reason: `the task has only ${outcomes.length} problems in rows ${from} to ${to - 1}`,
          remedy: `give the number of its problems with ${optionName('problems')}`,
        });
      itemAt(this.#of, point)?.push(...outcomes);
      this.#spent += outcomes.length * this.#landscape.cost;
    }
  }
}
