import { expect, it } from 'vitest';
import { openCheckpoint } from '../../src/index.js';
import {
  fill,
  llamaConfig,
  llamaShapes,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';

const warningsOf = async (config: Record<string, unknown>) => {
  const tensors = fill(llamaShapes({ layers: 4 }), 'BF16', 1);
  const { warnings } = await openCheckpoint(writeCheckpoint(temporaryDirectory(), { tensors, config }));
  return warnings.filter((text) => text.includes('loaders make the layers'));
};

it.each([3, 5])('warns of weights of 4 layers that config.json calls %s', async (layers) => {
  expect(await warningsOf(llamaConfig({ layers }))).toEqual([
    expect.stringContaining(
      `num_hidden_layers in config.json is ${layers}, and model.layers has 4 layers: loaders make the layers that config.json says, missing ones of random numbers`,
    ),
  ]);
});

it('warns of no right number, no default, no draft layers, and no unknown family', async () => {
  const { num_hidden_layers: _, ...config } = llamaConfig({ layers: 4 });
  expect(await warningsOf({ ...config, num_hidden_layers: 4 })).toEqual([]);
  expect(await warningsOf(config)).toEqual([]);
  expect(await warningsOf({ ...config, num_hidden_layers: 3, num_nextn_predict_layers: 1 })).toEqual([]);
  expect(await warningsOf({ ...config, model_type: 'own', num_hidden_layers: 3 })).toEqual([]);
});
