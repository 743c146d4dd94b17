import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { weightServers } from '../../src/study/evaluation/servers/weight-servers.js';
import type { ExperimentRecord } from '../../src/study/experiment/record/experiment-record.js';
import { cli, finished, startCli } from '../fixtures/cli.js';
import { recordIn } from '../fixtures/experiment.js';
import { generator } from '../fixtures/numbers.js';

const {
  LAYERLOOM_PYTHON: python = '',
  LAYERLOOM_EXPERTS: experts = '',
  LAYERLOOM_MGSM: mgsm = '',
  LAYERLOOM_VLLM: vllm = '',
  LAYERLOOM_KEPT_TABLE: table,
  TMPDIR: temporary = '/tmp',
} = process.env;
const merges = Number(process.env['LAYERLOOM_KEPT_MERGES'] ?? 6);
const held = Number(process.env['LAYERLOOM_KEPT_MODELS'] ?? 0);

const has = (command: string, name: string): boolean =>
  command !== '' && spawnSync(command, ['-c', `import ${name}`]).status === 0;
const isPossible = experts !== '' && mgsm !== '' && has(python, 'lm_eval');
vi.setConfig({ testTimeout: 4 * 3_600_000, hookTimeout: 600_000 });

const root = join(temporary, `layerloom-kept-${process.pid}`);
const tasks = ['layerloom_mgsm_ja', 'layerloom_mgsm_ppl_ja'];

/** Programs that hold weights, by name: whether one is installed, and its settings. */
const holders = [
  ['a process of the harness', isPossible, ['model_args: {dtype: float32}', 'device: cpu']],
  [
    'a server of vLLM',
    isPossible && has(vllm, 'vllm'),
    [
      'backend: local-completions',
      'exchange: vllm',
      // A sequence at a time: sums in a batch depend on its other contents.
      `serve: ${vllm} -m vllm.entrypoints.openai.api_server --model {model} --port {port} --host 127.0.0.1 ${weightServers.vllm.option} --dtype float32 --enforce-eager --max-num-seqs 1 --gpu-memory-utilization 0.5`,
    ],
  ],
] as const;

/** Merges of real experts that share all layers, some or none. */
const experiment = (settings: readonly string[]): string => {
  const random = generator(Number(process.env['LAYERLOOM_SEED'] ?? 1));
  // 36 swaps with different weights: equal ones would be scored once.
  const swaps = [1, 2, 3, 4].flatMap((bottom) =>
    [1, 2, 3].flatMap((top) => [0, 1, 2].map((transition) => ({ bottom, top, transition, at: random() }))),
  );
  const shuffled = swaps.toSorted((a, b) => a.at - b.at);
  const entries = Array.from({ length: merges }, (_, index) => {
    const { bottom, top, transition } = itemAt(shuffled, index % shuffled.length);
    return index % 4 === 3
      ? `  - {name: m${index}, method: task_arithmetic, weights: [[${(0.2 + random()).toFixed(2)}, 0.5]]}`
      : `  - {name: m${index}, method: layer_swap, bottom: ${bottom}, top: ${top}, bottom_transition: ${transition}}`;
  });
  return `base: ${join(experts, 'base')}
tasks: {math-1: ${join(experts, 'math-1')}}
languages:
  japanese: {jpn-1: ${join(experts, 'jpn-1')}}
merges:
${entries.join('\n')}
evaluate:
  tasks: {japanese: [${tasks}]}
  fewshot: {${tasks[0]}: 2}
  limit: ${process.env['LAYERLOOM_KEPT_PROBLEMS'] ?? 10}
  max_tokens: 64
  data: ${mgsm}
  ${settings.join('\n  ')}
`;
};

/** Options of a batch whose merges are scored in a random order by a seed, whatever they share. */
const inRandomOrder = (): string[] => {
  const random = generator(Number(process.env['LAYERLOOM_SEED'] ?? 1) + 1);
  return Array.from({ length: merges }, (_, index) => ({ name: `*/m${index}`, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .flatMap(({ name }) => ['--first', name]);
};

/** Makes three random models of two layers with another model's tokenizer. */
const tinyModels = `
import sys, torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
for seed, name in enumerate(["base", "math-1", "jpn-1"]):
    torch.manual_seed(seed)
    config = LlamaConfig(vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                         num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=True)
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(f"{sys.argv[2]}/{name}")
    tokenizer.save_pretrained(f"{sys.argv[2]}/{name}")
`;

const residentBelow = (pid: number): number => {
  const { stdout } = spawnSync('ps', ['-eo', 'pid=,ppid=,rss='], { encoding: 'utf8' });
  const processes = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/).map(Number));
  const below = (parent: number): number =>
    processes
      .filter(([, of]) => of === parent)
      .reduce((sum, [own = 0, , kilobytes = 0]) => sum + kilobytes * 1024 + below(own), 0);
  return below(pid);
};

const resultsIn = (out: string) => {
  const { references, merges: made } = recordIn(out) as ExperimentRecord;
  return Object.fromEntries(
    [...references, ...made].flatMap(({ name, scores = {} }) =>
      Object.entries(scores).map(([task, { result, metrics, n }]) => [
        `${name} ${task}`,
        { metrics, n, problems: readFileSync(join(out, result.replace('.json', '.problems.json')), 'utf8') },
      ]),
    ),
  );
};

describe.each(holders)('%s for all models', (what, isThere, settings) => {
  describe.skipIf(!isThere)('with real experts', () => {
    beforeAll(() => {
      mkdirSync(root, { recursive: true });
    });
    afterAll(() => {
      rmSync(root, { recursive: true, force: true });
    });

    it(`scores ${merges} merges in random order, and in place, as one of its own for each does, bit for bit`, async () => {
      const file = join(root, 'study.yaml');
      const [kept, separate, unwritten] = [
        join(root, 'kept'),
        join(root, 'separate'),
        join(root, 'unwritten'),
      ];
      writeFileSync(file, experiment(settings));
      const made = { code: 0, stderr: '' };
      expect(await cli(['batch', file, '-o', kept, '-q', ...inRandomOrder()])).toMatchObject(made);
      cpSync(kept, separate, { recursive: true });
      expect(await cli(['batch', file, '-o', unwritten, '-q', '--in-place'])).toMatchObject(made);
      const bin = dirname(python);
      const env = { PATH: `${bin}:${process.env['PATH']}`, HF_HUB_OFFLINE: '1', VLLM_CPU_KVCACHE_SPACE: '1' };
      for (const [name, out, more] of [
        ['in place', unwritten, ['--in-place']],
        ['in random order', kept, []],
        ['separate', separate, ['--separate']],
      ] as const) {
        const ended = await cli(
          ['evaluate', out, '--json', '--allow-serve', '--lm-eval', `${python} -m lm_eval`, ...more],
          env,
        );
        expect(ended, ended.stderr).toMatchObject({ code: 0 });
        const done = JSON.parse(ended.stdout.trim().split('\n').at(-1) ?? '');
        const { seconds, weights, results } = done;
        const line = `${what}, ${name}: ${seconds.toFixed(1)} s, ${results.made} scores, weights ${JSON.stringify(weights)}\n`;
        if (table === undefined) process.stderr.write(line);
        else writeFileSync(table, line, { flag: 'a' });
      }
      const fresh = resultsIn(separate);
      expect(Object.keys(fresh).length).toBeGreaterThanOrEqual(2 * merges);
      expect(resultsIn(kept)).toEqual(fresh);
      expect(resultsIn(unwritten)).toEqual(fresh);
      // A study's tables do not depend on the way.
      const [first, ...others] = await Promise.all(
        [separate, kept, unwritten].map((out) => cli(['table', out, '--format', 'csv'])),
      );
      expect(first?.stdout.split('\n').length).toBeGreaterThan(merges);
      for (const other of others) expect(other.stdout).toBe(first?.stdout);
    });

    it.skipIf(held === 0)(`takes the same memory for each of ${held} models`, async () => {
      const [tiny, out] = [join(root, 'tiny'), join(root, 'many')];
      // Three random models with the experts' vocabulary: they load at once, so the remaining time of each
      // model shows.
      const made = spawnSync(python, ['-c', tinyModels, join(experts, 'base'), tiny], { encoding: 'utf8' });
      expect(made.status, made.stderr).toBe(0);
      const weights = Array.from({ length: held }, (_, index) => `[${(0.1 + index / held).toFixed(5)}, 0.5]`);
      const file = join(root, 'many.yaml');
      writeFileSync(
        file,
        experiment(settings)
          .replaceAll(experts, tiny)
          .replace(
            /^merges:[\s\S]*?(?=^evaluate:)/m,
            `merges:\n  - {name: grid, method: task_arithmetic, weights: [${weights}]}\n`,
          )
          .replace(/tasks: {japanese: .*}/, `tasks: {japanese: ${tasks[1]}}`)
          .replace(/fewshot: .*/, 'fewshot: 0')
          .replace(/limit: .*/, 'limit: 1'),
      );
      expect(await cli(['batch', file, '-o', out, '-q', '--in-place'])).toMatchObject({ code: 0 });
      const child = startCli(
        ['evaluate', out, '--in-place', '--json', '--allow-serve', '--lm-eval', `${python} -m lm_eval`],
        {
          PATH: `${dirname(python)}:${process.env['PATH']}`,
          HF_HUB_OFFLINE: '1',
          VLLM_CPU_KVCACHE_SPACE: '1',
        },
      );
      let scored = 0;
      const memory: number[] = [];
      child.stdout.on('data', (text: Buffer) => {
        for (const _ of text.toString().matchAll(/"event":"model"/g)) {
          scored += 1;
          if (scored % Math.ceil(held / 10) === 0) memory.push(residentBelow(child.pid ?? 0));
        }
      });
      expect((await finished(child)).code).toBe(0);
      expect(scored).toBeGreaterThanOrEqual(held);
      const line = `${what}, memory of its processes over ${scored} models: ${memory.map((bytes) => `${Math.round(bytes / 1e6)} MB`).join(', ')}\n`;
      if (table === undefined) process.stderr.write(line);
      else writeFileSync(table, line, { flag: 'a' });
      // The second tenth has loaded all code.
      expect(memory.at(-1)).toBeLessThan(1.1 * (memory[1] ?? 0));
    });
  });
});
