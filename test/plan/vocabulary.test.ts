import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { checkPlan } from '../../src/core/plan/check/check-plan.js';
import { exportRecipe, merge, planMerge, type RecipeInput, recipeOf, relayout } from '../../src/index.js';
import { type TensorFixture, temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { hashOf } from '../fixtures/contents.js';
import { average, readTensors } from '../fixtures/merged.js';
import { decode, type Floating, widths } from '../fixtures/numbers.js';
import { instructionSetsOfLinux } from '../fixtures/processor.js';
import { type VocabularyOptions, writeVocabulary } from '../fixtures/vocabulary.js';

// Whole merges, on disks of any speed.
vi.setConfig({ testTimeout: 60_000 });

const embeddings = 'model.embed_tokens.weight';

const models = <Name extends string>(given: Record<Name, VocabularyOptions>) => {
  const root = temporaryDirectory();
  const paths = Object.fromEntries(
    Object.entries(given).map(([name, options]) => [
      name,
      writeVocabulary(join(root, name), options as VocabularyOptions),
    ]),
  ) as Record<Name, string>;
  return { root, ...paths };
};

const merged = async (root: string, recipe: RecipeInput, threads = 2) => {
  const out = join(root, `out-${threads}`);
  await merge(recipe, { out, threads });
  const json = (name: string) => JSON.parse(readFileSync(join(out, name), 'utf8')) as Record<string, unknown>;
  return {
    out,
    tensors: await readTensors(out),
    config: json('config.json'),
    tokenizer: json('tokenizer.json'),
  };
};

/** Rows of a tensor, reordered; null is a row of zeros. */
const rowsOf = (
  { dtype, shape, data }: TensorFixture,
  rows: readonly (readonly [TensorFixture, number] | number | null)[],
): TensorFixture => {
  const bytes = (shape[1] ?? 1) * widths[dtype as Floating];
  const row = (from: readonly [TensorFixture, number] | number | null): Uint8Array => {
    if (from === null) return new Uint8Array(bytes);
    const [of, index] = typeof from === 'number' ? [data, from] : [from[0].data, from[1]];
    return of.subarray(index * bytes, (index + 1) * bytes);
  };
  return { dtype, shape: [rows.length, ...shape.slice(1)], data: Buffer.concat(rows.map(row)) };
};

const at = (tensors: Readonly<Record<string, TensorFixture>>, name: string): TensorFixture => {
  const found = tensors[name];
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};

const words = ['<unk>', 'a', 'b', 'c', 'd', 'e', 'f'];

describe('a swap of experts that added tokens', () => {
  it.each([true, false])('takes the row of a token that one lacks from the other; tied: %s', async (tied) => {
    const { root, task, language } = models({
      task: { tokens: words, tied, seed: 1 },
      language: { tokens: words, added: ['<pad>'], tied, seed: 2, config: { pad_token_id: 7 } },
    });
    const { tensors, config, tokenizer } = await merged(root, {
      method: 'layer_swap',
      task,
      language,
      bottom: 1,
      top: 1,
    } as RecipeInput);
    const [a, b] = [await readTensors(task), await readTensors(language)];
    for (const name of tied ? [embeddings] : [embeddings, 'lm_head.weight']) {
      const [one, other] = [at(a, name), at(b, name)];
      const filled = rowsOf(one, [0, 1, 2, 3, 4, 5, 6, [other, 7]]);
      expect(at(tensors, name).shape).toEqual([8, 16]);
      expect(
        Buffer.from(at(tensors, name).data).equals(Buffer.from(average('BF16', [filled, other], [1, 1]))),
      ).toBe(true);
    }
    expect(config['vocab_size']).toBe(8);
    expect((tokenizer['added_tokens'] as { content: string }[]).map(({ content }) => content)).toEqual([
      '<pad>',
    ]);
  });
});

describe('soups of models of one vocabulary in other orders', () => {
  it('averages the rows of a token, whatever order, dtype and thread count', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(words.slice(1), { minLength: 3 }),
        fc.shuffledSubarray(words.slice(1), { minLength: 3 }),
        fc.constantFrom<Floating>('BF16', 'F32', 'F64'),
        async (one, other, dtype) => {
          const tokens = [
            ['<unk>', ...one],
            ['<unk>', ...other],
          ] as const;
          const { root, a, b } = models({
            a: { tokens: tokens[0], seed: 3, dtype, tied: false },
            b: { tokens: tokens[1], seed: 4, dtype, tied: false },
          });
          const recipe: RecipeInput = { method: 'soup', models: [a, b], tokenizerSource: 'union' };
          const { tensors, config } = await merged(root, recipe, 1);
          expect((await merged(root, recipe, 3)).tensors).toEqual(tensors);
          const found = [await readTensors(a), await readTensors(b)] as const;
          const union = [...new Set(tokens.flat())];
          expect(config['vocab_size']).toBe(union.length);
          for (const name of [embeddings, 'lm_head.weight']) {
            const pair = found.map((of) => at(of, name));
            const filled = pair.map((own, model) =>
              rowsOf(
                own,
                union.map((token): [TensorFixture, number] => {
                  const from = tokens[model as 0 | 1].includes(token) ? model : 1 - model;
                  return [pair[from] as TensorFixture, tokens[from as 0 | 1].indexOf(token)];
                }),
              ),
            );
            const expected = average(dtype, filled, [1, 1]);
            expect(Buffer.from(at(tensors, name).data).equals(Buffer.from(expected))).toBe(true);
          }
        },
      ),
      { numRuns: 8 },
    );
  });

  it('is the same on every instruction set', async () => {
    const { root, a, b } = models({
      a: { tokens: words, added: ['<p>'], seed: 3, hidden: 32 },
      b: { tokens: words.toReversed(), seed: 4, hidden: 32 },
    });
    const hashes = await Promise.all(
      instructionSetsOfLinux().map(async (isa) => {
        const out = join(root, `out-${isa}`);
        const { code, stderr } = await cli(['soup', a, b, '--tokenizer', 'union', '-o', out, '-q'], {
          LAYERLOOM_ISA: isa,
        });
        expect([code, stderr]).toEqual([0, '']);
        return hashOf(out);
      }),
    );
    expect(new Set(hashes).size).toBe(1);
  });
});

describe('the vocabulary of a merge', () => {
  it('copies the embeddings of one expert bit by bit, with the rows that it lacks', async () => {
    const { root, task, language } = models({
      task: { tokens: words, added: ['<t>'], seed: 1 },
      language: { tokens: words, seed: 2 },
    });
    const { tensors } = await merged(root, {
      ...{ method: 'layer_swap', task, language, bottom: 1, top: 1, others: 'language' },
    });
    const [a, b] = [await readTensors(task), await readTensors(language)];
    expect(at(tensors, embeddings)).toEqual(
      rowsOf(at(b, embeddings), [0, 1, 2, 3, 4, 5, 6, [at(a, embeddings), 7]]),
    );
  });

  it('links files of tensors that do not change', async () => {
    const { root, task, language } = models({
      task: { tokens: words, added: ['<t>'], seed: 1 },
      language: { tokens: words, seed: 2 },
    });
    const byLayer = join(root, 'by-layer');
    await relayout({ model: task }, { out: byLayer });
    const plan = await planMerge({
      ...{ method: 'layer_swap', task: byLayer, language, bottom: 1, top: 0, others: 'task' },
    });
    const own = plan.shards.filter(({ verbatim }) => verbatim !== undefined);
    expect(own.flatMap(({ tensors }) => tensors.map(({ name }) => name))).toContain(embeddings);
  });

  it('cuts padded rows where a tokenizer source is given, and copies what is left', async () => {
    const { root, a, b } = models({
      a: { tokens: words, rows: 12, seed: 1 },
      b: { tokens: words, rows: 12, seed: 2 },
    });
    const recipe: RecipeInput = {
      ...{ method: 'layer_swap', task: a, language: b, bottom: 1, top: 1, others: 'task' },
      tokenizerSource: 'union',
    };
    const { tensors, config } = await merged(root, recipe);
    const own = at(await readTensors(a), embeddings);
    expect(at(tensors, embeddings)).toEqual(rowsOf(own, [0, 1, 2, 3, 4, 5, 6]));
    expect(config['vocab_size']).toBe(7);
  });

  it('pads by the mean of all rows, in float64', async () => {
    const { root, a, b } = models({
      a: { tokens: words, added: ['<p>'], seed: 1, dtype: 'F32' },
      b: { tokens: words, seed: 2, dtype: 'F32' },
    });
    const { tensors } = await merged(root, {
      ...{ method: 'layer_swap', task: a, language: b, bottom: 1, top: 1, others: 'task' },
      tokenizer: { source: 'union', padToMultipleOf: 16 },
    });
    const found = decode('F32', at(tensors, embeddings).data);
    const own = decode('F32', at(await readTensors(a), embeddings).data);
    expect(at(tensors, embeddings).shape).toEqual([16, 16]);
    expect(found.slice(0, own.length)).toEqual(own);
    for (const row of [8, 15])
      for (let column = 0; column < 16; column += 1) {
        const mean = own.filter((_, index) => index % 16 === column).reduce((sum, x) => sum + x, 0) / 8;
        expect(found[row * 16 + column]).toBe(Math.fround(mean));
      }
  });

  it('moves the ids of configurations with the tokens of the donor', async () => {
    const generation = { 'generation_config.json': '{"eos_token_id": [0, 6], "pad_token_id": 2}' };
    const { root, a, b } = models({
      a: {
        tokens: words.toReversed(),
        seed: 1,
        config: { eos_token_id: 6, bos_token_id: 5 },
        files: generation,
      },
      b: { tokens: words, seed: 2, config: { eos_token_id: 0, bos_token_id: 1 } },
    });
    const { config, out } = await merged(root, { method: 'soup', models: [a, b], tokenizerSource: b });
    expect(config).toMatchObject({ eos_token_id: 0, bos_token_id: 1, vocab_size: 7 });
    const text = readFileSync(join(out, 'generation_config.json'), 'utf8');
    expect(JSON.parse(text)).toEqual({ eos_token_id: 0, pad_token_id: 4 });
  });

  it('takes the ids of generation_config.json from that of the donor, which may end texts with several', async () => {
    const { root, a, b } = models({
      a: {
        tokens: words.toReversed(),
        seed: 1,
        config: { eos_token_id: 6 },
        files: { 'generation_config.json': '{"eos_token_id": 6, "pad_token_id": 2}' },
      },
      b: {
        tokens: words,
        seed: 2,
        config: { eos_token_id: 0 },
        files: { 'generation_config.json': '{"eos_token_id": [0, 3]}' },
      },
    });
    const { config, out } = await merged(root, { method: 'soup', models: [a, b], tokenizerSource: b });
    expect(config).toMatchObject({ eos_token_id: 0 });
    const text = readFileSync(join(out, 'generation_config.json'), 'utf8');
    expect(JSON.parse(text)).toEqual({ eos_token_id: [0, 3], pad_token_id: 4 });
  });

  it('takes the ids of the donor also where all vocabularies are equal', async () => {
    const { root, a, b } = models({
      a: {
        tokens: words,
        seed: 1,
        config: { eos_token_id: 6, bos_token_id: 5 },
        files: { 'generation_config.json': '{"eos_token_id": 6, "pad_token_id": 2}' },
      },
      b: {
        tokens: words,
        seed: 2,
        config: { eos_token_id: 0, bos_token_id: 5 },
        files: { 'generation_config.json': '{"eos_token_id": [0, 3]}' },
      },
    });
    const recipe = { method: 'soup', models: [a, b] } as const;
    const { config, out } = await merged(root, { ...recipe, tokenizerSource: b });
    expect(config).toMatchObject({ eos_token_id: 0, bos_token_id: 5, vocab_size: 7 });
    const text = readFileSync(join(out, 'generation_config.json'), 'utf8');
    expect(JSON.parse(text)).toEqual({ eos_token_id: [0, 3], pad_token_id: 2 });
    const donated = await planMerge({ ...recipe, tokenizerSource: b });
    expect(donated.warnings.filter((warning) => warning.includes('eos_token_id'))).toEqual([]);
    expect(donated.warnings.filter((warning) => warning.includes('generation'))).toEqual([
      'a and b differ in generation config (pad_token_id); that of a is kept',
    ]);
    const own = await planMerge(recipe);
    expect(own.warnings).toContain('config.json of a and b: eos_token_id 6 against 0; that of a is kept');
    expect(own.warnings).toContain(
      'a and b differ in generation config (eos_token_id, pad_token_id); that of a is kept',
    );
  });

  it('has chat templates of the tokenizer’s model alone, and says whose are left', async () => {
    const { root, a, b } = models({
      a: { tokens: words, seed: 1, files: { 'chat_template.jinja': 'A', 'qwen.tiktoken': 'a' } },
      b: { tokens: words, seed: 2, files: { 'chat_template.jinja': 'B', 'b.tiktoken': 'b' } },
    });
    for (const [model, name] of [
      [a, 'tool_use'],
      [b, 'rag'],
    ] as const) {
      mkdirSync(join(model, 'additional_chat_templates'));
      writeFileSync(join(model, 'additional_chat_templates', `${name}.jinja`), name);
    }
    const recipe = { method: 'soup', models: [a, b] } as const;
    const { out } = await merged(root, { ...recipe, tokenizerSource: b });
    expect(readdirSync(join(out, 'additional_chat_templates'))).toEqual(['rag.jinja']);
    expect(readdirSync(out).filter((name) => name.endsWith('.tiktoken'))).toEqual(['b.tiktoken']);
    const told = (given: RecipeInput) =>
      planMerge(given).then(({ warnings }) =>
        warnings.filter((warning) => warning.includes('chat template')),
      );
    expect(await told({ ...recipe, tokenizerSource: b })).toEqual([
      'the chat template of a is not in the output, which has that of b: `chatTemplate` chooses one',
    ]);
    expect(await told(recipe)).toEqual(['a and b differ in chat template; that of a is kept']);
    rmSync(join(b, 'chat_template.jinja'));
    expect(await told({ ...recipe, tokenizerSource: b })).toEqual([
      'the chat template of a is not in the output, which has none, as b: `chatTemplate` chooses one',
    ]);
  });

  it('says that one template for all leaves out named ones', async () => {
    const list = [
      { name: 'default', template: 'D{{ x }}' },
      { name: 'tool_use', template: 'T' },
    ];
    const { a } = models({
      a: {
        tokens: words,
        files: { 'tokenizer_config.json': JSON.stringify({ chat_template: list }) },
      },
    });
    const recipe = { method: 'passthrough', models: [a] } as const;
    const told = async (given: RecipeInput) =>
      (await planMerge(given)).warnings.filter((warning) => warning.includes('chat template'));
    expect(await told(recipe)).toEqual([]);
    mkdirSync(join(a, 'additional_chat_templates'));
    writeFileSync(join(a, 'additional_chat_templates', 'rag.jinja'), 'R');
    for (const chatTemplate of ['auto', 'chatml'])
      expect(await told({ ...recipe, chatTemplate })).toEqual([
        'named chat templates of a (rag, tool_use) are not in the output, which has one: leave out `chatTemplate` to keep them',
      ]);
  });

  it('has the code of the tokenizer’s model, and the other code of the first', async () => {
    const code = (...names: string[]) => Object.fromEntries(names.map((name) => [`${name}.py`, name]));
    const { root, a, b } = models({
      a: { tokens: words, seed: 1, files: code('modeling', 'tokenization', 'tools') },
      b: { tokens: words, seed: 2, files: code('modeling', 'tokenization', 'tokens', 'tokenization_b') },
    });
    for (const name of ['modeling', 'tokenization']) writeFileSync(join(b, `${name}.py`), 'b');
    const { out } = await merged(root, { method: 'soup', models: [a, b], tokenizerSource: b });
    const files = readdirSync(out).filter((name) => name.endsWith('.py'));
    expect(files.map((name) => [name, readFileSync(join(out, name), 'utf8')])).toEqual([
      ['modeling.py', 'modeling'],
      ['tokenization.py', 'b'],
      ['tokenization_b.py', 'tokenization_b'],
      ['tokens.py', 'tokens'],
      ['tools.py', 'tools'],
    ]);
  });

  it('warns of an id in config.json whose token the output lacks', async () => {
    const { a, b } = models({
      a: {
        tokens: words,
        added: ['<pad>'],
        seed: 1,
        config: { pad_token_id: 7, text_config: { image_token_id: 7 } },
      },
      b: { tokens: words, seed: 2 },
    });
    const plan = await planMerge({ method: 'soup', models: [a, b], tokenizerSource: b });
    expect(plan.warnings).toContain(
      'config.json of a: text_config.image_token_id 7 names a token that the output lacks, and is -1 there',
    );
    expect(plan.warnings).toContain(
      'config.json of a: pad_token_id 7 names a token that the output lacks, and is null there',
    );
  });

  it('is not exported for mergekit, which has no such swap', async () => {
    const { a, b } = models({
      a: { tokens: words, added: ['<a>'], seed: 1 },
      b: { tokens: words, added: ['<b>'], seed: 2 },
    });
    const swap = { method: 'layer_swap', task: a, language: b, bottom: 1, top: 1 } as const;
    await expect(exportRecipe({ ...swap, tokenizerSource: 'union' })).rejects.toThrow(
      `cannot say how ${embeddings} is made; merge with layerloom`,
    );
  });

  it('is made again by the complete recipe', async () => {
    const { root, a, b } = models({
      a: { tokens: words, added: ['<a>'], seed: 1 },
      b: { tokens: words, added: ['<b>'], seed: 2 },
    });
    const recipe: RecipeInput = {
      ...{ method: 'soup', models: [a, b] },
      tokenizer: { source: 'union', tokens: [{ token: '<c>', source: { model: b, token: '<b>' } }] },
    };
    const { tensors } = await merged(root, recipe);
    const again = recipeOf(await planMerge(recipe));
    expect((await merged(root, again, 3)).tensors).toEqual(tensors);
  });

  it('keeps each row as it is where models share it, by every method', async () => {
    const shared = { tokens: words, seed: 5 };
    const { base, a, b } = models({
      base: shared,
      a: { ...shared, added: ['<p>'] },
      b: { ...shared, seed: 6 },
    });
    const plan = await planMerge({
      method: 'ties',
      base,
      models: [
        { model: a, weight: 1, density: 0.5 },
        { model: b, weight: 1, density: 0.5 },
      ],
    });
    const tensor = plan.shards.flatMap(({ tensors }) => tensors).find(({ name }) => name === embeddings);
    expect(tensor?.shape).toEqual([8, 16]);
    expect(checkPlan(JSON.parse(JSON.stringify(plan)))).toEqual(plan);
  });

  it('weighs averages by magnitude over models whose rows differ', async () => {
    const { root, base, a, b } = models({
      base: { tokens: words, seed: 5 },
      a: { tokens: words, added: ['<p>'], seed: 1 },
      b: { tokens: words, seed: 2 },
    });
    const recipe: RecipeInput = { method: 'soup', base, models: [a, b], weights: 'magnitude' };
    const { tensors } = await merged(root, recipe);
    expect(at(tensors, embeddings).shape).toEqual([8, 16]);
  });

  it('is refused where one token has two ids, and by strict; nothing is written', async () => {
    const { root, a, b, c } = models({
      a: { tokens: words, added: ['<p>'] },
      b: { tokens: words, added: ['<q>', '<p>'], seed: 2 },
      c: { tokens: words, seed: 3 },
    });
    const out = join(root, 'out');
    await expect(merge({ method: 'soup', models: [a, b] }, { out })).rejects.toMatchObject({
      code: 'TOKENIZER_MISMATCH',
      message: expect.stringContaining('<p>'),
    });
    await expect(
      merge({ method: 'soup', models: [a, c], tokenizerSource: 'strict' }, { out }),
    ).rejects.toMatchObject({ code: 'TOKENIZER_MISMATCH' });
    expect(existsSync(out)).toBe(false);
  });
});
