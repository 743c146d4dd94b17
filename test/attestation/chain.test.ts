import { createHash } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chainForCard, describeChain } from '../../src/cli/text/models/chain-text.js';
import { chain, exportModel, layerSwap, soup, verify } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { llamaStandIn, writeLlamaPrograms } from '../fixtures/llama-cpp.js';

// The chain of statements: experts, swaps, a soup of swaps, GGUF.

const made = async () => {
  const root = temporaryDirectory();
  const [math, swh, jpn] = ['math', 'swh', 'jpn'].map((model, seed) =>
    writeCheckpoint(join(root, model), llama({ seed })),
  ) as [string, string, string];
  const [one, two, both] = ['swap-1', 'swap-2', 'both'].map((model) => join(root, model)) as [
    string,
    string,
    string,
  ];
  const swap = { bottom: 1, top: 1 };
  await layerSwap({ task: math, language: swh, ...swap }, { out: one, attest: true });
  await layerSwap({ task: math, language: jpn, ...swap }, { out: two, attest: true });
  await soup({ models: [one, two] }, { out: both, attest: true });
  return { root, math, swh, jpn, one, two, both };
};

const exported = async (model: string, root: string) =>
  exportModel(model, {
    ...{ to: 'gguf', type: 'q4_k_m', out: join(root, 'gguf') },
    converter: llamaStandIn('convert-hf-to-gguf'),
    llamaCpp: writeLlamaPrograms(join(root, 'llama.cpp'), ['llama-quantize']),
  });

const flip = (file: string): void => {
  const bytes = readFileSync(file);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  writeFileSync(file, bytes);
};

const shard = (folder: string): string =>
  join(folder, readdirSync(folder).find((file) => file.endsWith('.safetensors')) ?? '');

describe('a chain', () => {
  it('goes from a GGUF file through merges of merges to the experts', async () => {
    const { root, both, jpn } = await made();
    const { statement, out } = await exported(both, root);
    expect(statement).toBe('layerloom.intoto.jsonl');
    const found = await chain(out);
    expect(found).toMatchObject({ complete: true, warnings: [] });
    expect(describeChain(found)).toBe(
      [
        'gguf: export (q4_k_m) by layerloom 0.1.0, convert-hf-to-gguf (version not stated), llama-quantize (version not stated)',
        '└─ both: merge (soup) by layerloom 0.1.0; the stated files',
        '   ├─ swap-1: merge (layer_swap) by layerloom 0.1.0; the stated files',
        '   │  ├─ math: model; the stated files; no statement',
        '   │  └─ swh: model; the stated files; no statement',
        '   └─ swap-2: merge (layer_swap) by layerloom 0.1.0; the stated files',
        '      ├─ math: model; the stated files; no statement',
        '      └─ jpn: model; the stated files; no statement',
        'complete: every stated input was found, with the stated SHA-256',
      ].join('\n'),
    );
    // The card of the merge too, without a path, and with the missing link.
    renameSync(jpn, join(root, 'elsewhere'));
    const section = chainForCard(await chain(both));
    expect(section).toBe(
      [
        ...['', '## Made from', '', '```text'],
        'both: merge (soup) by layerloom 0.1.0',
        '├─ swap-1: merge (layer_swap) by layerloom 0.1.0; the stated files',
        '│  ├─ math: model; the stated files; no statement',
        '│  └─ swh: model; the stated files; no statement',
        '└─ swap-2: merge (layer_swap) by layerloom 0.1.0; the stated files',
        '   ├─ math: model; the stated files; no statement',
        '   └─ jpn: model; missing',
        ...['not complete: see the lines above', '```'],
      ].join('\n'),
    );
    appendFileSync(join(both, 'README.md'), section);
    expect((await verify(both)).verdict).toBe('intact');
    const again = await exported(both, temporaryDirectory());
    expect(
      readFileSync(join(again.out, 'layerloom.intoto.jsonl'), 'utf8').replaceAll(
        /"llama-quantize","digest":\{[^}]*\}/g,
        '',
      ),
    ).toBe(
      readFileSync(join(out, 'layerloom.intoto.jsonl'), 'utf8').replaceAll(
        /"llama-quantize","digest":\{[^}]*\}/g,
        '',
      ),
    );
  });

  it('says which links are missing, or other files, and guesses none', async () => {
    const { root, both, jpn, swh } = await made();
    renameSync(jpn, join(root, 'elsewhere'));
    flip(join(swh, 'model.safetensors'));
    const { complete, root: top } = await chain(both);
    expect(complete).toBe(false);
    const [one, two] = top.inputs;
    expect(one?.inputs[1]).toMatchObject({
      ...{ name: 'swh', path: null, link: 'different', statement: 'none' },
      reason: `${join(swh, 'model.safetensors')} is not the file that was used`,
    });
    expect(two?.inputs[1]).toMatchObject({
      ...{ name: 'jpn', path: null, link: 'missing' },
      reason: 'model.safetensors was not found on this machine',
    });
  });

  it('is followed in folders that were moved together', async () => {
    const { root, both } = await made();
    const moved = join(temporaryDirectory(), 'moved');
    renameSync(root, moved);
    expect((await chain(join(moved, 'both'))).complete).toBe(true);
    expect((await verify(join(moved, 'both'))).verdict).toBe('intact');
    renameSync(moved, root);
    expect((await chain(both)).complete).toBe(true);
  });

  it('ends with an error of a statement that is not of the weights, and has nothing to say without one', async () => {
    const { both, one, math } = await made();
    flip(shard(both));
    expect((await chain(both)).root).toMatchObject({
      statement: 'invalid',
      reason: expect.stringContaining('states files or other SHA-256') as string,
    });
    // The input is no longer the one that was merged, so its statement does not matter.
    flip(shard(one));
    expect((await chain(both)).root.inputs[0]).toMatchObject({ link: 'different', inputs: [] });
    expect(await chain(math)).toMatchObject({
      ...{ complete: false, root: { kind: 'model', statement: 'none' } },
      warnings: [`${math} has no statement, so it is unknown what it was made from`],
    });
  });

  it('says where a merge recorded no hash of an input that is gone', async () => {
    const root = temporaryDirectory();
    const [task, language] = [1, 2].map((seed) =>
      writeCheckpoint(join(root, `expert-${seed}`), llama({ seed })),
    );
    const out = join(root, 'out');
    await layerSwap({ task: task ?? '', language: language ?? '', bottom: 1, top: 1 }, { out });
    rmSync(task ?? '', { recursive: true });
    await (await import('../../src/index.js')).attest(out);
    expect((await chain(out)).root.inputs[0]).toMatchObject({ link: 'unidentified', path: null });
  });

  it('is not complete by a statement of some files or of none', async () => {
    const { one } = await made();
    const file = join(one, 'layerloom.intoto.jsonl');
    rmSync(join(one, 'layerloom.json'));
    expect((await chain(one)).root.statement).toBe('valid');
    const stated = JSON.parse(readFileSync(file, 'utf8')) as { subject: { name: string }[] };
    writeFileSync(join(one, 'model-more.safetensors'), readFileSync(shard(one)));
    expect((await chain(one)).root).toMatchObject({
      statement: 'invalid',
      reason: 'layerloom.intoto.jsonl does not list model-more.safetensors, which is in the folder',
    });
    const subject = stated.subject.filter(({ name }) => name === 'tensors');
    writeFileSync(file, JSON.stringify({ ...stated, subject }));
    expect((await chain(one)).root).toMatchObject({
      statement: 'invalid',
      reason: 'layerloom.intoto.jsonl states no file',
    });
  });

  it("reads ggufpacker's statement of a quantisation", async () => {
    const root = temporaryDirectory();
    const hashOf = (name: string) =>
      createHash('sha256')
        .update(readFileSync(join(root, name)))
        .digest('hex');
    writeFileSync(join(root, 'm-f16.gguf'), 'source');
    writeFileSync(join(root, 'm-q4.gguf'), 'quantised');
    const statement = {
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'm-q4.gguf', digest: { sha256: hashOf('m-q4.gguf') } }],
      predicateType: 'https://github.com/theadamdanielsson/ggufpacker/attestation/gguf-derivation/v0',
      predicate: {
        baseModel: {
          name: 'm-f16.gguf',
          digest: { sha256: hashOf('m-f16.gguf') },
          uri: 'pkg:huggingface/o/m@c',
        },
        recipe: { quantType: 'Q4_K_M', useImatrix: false },
        builder: {
          tool: 'ggml-org/llama.cpp/llama-quantize',
          buildIdentity: { versionBanner: 'build = 1 (abc)\nx' },
        },
        reproducibility: {},
      },
    };
    const file = join(root, 'm-q4.gguf.derivation.json');
    writeFileSync(file, JSON.stringify(statement));
    for (const asked of [root, join(root, 'm-q4.gguf')])
      expect(await chain(asked)).toMatchObject({
        complete: true,
        root: {
          ...{ kind: 'quantisation', method: 'Q4_K_M', statement: 'valid' },
          by: 'ggml-org/llama.cpp/llama-quantize (build = 1 (abc))',
          inputs: [
            {
              name: 'm-f16.gguf',
              link: 'same',
              uri: 'pkg:huggingface/o/m@c',
              path: join(root, 'm-f16.gguf'),
            },
          ],
        },
      });
    writeFileSync(join(root, 'm-q4.gguf'), 'quantized');
    expect((await chain(root)).root).toMatchObject({ statement: 'invalid' });
    for (const name of ['../../etc/passwd', '/etc/passwd', '..', 'a/b'])
      for (const edited of [
        { ...statement, subject: [{ ...statement.subject[0], name }] },
        {
          ...statement,
          predicate: { ...statement.predicate, baseModel: { ...statement.predicate.baseModel, name } },
        },
      ]) {
        writeFileSync(file, JSON.stringify(edited));
        expect((await chain(root)).root).toMatchObject({
          statement: 'invalid',
          reason: expect.stringContaining(
            'expected the name of a file in the same folder as this statement',
          ) as string,
        });
      }
  });

  it('ends where statements name each other', async () => {
    const root = temporaryDirectory();
    writeFileSync(join(root, 'a.gguf'), 'a');
    const sha256 = createHash('sha256').update('a').digest('hex');
    const self = { name: 'a.gguf', digest: { sha256 } };
    writeFileSync(
      join(root, 'a.gguf.derivation.json'),
      JSON.stringify({
        _type: 'https://in-toto.io/Statement/v1',
        subject: [self],
        predicateType: 'https://github.com/theadamdanielsson/ggufpacker/attestation/gguf-derivation/v0',
        predicate: { baseModel: self, recipe: { quantType: 'Q8_0' }, builder: { tool: 'x' } },
      }),
    );
    const found = await chain(join(root, 'a.gguf'));
    expect(found.complete).toBe(false);
    expect(found.root.inputs[0]).toMatchObject({
      ...{ statement: 'invalid', inputs: [] },
      reason: 'a.gguf.derivation.json states that the model was made from itself',
    });
  });
});
