import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { planDifferences } from '../../src/core/engine/output/plan-differences.js';
import { hasAllWeights } from '../../src/core/models/checkpoint/whole.js';
import { type LayerloomError, layerSwap, openCheckpoint, planMerge } from '../../src/index.js';
import { bringWholeModel } from '../../src/study/experiment/scoring/requests/bring-whole-model.js';
import { weightsOfModel } from '../../src/study/store/files/weights.js';
import { writeFamily } from '../fixtures/family.js';
import { hubUser } from '../fixtures/hub-client.js';
import { HubServer } from '../fixtures/hub-server.js';

const hubOf = async () => {
  const family = writeFamily({ layers: 8, hidden: 128 });
  const hub = await new HubServer().start();
  onTestFinished(() => hub.close());
  for (const name of ['a', 'b'] as const) hub.addDirectory(`org/${name}`, family[name]);
  for (const [name, value] of Object.entries(hubUser(hub))) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  return family;
};

it('are the same inputs before and after, of the same plan', async () => {
  const { root } = await hubOf();
  const recipe = { method: 'layer_swap' as const, task: 'org/a', language: 'org/b', bottom: 2, top: 1 };
  const former = await planMerge(recipe, { download: true });
  expect(former.download?.bytes).toBeGreaterThan(0);
  await layerSwap({ ...recipe }, { out: join(root, 'out'), download: true });
  const before = await weightsOfModel('org/a');
  for (const model of ['org/a', 'org/b']) await bringWholeModel(model, true, {});
  const plan = await planMerge(recipe);
  expect(plan.download).toBeUndefined();
  expect(plan.inputs[0]?.path).toContain('snapshots');
  expect(former.inputs[0]?.path).toContain('layerloom');
  expect(planDifferences(former, plan)).toEqual([]);
  expect(await weightsOfModel('org/a')).toBe(before);
});

it('are fetched whole for programs that load them', async () => {
  const { a } = await hubOf();
  const refused = await bringWholeModel('org/a', false, {}).catch((error: unknown) => error);
  expect((refused as LayerloomError).code).toBe('MODEL_NOT_FOUND');
  await bringWholeModel('org/a', 'headers', {}).catch((error: unknown) => {
    expect((error as LayerloomError).code).toBe('DOWNLOAD_NEEDED');
  });
  await bringWholeModel('org/a', true, {});
  const { path, files } = await openCheckpoint('org/a');
  expect(await hasAllWeights(path)).toBe(true);
  expect(files.map(({ header }) => header)).toEqual(
    (await openCheckpoint(a)).files.map(({ header }) => header),
  );
});
