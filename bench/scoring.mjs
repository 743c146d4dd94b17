// @ts-check
// Seconds to score a model: with its own process or server, and with a shared one that exchanges weights.
//
//   npm run bench:scoring -- --python PYTHON --experts DIR --mgsm DIR [--vllm PYTHON] [--merges 3 --problems 10,50 --dir DIR]
//
// The experts' DIR has checkpoints `base`, `math-1` and `jpn-1`. PYTHON has lm_eval 0.4.13, the other one
// vLLM. Scores merges in MGSM with two worked examples and answers of 64 tokens: `hf` in batches of ten, vLLM
// with ten requests at once. Prints for each way the median per merge, in total and for requests alone, from
// the harness's bars.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from './lib/measure.mjs';

const { values } = parseArgs({
  options: {
    python: { type: 'string' },
    vllm: { type: 'string' },
    experts: { type: 'string' },
    mgsm: { type: 'string' },
    merges: { type: 'string', default: '3' },
    problems: { type: 'string', default: '10,50' },
    dir: { type: 'string', default: tmpdir() },
  },
});
const { python, vllm, experts, mgsm } = values;
if (python === undefined || experts === undefined || mgsm === undefined)
  throw new Error('needs --python, --experts and --mgsm');

const program = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const root = mkdtempSync(join(values.dir, 'layerloom-scoring-'));
const environment = {
  ...process.env,
  PATH: `${dirname(python)}:${process.env['PATH']}`,
  HF_HUB_OFFLINE: '1',
  VLLM_CPU_KVCACHE_SPACE: '1',
};

/** @param {string[]} words */
const layerloom = (words) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
    env: environment,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`layerloom ${words.join(' ')} ended with ${status}: ${stderr}`);
  return stdout;
};

/**
 * Settings of `evaluate:` by holder of the weights: for one server or process per model, and for a shared
 * one.
 */
const extension = '--worker-extension-cls layerloom_eval.vllm_weights.Weights --load-format dummy';
const serve = `${vllm} -m vllm.entrypoints.openai.api_server --model {model} --port {port} --host 127.0.0.1 --dtype float32 --enforce-eager --gpu-memory-utilization 0.5`;
const asked = ['backend: local-completions', 'model_args: {num_concurrent: 10}'];
/** @type {Record<string, {own: string[], shared: string[]}>} */
const holders = {
  hf: {
    own: ['model_args: {dtype: float32}', 'device: cpu', 'batch_size: 10'],
    shared: ['model_args: {dtype: float32}', 'device: cpu', 'batch_size: 10'],
  },
  ...(vllm === undefined
    ? {}
    : {
        vLLM: {
          own: [...asked, `serve: ${serve}`],
          shared: [...asked, `serve: ${serve} ${extension}`, 'exchange: vllm'],
        },
      }),
};

/** Merges that differ in a layer or two. @param {string[]} settings @param {number} problems */
const experiment = (settings, problems) => `base: ${join(resolve(experts), 'base')}
tasks: {math-1: ${join(resolve(experts), 'math-1')}}
languages:
  japanese: {jpn-1: ${join(resolve(experts), 'jpn-1')}}
merges:
${Array.from({ length: Number(values.merges) }, (_, index) => `  - {name: m${index}, method: layer_swap, bottom: ${1 + index}, top: 1}`).join('\n')}
evaluate:
  tasks: {japanese: layerloom_mgsm_ja}
  fewshot: 2
  limit: ${problems}
  max_tokens: 64
  data: ${resolve(mgsm)}
  ${settings.join('\n  ')}
`;

/** Seconds of a model's requests, from its log. @param {string} log */
const requestSeconds = (log) => {
  const bars = [
    ...readFileSync(log, 'utf8').matchAll(
      /(?:Running [\w ]+ requests|Requesting API): 100%\|[^|]*\| *(\d+)\/\1 \[[\d:]+<[\d:?]+, +([\d.]+)(it\/s|s\/it)/g,
    ),
  ];
  const last = bars.at(-1);
  if (last === undefined) throw new Error(`${log} has no bar of requests`);
  const [, count, rate, unit] = last;
  return unit === 's/it' ? Number(count) * Number(rate) : Number(count) / Number(rate);
};

try {
  for (const [holder, { own, shared }] of Object.entries(holders))
    for (const problems of values.problems.split(',').map(Number))
      for (const [way, settings, more] of /** @type {const} */ ([
        ['own', own, ['--separate']],
        ['shared', shared, []],
      ])) {
        const [file, out] = [join(root, 'study.yaml'), join(root, 'study')];
        writeFileSync(file, experiment(settings, problems));
        layerloom(['batch', file, '-o', out, '-q']);
        const lines = layerloom([
          ...['evaluate', out, '--json', '--allow-serve', '--lm-eval', `${python} -m lm_eval`, ...more],
          // The first model starts a shared process.
          ...['--only', 'jpn-1', '--only', 'japanese/*'],
        ])
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        const models = lines.filter(({ event, state }) => event === 'model' && state === 'scored');
        const merges = models.filter(({ model }) => model.startsWith('japanese/'));
        const requests = merges.map(({ model }) =>
          requestSeconds(join(out, 'evaluations', 'logs', `${model.replace(/[^\w.+-]/g, '_')}.log`)),
        );
        const seconds = median(merges.map((merge) => merge.seconds));
        console.log(
          `${holder}, ${way}, ${problems} problems: ${seconds.toFixed(1)} s a model, requests ${median(requests).toFixed(1)} s; the first ${models[0].seconds.toFixed(1)} s`,
        );
        rmSync(out, { recursive: true });
      }
} finally {
  rmSync(root, { recursive: true, force: true });
}
