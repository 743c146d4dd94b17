import { beforeAll, describe, expect, it } from 'vitest';
import { valueAt } from '../../src/core/base/errors/lookup.js';
import { gridsOf } from '../../src/study/pages/report/grid-data.js';
import { headlineOf } from '../../src/study/pages/report/headline.js';
import { tasksOf } from '../../src/study/pages/report/result-data.js';
import { StringPool } from '../../src/study/pages/report/string-pool.js';
import { layouts } from '../../src/study/paper/layouts.js';
import { Board } from '../../src/study/scores/boards/board.js';
import { type Cell, pText, type TableRow } from '../../src/study/scores/reading/score-table.js';
import { tablesOn } from '../../src/study/scores/tables.js';
import { randomStudy } from '../scores/invariance.js';

const kinds = { 'the task experts': 'task', 'the language experts': 'language', 'the base': 'base' } as const;

const pageOf = (seed: number) => {
  const board = new Board(randomStudy(seed).experiment, { resamples: 100 });
  const tasks = tasksOf(board, 0, new StringPool());
  const tables = tablesOn(board, layouts);
  const comparisons = tables.find(({ id }) => id === 'comparisons');
  const cellsOf = (row: TableRow | undefined): Readonly<Record<string, Cell | null>> =>
    Object.fromEntries((comparisons?.columns ?? []).map(({ id }, at) => [id, row?.cells[at] ?? null]));
  return {
    result: JSON.stringify(headlineOf(board, tasks)),
    grids: gridsOf(board, tasks),
    /** The verdict of the table of comparisons on two groups in the study's own task. */
    said: (a: string, b: string) =>
      cellsOf(comparisons?.rows.find(({ id }) => id.includes('mgsm_direct_sw') && id.endsWith(`${a}/${b}`))),
  };
};

const seeds = [101, 102, 105, 107, 108, 111, 112];
/** Cached: every table of seven studies takes seconds. */
const pages = new Map<number, ReturnType<typeof pageOf>>();

beforeAll(() => {
  for (const seed of seeds) pages.set(seed, pageOf(seed));
}, 120_000);

describe('one comparison on a page', () => {
  it('has the verdict and the p-values of the table in its result', () => {
    const found = seeds.filter((seed) => {
      const { result, said } = valueAt(pages, seed);
      const kind = Object.entries(kinds).find(([words]) => result.includes(words))?.[1];
      if (kind === undefined) return false;
      const { p, 'adjusted-p': adjusted, verdict } = said('swap-default', kind);
      expect(result, `study ${seed}`).toContain(String(verdict?.value));
      if (p === null || p === undefined) return false;
      if (!/too few|floor|ceiling/.test(String(verdict?.value))) {
        expect(result, `study ${seed}`).toContain(pText(Number(p.value)));
        expect(result, `study ${seed}`).toContain(`${pText(Number(adjusted?.value))} among`);
      }
      return true;
    });
    expect(found.length).toBeGreaterThan(seeds.length / 2);
  });

  it('has them beside the grid too, where its best is chosen of as many', () => {
    const found = seeds.flatMap((seed) => {
      const { grids, said } = valueAt(pages, seed);
      return grids.flatMap(({ entry, finding }) => {
        const sentence = finding?.sentence ?? '';
        if (entry !== 'soup' || !/ among \d+ comparisons/.test(sentence)) return [];
        const { verdict, p, 'adjusted-p': adjusted } = said('soup-best', 'soup-default');
        expect(sentence, `study ${seed}`).toContain(String(verdict?.value));
        expect(sentence, `study ${seed}`).toContain(pText(Number(p?.value)));
        expect(sentence, `study ${seed}`).toContain(`${pText(Number(adjusted?.value))} among`);
        return [seed];
      });
    });
    expect(found.length).toBeGreaterThanOrEqual(3);
  });
});
