import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { summariseCheckpoint } from '../../src/cli/text/models/inspect.js';
import { applyAdapter } from '../../src/core/models/adapters/apply.js';
import { diff, openCheckpoint, soup } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import {
  fill,
  llama,
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { average, readTensors } from '../fixtures/merged.js';
import { decode, encode } from '../fixtures/numbers.js';
import { openAdapter } from '../fixtures/open-adapter.js';
import { torchBytes } from '../fixtures/torch-files.js';

const embedding = 'model.embed_tokens.weight';
const head = 'lm_head.weight';

/** A small Llama declared as tied, with this head. */
const write = (
  name: string,
  headOf: (embeddings: TensorFixture) => TensorFixture | undefined,
  { seed = 1, config = {} }: { seed?: number; config?: Record<string, unknown> } = {},
) => {
  const model = llama({ layers: 2, tied: true, seed });
  const own = headOf(model.tensors[embedding] as TensorFixture);
  const tensors: Tensors = { ...model.tensors, ...(own === undefined ? {} : { [head]: own }) };
  return writeCheckpoint(join(temporaryDirectory(), name), {
    tensors,
    config: { ...model.config, ...config },
  });
};

const equal = (of: TensorFixture) => ({ ...of, data: of.data.slice() });
const other = ({ shape }: TensorFixture) => fill({ it: shape }, 'BF16', 77)['it'] as TensorFixture;
const absent = () => undefined;
const configAt = (directory: string) =>
  JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8')) as Record<string, unknown>;

describe('a head in the file of a model that says it is tied', () => {
  it('is one of its own where it differs from the embeddings, in outputs too', async () => {
    const [a, b] = [write('a', other), write('b', other, { seed: 2 })];
    const opened = await openCheckpoint(a);
    expect(opened.tied).toBe(false);
    expect(opened.config).toMatchObject({ tie_word_embeddings: false });
    expect(summariseCheckpoint(opened).architecture.tied).toBe(false);
    const out = join(temporaryDirectory(), 'out');
    const { warnings } = await soup({ models: [a, b] }, { out });
    expect(warnings.join()).toMatch(/a: lm_head\.weight is a head of its own/);
    expect(configAt(out)).toMatchObject({ tie_word_embeddings: false });
    const [one, two, merged] = [await readTensors(a), await readTensors(b), await readTensors(out)];
    expect(merged[head]?.data).toEqual(
      Buffer.from(average('BF16', [one[head], two[head]] as TensorFixture[], [1, 1])),
    );
  });

  it('is the embeddings where it has the same values, also in another dtype', async () => {
    const wider = (of: TensorFixture) => ({
      ...of,
      dtype: 'F32',
      data: encode('F32', decode('BF16', of.data)),
    });
    for (const headOf of [equal, wider]) {
      const opened = await openCheckpoint(write('a', headOf));
      expect(opened.tied).toBe(true);
      expect(opened.warnings).toEqual([]);
      const out = join(temporaryDirectory(), 'out');
      await soup({ models: [write('b', headOf), write('c', absent, { seed: 2 })] }, { out });
      expect(Object.keys(await readTensors(out))).not.toContain(head);
      expect(configAt(out)).toMatchObject({ tie_word_embeddings: true });
    }
    const rounded = (of: TensorFixture) => ({
      ...of,
      dtype: 'F32',
      data: encode(
        'F32',
        decode('BF16', of.data).map((x) => x * (1 + 2 ** -12)),
      ),
    });
    expect((await openCheckpoint(write('a', rounded))).tied).toBe(false);
  });

  it('differs at its very end, and in one bit', async () => {
    const last = (of: TensorFixture) => {
      const data = of.data.slice();
      data[data.length - 1] = (data[data.length - 1] ?? 0) ^ 1;
      return { ...of, data };
    };
    expect((await openCheckpoint(write('a', last))).tied).toBe(false);
  });

  it('is not merged with a model that is tied', async () => {
    const [own, tied] = [write('own', other), write('tied', absent)];
    for (const models of [
      [own, tied],
      [tied, own],
    ])
      await expect(soup({ models }, { out: join(temporaryDirectory(), 'out') })).rejects.toMatchObject({
        code: 'TIED_MISMATCH',
        details: { tied, untied: own },
      });
  });

  it('is refused where it has other rows, since transformers does not load it', async () => {
    const longer = () => fill({ it: [30, 16] }, 'BF16', 7)['it'] as TensorFixture;
    await expect(openCheckpoint(write('a', longer))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(
      openCheckpoint(write('a', longer, { config: { tie_word_embeddings: false } })),
    ).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    const quantised = { quantization_config: { quant_method: 'unknown' } };
    expect((await openCheckpoint(write('a', longer, { config: quantised }))).tied).toBe(false);
  });

  it('stands with the embeddings in one storage of PyTorch, and costs nothing then', async () => {
    const { tensors, config } = llama({ layers: 2, tied: true });
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), { tensors, config });
    writeFileSync(
      join(directory, 'pytorch_model.bin'),
      torchBytes({ ...tensors, [head]: equal(tensors[embedding] as TensorFixture) }),
    );
    const { rmSync } = await import('node:fs');
    rmSync(join(directory, 'model.safetensors'));
    expect((await openCheckpoint(directory)).tied).toBe(true);
  });

  it('is the base’s own for adapters', async () => {
    const base = write('base', other);
    const saved = lora({
      shapes: { [head]: [24, 16], 'model.layers.0.self_attn.q_proj.weight': [16, 16] },
      targets: ['q_proj', 'lm_head'],
    });
    const opened = await openCheckpoint(`${base}+${writeAdapter(join(temporaryDirectory(), 'lora'), saved)}`);
    expect(opened.tensors.get(head)?.change).toBeDefined();
    expect(opened.tied).toBe(false);
    const tied = await openCheckpoint(write('tied', equal));
    const adapter = await openAdapter(writeAdapter(join(temporaryDirectory(), 'lora'), saved));
    const untied = applyAdapter(tied, adapter, '');
    expect(untied.config).toMatchObject({ tie_word_embeddings: false });
    expect(untied.tensors.get(embedding)?.change).toBeUndefined();
    expect(untied.tensors.get(head)?.change).toBeDefined();
  });
});

describe('a model that does not say whether it is tied', () => {
  const silent = { tie_word_embeddings: undefined };

  it('is what its family is by default', async () => {
    const llamas = await openCheckpoint(write('a', equal, { config: silent }));
    expect(summariseCheckpoint(llamas).architecture.tied).toBe(false);
    const gemma = { ...silent, model_type: 'gemma', architectures: ['GemmaForCausalLM'] };
    expect(
      summariseCheckpoint(await openCheckpoint(write('a', equal, { config: gemma }))).architecture.tied,
    ).toBe(true);
    const own = await openCheckpoint(write('a', other, { config: gemma }));
    expect(own.config).toMatchObject({ tie_word_embeddings: false });
    const unknown = await openCheckpoint(write('a', other, { config: { ...silent, model_type: 'new' } }));
    expect([unknown.tied, unknown.configEdits]).toEqual([false, undefined]);
  });

  it('keeps its head beside one that says it is tied', async () => {
    const models = [write('a', other, { config: silent }), write('b', absent)];
    await expect(soup({ models }, { out: join(temporaryDirectory(), 'out') })).rejects.toMatchObject({
      code: 'TIED_MISMATCH',
    });
  });

  it('is tied where its language model says so', async () => {
    const inText = {
      ...silent,
      model_type: 'llava',
      architectures: ['LlavaForConditionalGeneration'],
      text_config: { model_type: 'llama', tie_word_embeddings: true },
    };
    const opened = await openCheckpoint(write('a', other, { config: inText }));
    expect(opened.config).toMatchObject({
      tie_word_embeddings: false,
      text_config: { model_type: 'llama', tie_word_embeddings: false },
    });
  });
});

describe('a head that is neither stored nor tied', () => {
  it('is told of, since loaders make one of random numbers', async () => {
    const { warnings } = await openCheckpoint(write('a', absent, { config: { tie_word_embeddings: false } }));
    expect(warnings).toEqual([
      expect.stringMatching(/has no lm_head\.weight for its class LlamaForCausalLM.*random/),
    ]);
    const headless = { tie_word_embeddings: false, architectures: ['LlamaModel'] };
    expect((await openCheckpoint(write('a', absent, { config: headless }))).warnings).toEqual([]);
  });

  it.each([true, false])('is told of if loaders do not find it under its name (tied: %s)', async (tied) => {
    const shapes = {
      'gpt_neox.gpt_neox.embed_in.weight': [8, 4],
      'gpt_neox.gpt_neox.layers.0.mlp.dense_h_to_4h.weight': [4, 4],
      'gpt_neox.embed_out.weight': [8, 4],
    };
    const { warnings } = await openCheckpoint(
      writeCheckpoint(join(temporaryDirectory(), 'a'), {
        tensors: fill(shapes, 'F32', 1),
        config: {
          model_type: 'gpt_neox',
          architectures: ['GPTNeoXForCausalLM'],
          tie_word_embeddings: tied,
        },
      }),
    );
    expect(warnings[0]).toMatch(/does not load gpt_neox\.embed_out\.weight; rename it/);
    expect(warnings).toHaveLength(tied ? 1 : 2);
  });
});

describe('the entities of LUKE', () => {
  it('are stored once the words have a head of their own', async () => {
    const shapes = {
      'luke.embeddings.word_embeddings.weight': [8, 4],
      'luke.entity_embeddings.entity_embeddings.weight': [6, 4],
      'luke.encoder.layer.0.output.dense.weight': [4, 4],
      'lm_head.decoder.weight': [8, 4],
      'lm_head.decoder.bias': [8],
      'entity_predictions.bias': [6],
    };
    const { tensors, config } = await openCheckpoint(
      writeCheckpoint(join(temporaryDirectory(), 'a'), {
        tensors: fill(shapes, 'F32', 1),
        config: { model_type: 'luke', architectures: ['LukeForMaskedLM'], tie_word_embeddings: true },
      }),
    );
    expect(config).toMatchObject({ tie_word_embeddings: false });
    for (const [copy, source] of [
      ['entity_predictions.decoder.weight', 'luke.entity_embeddings.entity_embeddings.weight'],
      ['lm_head.bias', 'lm_head.decoder.bias'],
    ] as const)
      expect(tensors.get(copy)).toEqual(tensors.get(source));
  });
});

describe('the embeddings that an encoder and a decoder share', () => {
  const config = {
    model_type: 'bart',
    architectures: ['BartForConditionalGeneration'],
    tie_word_embeddings: true,
  };
  const shapes = {
    'model.shared.weight': [8, 4],
    'model.encoder.layers.0.fc1.weight': [4, 4],
    'model.decoder.layers.0.fc1.weight': [4, 4],
  };
  const writeBart = (changed: Tensors) => {
    const tensors = { ...fill(shapes, 'F32', 1), ...changed };
    return writeCheckpoint(join(temporaryDirectory(), 'a'), { tensors, config });
  };
  const shared = fill(shapes, 'F32', 1)['model.shared.weight'] as TensorFixture;
  const random = fill({ it: [8, 4] }, 'F32', 9)['it'] as TensorFixture;

  it('are copies where they are equal, and else tensors of their own', async () => {
    const copies = await openCheckpoint(writeBart({ 'model.encoder.embed_tokens.weight': equal(shared) }));
    expect([...(copies.copies ?? [])]).toEqual(['model.encoder.embed_tokens.weight']);
    const models = [writeBart({}), writeBart({ 'model.encoder.embed_tokens.weight': equal(shared) })];
    const out = join(temporaryDirectory(), 'out');
    await soup({ models }, { out });
    expect(Object.keys(await readTensors(out))).not.toContain('model.encoder.embed_tokens.weight');
    const differing = [writeBart({}), writeBart({ 'model.encoder.embed_tokens.weight': random })];
    await expect(
      soup({ models: differing }, { out: join(temporaryDirectory(), 'out') }),
    ).rejects.toMatchObject({
      code: 'TENSOR_NAMES_DIFFER',
    });
  });

  it('are written for both where the head is its own, since nothing is tied then', async () => {
    const opened = await openCheckpoint(writeBart({ [head]: random }));
    expect(opened.config).toMatchObject({ tie_word_embeddings: false });
    for (const name of ['model.encoder.embed_tokens.weight', 'model.decoder.embed_tokens.weight'])
      expect(opened.tensors.get(name)).toEqual(opened.tensors.get('model.shared.weight'));
  });
});

it('a model whose head differs is compared by what is stored', async () => {
  const [a, b] = [write('a', other), write('b', equal)];
  const { tensors } = await diff(a, b);
  expect(tensors.find(({ name }) => name === head)?.state).toBe('differs');
});
