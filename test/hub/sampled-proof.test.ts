import { once } from 'node:events';
import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli, startCli } from '../fixtures/cli.js';
import { hubUser } from '../fixtures/hub-client.js';
import { fileOf, fileOnDisk, HubServer } from '../fixtures/hub-server.js';
import { writeSparseLlama } from '../fixtures/sparse-llama.js';

// A merge and inputs that are only on the hub. All weights are zeros, so the sum of experts is too.

const q = 'model.layers.1.self_attn.q_proj.weight';

const hubOfMerge = async (hidden = 512) => {
  const root = temporaryDirectory();
  const hub = await new HubServer().start();
  onTestFinished(() => hub.close());
  const paths = ['a', 'b', 'merged'].map((name) => {
    const model = writeSparseLlama(join(root, name), { layers: 2, hidden });
    const weights = join(model, 'model.safetensors');
    hub.addModel(`org/${name}`, [
      fileOf('config.json', readFileSync(join(model, 'config.json'))),
      fileOnDisk('model.safetensors', weights),
    ]);
    return weights;
  });
  const merged = paths[2] ?? '';
  const recipe = join(root, 'recipe.yaml');
  writeFileSync(recipe, JSON.stringify({ method: 'soup', models: ['org/a', 'org/b'] }));
  const env = hubUser(hub);
  const words = (share: number, seed: number, ...more: readonly string[]) => {
    const options = ['--sample', `${share}`, '--seed', `${seed}`, ...more];
    return ['verify', 'org/merged', '--against', recipe, ...options];
  };
  const verify = (share: number, seed: number, ...more: readonly string[]) =>
    cli(words(share, seed, ...more), env);
  const start = (share: number, seed: number) => startCli(words(share, seed, '--download'), env);
  return { hub, merged, verify, start, all: 3 * statSync(merged).size };
};

/** Finds a tensor's bytes in the file. */
const placeOf = (file: string, tensor: string): readonly [number, number] => {
  const bytes = readFileSync(file);
  const length = Number(bytes.readBigUInt64LE(0));
  const [begin, end] = JSON.parse(bytes.toString('utf8', 8, 8 + length))[tensor].data_offsets;
  return [8 + length + begin, 8 + length + end];
};

const overwrite = (file: string, at: number, bytes: number): void => {
  const opened = openSync(file, 'r+');
  writeSync(opened, Buffer.alloc(bytes, 0x3e), 0, bytes, at);
  closeSync(opened);
};

describe('a merge on the hub, compared with its recipe by a sample', () => {
  it('fetches the drawn ranges of the merge and its inputs only, and says so before', async () => {
    const { hub, verify, all } = await hubOfMerge();
    const { code, stdout, stderr } = await verify(0.05, 7, '--download', '--json');
    expect([code, stderr]).toEqual([0, expect.stringContaining('by seed 7')]);
    const { verdict, sample, tensors } = JSON.parse(stdout);
    expect(verdict).toBe('intact');
    expect(tensors).toHaveLength(21);
    expect(sample).toMatchObject({ share: 0.05, seed: 7, toDownload: expect.any(Number) });
    // Small tensors are read whole, and the header's request brings some bytes.
    expect(sample.drawnElements / sample.elements).toBeGreaterThan(0.05);
    expect(sample.bytes).toBeLessThan(0.2 * all);
    expect(hub.weightBytes).toBeLessThan(1.02 * sample.bytes + 3 * 65_536);
    expect(sample.random[0].probability).toBeCloseTo(sample.drawnElements / sample.elements, 10);
    expect(sample.oneTile).toBeGreaterThanOrEqual(0.05);
    const shown = `reads ${(sample.bytes / 1e6).toPrecision(3)} MB`;
    expect(stderr.indexOf(shown)).toBeGreaterThan(-1);
  });

  it('reads nothing without --download, and later only what a larger share adds', async () => {
    const { hub, verify } = await hubOfMerge();
    const refused = await verify(0.05, 7);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('--download');
    const first = JSON.parse((await verify(0.05, 7, '--download', '--json')).stdout).sample;
    const fetched = hub.weightBytes;
    const again = JSON.parse((await verify(0.05, 7, '--download', '--json')).stdout).sample;
    expect([again.toDownload, hub.weightBytes]).toEqual([0, fetched]);
    const larger = JSON.parse((await verify(0.1, 7, '--download', '--json')).stdout).sample;
    expect(larger.toDownload).toBeLessThanOrEqual(larger.bytes - first.bytes);
    expect(hub.weightBytes - fetched).toBeLessThan(1.05 * larger.toDownload);
  });

  it('goes on after it was killed, and does not fetch again what it has', async () => {
    const { hub, start, verify } = await hubOfMerge(2048);
    const child = start(0.3, 7);
    let said = '';
    let before: number | undefined;
    child.stderr.on('data', (text: Buffer) => {
      said += text.toString();
      if (said.includes('by seed 7')) before ??= hub.weightBytes;
    });
    await vi.waitUntil(() => hub.weightBytes > 20e6, { timeout: 60_000, interval: 5 });
    child.kill('SIGKILL');
    await once(child, 'close');
    // Headers alone are fetched before the sample is announced.
    expect(before).toBeLessThanOrEqual(3 * 65_536);
    const fetched = hub.weightBytes;
    const { verdict, sample } = JSON.parse((await verify(0.3, 7, '--download', '--json')).stdout);
    expect(verdict).toBe('intact');
    expect(sample.toDownload).toBeLessThan(sample.bytes);
    // The process fetches again ranges that the kill cut off.
    expect(hub.weightBytes).toBeLessThan(sample.bytes + fetched - (sample.bytes - sample.toDownload) + 1e6);
  });

  it('always finds a tensor that is another', async () => {
    const { merged, verify } = await hubOfMerge();
    const [begin, end] = placeOf(merged, q);
    overwrite(merged, begin, end - begin);
    const { code, stdout } = await verify(0.001, 1, '--download', '--json');
    const { verdict, tensors, fault } = JSON.parse(stdout);
    expect([code, verdict]).toEqual([1, 'different']);
    const wrong = tensors.filter(({ state }: { state: string }) => state !== 'equal');
    expect(wrong.map(({ name }: { name: string }) => name)).toEqual([q]);
    expect(fault.tensors).toEqual([q]);
  });

  it('finds a change within a tile if, and only if, the tile is drawn', async () => {
    const { merged, verify } = await hubOfMerge();
    const [begin] = placeOf(merged, q);
    overwrite(merged, begin + 200 * 1024, 8);
    // Two tiles of 256 KiB: a share of 0.05 draws one of them, 0.6 both.
    const verdicts: string[] = [];
    for (let seed = 0; seed < 4; seed += 1)
      verdicts.push(JSON.parse((await verify(0.05, seed, '--download', '--json')).stdout).verdict);
    expect(new Set(verdicts)).toEqual(new Set(['intact', 'different']));
    expect(JSON.parse((await verify(0.6, 0, '--download', '--json')).stdout).verdict).toBe('different');
  });
});
