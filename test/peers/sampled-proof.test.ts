import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { soup } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cliProcess, startCli } from '../fixtures/cli.js';
import { hubUser } from '../fixtures/hub-client.js';
import { fileOf, fileOnDisk, HubServer } from '../fixtures/hub-server.js';

// A merge of real experts on a stand-in of the hub, compared with its recipe by a sample.

const { LAYERLOOM_EXPERTS: experts = '' } = process.env;
const models = ['base', 'math-1'] as const;
const hasExperts = models.every((name) => existsSync(join(experts, name, 'model.safetensors')));

const sha256Of = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

const published = async (weights: readonly number[]) => {
  const root = temporaryDirectory();
  const hub = await new HubServer().start();
  onTestFinished(() => hub.close());
  const merged = join(root, 'merged');
  await soup({ models: models.map((name) => join(experts, name)), weights }, { out: merged });
  const folders = new Map([
    ...models.map((name) => [name, join(experts, name)] as const),
    ['merged', merged],
  ]);
  for (const [name, folder] of folders) {
    const files = readdirSync(folder).filter((file) => /\.(json|safetensors)$/.test(file));
    hub.addModel(
      `org/${name}`,
      files.map((file) =>
        file.endsWith('.json')
          ? fileOf(file, readFileSync(join(folder, file)))
          : fileOnDisk(file, join(folder, file), sha256Of(join(folder, file))),
      ),
    );
  }
  const recipe = join(root, 'recipe.yaml');
  writeFileSync(recipe, JSON.stringify({ method: 'soup', models: models.map((name) => `org/${name}`) }));
  const args = ['verify', 'org/merged', '--against', recipe, '--sample', '0.05', '--seed', '7', '--download'];
  return { hub, args, env: hubUser(hub) };
};

describe.skipIf(!hasExperts)('a sample of a published merge (LAYERLOOM_EXPERTS)', () => {
  it('is announced in bytes, goes on after a kill, and fetches each range once', async () => {
    const { hub, args, env } = await published([0.5, 0.5]);
    const child = startCli(args, env);
    let said = '';
    child.stderr.on('data', (text: Buffer) => {
      said += text.toString();
    });
    await vi.waitUntil(() => hub.weightBytes > 6e6, { timeout: 60_000, interval: 2 });
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(said).toContain('by seed 7');
    const fetched = hub.weightBytes;
    const { code, stdout } = await cliProcess([...args, '--json'], env);
    const { verdict, sample, seconds } = JSON.parse(stdout);
    expect([code, verdict]).toEqual([0, 'intact']);
    expect(said).toContain(`reads ${(sample.bytes / 1e6).toPrecision(3)} MB`);
    expect(hub.weightBytes).toBeLessThan(1.02 * sample.bytes + 8e6);
    console.info({ fetched, all: hub.weightBytes, seconds, ...sample });
  });

  it('finds other weights than the recipe’s', async () => {
    const { args, env } = await published([0.52, 0.48]);
    const { code, stdout } = await cliProcess([...args, '--json'], env);
    const { verdict, fault } = JSON.parse(stdout);
    expect([code, verdict]).toEqual([1, 'different']);
    console.info(fault.sentence);
  });
});
