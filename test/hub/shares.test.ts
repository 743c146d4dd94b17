import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { hubUser } from '../fixtures/hub-client.js';
import { fileOf, fileOnDisk, HubServer } from '../fixtures/hub-server.js';
import { writeSparseLlama } from '../fixtures/sparse-llama.js';

// The parts of two downloads that a swap of 32 layers needs, in models with the proportions of an 8B Llama.

const hubOfTwo = async () => {
  const root = temporaryDirectory();
  const hub = await new HubServer().start();
  onTestFinished(() => hub.close());
  const model = writeSparseLlama(join(root, 'model'), { layers: 32, hidden: 128 });
  const weights = join(model, 'model.safetensors');
  for (const name of ['task', 'language'])
    hub.addModel(`org/${name}`, [
      fileOf('config.json', readFileSync(join(model, 'config.json'))),
      fileOnDisk('model.safetensors', weights),
    ]);
  return { root, hub, env: hubUser(hub), both: 2 * statSync(weights).size };
};

describe('a swap of two models of 32 layers that are only on the hub', () => {
  it.each([
    ['by default', [], 0.566],
    ['that takes what is outside the layers from one', ['--others', 'task'], 0.5],
  ])('%s', async (_name, options, share) => {
    const { root, hub, env, both } = await hubOfTwo();
    const swap = ['swap', '--task', 'org/task', '--lang', 'org/language', '--download', ...options];
    const dry = await cli([...swap, '--dry-run', '--json'], env);
    const { download, cost } = JSON.parse(dry.stdout);
    expect(cost.bytesToRead / both).toBeLessThanOrEqual(share);
    expect(cost.bytesToRead / both).toBeGreaterThan(share - 0.003);
    // The first 64 KiB of each file came with its header.
    expect(download.bytes).toBeGreaterThan(cost.bytesToRead - 2 * 65_536);
    const { code, stderr } = await cli([...swap, '-o', join(root, 'out')], env);
    expect(stderr).not.toContain('error:');
    expect(code).toBe(0);
    expect(hub.weightBytes).toBeLessThanOrEqual(1.01 * cost.bytesToRead);
    expect(hub.weightBytes).toBeGreaterThanOrEqual(cost.bytesToRead);
  });
});
