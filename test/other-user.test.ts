import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bundle, evaluateExperiment, formatTables, merge, runExperiment, scoreTables } from '../src/index.js';
import { lora, writeAdapter } from './fixtures/adapters.js';
import { temporaryDirectory } from './fixtures/checkpoints.js';
import { stubHarness } from './fixtures/evaluation-errors.js';
import { writeFamily } from './fixtures/family.js';

const main = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const isRoot = process.getuid?.() === 0;

/** Runs the command line as a user to whom file modes apply: `nobody` if this is root. */
const asOther = (cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const { status, stderr } = spawnSync(process.execPath, [main, ...args], {
    ...{
      cwd,
      encoding: 'utf8',
      env: { ...process.env, HOME: '/nonexistent', XDG_CACHE_HOME: '/nonexistent', ...env },
    },
    ...(isRoot ? { uid: 65534, gid: 65534 } : {}),
  });
  return { status, stderr };
};

/** Folders that only one user may read, and others. */
const folders = () => {
  const root = temporaryDirectory();
  const [own, shared] = [join(root, 'own'), join(root, 'shared')];
  for (const folder of [own, shared]) mkdirSync(folder);
  for (const folder of [root, shared]) chmodSync(folder, 0o755);
  onTestFinished(() => chmodSync(own, 0o700));
  return { own, shared, close: () => chmodSync(own, 0) };
};

// `nobody` cannot run it in a tree that only root may read.
describe.skipIf(asOther('/', ['--version']).status !== 0)(
  'a user who may not read the folders of another',
  () => {
    it('merges by the layerloom.json of the other, with models beside it', async () => {
      const { own, shared, close } = folders();
      const { root } = writeFamily({ layers: 2 });
      cpSync(root, own, { recursive: true, preserveTimestamps: true });
      await merge({ method: 'soup', models: [join(own, 'a'), join(own, 'b')] }, { out: join(own, 'merged') });
      cpSync(own, shared, { recursive: true, preserveTimestamps: true });
      cpSync(join(shared, 'merged', 'layerloom.json'), join(shared, 'layerloom.json'));
      close();
      const args = ['merge', 'layerloom.json', '--dry-run'];
      expect(asOther(shared, args)).toEqual({ status: 0, stderr: '' });
    });

    it('is told which base an adapter needs, and what to give', () => {
      const { own, shared, close } = folders();
      const base = join(own, 'base');
      writeAdapter(join(shared, 'lora'), lora({ config: { base_model_name_or_path: base } }));
      close();
      const { status, stderr } = asOther(shared, [
        'merge',
        '{method: soup, models: [./lora], as: full}',
        '--dry-run',
      ]);
      expect(status).toBe(3);
      expect(stderr).toContain(
        `is of the base ${base}, which is needed: ${base} cannot be read: permission denied`,
      );
      expect(stderr).toContain('give the base with --base');
    });

    it('rebuilds a bundle of the other in a directory of its own, with the same merges and tables', async () => {
      const { own, shared, close } = folders();
      const { base, a, b } = writeFamily({ layers: 4 });
      const experts = join(shared, 'experts');
      for (const [name, from] of Object.entries({ base, 'math-1': a, 'swh-1': b }))
        cpSync(from, join(experts, name), { recursive: true });
      const file = join(own, 'study.yaml');
      writeFileSync(
        file,
        `base: ${experts}/base
tasks: {math-1: ${experts}/math-1}
languages: {swahili: {swh-1: ${experts}/swh-1}}
merges: [{name: default, method: layer_swap, bottom: 1, top: 1}, {name: soup, method: soup}]
evaluate: {tasks: {swahili: mgsm_direct_sw}}
`,
      );
      const study = join(own, 'study');
      await runExperiment(file, { out: study });
      expect((await evaluateExperiment(study, { lmEval: stubHarness })).failed).toEqual([]);
      await bundle(study, { out: join(shared, 'study.tar') });
      const tables = formatTables((await scoreTables(study)).tables, 'csv');
      const place = join(shared, 'new');
      mkdirSync(place);
      chmodSync(place, 0o777);
      close();
      const words = ['rebuild', '../study.tar', '-o', 'again', '--experts', '../experts', '--quiet'];
      expect(asOther(place, words)).toEqual({ status: 0, stderr: '' });
      const made = ['table', 'again', '--format', 'csv', '-o', 'tables.csv'];
      expect(asOther(place, made)).toEqual({ status: 0, stderr: '' });
      expect(readFileSync(join(place, 'tables.csv'), 'utf8').trim()).toBe(tables.trim());
      const weights = (root: string) =>
        ['default', 'soup'].flatMap((name) => {
          const merged = join(root, 'swahili/math-1+swh-1', name);
          const shards = readdirSync(merged).filter((file) => file.endsWith('.safetensors'));
          return shards.sort().map((shard) => [shard, readFileSync(join(merged, shard))]);
        });
      chmodSync(own, 0o700);
      expect(weights(join(place, 'again'))).toEqual(weights(study));
    });

    // A service started by root has such a working directory.
    it.runIf(isRoot)(
      'names models in a working directory that is the other’s, as a cache of ranges may be',
      () => {
        const { own, shared, close } = folders();
        const { root } = writeFamily({ layers: 2 });
        cpSync(root, shared, { recursive: true });
        const cache = join(shared, 'hub');
        const snapshot = join(cache, 'models--org--b', 'snapshots', 'main');
        cpSync(join(shared, 'b'), snapshot, { recursive: true });
        const recipe = join(shared, 'soup.yaml');
        writeFileSync(recipe, `{method: soup, models: [one=${join(shared, 'a')}, org/b]}`);
        close();
        const args = ['merge', recipe, '--dry-run'];
        expect(asOther(own, args, { HF_HUB_CACHE: cache, HF_HOME: own })).toEqual({ status: 0, stderr: '' });
      },
    );
  },
);
