import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, type RecipeInput, revert } from '../../src/index.js';
import { fill, llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { everyMethod } from '../fixtures/every-method.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode, type Floating } from '../fixtures/numbers.js';

const options = { layers: 2, hidden: 16 };
const names = ['base', 'a', 'b', 'c'] as const;

const writeFamily = async (dtypes: Readonly<Record<(typeof names)[number], Floating>>) => {
  const root = temporaryDirectory();
  const stored: Record<string, string> = {};
  const widened: Record<string, string> = {};
  for (const [seed, name] of names.entries()) {
    const dtype = dtypes[name];
    const tensors = fill(llamaShapes(options), dtype, seed + 1);
    stored[name] = writeCheckpoint(join(root, name), { ...llama({ ...options, dtype }), tensors });
    widened[name] = writeCheckpoint(join(root, 'widened', name), {
      ...llama(options),
      tensors: Object.fromEntries(
        Object.entries(tensors).map(([tensor, { shape, data }]) => [
          tensor,
          { dtype: 'F32', shape, data: encode('F32', decode(dtype, data)) },
        ]),
      ),
    });
  }
  return { root, stored: stored as typeof widened, widened };
};

type Models = Parameters<typeof everyMethod>[0];

const recipesOver = (models: Readonly<Record<string, string>>): Record<string, RecipeInput> => {
  const { nested: _, ...recipes } = everyMethod(models as unknown as Models);
  return recipes;
};

// Leaves out recipes in recipes: their inner results are rounded to a dtype.
describe.each<[string, Record<(typeof names)[number], Floating>, 'float32' | 'bfloat16']>([
  ['float32 experts of a bfloat16 base', { base: 'BF16', a: 'F32', b: 'F32', c: 'F32' }, 'bfloat16'],
  [
    'bfloat16 and float16 experts of a float32 base',
    { base: 'F32', a: 'BF16', b: 'F16', c: 'BF16' },
    'float32',
  ],
])('%s', (_, dtypes, dtype) => {
  it('give by every method what the same numbers in float32 give, rounded once', async () => {
    const { root, stored, widened } = await writeFamily(dtypes);
    const merged = async (recipe: RecipeInput | undefined, name: string, side: string) => {
      const out = join(root, `${side}-${name}`);
      await merge({ ...recipe, dtype } as RecipeInput, { out, threads: 1 });
      return await readTensors(out);
    };
    const recipes = recipesOver(stored);
    for (const [name, recipe] of Object.entries(recipesOver(widened)))
      expect(await merged(recipes[name], name, 'stored'), name).toEqual(
        await merged(recipe, name, 'widened'),
      );
  });
});

describe.each<['BF16' | 'F32', 'BF16' | 'F32']>([
  ['BF16', 'F32'],
  ['F32', 'BF16'],
])('a revert to a base in %s of an expert in %s', (ofBase, ofExpert) => {
  const write = () => {
    const root = temporaryDirectory();
    const base = fill(llamaShapes(options), ofBase, 1);
    const expert = fill(llamaShapes(options), ofExpert, 2);
    return {
      out: join(root, 'out'),
      base: writeCheckpoint(join(root, 'base'), { ...llama(options), tensors: base }),
      model: writeCheckpoint(join(root, 'expert'), { ...llama(options), tensors: expert }),
      numbers: (name: string) => ({
        base: decode(ofBase, base[name]?.data ?? new Uint8Array()),
        expert: decode(ofExpert, expert[name]?.data ?? new Uint8Array()),
      }),
    };
  };

  it.each([undefined, 'bfloat16', 'float32'] as const)(
    'by rows takes numbers of either and rounds them once, with dtype %s',
    async (dtype) => {
      const { base, model, out, numbers } = write();
      const threshold = 0.026;
      const { kept } = await revert({ base, model, threshold }, { out, ...(dtype && { dtype }) });
      const written = dtype === undefined ? ofExpert : dtype === 'float32' ? 'F32' : 'BF16';
      const counts = { kept: 0, reverted: 0 };
      for (const [name, { shape, data, dtype: found }] of Object.entries(await readTensors(out))) {
        const { base, expert } = numbers(name);
        const width = shape.length === 1 ? expert.length : (shape[1] ?? 0);
        // A row is one input feature: a column of the stored matrix, or a whole vector.
        const columnOf = (index: number) => (shape.length === 1 ? 0 : index % width);
        const changes = new Map<number, number[]>();
        for (const [index, value] of expert.entries()) {
          const column = columnOf(index);
          changes.set(column, [...(changes.get(column) ?? []), Math.abs(value - (base[index] ?? 0))]);
        }
        const isKept = new Map(
          [...changes].map(([column, of]) => [
            column,
            of.reduce((sum, change) => sum + change, 0) / of.length >= threshold,
          ]),
        );
        const expected = expert.map((value, index) =>
          isKept.get(columnOf(index)) ? value : (base[index] ?? 0),
        );
        for (const keeps of isKept.values()) counts[keeps ? 'kept' : 'reverted'] += 1;
        expect(found, name).toBe(written);
        expect(Buffer.compare(data, encode(written, expected)), name).toBe(0);
      }
      expect(counts.kept).toBeGreaterThan(10);
      expect(counts.reverted).toBeGreaterThan(10);
      expect(kept?.all.rowsKept).toBe(counts.kept);
    },
  );

  it('by location counts what is the expert’s, converted or not', async () => {
    for (const dtype of ['bfloat16', 'float32'] as const) {
      const { base, model, out } = write();
      const { kept } = await revert({ base, model, bottom: 1, top: 0 }, { out, dtype });
      for (const [name, of] of Object.entries(kept?.tensors ?? {}))
        expect(of.rowsKept, name).toBe(name.includes('layers.0.') ? 0 : of.rows);
    }
  });
});
