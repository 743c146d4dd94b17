import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import type { CheckpointIndex } from '../../src/core/models/checkpoint/checkpoint.js';
import { listSideFiles } from '../../src/core/models/checkpoint/side-files.js';
import { mergeVocabularies } from '../../src/core/models/tokenizer/merge-vocabularies.js';
import type { TokenizerRequest, TokenSource } from '../../src/core/models/tokenizer/vocabulary.js';

// Compares vocabularies with mergekit's, and tokenizer files by transformers' reading of them.

const { LAYERLOOM_PYTHON: python, LAYERLOOM_EXPERTS: experts, LAYERLOOM_MGSM: mgsm } = process.env;
const canRun =
  python !== undefined &&
  experts !== undefined &&
  mgsm !== undefined &&
  spawnSync(python, ['-c', 'import mergekit']).status === 0;

interface Case {
  readonly pair: string;
  readonly source: TokenizerRequest['source'];
  readonly base?: number;
  readonly tokens?: Readonly<Record<string, { source?: unknown; force?: boolean }>>;
  readonly pad?: number;
}

const cases: readonly Case[] = [
  { pair: 'one-added', source: 'union' },
  { pair: 'one-added', source: 'union', base: 0 },
  { pair: 'one-added', source: 'union', base: 1 },
  { pair: 'one-added', source: 'base' },
  { pair: 'one-added', source: 1 },
  { pair: 'one-added', source: 'union', pad: 64 },
  { pair: 'several-added', source: 'union', base: 0 },
  { pair: 'several-added', source: 'union' },
  { pair: 'several-added', source: 'union', base: 2 },
  { pair: 'several-added', source: 1, base: 0 },
  {
    pair: 'several-added',
    source: 'union',
    pad: 128,
    tokens: {
      '<new>': { source: { kind: 'model_token', model: 1, token: '<think>' } },
      '<think>': { source: { kind: 'model_token', model: 0, token_id: 17 }, force: true },
      '<pad>': { source: { kind: 'zero' } },
      '<tool>': { source: 2 },
    },
  },
  { pair: 'padded', source: 'union' },
  { pair: 'padded', source: 'union', base: 1 },
  { pair: 'padded', source: 'base' },
  { pair: 'reordered', source: 'union' },
  { pair: 'reordered', source: 'union', base: 1 },
  { pair: 'two-bpe', source: 'union' },
  { pair: 'two-bpe', source: 'union', base: 1 },
  { pair: 'two-bpe', source: 'base' },
  { pair: 'unigram', source: 'union' },
  { pair: 'two-unigram', source: 'union' },
  { pair: 'two-kinds', source: 'union' },
  { pair: 'without-rows', source: 'union' },
  { pair: 'without-rows', source: 'base' },
  { pair: 'padding-without-row', source: 'union' },
  { pair: 'of-transformers-4', source: 'union' },
  { pair: 'of-transformers-4', source: 'union', base: 1 },
  { pair: 'gpt2-files', source: 'union' },
  { pair: 'no-tokenizer', source: 'union' },
  // Without padding this is the union by the first model's ids.
  { pair: 'one-added', source: 'auto' },
  { pair: 'unigram', source: 'auto' },
  { pair: 'of-transformers-4', source: 'auto' },
  { pair: 'gpt2-files', source: 'auto' },
];

const nameOf = ({ pair, ...rest }: Case): string => `${pair} ${JSON.stringify(rest)}`;

const environment = { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' };

const script = (name: string) => fileURLToPath(new URL(`tokenizers/${name}`, import.meta.url));

const sourceOf = (given: unknown): { source?: TokenSource } => {
  if (given === undefined) return {};
  if (typeof given === 'number') return { source: { kind: 'model', model: given } };
  const { kind, model, token, token_id: id } = given as Record<string, unknown>;
  if (kind === 'zero') return { source: { kind } };
  return {
    source: { kind: 'token', model: model as number, token: (token ?? id) as string | number },
  };
};

const checkpointAt = async (path: string, name: string): Promise<CheckpointIndex> => ({
  name,
  path,
  files: [],
  metadata: [],
  tensors: new Map(),
  config: JSON.parse(readFileSync(join(path, 'config.json'), 'utf8')) as Record<string, unknown>,
  sideFiles: await listSideFiles(path),
  warnings: [],
});

const orderOf = async (work: string, index: number, { pair, source, base, tokens = {}, pad }: Case) => {
  const names = readdirSync(join(work, 'models', pair)).sort();
  const checkpoints = await Promise.all(
    names.map((name) => checkpointAt(join(work, 'models', pair, name), name)),
  );
  const models = checkpoints.map((checkpoint) => ({
    checkpoint,
    rows: checkpoint.config?.['vocab_size'] as number,
  }));
  const merged = await mergeVocabularies(models, {
    source,
    base,
    tokens: new Map(
      Object.entries(tokens).map(([token, rule]) => [
        token,
        { ...sourceOf(rule.source), force: rule.force === true },
      ]),
    ),
    ...(pad === undefined ? {} : { padToMultipleOf: pad }),
  });
  if (merged === undefined) throw new Error('nothing to merge');
  const ours = join(work, 'ours', String(index));
  mkdirSync(ours, { recursive: true });
  const donor = itemAt(checkpoints, merged.donor);
  for (const name of donor.sideFiles) copyFileSync(join(donor.path, name), join(ours, name));
  for (const { name, text } of merged.files) writeFileSync(join(ours, name), text);
  const { files: _, ...vocabulary } = merged;
  return {
    models: models.map(({ checkpoint, rows }) => ({ path: checkpoint.path, rows })),
    source: source === 'auto' ? 'union' : source,
    base: base ?? null,
    tokens,
    pad: pad ?? null,
    ours,
    vocabulary,
  };
};

describe.skipIf(!canRun)(
  'merged vocabularies (LAYERLOOM_PYTHON with mergekit, LAYERLOOM_EXPERTS, LAYERLOOM_MGSM)',
  () => {
    let work: string;
    let results: Record<string, unknown>[];

    beforeAll(async () => {
      work = mkdtempSync(join(tmpdir(), 'layerloom-'));
      const env = environment;
      execFileSync(python ?? '', [script('make_pairs.py'), experts ?? '', mgsm ?? '', join(work, 'models')], {
        env,
      });
      const lines = ['bn', 'en', 'ja', 'sw', 'te'].flatMap((language) =>
        readFileSync(join(mgsm ?? '', `mgsm_${language}.tsv`), 'utf8')
          .split('\n')
          .slice(0, 200),
      );
      writeFileSync(join(work, 'lines.txt'), lines.join('\n'));
      const orders = [];
      for (const [index, one] of cases.entries()) orders.push(await orderOf(work, index, one));
      results = JSON.parse(
        execFileSync(python ?? '', [script('compare.py'), join(work, 'lines.txt')], {
          env,
          input: JSON.stringify(orders),
          maxBuffer: 2 ** 28,
        }).toString(),
      ) as typeof results;
    }, 3_600_000);

    afterAll(() => rmSync(work, { recursive: true, force: true }));

    it.each(cases.map((one, index) => [nameOf(one), index] as const))('%s equal mergekit’s', (_, index) => {
      const result = itemAt(results, index);
      expect(result).toMatchObject({
        vocabulary: null,
        settings: null,
        special: null,
        differing: [],
        skipped: [],
      });
      const [theirs, ours] = result['rows'] as number[];
      expect(ours).toBe(theirs);
      expect(result['texts']).toBeGreaterThanOrEqual(1000);
      for (const difference of result['embeddings'] as number[]) expect(difference).toBeLessThan(1e-6);
    });

    it('are what docs/parity.md says of mergekit', () => {
      const facts: unknown = JSON.parse(
        execFileSync(python ?? '', [script('mergekit_facts.py')], {
          env: environment,
          // The tokenizers library prints the stack of an expected panic.
          stdio: ['ignore', 'pipe', 'ignore'],
        }).toString(),
      );
      expect(facts).toEqual({
        token_without_row_that_merges_make: expect.stringContaining('Exception'),
        unigram_token_without_row: expect.stringContaining('only BPE is currently supported'),
        token_without_row_in_another_model: 'KeyError: 3',
        ids_left_out: [5, 5, 4],
        rule_without_source: expect.stringContaining('NotImplementedError'),
        new_token_with_source_base: 'KeyError: 3',
        new_token_with_source_union: [6, 6, 6],
        orders_of_three_unions: expect.toSatisfy((orders: number) => orders > 1),
      });
    });
  },
);
