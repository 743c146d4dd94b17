import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, it } from 'vitest';
import { billOfMaterials } from '../../src/core/statements/bill-of-materials.js';
import type { Statement } from '../../src/core/statements/statement.js';
import { attest, layerSwap } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

// Bills of materials, validated by the schemas that CycloneDX's library has.

const library = new URL('../../node_modules/@cyclonedx/cyclonedx-library/res/schema/', import.meta.url);
const schemaOf = (name: string) =>
  JSON.parse(readFileSync(fileURLToPath(new URL(`${name}.SNAPSHOT.schema.json`, library)), 'utf8'));

let faultsOf: (text: string) => unknown;

beforeAll(() => {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const name of ['cryptography-defs', 'jsf-0.82', 'spdx'])
    ajv.addSchema({ ...schemaOf(name), $id: `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json` });
  const isValid = ajv.compile(schemaOf('bom-1.7'));
  faultsOf = (text) => (isValid(JSON.parse(text)) ? null : isValid.errors);
});

const merged = async () => {
  const root = temporaryDirectory();
  const [task, language] = ['math', 'swh'].map((model, seed) =>
    writeCheckpoint(join(root, model), llama({ seed, layers: 2 })),
  ) as [string, string];
  const out = join(root, 'out');
  await layerSwap({ task, language, bottom: 1, top: 1 }, { out });
  return { root, out };
};

describe('a bill of materials', () => {
  it('is valid CycloneDX 1.7, the same for each run, without paths or times', async () => {
    const [one, other] = [await merged(), await merged()];
    const texts = await Promise.all(
      [one, other].map(async ({ root, out }) => {
        const { bom } = await attest(out, { bom: join(root, 'bom.cdx.json') });
        expect(bom).toBe(join(root, 'bom.cdx.json'));
        const text = readFileSync(join(root, 'bom.cdx.json'), 'utf8');
        expect(text).not.toContain(root);
        return text;
      }),
    );
    const [text = ''] = texts;
    expect(new Set(texts).size).toBe(1);
    expect(faultsOf(text)).toBeNull();
    expect(faultsOf(text.replace('"SHA-256"', '"SHA-257"'))).not.toBeNull();
    const statement = JSON.parse(readFileSync(join(one.out, 'layerloom.intoto.jsonl'), 'utf8')) as Statement;
    const { component } = JSON.parse(text).metadata;
    expect(component).toMatchObject({
      ...{ type: 'machine-learning-model', name: 'out' },
      modelCard: { modelParameters: { modelArchitecture: 'LlamaForCausalLM' } },
      pedigree: {
        ancestors: statement.predicate.buildDefinition.resolvedDependencies.map(
          ({ digest, annotations: { model, role } }) => ({
            ...{ type: 'machine-learning-model', name: model },
            components: [
              {
                ...{ type: 'file', name: 'model.safetensors' },
                hashes: [{ alg: 'SHA-256', content: digest.sha256 }],
              },
            ],
            properties: [{ name: 'layerloom:role', value: role }],
          }),
        ),
      },
    });
    expect(component.components).toEqual(
      statement.subject.slice(0, -1).map(({ name, digest }) => ({
        ...{ type: 'file', name, hashes: [{ alg: 'SHA-256', content: digest.sha256 }] },
      })),
    );
  });

  it('names models of the hub by package URL and commit, and what has no hash', () => {
    const sha256 = 'a'.repeat(64);
    const uri = `pkg:huggingface/org/math@${'b'.repeat(40)}`;
    const of = (file: string, role: string, digest: object) => ({
      ...{ name: `org/math/${file}`, uri, digest, annotations: { role, model: 'org/math', adapter: uri } },
    });
    const text = billOfMaterials(
      {
        subject: [{ name: 'model.safetensors', digest: { sha256 } }],
        predicate: {
          buildDefinition: {
            externalParameters: { recipe: { method: 'soup' } },
            resolvedDependencies: [
              of('1.safetensors', 'model', { sha256 }),
              of('1.safetensors', 'base', { sha256 }),
              of('2.safetensors', 'model', { header_sha256: sha256 }),
            ],
          },
          runDetails: { builder: { version: { layerloom: '0.1.0' } } },
        },
      } as unknown as Statement,
      'out',
      undefined,
    );
    expect(faultsOf(text)).toBeNull();
    expect(JSON.parse(text).metadata.component.pedigree.ancestors).toEqual([
      {
        ...{ type: 'machine-learning-model', name: 'org/math', version: 'b'.repeat(40), purl: uri },
        components: [
          { type: 'file', name: '1.safetensors', hashes: [{ alg: 'SHA-256', content: sha256 }] },
          { type: 'file', name: '2.safetensors' },
        ],
        properties: [
          { name: 'layerloom:role', value: 'model' },
          { name: 'layerloom:role', value: 'base' },
          { name: 'layerloom:adapter', value: uri },
        ],
      },
    ]);
  });

  it('replaces no file, is not put into the output, and is of merges only', async () => {
    const { root, out } = await merged();
    const file = join(root, 'mine.json');
    writeFileSync(file, 'mine');
    await expect(attest(out, { bom: file })).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    for (const bom of [join(out, 'bom.json'), join(root, 'math/../out/bom.json')])
      await expect(attest(out, { bom })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
    await expect(attest(out, { bom: join(root, 'none/bom.json') })).rejects.toMatchObject({
      code: 'READ_FAILED',
    });
    expect(existsSync(join(out, 'layerloom.intoto.jsonl'))).toBe(false);
    const [folder, key] = [join(root, 'data'), join(root, 'key.pem')];
    mkdirSync(folder);
    writeFileSync(
      key,
      (await import('node:crypto'))
        .generateKeyPairSync('ed25519')
        .privateKey.export({ type: 'pkcs8', format: 'pem' }),
    );
    await expect(attest(folder, { key, bom: join(root, 'bom.json') })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
  });
});
