import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { evaluateExperiment, evaluationCommands, runExperiment } from '../../src/index.js';
import type { WeightServerKind } from '../../src/study/evaluation/evaluation-block.js';
import { outerAddresses } from '../../src/study/evaluation/reach.js';
import { startServer } from '../../src/study/evaluation/servers/server.js';
import { type PartHeld, TensorShardHashes } from '../../src/study/evaluation/servers/tensor-shard-hashes.js';
import { WeightSwapServer } from '../../src/study/evaluation/servers/weight-swap-server.js';
import { WeightsToLoad } from '../../src/study/evaluation/servers/weights-to-load.js';
import { parseEvaluation } from '../../src/study/evaluation/settings.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { standIn, standInServer } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 120_000 });

const merges = `
  - {name: default, method: layer_swap, bottom: 1, top: 1}
  - {name: soup, method: soup}
`;

const kinds: WeightServerKind[] = ['vllm', 'sglang'];

const evaluate = (exchange: WeightServerKind) => ({
  tasks: { swahili: 'mgsm_direct_sw' },
  backend: 'local-completions',
  serve: standInServer(exchange),
  exchange,
});

const made = async (exchange: WeightServerKind, more: object = {}) => {
  const { file, out } = writeExperiment(merges, { layers: 4 });
  writeFileSync(file, `\nevaluate: ${JSON.stringify({ ...evaluate(exchange), ...more })}\n`, { flag: 'a' });
  await runExperiment(file, { out });
  return out;
};

const startsIn = (out: string): number => {
  const logs = join(out, 'evaluations/logs');
  const texts = readdirSync(logs).map((name) => readFileSync(join(logs, name), 'utf8'));
  return texts.join('').split('stand-in server started').length - 1;
};

const server = (
  exchange: WeightServerKind,
  settings: Partial<ConstructorParameters<typeof WeightSwapServer>[0]>,
) =>
  new WeightSwapServer({
    ...{ exchange, serve: undefined, url: undefined, timeoutSeconds: 20, environment: {} },
    ...{ fingerprint: 'samples', ...settings },
  });

const holding = (path: string) => ({
  ...{ name: 'm', path, log: join(temporaryDirectory(), 'log') },
  ...{ signal: undefined, onLoaded: () => undefined },
});

const writeEmpty = (path: string): string => {
  writeFileSync(path, '');
  return path;
};

const checkpoint = (seed: number, layers = 2): string =>
  writeCheckpoint(join(temporaryDirectory(), `model-${seed}`), llama({ layers, seed }));

afterEach(() => {
  vi.unstubAllEnvs();
});

describe.each(kinds)('a server that takes the weights of one model after another: %s', (kind) => {
  it('is started once for all models, and loads only what differs', async () => {
    const out = await made(kind);
    const outcome = await evaluateExperiment(out, { lmEval: standIn });
    expect(outcome.failed).toEqual([]);
    expect(outcome.scored.length).toBeGreaterThan(5);
    expect(startsIn(out)).toBe(1);
    expect(outcome.weights.loaded).toBeLessThan(0.99 * outcome.weights.ofModels);
  });

  it('says of every element what it is, where that is asked for', async () => {
    const outcome = await evaluateExperiment(await made(kind, { fingerprint: 'whole' }), { lmEval: standIn });
    expect(outcome.failed).toEqual([]);
  });

  it('is one for each model where that is asked for', async () => {
    const out = await made(kind);
    const outcome = await evaluateExperiment(out, { lmEval: standIn, separate: true, only: ['*default'] });
    expect(outcome.failed).toEqual([]);
    expect(startsIn(out)).toBe(outcome.scored.length);
  });

  it('is started anew for a model of another form, and ended with the last', async () => {
    const serving = server(kind, { serve: standInServer(kind) });
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
    await using own = server(kind, { serve: standInServer(kind) });
    const { url } = await own.hold(holding(a));
    await using running = server(kind, { url: `${url}/v1` });
    expect(await running.hold(holding(b))).toMatchObject({ url, servedName: a });
    await expect(running.hold(holding(c))).rejects.toThrow(/started for a model of another form/);
  });

  it('is no server of two programs at once, whose answers would be of one’s weights', async () => {
    const [a, b] = [checkpoint(1), checkpoint(2)];
    await using own = server(kind, { serve: standInServer(kind) });
    const { url } = await own.hold(holding(a));
    await using one = server(kind, { url });
    await using other = server(kind, { url });
    const held = await one.hold(holding(a));
    await held.stillHolds();
    const later = await other.hold(holding(b));
    await later.stillHolds();
    await expect(held.stillHolds()).rejects.toMatchObject({ code: 'EXCHANGE_FAILED' });
    // The check above restored this program's weights, so the other program's answers are in doubt too.
    await expect(later.stillHolds()).rejects.toThrow(/another program gave .* other weights/);
  });

  it('takes no weights of other formats for files that make a form, nor links that lead nowhere', async () => {
    const [a, b] = [checkpoint(1), checkpoint(1)];
    symlinkSync(join(b, 'nowhere'), join(b, 'link.json'));
    await using serving = server(kind, { serve: standInServer(kind) });
    const { url } = await serving.hold(holding(a));
    expect((await serving.hold(holding(b))).url).toBe(url);
    truncateSync(writeEmpty(join(b, 'pytorch_model.bin')), 3 * 2 ** 30);
    expect((await serving.hold(holding(b))).url).not.toBe(url);
  });

  it.each([
    [{ STUB_REASON: 'the server quantises (fp8)' }, /did not take the weights of m: the server quantises/],
    [{ STUB_FAULT: 'noise' }, /gave an unexpected answer: <html>/],
    [{ STUB_FAULT: 'lost' }, /did not hold the weights of m after loading them twice/],
  ])('is refused: %o', async (environment, message) => {
    await using serving = server(kind, { serve: standInServer(kind), environment });
    await expect(serving.hold(holding(checkpoint(1)))).rejects.toThrow(message);
  });
});

describe('a server of one kind', () => {
  it.each([
    ['vllm', { STUB_EXTENSION: 'no' }, /VLLM_SERVER_DEV_MODE=1 and --worker-extension-cls/],
    ['vllm', { STUB_FAULT: 'not emptied' }, /reset_prefix_cache gave an unexpected answer/],
    ['vllm', { STUB_FAULT: 'die' }, /collective_rpc did not answer/],
    ['sglang', { STUB_EXTENSION: 'no' }, /was started without --custom-weight-loader/],
    ['sglang', { STUB_FAULT: 'not emptied' }, /flush_cache answered 400: .*pending requests/],
    ['sglang', { STUB_FAULT: 'die' }, /update_weights_from_tensor did not answer/],
    ['sglang', { STUB_FAULT: 'silent' }, /worker 1 of http\S+ gave no answer/],
    [
      'sglang',
      { STUB_HOST: '0.0.0.0' },
      /others could reach http\S+ which was started with --host 0\.0\.0\.0/,
    ],
    ['sglang', { STUB_SERVER: '{"dp_size": 2}' }, /divided by --pp-size or --dp-size/],
  ] as const)('is refused: %s, %o', async (kind, environment, message) => {
    await using serving = server(kind, { serve: standInServer(kind), environment });
    await expect(serving.hold(holding(checkpoint(1)))).rejects.toThrow(message);
  });

  it.skipIf(outerAddresses().length === 0).each(kinds)('is of this machine alone: %s', async (kind) => {
    const environment = { STUB_LISTEN: '0.0.0.0' };
    const model = checkpoint(1);
    const serve = standInServer(kind);
    await using serving = server(kind, { serve, environment });
    const refused = /others could reach the server at http:\S+, by \S+: let it listen at 127\.0\.0\.1 alone/;
    await expect(serving.hold(holding(model))).rejects.toThrow(refused);
    const log = join(temporaryDirectory(), 'log');
    await using own = await startServer({
      ...{ command: serve, model, name: 'm', log, timeoutSeconds: 20, environment },
    });
    await using running = server(kind, { url: own.url });
    await expect(running.hold(holding(model))).rejects.toThrow(refused);
    await using named = server(kind, { url: `http://${outerAddresses()[0]}:${new URL(own.url).port}` });
    await expect(named.hold(holding(model))).rejects.toThrow(refused);
  });

  it.each(kinds)('has its output elsewhere, where it ran before: %s', async (kind) => {
    await using running = server(kind, { url: 'http://127.0.0.1:1' });
    const error: unknown = await running.hold(holding(checkpoint(1))).catch((caught: unknown) => caught);
    expect(String(error)).toMatch(/nothing was scored; without exchange:/);
  });

  it.each(kinds)('is no other one: %s', async (kind) => {
    const [other = 'vllm'] = kinds.filter((each) => each !== kind);
    await using serving = server(kind, { serve: standInServer(other) });
    await expect(serving.hold(holding(checkpoint(1)))).rejects.toThrow(/does not exist: the server must be/);
  });

  it.each([
    ['vllm', '/metrics'],
    ['sglang', '/generate'],
  ] as const)('is given up where it does not say whether its cache is empty: %s', async (kind, path) => {
    const model = checkpoint(1);
    await using own = await startServer({
      ...{ command: standInServer(kind), model, name: 'm', log: join(temporaryDirectory(), 'log') },
      ...{ timeoutSeconds: 20, environment: { STUB_HANGS: path } },
    });
    await using running = server(kind, { url: own.url, timeoutSeconds: 2 });
    await expect(running.hold(holding(model))).rejects.toThrow(
      new RegExp(`${path} did not answer .*timeout`),
    );
  });

  it('leaves no update of SGLang open that failed', async () => {
    const path = checkpoint(1);
    await using own = await startServer({
      ...{ command: standInServer('sglang'), model: path, name: 'm', log: join(temporaryDirectory(), 'log') },
      ...{ timeoutSeconds: 20, environment: { STUB_FAULT: 'noise' } },
    });
    await using running = server('sglang', { url: own.url });
    await expect(running.hold(holding(path))).rejects.toThrow(
      /update_weights_from_tensor answered something/,
    );
    const ended = await fetch(`${own.url}/end_weight_update`, { method: 'POST', body: '{}' });
    expect(await ended.text()).toMatch(/no weight-update session is open/);
  });

  it('has no update of SGLang open after a run was stopped', async () => {
    const path = checkpoint(1);
    await using own = await startServer({
      ...{ command: standInServer('sglang'), model: path, name: 'm', log: join(temporaryDirectory(), 'log') },
      ...{ timeoutSeconds: 20, environment: { STUB_HANGS: '/update_weights_from_tensor' } },
    });
    await using running = server('sglang', { url: own.url });
    const signal = AbortSignal.timeout(500);
    await expect(running.hold({ ...holding(path), signal })).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const ended = await fetch(`${own.url}/end_weight_update`, { method: 'POST', body: '{}' });
    expect(await ended.text()).toMatch(/no weight-update session is open/);
  });

  it('of SGLang answers in a directory', async () => {
    const model = holding(checkpoint(1));
    vi.stubEnv('TMPDIR', join(temporaryDirectory(), 'none'));
    await using serving = server('sglang', { serve: standInServer('sglang') });
    await expect(serving.hold(model)).rejects.toThrow(
      /cannot make a directory for the workers' answers .*TMPDIR/,
    );
  });

  it.each([
    ['vllm', /^PYTHONPATH=\S*python\S* VLLM_SERVER_DEV_MODE=1 /],
    ['sglang', /^PYTHONPATH=\S*python\S* \S*node/],
  ] as const)('is printed with the variables that it needs: %s', async (kind, words) => {
    const out = await made(kind);
    const [first] = await evaluationCommands(out, { lmEval: standIn, only: ['base'] });
    expect(first?.command).toMatch(words);
  });
});

describe.each(kinds)('settings of such a server: %s', (kind) => {
  const serve = standInServer(kind);

  it.each([
    [{ serve: undefined }, /exchange: is set without a server/],
    [
      { serve: undefined, base_url: ['http://127.0.0.1:8001/v1', 'http://localhost:8001/'] },
      /base_url: names a server twice/,
    ],
    [{ backend: 'hf' }, /is set together with the back end hf/],
    [{ serve: 'serve {model} --host 127.0.0.1' }, /a server that cannot exchange weights/],
    [{ serve: serve.replace('127.0.0.1', '0.0.0.0') }, /whose workers others could reach/],
    [{ serve: serve.replace('127.0.0.1', '127.0.0.1.example.org') }, /whose workers others could reach/],
    [{ serve: `${serve} --host=0.0.0.0` }, /whose workers others could reach/],
    [{ serve: `${serve} --host\t0.0.0.0` }, /whose workers others could reach/],
    [{ serve_timeout: 2_147_484 }, /a number of seconds, at most 2147483/],
    [{ timeout: 2_147_484 }, /a number of seconds, at most 2147483/],
    [{ serve: serve.replace('--host 127.0.0.1', '') }, /expected --host 127\.0\.0\.1/],
  ])('are refused: %#', (more, message) => {
    expect(() => parseEvaluation({ ...evaluate(kind), ...more }, temporaryDirectory())).toThrow(message);
  });

  it('are refused for a server that is started as one of another kind', () => {
    for (const other of kinds.filter((each) => each !== kind))
      expect(() =>
        parseEvaluation({ ...evaluate(kind), serve: standInServer(other) }, temporaryDirectory()),
      ).toThrow(/a server that cannot exchange weights/);
  });
});

describe('a file that is gone', () => {
  it.each(kinds)('is named by the model that has it, and others are held: %s', async (kind) => {
    const [a, b] = [checkpoint(1), checkpoint(2)];
    const tensors = (await new WeightsToLoad().of(b)) ?? [];
    const [file = ''] = tensors.map((tensor) => tensor.file);
    rmSync(file);
    await using serving = server(kind, { serve: standInServer(kind) });
    const inPlace = { tensors, donated: [] };
    const gone = { code: 'READ_FAILED', details: { file } };
    await expect(serving.hold({ ...holding(a), inPlace })).rejects.toMatchObject(gone);
    await expect(serving.hold(holding(a))).resolves.toMatchObject({ servedName: a });
  });

  it('is named where what a server holds is compared', async () => {
    const tensors = (await new WeightsToLoad().of(checkpoint(1))) ?? [];
    const [tensor] = tensors;
    if (tensor === undefined) throw new Error('the model has tensors');
    rmSync(tensor.file);
    const part = { box: tensor.shape.map((size): [number, number] => [0, size]), sha256: tensor.key };
    await expect(
      new TensorShardHashes().differing([tensor], [{ [tensor.name]: [part] }], 'samples'),
    ).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: tensor.file },
    });
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
      new TensorShardHashes().differing([tensor], [{ [tensor.name]: parts as (typeof whole)[] }], 'samples');
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
      { ...whole, columns: [0, 0] },
    ])
      expect(await differing(wrong), JSON.stringify(wrong)).toEqual([tensor.name]);
    expect(await differing()).toEqual([tensor.name]);
  });

  it('are apart: as many elements are not all of a tensor where some are there twice', async () => {
    const weights = (await new WeightsToLoad().of(checkpoint(1))) ?? [];
    const tensor = weights.find(({ name }) => name.includes('o_proj'));
    if (tensor === undefined) throw new Error('the model has such a tensor');
    const [rows = 0, columns = 0] = tensor.shape;
    const bytes = readFileSync(tensor.file).subarray(tensor.begin, tensor.end);
    const row = bytes.length / rows;
    const partOf = (first: number, last: number): PartHeld => ({
      box: [
        [first, last],
        [0, columns],
      ],
      sha256: createHash('sha256')
        .update(bytes.subarray(first * row, last * row))
        .digest('hex'),
    });
    const differing = (...parts: PartHeld[]) =>
      new TensorShardHashes().differing([tensor], [{ [tensor.name]: parts }], 'samples');
    expect(await differing(partOf(0, rows / 2), partOf(rows / 2, rows))).toEqual([]);
    expect(await differing(partOf(0, rows / 2), partOf(1, rows / 2 + 1))).toEqual([tensor.name]);
  });
});
