import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { attest, layerSwap, soup, verify } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { tamper, tamperings, verdictOf } from '../fixtures/tampered.js';

// OpenSSF's model-signing and in-toto's library, beside ours.

const python = process.env['LAYERLOOM_MODEL_SIGNING_PYTHON'];
const script = fileURLToPath(new URL('model_signing_lane.py', import.meta.url));

const run = async (...words: string[]): Promise<string> =>
  (await promisify(execFile)(python ?? '', [script, ...words], { maxBuffer: 2 ** 26 })).stdout;

const folders = async () => {
  const root = temporaryDirectory();
  const [task, language] = [1, 2].map((seed) =>
    writeCheckpoint(join(root, `expert-${seed}`), llama({ seed, layers: 2 })),
  ) as [string, string];
  const [signed, other] = [join(root, 'signed'), join(root, 'other')];
  await layerSwap({ task, language, bottom: 1, top: 1 }, { out: signed, attest: true });
  await soup({ models: [task, language] }, { out: other, attest: true });
  return { root, signed, other };
};

const writeKeys = (root: string, namedCurve: string) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  const [key, publicFile] = [join(root, 'private.pem'), join(root, 'public.pem')];
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(publicFile, publicKey.export({ type: 'spki', format: 'pem' }));
  return { key, publicFile };
};

describe.skipIf(python === undefined)('model-signing', () => {
  it.each(['P-256', 'P-384', 'P-521'])('verifies ours by %s, and ours verifies its', async (curve) => {
    const { root, signed } = await folders();
    const { key, publicFile } = writeKeys(root, curve);
    // Paths whose order by parts is not that of their text.
    for (const name of ['a-b', 'a.txt']) writeFileSync(join(signed, name), name);
    cpSync(join(root, 'expert-1'), join(signed, 'a'), { recursive: true });
    const theirs = join(root, 'theirs');
    cpSync(signed, theirs, { recursive: true });
    await expect(attest(signed, { key })).resolves.toBeTruthy();
    await run('sign', key, theirs);
    expect(JSON.parse(await run('verify', publicFile, signed, theirs))).toEqual([null, null]);
    for (const folder of [signed, theirs])
      expect((await verify(folder, { key: publicFile })).signature).toMatchObject({ valid: true });
    const payloadOf = (folder: string) =>
      JSON.parse(
        Buffer.from(
          JSON.parse(readFileSync(join(folder, 'model.sig'), 'utf8')).dsseEnvelope.payload,
          'base64',
        ).toString(),
      );
    const [our, their] = [payloadOf(signed), payloadOf(theirs)];
    expect(our.predicate.resources).toEqual(their.predicate.resources);
    expect(our.subject[0].digest).toEqual(their.subject[0].digest);
  });

  it('and ours refuse each of 200 tampered folders', { timeout: 300_000 }, async () => {
    const { root, signed, other } = await folders();
    const { key, publicFile } = writeKeys(root, 'P-256');
    for (const folder of [signed, other]) await attest(folder, { key });
    const seeds = Array.from({ length: 200 }, (_, seed) => seed);
    const made = seeds.map((seed) => join(root, `tampered-${seed}`));
    const kinds = seeds.map((seed) => tamper(signed, other, made[seed] ?? '', seed));
    expect(new Set(kinds).size).toBe(tamperings.length);
    const theirs = JSON.parse(await run('verify', publicFile, ...made)) as (string | null)[];
    const passed = await Promise.all(
      seeds.map(async (seed) => {
        const verdict = await verdictOf(made[seed] ?? '', publicFile);
        return theirs[seed] === null || verdict !== 'damaged'
          ? [`${kinds[seed]} by ${seed}: ${verdict}`]
          : [];
      }),
    );
    expect(passed.flat()).toEqual([]);
  });

  it('accepts weights in folders of git, which ours refuses', async () => {
    const { root, signed } = await folders();
    const { key, publicFile } = writeKeys(root, 'P-256');
    await attest(signed, { key });
    const own = ['.git', '.github'].map((folder) => {
      const copy = join(root, `with-${folder}`);
      cpSync(signed, copy, { recursive: true });
      mkdirSync(join(copy, folder));
      cpSync(join(root, 'expert-1/model.safetensors'), join(copy, folder, 'model.safetensors'));
      return copy;
    });
    expect(JSON.parse(await run('verify', publicFile, ...own))).toEqual([null, null]);
    for (const folder of own) expect(await verdictOf(folder, publicFile)).toBe('damaged');
  });

  it("reads our statements by in-toto's library, as they are", async () => {
    const { signed } = await folders();
    expect(await run('statement', join(signed, 'layerloom.intoto.jsonl'))).toBe(
      'https://slsa.dev/provenance/v1\n',
    );
  });
});
