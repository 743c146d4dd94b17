import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planMerge } from '../../src/index.js';
import { cli } from '../fixtures/cli.js';
import { writeFamily } from '../fixtures/family.js';

const recipeOf = (text: string) => {
  const { root, a, b } = writeFamily({ layers: 2 });
  const file = join(root, 'recipe.yaml');
  writeFileSync(file, text.replace('MODEL_A', a).replace('MODEL_B', b));
  return file;
};

const misspelt = `merge_method: linear
models:
  - {model: MODEL_A, parameters: {wieght: 1}}
  - {model: MODEL_B, parameters: {weight: 1}}
`;

it('an ignored key that explains an error is named before it, with the key that is near', async () => {
  const file = recipeOf(misspelt);
  const { code, stderr } = await cli(['merge', file, '--dry-run']);
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^warning: .*:3:\d+: wieght: linear has no such parameter; .*did you mean weight\?\nerror: .*weight is missing/,
  );
  expect((await cli(['merge', file, '--dry-run', '--quiet'])).stderr).toMatch(/^error:/);
  await expect(planMerge(file)).rejects.toMatchObject({
    details: { warnings: [expect.stringContaining('did you mean weight?')] },
  });
});

it('an ignored key is named before an error of reading too', async () => {
  const file = recipeOf('merge_method: linear\nbase-model: MODEL_A\nmodels: 3\n');
  await expect(planMerge(file)).rejects.toMatchObject({
    code: 'RECIPE_INVALID',
    details: { warnings: [expect.stringContaining('did you mean base_model?')] },
  });
});
