import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { HarnessProcess } from '../../src/study/evaluation/harness/harness-process.js';
import { type PlacedTensor, WeightsToLoad } from '../../src/study/evaluation/servers/weights-to-load.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { standIn } from '../fixtures/evaluation-errors.js';
import { hashOf } from '../fixtures/held.js';

/** Least number of injected faults, and number of models to load at random. */
const [faults, models] = [Number(process.env['LAYERLOOM_FAULTS'] ?? 60), 6];

const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a process that holds weights', () => {
  it(`is found out by its fingerprint whenever it holds others, in ${faults} faults from seeds`, async () => {
    const root = temporaryDirectory();
    const weights = new WeightsToLoad();
    const hashes = new Map<string, string>();
    const wanted: { path: string; config: string; tensors: readonly PlacedTensor[] }[] = [];
    for (let model = 0; model < models; model += 1) {
      // Half of the seeds are equal: shared tensors are not loaded again.
      const path = writeCheckpoint(join(root, `model-${model}`), llama({ layers: 3, seed: 1 + (model % 4) }));
      const tensors = (await weights.of(path)) ?? [];
      hashes.set(path, hashOf(tensors));
      const config = join(root, `config-${model}.json`);
      writeFileSync(config, JSON.stringify({ model_args: { pretrained: path } }));
      wanted.push({ path, config, tensors });
    }
    const [held, injected, log] = [join(root, 'held'), join(root, 'faults'), join(root, 'log')];
    mkdirSync(root, { recursive: true });
    vi.stubEnv('STUB_HELD', held);
    vi.stubEnv('STUB_FAULTS_LOG', injected);
    vi.stubEnv('STUB_ANSWERS', 'no');
    const refused = new Set<string>();
    let answeredInPlace = 0;
    for (let seed = 1; linesOf(injected).length < faults; seed += 1) {
      vi.stubEnv('STUB_FAULTS', String(seed * 7919));
      await using kept = new HarnessProcess(standIn, {}, weights);
      for (let run = 0; run < 6; run += 1) {
        const model = wanted[(seed * 5 + run * run) % models];
        if (model === undefined) continue;
        const words = ['run', '--config', model.config];
        // Every second one is in place: the directory has another model's tensors.
        const donor = wanted[(seed + run) % models] ?? model;
        const own = (seed + run) % 2 === 0 ? model.path : { tensors: model.tensors, donated: donor.tensors };
        const end = await kept.run({
          ...{ words, log, weights: own, fingerprint: 'samples' },
          onLoaded: () => undefined,
        });
        const isAnswered = end !== undefined && 'code' in end && end.code === 0;
        if (typeof own === 'object' && isAnswered) answeredInPlace += 1;
        if (end !== undefined && 'differing' in end) for (const name of end.differing) refused.add(name);
        // A restarted process begins the seed again; a fault of its first model would recur for ever.
        if (end === undefined || 'differing' in end || end.code !== 0) break;
      }
    }
    const answered = linesOf(held).map((line) => line.split(' '));
    expect(answered.length).toBeGreaterThan(faults / 4);
    for (const [path = '', hash] of answered) expect(hash, path).toBe(hashes.get(path));
    expect(new Set(linesOf(injected)).size).toBe(9);
    expect(refused.size).toBeGreaterThan(20);
    expect(answeredInPlace).toBeGreaterThan(5);
  });
});
