import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import {
  exportRecipe,
  LayerloomError,
  type MergeOptions,
  merge,
  planMerge,
  type RecipeInput,
  verify,
} from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { type Tensors, temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { hashOf } from '../fixtures/contents.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode, type Floating } from '../fixtures/numbers.js';
import { instructionSetsOfLinux } from '../fixtures/processor.js';
import { pursue } from '../fixtures/pursue.js';
import { tokenizerFiles, type VocabularyOptions, writeVocabulary } from '../fixtures/vocabulary.js';

// Whole merges, on disks of any speed.
vi.setConfig({ testTimeout: 60_000 });

const [embeddings, head] = ['model.embed_tokens.weight', 'lm_head.weight'];

const words = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `w${first + index}`);

/** The model has 40 words; the donor has 25 of them in another order, and 15 others. */
const own = ['<unk>', ...words(0, 40)];
const others = ['<unk>', ...words(15, 40).toReversed()];
const shared = others.filter((token) => own.includes(token));
const lacking = others.filter((token) => !own.includes(token));

const write = (
  model: Partial<VocabularyOptions> = {},
  donor: Partial<VocabularyOptions> = {},
): { root: string; model: string; donor: string } => {
  const root = temporaryDirectory();
  return {
    root,
    model: writeVocabulary(join(root, 'model'), {
      ...{ tokens: own, seed: 1, dtype: 'F32', tied: false },
      ...model,
    }),
    donor: writeVocabulary(join(root, 'donor'), {
      ...{ tokens: others, seed: 2, dtype: 'F32', hidden: 24, tied: false },
      ...donor,
    }),
  };
};

type Parameters = Partial<Extract<RecipeInput, { method: 'transplant' }>>;

const transplanted = async (
  { root, model, donor }: ReturnType<typeof write>,
  parameters: Parameters = {},
  options: Partial<MergeOptions> = {},
): Promise<{ out: string; tensors: Tensors; config: Record<string, unknown> }> => {
  const out = options.out ?? join(root, 'out');
  await merge({ method: 'transplant', model, donor, ...parameters } as RecipeInput, { out, ...options });
  const config = JSON.parse(readFileSync(join(out, 'config.json'), 'utf8')) as Record<string, unknown>;
  return { out, tensors: await readTensors(out), config };
};

const rowsOf = (tensors: Tensors, name: string): number[][] => {
  const { dtype, shape, data } = tensors[name] ?? {};
  if (dtype === undefined || shape === undefined || data === undefined) throw new Error(`no ${name}`);
  const [numbers, width] = [decode(dtype as Floating, data), itemAt(shape, 1)];
  return Array.from({ length: itemAt(shape, 0) }, (_, row) => numbers.slice(row * width, (row + 1) * width));
};

const rowOf = (rows: readonly number[][], tokens: readonly string[], token: string): number[] =>
  itemAt(rows, tokens.indexOf(token));

describe('a transplant by orthogonal matching pursuit', () => {
  it.each([
    ['tied heads', true, true],
    ['heads of their own', false, false],
    ['a donor whose head is its embeddings', false, true],
  ])('makes each new row the sum that stands for it in the donor: %s', async (_, tied, donorTied) => {
    const models = write({ tied }, { tied: donorTied });
    const { tensors, config } = await transplanted(models, { k: 6 });
    const [before, donor] = [await readTensors(models.model), await readTensors(models.donor)];
    for (const name of tied ? [embeddings] : [embeddings, head]) {
      const [rows, old] = [rowsOf(tensors, name), rowsOf(before, name)];
      const ofDonor = rowsOf(donor, donorTied ? embeddings : name);
      expect(rows).toHaveLength(others.length);
      for (const token of shared) expect(rowOf(rows, others, token)).toEqual(rowOf(old, own, token));
      const atoms = shared.map((token) => rowOf(ofDonor, others, token));
      for (const token of lacking) {
        const { chosen, coefficients } = pursue(rowOf(ofDonor, others, token), atoms, 6);
        const expected = itemAt(old, 0).map((_, column) =>
          chosen.reduce(
            (sum, atom, index) =>
              sum + itemAt(coefficients, index) * itemAt(rowOf(old, own, itemAt(shared, atom)), column),
            0,
          ),
        );
        for (const [column, x] of rowOf(rows, others, token).entries())
          expect(x).toBeCloseTo(itemAt(expected, column), 5);
      }
    }
    expect(config['vocab_size']).toBe(others.length);
    for (const [name, tensor] of Object.entries(tensors))
      if (name !== embeddings && name !== head) expect(tensor).toEqual(before[name]);
  });

  it('has fewer terms where rows are sums of fewer, and 0 of a row of zeros', async () => {
    const models = write({}, { dtype: 'F32', hidden: 24 });
    const { donor } = models;
    const file = join(donor, 'model.safetensors');
    const bytes = readFileSync(file);
    const { begin } = placeOf(bytes, embeddings);
    const put = (token: string, numbers: readonly number[]) =>
      Buffer.from(encode('F32', numbers)).copy(bytes, begin + others.indexOf(token) * 24 * 4);
    const ofDonor = rowsOf(await readTensors(donor), embeddings);
    const [a, b] = [itemAt(shared, 3), itemAt(shared, 9)];
    put(
      itemAt(lacking, 0),
      Array.from({ length: 24 }, () => 0),
    );
    put(
      itemAt(lacking, 1),
      rowOf(ofDonor, others, a).map((x) => 2 * x),
    );
    writeFileSync(file, bytes);
    const rows = rowsOf((await transplanted(models, { k: 20 })).tensors, embeddings);
    const old = rowsOf(await readTensors(models.model), embeddings);
    expect(rowOf(rows, others, itemAt(lacking, 0))).toEqual(itemAt(old, 0).map(() => 0));
    for (const [column, x] of rowOf(rows, others, itemAt(lacking, 1)).entries())
      expect(x).toBeCloseTo(2 * itemAt(rowOf(old, own, a), column), 5);
    expect(b).not.toBe(a);
  });

  it('takes no more terms than the donor has columns: nothing is left then', async () => {
    const models = write({}, { hidden: 8 });
    const rows = rowsOf((await transplanted(models, { k: 25 })).tensors, embeddings);
    const old = rowsOf(await readTensors(models.model), embeddings);
    const ofDonor = rowsOf(await readTensors(models.donor), embeddings);
    const atoms = shared.map((token) => rowOf(ofDonor, others, token));
    for (const token of lacking) {
      const { chosen, coefficients, residual } = pursue(rowOf(ofDonor, others, token), atoms, 8);
      expect(Math.hypot(...residual)).toBeLessThan(1e-6);
      for (const [column, x] of rowOf(rows, others, token).entries())
        expect(x).toBeCloseTo(
          chosen.reduce(
            (sum, atom, index) =>
              sum + itemAt(coefficients, index) * itemAt(rowOf(old, own, itemAt(shared, atom)), column),
            0,
          ),
          4,
        );
    }
  });

  it('is the same on every instruction set, with any threads and slices', async () => {
    const models = write({ dtype: 'BF16', hidden: 32 }, { dtype: 'BF16', hidden: 300 });
    const { root, model, donor } = models;
    const hashes = await Promise.all(
      instructionSetsOfLinux().map(async (isa) => {
        const out = join(root, `out-${isa}`);
        const words = ['transplant', model, '--donor', donor, '-k', '9', '-o', out, '-q'];
        expect(await cli(words, { LAYERLOOM_ISA: isa })).toMatchObject({ code: 0, stderr: '' });
        return hashOf(out);
      }),
    );
    for (const threads of [1, 2, 5])
      for (const sliceBytes of [4104, 8 * 1024 * 1024]) {
        const out = join(root, `out-${threads}-${sliceBytes}`);
        const options = { out, threads, sliceBytes };
        await transplanted(models, { k: 9 }, options);
        hashes.push(hashOf(out));
      }
    expect(new Set(hashes).size).toBe(1);
  });
});

it('a pursuit ends soon once it is aborted, and leaves nothing', async () => {
  const many = (first: number): Partial<VocabularyOptions> => ({
    tokens: ['<unk>', ...words(first, 3000)],
    hidden: 256,
    dtype: 'BF16',
  });
  const { root, model, donor } = write(many(0), many(1500));
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 300);
  const recipe = { method: 'transplant', model, donor, k: 1000 } as const;
  const out = join(root, 'out');
  await expect(merge(recipe, { out, signal: abort.signal })).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect(readdirSync(root).sort()).toEqual(['donor', 'model']);
});

const placeOf = (bytes: Buffer, name: string): { begin: number } => {
  const header = 8 + Number(bytes.readBigUInt64LE(0));
  const found = JSON.parse(bytes.subarray(8, header).toString()) as Record<
    string,
    { data_offsets: [number, number] }
  >;
  return { begin: header + (found[name]?.data_offsets[0] ?? 0) };
};

describe('a transplant without a pursuit', () => {
  it('has the mean of all rows for new ones, or zeros', async () => {
    const models = write();
    const old = rowsOf(await readTensors(models.model), embeddings);
    const mean = itemAt(old, 0).map((_, column) =>
      Math.fround(old.reduce((sum, row) => sum + itemAt(row, column), 0) / old.length),
    );
    for (const [rows, expected] of [
      ['mean', mean],
      ['zero', mean.map(() => 0)],
    ] as const) {
      const found = rowsOf(
        (await transplanted(models, { rows }, { out: join(models.root, rows) })).tensors,
        embeddings,
      );
      for (const token of lacking) expect(rowOf(found, others, token)).toEqual(expected);
      for (const token of shared) expect(rowOf(found, others, token)).toEqual(rowOf(old, own, token));
    }
  });

  it('has the mean of the rows that the model’s tokenizer splits the text into', async () => {
    const bpe = (tokens: readonly string[], merges: readonly string[]) => ({
      'tokenizer.json': JSON.stringify({
        version: '1.0',
        added_tokens: [],
        normalizer: null,
        pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
        post_processor: null,
        decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
        model: {
          type: 'BPE',
          vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
          merges,
        },
      }),
      'tokenizer_config.json': '{}',
    });
    // é is the bytes Ã and ©; the first alone is no text.
    const [few, more] = [
      ['a', 'b', 'Ġ', 'Ã', '©', 'ab'],
      ['b', 'Ġab', 'abb', 'Ã©', 'Ã', 'q'],
    ];
    const models = write(
      { tokens: few, files: bpe(few, ['a b']) },
      { tokens: more, files: bpe(more, []), rows: 8 },
    );
    const plan = await planMerge({ method: 'transplant', ...pick(models), rows: 'subword' });
    expect(plan.warnings).toContain(
      'the model\'s tokenizer splits 1 token ("q") of donor into tokens without rows: the output has rows of 0 instead',
    );
    const { tensors, config } = await transplanted(models, { rows: 'subword' });
    const [rows, old] = [rowsOf(tensors, embeddings), rowsOf(await readTensors(models.model), embeddings)];
    const meanOf = (...tokens: readonly string[]) =>
      itemAt(old, 0).map((_, column) =>
        Math.fround(
          tokens.reduce(
            (sum, token) => sum + (1 / tokens.length) * itemAt(rowOf(old, few, token), column),
            0,
          ),
        ),
      );
    expect(rows.slice(0, 6)).toEqual([
      rowOf(old, few, 'b'),
      meanOf('Ġ', 'ab'),
      meanOf('ab', 'b'),
      meanOf('Ã', '©'),
      rowOf(old, few, 'Ã'),
      meanOf('a').map(() => 0),
    ]);
    expect(config['vocab_size']).toBe(8);
    expect(itemAt(rows, 7)).toEqual(itemAt(rows, 6));
    for (const [column, x] of itemAt(rows, 6).entries())
      expect(x).toBeCloseTo(
        rows.slice(0, 6).reduce((sum, row) => sum + itemAt(row, column) / 6, 0),
        5,
      );
  });
});

const pick = ({ model, donor }: ReturnType<typeof write>) => ({ model, donor });

describe('a transplanted model', () => {
  it.each([
    ['zero', 41, { rows: 41, copied: 26, made: 0, zero: 15, padding: 0 }],
    ['zero', 44, { rows: 44, copied: 26, made: 0, zero: 15, padding: 3 }],
    ['mean', 41, { rows: 41, copied: 26, made: 15, zero: 0, padding: 0 }],
  ] as const)(
    'records where its rows are from, of new ones that are %s, %i rows',
    async (rows, of, expected) => {
      const { out } = await transplanted(write({}, { rows: of }), { rows });
      const record = JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8')) as Record<string, unknown>;
      expect(record['transplanted']).toEqual(expected);
      const words = Object.entries({
        copied: expected.copied,
        zero: expected.zero,
        'of padding': expected.padding,
      });
      const card = readFileSync(join(out, 'README.md'), 'utf8');
      for (const [word, count] of words) if (count > 0) expect(card).toContain(`${count} ${word}`);
    },
  );

  it('has the donor’s tokenizer and special ids, and says what was done', async () => {
    const specials = (bos: string) => ({
      'tokenizer_config.json': JSON.stringify({ bos_token: bos, unk_token: '<unk>' }),
    });
    const models = write(
      { added: ['<s>'], files: specials('<s>'), config: { bos_token_id: 41, eos_token_id: 3 } },
      { added: ['<begin>'], files: specials('<begin>'), config: { bos_token_id: 41 }, rows: 44 },
    );
    const { out, tensors, config } = await transplanted(models, { k: 4 });
    expect(readFileSync(join(out, 'tokenizer.json'))).toEqual(
      readFileSync(join(models.donor, 'tokenizer.json')),
    );
    expect(config).toMatchObject({ bos_token_id: 41, eos_token_id: null, vocab_size: 44 });
    // The token that begins a text is the model's own, under the donor's name.
    expect(itemAt(rowsOf(tensors, embeddings), 41)).toEqual(
      itemAt(rowsOf(await readTensors(models.model), embeddings), 41),
    );
    const record = JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8')) as Record<string, unknown>;
    expect(record['transplanted']).toEqual({ rows: 44, copied: 27, made: 15, zero: 0, padding: 2 });
    expect(record['recipe']).toMatchObject({ donor: 'donor', rows: 'omp', k: 4 });
    const card = readFileSync(join(out, 'README.md'), 'utf8');
    expect(card).toContain('# Vocabulary transplant of model and donor');
    expect(card).toContain('27 copied, 15 made (omp), 2 of padding');
    expect(card).toContain('model with 15 rows of sums of 4 of model, as in donor');
  });

  it('has the ids of the donor’s own files, and moves those of all other keys', async () => {
    const uses = (bos: string, eos: string) => ({
      'tokenizer_config.json': JSON.stringify({ bos_token: bos, eos_token: eos, unk_token: '<unk>' }),
    });
    const generation = {
      eos_token_id: [41, 3],
      suppress_tokens: [own.indexOf('w16'), own.indexOf('w0'), -1],
      bad_words_ids: [[own.indexOf('w17'), own.indexOf('w18')], [own.indexOf('w0')]],
    };
    const models = write(
      {
        added: ['<s>'],
        files: { ...uses('<s>', '<s>'), 'generation_config.json': JSON.stringify(generation) },
        config: { bos_token_id: 41, eos_token_id: 41, image_token_index: own.indexOf('w20') },
      },
      {
        added: ['<begin>', '<end>'],
        files: { ...uses('<begin>', '<end>'), 'generation_config.json': '{"eos_token_id": [42, 7]}' },
      },
    );
    const { out, config } = await transplanted(models, { rows: 'mean' });
    // The donor's configuration names none; its tokenizer does.
    expect(config).toMatchObject({
      ...{ bos_token_id: 41, eos_token_id: 42 },
      image_token_index: others.indexOf('w20'),
    });
    expect(JSON.parse(readFileSync(join(out, 'generation_config.json'), 'utf8'))).toEqual({
      eos_token_id: [42, 7],
      suppress_tokens: [others.indexOf('w16'), -1],
      bad_words_ids: [[others.indexOf('w17'), others.indexOf('w18')]],
    });
  });

  it('has the row of the end of a text for a token that both begins and ends one', async () => {
    const uses = (tokens: object) => ({ 'tokenizer_config.json': JSON.stringify(tokens) });
    const models = write(
      { added: ['<s>', '</s>'], files: uses({ bos_token: '<s>', eos_token: '</s>' }) },
      { added: ['<|both|>'], files: uses({ bos_token: '<|both|>', eos_token: '<|both|>' }) },
    );
    const { tensors } = await transplanted(models, { rows: 'mean' });
    expect(itemAt(rowsOf(tensors, embeddings), 41)).toEqual(
      itemAt(rowsOf(await readTensors(models.model), embeddings), 42),
    );
  });

  it('does not have the model’s chat template, and says so', async () => {
    const template = { 'chat_template.jinja': 'x' };
    const models = write({ files: template });
    const recipe = { method: 'transplant', ...pick(models), k: 3 } as const;
    const { warnings, files } = await planMerge(recipe);
    expect(warnings).toEqual([
      'the chat template of model is not in the output, which has none, as donor: `chatTemplate` chooses one',
    ]);
    expect(files.map(({ name }) => name)).not.toContain('chat_template.jinja');
    expect((await planMerge({ ...recipe, chatTemplate: 'chatml' })).warnings).toEqual([]);
  });

  it('is verified, explained, and made again by its record', async () => {
    const models = write();
    const { out } = await transplanted(models, { k: 5 });
    const { intact, againstInputs } = await verify(out, { againstInputs: true });
    expect([intact, againstInputs?.different]).toEqual([true, []]);
    await merge(join(out, 'layerloom.json'), { out: join(models.root, 'again') });
    expect(hashOf(join(models.root, 'again'))).toBe(hashOf(out));
    const { stdout } = await cli([
      ...['transplant', models.model, '--donor', models.donor, '-k', '5', '--dry-run'],
    ]);
    expect(stdout).toContain('matching pursuit');
  });

  it('stands in the place of a model, as if it had been written before', async () => {
    const models = write({ hidden: 16 }, { hidden: 16 });
    const { root, donor } = models;
    const { out } = await transplanted(models, { k: 5 });
    const swap = (task: unknown) =>
      ({ method: 'layer_swap', task, language: donor, bottom: 1, top: 0 }) as RecipeInput;
    await merge(swap(out), { out: join(root, 'in-two') });
    await merge(swap({ method: 'transplant', ...pick(models), k: 5 }), { out: join(root, 'in-one') });
    expect(await readTensors(join(root, 'in-one'))).toEqual(await readTensors(join(root, 'in-two')));
    expect(readFileSync(join(root, 'in-one/tokenizer.json'))).toEqual(
      readFileSync(join(donor, 'tokenizer.json')),
    );
  });
});

const strange = JSON.stringify({
  ...JSON.parse(tokenizerFiles(own)['tokenizer.json']),
  pre_tokenizer: { type: 'Unheard' },
});

describe('a transplant is refused', () => {
  const refusalOf = async (
    models: ReturnType<typeof write>,
    parameters: object = {},
  ): Promise<[string, string]> => {
    const out = join(models.root, 'refused');
    const error = await merge({ method: 'transplant', ...pick(models), ...parameters } as RecipeInput, {
      out,
    }).then(
      () => undefined,
      (refusal: unknown) => refusal,
    );
    if (!(error instanceof LayerloomError)) throw new Error(`it was not refused: ${error}`);
    return [error.code, error.message];
  };

  it.each<[string, () => ReturnType<typeof write>, object, string, RegExp]>([
    [
      'where no token is shared',
      () => write({}, { tokens: ['x', 'y'] }),
      {},
      'TOKENIZER_UNSUPPORTED',
      /donor.*no token that .*model has too/,
    ],
    [
      'of more terms than shared tokens',
      write,
      { k: 27 },
      'INVALID_PARAMETER',
      /^k: .*at most 26.*share, got 27/,
    ],
    ['by default, of fewer shared tokens', write, {}, 'INVALID_PARAMETER', /^k: .*at most 26.*got 64/],
    ['of a k beside other rows', write, { rows: 'mean', k: 3 }, 'INVALID_PARAMETER', /no k beside rows/],
    ['of rows made otherwise', write, { rows: 'guess' }, 'INVALID_PARAMETER', /omp, subword, mean, zero/],
    [
      'of another tokenizer besides',
      write,
      { tokenizerSource: 'union' },
      'INVALID_PARAMETER',
      /that of the donor/,
    ],
    [
      'by a library that does not split so',
      () => write({ files: { 'tokenizer.json': strange } }),
      { rows: 'subword' },
      'TOKENIZER_UNSUPPORTED',
      /model.*splits no texts here.*other rows than subword/,
    ],
    [
      'without a tokenizer',
      () => write({}, { files: { 'tokenizer.json': '{}' } }),
      { k: 3 },
      'CONFIG_INVALID',
      /tokenizer\.json/,
    ],
  ])('%s', async (_, models, parameters, code, message) => {
    const [found, words] = await refusalOf(models(), parameters);
    expect(found).toBe(code);
    expect(words).toMatch(message);
  });

  it('of bare adapters, which have the vocabulary of their base', async () => {
    const root = temporaryDirectory();
    const [model, donor] = [1, 2].map((seed) => writeAdapter(join(root, `lora-${seed}`), lora({ seed }))) as [
      string,
      string,
    ];
    const [code, message] = await refusalOf({ root, model, donor });
    expect(code).toBe('NO_ADAPTER_FORM');
    expect(message).toContain('another vocabulary is asked for');
  });

  it('as a recipe for mergekit, whose program for it has none', async () => {
    await expect(exportRecipe({ method: 'transplant', ...pick(write()), k: 3 })).rejects.toMatchObject({
      code: 'EXPORT_UNSUPPORTED',
      message: expect.stringContaining('mergekit-tokensurgeon') as string,
    });
  });

  it('of a donor with a number that is none, which would be in every sum', async () => {
    const models = write();
    const file = join(models.donor, 'model.safetensors');
    const bytes = readFileSync(file);
    bytes.writeFloatLE(Number.NaN, placeOf(bytes, embeddings).begin + 4 * (3 * 24 + 5));
    writeFileSync(file, bytes);
    const [code, message] = await refusalOf(models, { k: 3 });
    expect(code).toBe('NON_FINITE');
    expect(message).toMatch(/embed_tokens\.weight\[3, 5\] of .*donor.*NaN/);
  });
});
