import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { cli, finished, startCli } from '../fixtures/cli.js';
import { weightsIn } from '../fixtures/contents.js';
import { type Family, writeFamily } from '../fixtures/family.js';
import { hubUser } from '../fixtures/hub-client.js';
import { HubServer } from '../fixtures/hub-server.js';

interface HubOf {
  readonly family: Family;
  readonly hub: HubServer;
  readonly env: NodeJS.ProcessEnv;
}

const hubOf = async (family: Family): Promise<HubOf> => {
  const hub = await new HubServer().start();
  onTestFinished(() => hub.close());
  for (const name of ['base', 'a', 'b'] as const) hub.addDirectory(`org/${name}`, family[name]);
  return { family, hub, env: hubUser(hub) };
};

const small = () => hubOf(writeFamily());

/** Larger than the first read of a file for its header. */
const large = () => hubOf(writeFamily({ layers: 8, hidden: 128 }));

const swap = ['swap', '--task', 'org/a', '--lang', 'org/b', '--bottom', '2', '--top', '1'];

const local = async ({ family }: HubOf, out: string, ...more: string[]): Promise<Buffer> => {
  const args = [...swap, ...more].map((arg) => arg.replace('org/a', family.a).replace('org/b', family.b));
  expect((await cli([...args, '-o', out])).code).toBe(0);
  return weightsIn(out);
};

const ok = async (args: readonly string[], env: NodeJS.ProcessEnv) => {
  const result = await cli(args, env);
  expect(result.stderr + result.stdout, args.join(' ')).not.toContain('error:');
  expect(result.code).toBe(0);
  return result;
};

describe('--download', () => {
  it('merges models that are only on the hub, to the bytes of a merge of local copies', async () => {
    const place = await small();
    const { family, hub, env } = place;
    const out = join(family.root, 'out');
    await ok([...swap, '-o', out, '--download'], env);
    expect(weightsIn(out).equals(await local(place, `${out}-local`))).toBe(true);
    const card = readFileSync(join(out, 'README.md'), 'utf8');
    expect(card).toMatch(/org\/a@[0-9a-f]{40}/);
    expect(card).toContain('- org/b');
    // The card's recipe names commits: with it the same merge is made again, from the cache alone.
    const asked = hub.requests.length;
    await ok(['merge', join(out, 'README.md'), '-o', `${out}-again`], env);
    expect(hub.requests.length).toBe(asked);
    expect(weightsIn(`${out}-again`).equals(weightsIn(out))).toBe(true);
  });

  it('asks nothing of the hub where it is not given', async () => {
    const { family, hub, env } = await small();
    const { code, stderr } = await cli([...swap, '-o', join(family.root, 'out')], env);
    expect(code).toBe(3);
    expect(stderr).toContain('--download fetches what is needed of it, and `hf download org/a` all of it');
    expect(hub.requests).toEqual([]);
  });

  it('fetches headers alone for a dry run, and says what would be fetched', async () => {
    const { hub, env } = await large();
    const { stdout } = await ok([...swap, '--download', '--dry-run', '--json'], env);
    const { download, cost } = JSON.parse(stdout);
    expect(hub.weightBytes).toBeLessThan(0.2 * download.bytes);
    expect(download.bytes).toBeLessThanOrEqual(cost.bytesToRead);
    expect(download.bytes).toBeGreaterThan(0.8 * cost.bytesToRead);
    const text = await ok([...swap, '--download', '--dry-run'], env);
    expect(text.stdout).toMatch(/to download\s+\d.* kB of 2 × \d.* kB \(\d\d %\)/);
    hub.requests.length = 0;
    expect((await ok([...swap, '--dry-run'], env)).stdout).toContain('to download');
    expect(hub.requests).toEqual([]);
  });

  it('fetches for another merge only what is missing', async () => {
    const place = await large();
    const { family, hub, env } = place;
    const out = join(family.root, 'out');
    await ok([...swap, '-o', out, '--download'], env);
    const first = hub.weightBytes;
    const more = ['--bottom', '3'];
    const { stdout } = await ok([...swap, ...more, '--download', '--dry-run', '--json'], env);
    await ok([...swap, ...more, '-o', `${out}-3`, '--download'], env);
    const { download } = JSON.parse(stdout);
    // An extra layer of one model.
    expect(download.models.map(({ model }: { model: string }) => model.split('@')[0])).toEqual(['org/b']);
    expect(hub.weightBytes - first).toBeGreaterThan(0);
    expect(hub.weightBytes - first).toBeLessThanOrEqual(1.01 * download.bytes);
    expect(weightsIn(`${out}-3`).equals(await local(place, `${out}-local`, ...more))).toBe(true);
  });

  it('continues after it was interrupted', async () => {
    const place = await large();
    const { family, hub, env } = place;
    const out = join(family.root, 'out');
    await ok([...swap, '--download', '--dry-run'], env);
    const records = await Promise.all(
      ['org/a', 'org/b'].map(async (model) => {
        const { stdout } = await ok(['inspect', model, '--json'], env);
        return join(JSON.parse(stdout).path, '.ranges', 'model.safetensors.jsonl');
      }),
    );
    // Opening a record adds an empty line; a record with another range has downloaded bytes.
    const counts = () => records.map((path) => readFileSync(path, 'utf8').split('\n[').length);
    const headers = counts();
    // Stalls the storage, not the hub's redirect to it: no download of b ever ends.
    hub.faults.push({ kind: 'stall', after: 1000, on: /^\/org\/b\/model/, times: 1000 });
    const child = startCli([...swap, '-o', out, '--download'], env);
    const ended = finished(child);
    await vi.waitUntil(() => counts().some((count, index) => count !== headers[index]), { timeout: 25_000 });
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code).toBe(130);
    expect(stderr).toContain('which stay in the cache and are not fetched again');
    hub.faults.length = 0;
    await ok([...swap, '-o', out, '--download'], env);
    expect(weightsIn(out).equals(await local(place, `${out}-local`))).toBe(true);
  });

  it('takes what is in the cache where the hub cannot be reached, and says so', async () => {
    const { family, hub, env } = await small();
    const out = join(family.root, 'out');
    await ok([...swap, '-o', out, '--download'], env);
    hub.requests.length = 0;
    const offline = { ...env, HF_HUB_OFFLINE: '1' };
    const { stderr } = await ok([...swap, '-o', `${out}-offline`, '--download'], offline);
    expect(stderr).toContain('warning: org/a is taken as it was when the hub was last asked');
    expect(stderr).toContain('HF_HUB_OFFLINE');
    await ok([...swap, '-o', `${out}-without`], env);
    expect(hub.requests).toEqual([]);
    const { code, stderr: refusal } = await cli(['inspect', 'org/other', '--download'], offline);
    expect(code).toBe(1);
    expect(refusal).toContain('HF_HUB_OFFLINE forbids asking it');
  });

  it('takes the commit that a branch has come to, and the former one by its name', async () => {
    const place = await small();
    const { family, hub, env } = place;
    const out = join(family.root, 'out');
    await ok([...swap, '-o', out, '--download'], env);
    const [former] = /org\/a@[0-9a-f]{40}/.exec(readFileSync(join(out, 'README.md'), 'utf8')) ?? [''];
    hub.addDirectory('org/a', family.base);
    await ok([...swap, '-o', `${out}-new`, '--download'], env);
    expect(readFileSync(join(`${out}-new`, 'README.md'), 'utf8')).not.toContain(former);
    expect(weightsIn(`${out}-new`).equals(weightsIn(out))).toBe(false);
    await ok([...swap, '-o', `${out}-same`], env);
    expect(weightsIn(`${out}-same`).equals(weightsIn(`${out}-new`))).toBe(true);
    const pinned = swap.map((arg) => (arg === 'org/a' ? former : arg));
    await ok([...pinned, '-o', `${out}-former`], env);
    expect(weightsIn(`${out}-former`).equals(weightsIn(out))).toBe(true);
  });

  it('names models that the hub does not have, or has not as safetensors', async () => {
    const { hub, env } = await small();
    hub.addModel('org/pickles', []);
    const missing = await cli(['inspect', 'org/nothing', '--download'], env);
    expect(missing.stderr).toContain('org/nothing');
    expect(missing.code).toBe(3);
    const pickles = await cli(['inspect', 'org/pickles', '--download'], env);
    expect(pickles.code).toBe(3);
    expect((await ok(['inspect', 'org/a', '--download'], env)).stdout).toContain('llama');
  });

  it('takes a model that the hub’s cache has only in part', async () => {
    const place = await small();
    const { family, hub, env } = place;
    const out = join(family.root, 'out');
    await ok(['inspect', 'org/a', '--download'], env);
    const { stdout } = await ok(['inspect', 'org/a', '--json'], env);
    expect(JSON.parse(stdout).path).toContain('layerloom');
    await ok([...swap, '-o', out, '--download'], env);
    expect(hub.weightBytes).toBeGreaterThan(0);
  });
});

describe('--download of other commands', () => {
  it('analyses, compares and explains', async () => {
    const { family, env } = await small();
    const out = join(family.root, 'analysis');
    await ok(['analyze', '--base', 'org/base', 'org/a', '-o', out, '--download'], env);
    await ok(['analyze', '--base', family.base, family.a, '-o', `${out}-local`], env);
    const mavOf = (directory: string) =>
      JSON.parse(
        readFileSync(
          join(directory, readdirSync(directory).find((name) => /a\.json$/.test(name)) ?? ''),
          'utf8',
        ),
      ).meanMav;
    expect(mavOf(out)).toBe(mavOf(`${out}-local`));
    const { stdout } = await ok(['diff', 'org/b', family.b, '--download', '--json'], env);
    expect(JSON.parse(stdout).equal).toBe(true);
    const recipe = join(family.root, 'recipe.yaml');
    writeFileSync(recipe, 'method: soup\nmodels: [org/a, org/b]\n');
    await ok(['merge', recipe, '--explain', 'model.norm.weight', '--download'], env);
  });

  it('measures whole models for a merge that needs them, and not in a dry run', async () => {
    const { family, env } = await large();
    const magnitude = [...swap, '--base', 'org/base', '--weights', 'magnitude', '--download'];
    const dry = await cli([...magnitude, '--dry-run'], env);
    expect(dry.stderr).toContain('weights are needed that are not on this machine');
    await ok([...magnitude, '-o', join(family.root, 'out')], env);
  });

  it('runs a batch, of which the store makes each shard once, whole file or ranges', async () => {
    const { family, hub, env } = await large();
    const file = join(family.root, 'study.yaml');
    writeFileSync(
      file,
      `tasks: {a: org/a}
languages: {swahili: {b: org/b}}
merges:
  - {name: default, method: layer_swap, bottom: [1, 2], top: 1}
`,
    );
    const dry = await ok(['batch', file, '--dry-run', '--download', '--json'], env);
    const { bytes } = JSON.parse(dry.stdout).download;
    const before = hub.weightBytes;
    const out = join(family.root, 'study');
    await ok(['batch', file, '-o', out, '--download'], env);
    expect(hub.weightBytes - before).toBeLessThanOrEqual(1.01 * bytes);
    // The rest of both models arrives; the store has the shards under the same keys.
    await ok(['diff', 'org/a', 'org/b', '--download'], env);
    const again = await ok(['batch', file, '-o', `${out}-2`, '--store', join(out, '.store'), '--json'], env);
    const plan = again.stdout.split('\n').find((line) => line.includes('"plan"')) ?? '';
    expect(JSON.parse(plan).cost.shardsToWrite).toBe(0);
  });
});
