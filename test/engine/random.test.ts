import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, type RecipeInput } from '../../src/index.js';
import { fill, writeCheckpoint } from '../fixtures/checkpoints.js';
import { type Family, writeFamilyOf } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';
import { decode } from '../fixtures/numbers.js';

const rows = 96;
const columns = 128;
const count = rows * columns;
const name = 'model.layers.0.mlp.up_proj.weight';

const write = () =>
  writeFamilyOf({ [name]: [rows, columns], 'model.layers.1.mlp.up_proj.weight': [rows, columns] }, 'F32');

const numbers = (family: Family, member: 'base' | 'a' | 'b') =>
  decode('F32', family.tensors[member][name]?.data ?? new Uint8Array());

const changes = async (family: Family, recipe: Record<string, unknown>, tensor = name): Promise<number[]> => {
  const out = join(family.root, 'out');
  const { base, a } = family;
  const models = [{ model: a, weight: 1 }];
  await merge({ base, models, ...recipe } as unknown as RecipeInput, { out, force: true, threads: 1 });
  const merged = decode('F32', (await readTensors(out))[tensor]?.data ?? new Uint8Array());
  const base32 = decode('F32', family.tensors.base[tensor]?.data ?? new Uint8Array());
  return merged.map((x, i) => x - (base32[i] ?? 0));
};

const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe.each(['dare_linear', 'dare_ties', 'della', 'della_linear'])('%s', (method) => {
  const epsilon = method.startsWith('della') ? { epsilon: 0.15 } : {};

  it('draws the same for one seed and other elements for another, another tensor and another model', async () => {
    const family = write();
    const draw = (seed: number, more = {}, tensor = name) =>
      changes(family, { method, density: 0.5, ...epsilon, seed, ...more }, tensor);
    const [first, again, other] = [await draw(1), await draw(1), await draw(2)];
    expect(again).toEqual(first);
    const kept = (all: readonly number[]) => all.map((x) => x !== 0);
    expect(kept(other)).not.toEqual(kept(first));
    expect(kept(await draw(1, {}, 'model.layers.1.mlp.up_proj.weight'))).not.toEqual(kept(first));
    // The second model has its own draws, even for the same fine-tuning.
    const second = [
      { model: family.b, weight: 0 },
      { model: family.a, weight: 1 },
    ];
    expect(kept(await draw(1, { models: second, normalize: false }))).not.toEqual(kept(first));
  });

  it.each([0.1, 0.5, 0.8])(
    'keeps a share of %f of the elements, within five standard errors',
    async (density) => {
      // Nothing in common with the base, so that DELLA's ranks depend on changes alone.
      const family = write();
      const expert = fill({ [name]: [rows, columns] }, 'F32', 9);
      const own = decode('F32', expert[name]?.data ?? new Uint8Array());
      const base = numbers(family, 'base');
      const changed = own.map((x, i) => x !== base[i]);
      const among = changed.filter(Boolean).length;
      const tensors = { ...family.tensors.base, ...expert };
      const models = [{ model: writeCheckpoint(join(family.root, 'expert'), { tensors }), weight: 1 }];
      const more = method.startsWith('della') ? { epsilon: 0.05 } : {};
      for (const seed of [0, 1, 2 ** 40]) {
        const kept = await changes(family, { method, models, density, ...more, seed, rescale: false });
        const share = kept.filter((x, i) => changed[i] && x !== 0).length / among;
        expect(Math.abs(share - density)).toBeLessThanOrEqual(
          5 * Math.sqrt((density * (1 - density)) / among),
        );
      }
    },
  );

  it('is right on average over seeds where what stays is divided by the density', async () => {
    const family = write();
    const base = numbers(family, 'base');
    const change = numbers(family, 'a').map((x, i) => x - (base[i] ?? 0));
    const density = 0.4;
    const more = method.startsWith('della') ? { epsilon: 0 } : {};
    const seeds = 12;
    // Compares with a direction of random signs, so that kept values cannot cancel each other.
    const signs = change.map((x) => Math.sign(x));
    const wanted = average(change.map((x, i) => x * (signs[i] ?? 0)));
    const found: number[] = [];
    for (let seed = 0; seed < seeds; seed += 1) {
      const merged = await changes(family, { method, density, ...more, seed, rescale: 'density' });
      found.push(average(merged.map((x, i) => x * (signs[i] ?? 0))));
    }
    const squares = average(change.map((x) => x * x));
    const error = Math.sqrt((squares * (1 / density - 1)) / (count * seeds));
    expect(Math.abs(average(found) - wanted)).toBeLessThanOrEqual(5 * error);
  });
});
