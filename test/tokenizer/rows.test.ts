import { describe, expect, it } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { type ModelTokens, makeTokenizer } from '../../src/core/models/tokenizer/files/tokenizer.js';
import { rowsOf } from '../../src/core/models/tokenizer/rows.js';
import { generator } from '../fixtures/numbers.js';
import { rowsBy } from './fixtures.js';

const modelOf = (name: string, tokens: readonly string[], rows: number): ModelTokens => ({
  name,
  path: name,
  rows,
  tokenizer: makeTokenizer(
    {
      file: name,
      algorithm: 'BPE',
      spelling: 'text',
      vocabulary: new Map(tokens.map((token, id) => [token, id])),
    },
    [],
    { decoder: [], special: [], uses: [] },
  ),
});

describe('rows of any vocabularies', () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'are each token’s own, or those of the models that have it (seed %i)',
    (seed) => {
      const random = generator(seed + 1);
      const below = (end: number) => Math.floor(random() * end);
      const names = Array.from({ length: 12 }, (_, index) => `t${index}`);
      const shuffled = () =>
        names
          .map((name) => [random(), name] as const)
          .sort(([a], [b]) => a - b)
          .map(([, name]) => name);
      const models = Array.from({ length: 2 + below(3) }, (_, index) =>
        modelOf(`m${index}`, shuffled().slice(0, 4 + below(8)), 3 + below(12)),
      );
      const base = below(2) === 0 ? undefined : below(models.length);
      const output = shuffled().slice(0, 10);
      const ids = new Map(output.map((token, id) => [token, id]));
      const rows = 10 + below(6);
      const made = rowsOf(models, ids, rows, { base, tokens: new Map() });

      const own = (model: number, to: number): number[] => {
        const { tokenizer, rows: most } = itemAt(models, model);
        const token = output[to];
        const taken = [...tokenizer.ids.values()];
        const row = token === undefined ? (taken.includes(to) ? undefined : to) : tokenizer.ids.get(token);
        return row === undefined || row >= most ? [] : [100 * model + row];
      };
      const expected = (model: number, to: number): number[] => {
        if (own(model, to).length > 0) return own(model, to);
        const havers = [...models.keys()].filter((other) => own(other, to).length > 0);
        const chosen =
          output[to] === undefined
            ? havers.slice(0, 1)
            : base !== undefined && havers.includes(base)
              ? [base]
              : havers;
        return chosen.flatMap((other) => own(other, to));
      };
      expect(rowsBy({ ...made, rows, padFrom: rows, donor: 0, files: [], warnings: [] })).toEqual(
        models.map((_, model) => Array.from({ length: rows }, (__, to) => expected(model, to))),
      );
      for (const { own: runs } of made.models)
        for (const [index, [to, from]] of runs.slice(1).entries()) {
          const [before, begin, count] = itemAt(runs, index);
          expect(to).toBeGreaterThanOrEqual(before + count);
          expect(to === before + count && from === begin + count, 'neighbours make one run').toBe(false);
        }
    },
  );
});
