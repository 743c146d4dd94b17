import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WeightSwapServer } from '../../src/study/evaluation/servers/weight-swap-server.js';
import { WeightsToLoad } from '../../src/study/evaluation/servers/weights-to-load.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { standInServer } from '../fixtures/evaluation-errors.js';

/** Least number of injected faults, and number of models to load at random. */
const [faults, models] = [Number(process.env['LAYERLOOM_FAULTS'] ?? 30), 6];

const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

afterEach(() => {
  vi.unstubAllEnvs();
});

describe.each([
  ['vllm', 12],
  ['sglang', 13],
] as const)('a server that takes weights: %s', (exchange, kindsOfFaults) => {
  it(`answers for no model whose weights it does not hold, in ${faults} faults of all kinds from seeds`, async () => {
    const root = temporaryDirectory();
    const weights = new WeightsToLoad();
    const hashes = new Map<string, string>();
    const paths: string[] = [];
    for (let model = 0; model < models; model += 1) {
      // Half of the seeds are equal: shared tensors are not loaded again.
      const path = writeCheckpoint(join(root, `model-${model}`), llama({ layers: 3, seed: 1 + (model % 4) }));
      const hash = createHash('sha256');
      for (const { file, begin, end } of ((await weights.of(path)) ?? []).toSorted((a, b) =>
        a.name < b.name ? -1 : 1,
      ))
        hash.update(readFileSync(file).subarray(begin, end));
      hashes.set(path, hash.digest('hex'));
      paths.push(path);
    }
    const [injected, log] = [join(root, 'faults'), join(root, 'log')];
    vi.stubEnv('STUB_FAULTS_LOG', injected);
    const codes = new Map<string, number>();
    let [answered, answeredInPlace] = [0, 0];
    const isEnough = (lines: readonly string[]) =>
      lines.length >= faults && new Set(lines).size === kindsOfFaults;
    for (let seed = 1; !isEnough(linesOf(injected)); seed += 1) {
      vi.stubEnv('STUB_FAULTS', String(seed * 7919));
      await using server = new WeightSwapServer(
        {
          ...{ exchange, serve: standInServer(exchange), url: undefined, timeoutSeconds: 20 },
          ...{ fingerprint: 'samples', environment: {} },
        },
        weights,
      );
      for (let run = 0; run < 6; run += 1) {
        const path = paths[(seed * 5 + run * run) % models] ?? '';
        // Every second one is in place: the directory has another model's tensors.
        const isInPlace = (seed + run) % 2 === 1;
        const donor = paths[(seed + run) % models] ?? '';
        const tensors = (await weights.of(path)) ?? [];
        const held = await server
          .hold({
            ...{ name: 'm', log, signal: undefined, onLoaded: () => undefined },
            ...(isInPlace ? { path: donor, inPlace: { tensors, donated: [] } } : { path }),
          })
          .catch((error: unknown) => error as { code: string });
        if ('code' in held) {
          codes.set(held.code, (codes.get(held.code) ?? 0) + 1);
          continue;
        }
        const answer = await fetch(`${held.url}/v1/completions`, {
          method: 'POST',
          body: JSON.stringify({ model: held.servedName, prompt: 'What is 3 + 4?' }),
        });
        const { choices } = (await answer.json()) as { choices: { text: string }[] };
        expect(choices[0]?.text, path).toBe(hashes.get(path));
        answered += 1;
        if (isInPlace) answeredInPlace += 1;
      }
    }
    expect(answered).toBeGreaterThan(faults / 4);
    expect(answeredInPlace).toBeGreaterThan(faults / 10);
    // Loading everything repairs most faults; a second one in a row fails the model.
    expect(new Set(codes.keys())).toEqual(new Set(['WEIGHTS_DIFFER', 'EXCHANGE_FAILED']));
  }, 7_200_000);
});
