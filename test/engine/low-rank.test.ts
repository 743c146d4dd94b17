import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { propertyAt } from '../../src/core/base/errors/lookup.js';
import { merge, runPlan } from '../../src/index.js';
import { everyMethod } from '../fixtures/every-method.js';
import { planOverAdapters, writeAdapted } from '../fixtures/low-rank.js';
import { readTensors } from '../fixtures/merged.js';

// Whole merges, on disks of any speed.
vi.setConfig({ testTimeout: 180_000 });

/** Widths that are no multiple of a vector, one that is, and a single row. */
const shapes = {
  'model.embed_tokens.weight': [30, 66],
  'model.layers.0.mlp.up_proj.weight': [70, 131],
  'model.layers.1.mlp.up_proj.weight': [64, 128],
  'model.layers.1.mlp.down_proj.weight': [1, 17],
  'model.norm.weight': [66],
};

/** Methods that read values in every way: element by element, by rows, with each kind of statistic. */
const ways = ['linear', 'slerp', 'nuslerp-columns', 'ties', 'dare_ties', 'della', 'sce', 'model_stock'];

describe('a merge of adapters, whose products are operands,', () => {
  it('has the bits of the same merge of full checkpoints, whatever it measures first', async () => {
    const family = await writeAdapted(shapes);
    const recipes = everyMethod(family);
    for (const name of ways) {
      const recipe = propertyAt(recipes, name);
      const full = join(family.root, `${name}-full`);
      const adapted = join(family.root, `${name}-adapted`);
      await merge(recipe, { out: full });
      const plan = await planOverAdapters(recipe, family);
      await runPlan(JSON.parse(JSON.stringify(plan)) as typeof plan, { out: adapted });
      expect(await readTensors(adapted), name).toEqual(await readTensors(full));
    }
  });
});
