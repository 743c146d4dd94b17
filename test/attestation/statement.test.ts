import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { attest, extractLora, layerSwap, soup, verify } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

// Statements of merges: what they say, and what is refused.

const name = 'layerloom.intoto.jsonl';

const experts = (root: string): { readonly task: string; readonly language: string } => ({
  task: writeCheckpoint(join(root, 'math'), llama({ seed: 1 })),
  language: writeCheckpoint(join(root, 'swh'), llama({ seed: 2 })),
});

const swapped = async (options: { readonly attest?: boolean; readonly checksums?: boolean } = {}) => {
  const root = temporaryDirectory();
  const models = experts(root);
  const out = join(root, 'out');
  await layerSwap({ ...models, bottom: 1, top: 1 }, { out, ...options });
  return { root, out, ...models };
};

const textOf = (out: string): string => readFileSync(join(out, name), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: any JSON.
const parsed = (out: string): any => JSON.parse(textOf(out));

/** The digest as docs/proof.md defines it, by another way than the engine's. */
const digestOf = (out: string): string => {
  const rows = readdirSync(out)
    .filter((file) => file.endsWith('.safetensors'))
    .flatMap((file) => {
      const bytes = readFileSync(join(out, file));
      const data = 8 + Number(bytes.readBigUInt64LE());
      const { __metadata__: _, ...tensors } = JSON.parse(bytes.subarray(8, data).toString()) as Record<
        string,
        { dtype: string; shape: number[]; data_offsets: [number, number] }
      >;
      return Object.entries(tensors).map(
        ([
          tensor,
          {
            dtype,
            shape,
            data_offsets: [begin, end],
          },
        ]) => {
          const content = bytes.subarray(data + begin, data + end);
          const sha256 = createHash('sha256').update(content).digest('hex');
          return JSON.stringify([tensor, dtype, shape, sha256]);
        },
      );
    });
  return createHash('sha256')
    .update(`${rows.sort().join('\n')}\n`)
    .digest('hex');
};

const faultsOf = async (out: string): Promise<string[]> =>
  (await verify(out)).files
    .filter(({ state }) => state === 'different' || state === 'missing')
    .map(({ file, reason }) => `${file} ${reason}`);

describe('the statement of a merge', () => {
  it('has weights, tensors, recipe and inputs, and no path, time or host', async () => {
    const { out, task } = await swapped({ attest: true });
    const hashOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
    const shards = readdirSync(out).filter((file) => file.endsWith('.safetensors'));
    const statement = parsed(out);
    expect(statement).toMatchObject({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [
        ...shards.sort().map((file) => ({ name: file, digest: { sha256: hashOf(join(out, file)) } })),
        { name: 'tensors', digest: { sha256: digestOf(out) } },
      ],
      predicateType: 'https://slsa.dev/provenance/v1',
    });
    const { buildDefinition, runDetails } = statement.predicate;
    expect(buildDefinition.externalParameters.recipe).toMatchObject({
      ...{ method: 'layer_swap', task: './math', language: './swh', bottom: 1, top: 1 },
    });
    expect(buildDefinition.resolvedDependencies[0]).toEqual({
      name: 'math/model.safetensors',
      digest: { sha256: hashOf(join(task, 'model.safetensors')) },
      annotations: { role: 'task', model: 'math' },
    });
    expect(Object.keys(runDetails)).toEqual(['builder']);
    expect(textOf(out)).not.toContain(out);
  });

  it('is the same bytes from the merge and afterwards, elsewhere, with and without checksums', async () => {
    const texts = await Promise.all(
      [{ attest: true }, { checksums: true }, {}].map(async (options) => {
        const { out } = await swapped(options);
        if (!('attest' in options)) await attest(out);
        return textOf(out);
      }),
    );
    expect(new Set(texts).size).toBe(1);
  });

  it('of an extracted adapter names its models without paths', async () => {
    const { root, task, language } = await swapped();
    const out = join(root, 'lora');
    await extractLora({ base: task, expert: language, rank: 2 }, { out });
    await attest(out);
    expect(parsed(out).predicate.buildDefinition.externalParameters.recipe).toMatchObject({
      ...{ method: 'extract_lora', base: 'math', model: 'swh', rank: 2 },
    });
    expect(textOf(out)).not.toContain(root);
    expect((await verify(out)).verdict).toBe('intact');
  });

  it('has one digest of tensors in every layout', async () => {
    const { root, out, task, language } = await swapped({ attest: true });
    const other = join(root, 'whole');
    await layerSwap({ task, language, bottom: 1, top: 1, layout: 'size' }, { out: other, attest: true });
    expect(parsed(other).subject).toHaveLength(2);
    expect(parsed(other).subject.at(-1)).toEqual(parsed(out).subject.at(-1));
  });

  it('says what it identifies where inputs are gone and have no hash', async () => {
    const { out, task } = await swapped();
    rmSync(task, { recursive: true });
    const { statement } = await attest(out);
    expect(statement).toMatchObject({ inputs: 2, identified: 1 });
    const { verdict, warnings } = await verify(out);
    expect(verdict).toBe('intact');
    expect(warnings).toEqual([`${name} identifies 1 of 2 input files by their contents`]);
  });

  it('is not made of an output that is not as it was written', async () => {
    const { out } = await swapped({ checksums: true });
    const config = join(out, 'config.json');
    const text = readFileSync(config, 'utf8');
    writeFileSync(config, text.replace('{', '{ '));
    await expect(attest(out)).rejects.toMatchObject({ code: 'OUTPUT_DAMAGED' });
    rmSync(config);
    await expect(attest(out)).rejects.toMatchObject({ code: 'OUTPUT_DAMAGED' });
    expect(readdirSync(out)).not.toContain(name);
    rmSync(join(out, 'layerloom.json'));
    await expect(attest(out)).rejects.toMatchObject({ code: 'OUTPUT_UNRECORDED' });
  });

  it('is replaced with its output, and not carried into merges of it', async () => {
    const { root, out, task, language } = await swapped({ attest: true });
    writeFileSync(join(out, 'model.sig'), 'x');
    const next = join(root, 'next');
    await soup({ models: [out, task] }, { out: next });
    expect(readdirSync(next)).not.toContain(name);
    await layerSwap({ task, language, bottom: 2, top: 1 }, { out, force: true });
    expect(readdirSync(out).filter((file) => [name, 'model.sig'].includes(file))).toEqual([]);
  });
});

describe('a statement is compared with weights and record, and', () => {
  it('makes shards without a recorded SHA-256 intact', async () => {
    const { out } = await swapped();
    expect((await verify(out)).verdict).toBe('intact-by-size');
    const { statement } = await attest(out);
    const found = await verify(out);
    expect(found).toMatchObject({ verdict: 'intact', warnings: [], statement: { valid: true, inputs: 2 } });
    expect(found.statement?.tensors).toBe(statement?.tensors);
  });

  it('is refused for other weights, recipes, inputs and builders', async () => {
    const { out } = await swapped({ attest: true });
    const text = textOf(out);
    const other = (of: string) =>
      of.replace(/[0-9a-f]{64}/, (hash) => hash.replace(/^./, (c) => (c === '0' ? '1' : '0')));
    for (const [edited, reason] of [
      [
        text.replace(/"sha256":"[0-9a-f]{64}/, other),
        'states files or other SHA-256 than those that are there',
      ],
      [
        text.replace(/"tensors","digest":\{"sha256":"[0-9a-f]{64}/, other),
        'states another digest of the tensors',
      ],
      [text.replace('"bottom":1', '"bottom":2'), 'states another recipe than layerloom.json'],
      [text.replace('#merge/v1', '#export/v1'), 'states another recipe than layerloom.json'],
      [text.replace(/math\/model.*?[0-9a-f]{64}/, other), 'states other inputs than layerloom.json'],
      [text.replace('"role":"task"', '"role":"base"'), 'states other inputs than layerloom.json'],
      [text.replace('"layerloom":"', '"layerloom":"9'), 'states another builder than layerloom.json'],
      [text.replace('{', '{ '), 'is not written as layerloom writes it'],
      [text.trimEnd(), 'is not written as layerloom writes it'],
    ] as const) {
      expect(edited).not.toBe(text);
      writeFileSync(join(out, name), edited);
      expect(await faultsOf(out)).toEqual([`${name} ${reason}`]);
    }
  });

  it('is refused where it cannot be read', async () => {
    const { root, out } = await swapped({ attest: true });
    const text = textOf(out);
    for (const [edited, reason] of [
      ['', 'is no statement: '],
      ['{"_type":', 'is no statement: '],
      ['null', 'is no statement of layerloom'],
      ['[1]', 'is no statement of layerloom'],
      [text + text, 'has more than one statement'],
      [text.replace('{', '{"_type":"x",'), 'has a key twice'],
      [
        text.replace('slsa.dev/provenance/v1', 'example.org/other'),
        'has the unknown predicate type "https://example.org/other"',
      ],
      [text.replace('Statement/v1', 'Statement/v0.1'), 'is no statement of layerloom (_type:'],
      [text.replace('"name":"model-', '"name":"../model-'), 'expected the name of a file in the folder'],
      [text.replace('"name":"model-', '"name":"/etc/model-'), 'expected the name of a file in the folder'],
      [
        text.replace('"subject":[', `"subject":[{"name":"tensors","digest":{"sha256":"${'0'.repeat(64)}"}},`),
        'names a subject twice',
      ],
      [
        text.replace('"runDetails":{', '"runDetails":{"metadata":{},'),
        'is no statement of layerloom (predicate.runDetails',
      ],
      [text.replace(/"sha256":"[0-9a-f]/, '"sha256":"g'), 'expected a SHA-256'],
      [`{"a":${'['.repeat(100_000)}`, 'is no statement: '],
    ] as const) {
      writeFileSync(join(out, name), edited);
      expect(await faultsOf(out)).toEqual([expect.stringContaining(reason)]);
    }
    writeFileSync(join(out, name), Buffer.from([0xff]));
    expect(await faultsOf(out)).toEqual([expect.stringContaining('is not UTF-8')]);
    rmSync(join(out, name));
    symlinkSync(join(root, 'nowhere'), join(out, name));
    expect((await faultsOf(out)).join()).toContain(name);
  });

  it('is refused for another output, also with its record', async () => {
    const [one, other] = [await swapped({ attest: true }), await swapped({ attest: true })];
    const next = join(other.root, 'next');
    await soup({ models: [other.task, other.language] }, { out: next, attest: true });
    cpSync(join(next, name), join(one.out, name));
    expect((await faultsOf(one.out)).join()).toContain('states files or other SHA-256');
    cpSync(join(next, 'layerloom.json'), join(one.out, 'layerloom.json'));
    expect((await faultsOf(one.out)).length).toBeGreaterThan(1);
  });

  it('is refused for weights that are missing, renamed or of another merge', async () => {
    const { out } = await swapped({ attest: true });
    const [shard = ''] = readdirSync(out).filter((file) => file.endsWith('.safetensors'));
    renameSync(join(out, shard), join(out, 'renamed.safetensors'));
    const faults = await faultsOf(out);
    expect(faults).toContainEqual(`${shard} is missing`);
    expect(faults).toContainEqual(`${name} cannot be compared with the weights`);
  });

  it('has a warning where the statement of an input is about other files', async () => {
    const { root, out, task, language } = await swapped({ attest: true });
    const next = join(root, 'next');
    await soup({ models: [out, task] }, { out: next, attest: true });
    expect((await verify(next)).warnings).toEqual([]);
    await layerSwap({ task, language, bottom: 2, top: 1 }, { out, force: true, attest: true });
    const { verdict, warnings } = await verify(next);
    expect(verdict).toBe('intact');
    expect(warnings).toEqual([`${out}: its ${name} states other files than those that were merged`]);
  });
});
