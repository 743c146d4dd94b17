import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ExchangingServer } from '../../src/evaluation/exchanging-server.js';
import { PartsHeld } from '../../src/evaluation/parts-held.js';
import { parseEvaluation } from '../../src/evaluation/settings.js';
import { WeightsToLoad } from '../../src/evaluation/weights-to-load.js';
import { evaluateExperiment, evaluationCommands, runExperiment } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { standIn, standInServer } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 120_000 });

const merges = `
  - {name: default, method: layer_swap, bottom: 1, top: 1}
  - {name: soup, method: soup}
`;

const evaluate = {
  tasks: { swahili: 'mgsm_direct_sw' },
  backend: 'local-completions',
  serve: standInServer,
  exchange: 'vllm',
};

const made = async (more: object = {}) => {
  const { file, out } = writeExperiment(merges, { layers: 4 });
  writeFileSync(file, `\nevaluate: ${JSON.stringify({ ...evaluate, ...more })}\n`, { flag: 'a' });
  await runExperiment(file, { out });
  return out;
};

/** Times that a server was started, by the logs. */
const startsIn = (out: string): number => {
  const logs = join(out, 'evaluations/logs');
  const texts = readdirSync(logs).map((name) => readFileSync(join(logs, name), 'utf8'));
  return texts.join('').split('stand-in server started').length - 1;
};

const server = (settings: Partial<ConstructorParameters<typeof ExchangingServer>[0]>) =>
  new ExchangingServer({
    ...{ serve: undefined, url: undefined, timeoutSeconds: 20, environment: {} },
    ...settings,
  });

const holding = (path: string) => ({
  ...{ name: 'm', path, log: join(temporaryDirectory(), 'log') },
  ...{ signal: undefined, onLoaded: () => undefined },
});

const checkpoint = (seed: number, layers = 2): string =>
  writeCheckpoint(join(temporaryDirectory(), `model-${seed}`), llama({ layers, seed }));

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a server that takes the weights of one model after another', () => {
  it('is started once for all models, and loads only what differs', async () => {
    const out = await made();
    const outcome = await evaluateExperiment(out, { lmEval: standIn });
    expect(outcome.failed).toEqual([]);
    expect(outcome.scored.length).toBeGreaterThan(5);
    expect(startsIn(out)).toBe(1);
    expect(outcome.weights.loaded).toBeLessThan(0.99 * outcome.weights.ofModels);
  });

  it('says of every element what it is, where that is asked for', async () => {
    const outcome = await evaluateExperiment(await made({ fingerprint: 'whole' }), { lmEval: standIn });
    expect(outcome.failed).toEqual([]);
  });

  it('is one for each model where that is asked for', async () => {
    const out = await made();
    const outcome = await evaluateExperiment(out, { lmEval: standIn, separate: true, only: ['*default'] });
    expect(outcome.failed).toEqual([]);
    expect(startsIn(out)).toBe(outcome.scored.length);
  });

  it('is started anew for a model of another form, and ended with the last', async () => {
    const serving = server({ serve: standInServer });
    const [a, b, c] = [checkpoint(1), checkpoint(2), checkpoint(3, 3)];
    const urls: string[] = [];
    for (const path of [a, b, c, a]) urls.push((await serving.hold(holding(path))).url);
    expect(new Set(urls).size).toBe(3);
    expect(urls[0]).toBe(urls[1]);
    await serving.end();
    await expect(fetch(`${urls[3]}/v1/models`)).rejects.toThrow();
  });

  it('may be one that runs, for models of the form that it was started for', async () => {
    const [a, b, c] = [checkpoint(1), checkpoint(2), checkpoint(3, 3)];
    await using own = server({ serve: standInServer });
    const { url } = await own.hold(holding(a));
    await using running = server({ url: `${url}/v1` });
    expect(await running.hold(holding(b))).toEqual({ url, servedName: a });
    await expect(running.hold(holding(c))).rejects.toThrow(/started for a model of another form/);
  });

  it.each([
    [{ STUB_EXTENSION: 'no' }, /VLLM_SERVER_DEV_MODE=1 and --worker-extension-cls/],
    [{ STUB_REASON: 'the server quantises (fp8)' }, /did not take the weights of m: the server quantises/],
    [{ STUB_FAULT: 'not emptied' }, /reset_prefix_cache answered something else than expected/],
    [{ STUB_FAULT: 'noise' }, /answered something else than expected: <html>/],
    [{ STUB_FAULT: 'lost' }, /did not hold the weights of m after loading them twice/],
    [{ STUB_FAULT: 'die' }, /collective_rpc did not answer/],
  ])('is refused: %o', async (environment, message) => {
    await using serving = server({ serve: standInServer, environment });
    await expect(serving.hold(holding(checkpoint(1)))).rejects.toThrow(message);
  });

  it('is printed with the variables that it needs', async () => {
    const out = await made();
    const [first] = await evaluationCommands(out, { lmEval: standIn, only: ['base'] });
    expect(first?.command).toMatch(/^PYTHONPATH=\S*python\S* VLLM_SERVER_DEV_MODE=1 /);
  });
});

describe('settings of such a server', () => {
  it.each([
    [{ serve: undefined }, /exchange: stands without a server/],
    [{ backend: 'hf' }, /stands beside the back end hf/],
    [{ serve: 'vllm serve {model} --host 127.0.0.1' }, /a server that cannot exchange weights/],
    [{ serve: standInServer.replace('127.0.0.1', '0.0.0.0') }, /whose workers others could reach/],
    [
      { serve: standInServer.replace('127.0.0.1', '127.0.0.1.example.org') },
      /whose workers others could reach/,
    ],
    [{ serve: `${standInServer} --host=0.0.0.0` }, /whose workers others could reach/],
    [{ serve: standInServer.replace('--host 127.0.0.1', '') }, /expected --host 127\.0\.0\.1/],
  ])('are refused: %#', (more, message) => {
    expect(() => parseEvaluation({ ...evaluate, ...more }, temporaryDirectory())).toThrow(message);
  });
});

describe('parts of tensors', () => {
  it('are those of the files, and all of a tensor', async () => {
    const weights = (await new WeightsToLoad().of(checkpoint(1))) ?? [];
    const tensor = weights.find(({ name }) => name.includes('o_proj'));
    if (tensor === undefined) throw new Error('the model has such a tensor');
    const [rows = 0, columns = 0] = tensor.shape;
    const box: [number, number][] = [
      [0, rows],
      [0, columns],
    ];
    const whole = { box, sha256: tensor.key };
    const differing = (...parts: object[]) =>
      new PartsHeld().differing([tensor], [{ [tensor.name]: parts as (typeof whole)[] }]);
    expect(await differing(whole)).toEqual([]);
    expect(await differing(whole, whole)).toEqual([]);
    for (const wrong of [
      { ...whole, sha256: '' },
      { ...whole, box: [[0, rows]] },
      {
        ...whole,
        box: [
          [0, rows],
          [0, columns + 1],
        ],
      },
      { ...whole, columns: [columns] },
      { ...whole, columns: [] },
    ])
      expect(await differing(wrong), JSON.stringify(wrong)).toEqual([tensor.name]);
    expect(await differing()).toEqual([tensor.name]);
  });
});
