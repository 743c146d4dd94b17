import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attest, layerSwap, verify } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

// Signatures of folders by a key, without the reference program (test/peers/model-signing.test.ts has it).

const pem = (key: KeyObject): string =>
  key.type === 'private'
    ? key.export({ type: 'pkcs8', format: 'pem' }).toString()
    : key.export({ type: 'spki', format: 'pem' }).toString();

let root: string;
let out: string;
const keyFile = (name: string): string => join(root, `${name}.pem`);

const writeKeys = (name: string, keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }) => {
  writeFileSync(keyFile(name), pem(keys.privateKey));
  writeFileSync(keyFile(`${name}-public`), pem(keys.publicKey));
};

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'layerloom-'));
  const [task, language] = [1, 2].map((seed) =>
    writeCheckpoint(join(root, `expert-${seed}`), llama({ seed })),
  ) as [string, string];
  out = join(root, 'out');
  await layerSwap({ task, language, bottom: 1, top: 1 }, { out });
  for (const curve of ['P-256', 'P-384', 'P-521'])
    writeKeys(curve, generateKeyPairSync('ec', { namedCurve: curve }));
  writeKeys('Ed25519', generateKeyPairSync('ed25519'));
  writeKeys('other', generateKeyPairSync('ec', { namedCurve: 'P-256' }));
  writeKeys('RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }));
  writeKeys('secp256k1', generateKeyPairSync('ec', { namedCurve: 'secp256k1' }));
});

const signed = async (key = 'P-256'): Promise<string> => {
  const copy = join(temporaryDirectory(), 'signed');
  cpSync(out, copy, { recursive: true });
  await attest(copy, { key: keyFile(key) });
  return copy;
};

const verdictOf = async (folder: string, key = 'P-256') => {
  const { verdict, files, signature } = await verify(folder, { key: keyFile(`${key}-public`) });
  const wrong = files.filter(({ state }) => state === 'different' || state === 'missing');
  return { verdict, signature, wrong: wrong.map(({ file, reason }) => `${file} ${reason}`) };
};

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('a folder that a key signed', () => {
  it.each(['P-256', 'P-384', 'P-521', 'Ed25519'])('is intact by the public key of %s', async (kind) => {
    const folder = await signed(kind);
    const { verdict, signature } = await verdictOf(folder, kind);
    expect(verdict).toBe('intact');
    expect(signature).toMatchObject({
      ...{ file: 'model.sig', valid: true, files: 15 },
      algorithm: kind === 'Ed25519' ? kind : `EC ${kind}`,
    });
  });

  it('is intact under another name, and with files of git and of the hub client', async () => {
    const folder = await signed();
    const renamed = join(root, 'renamed');
    cpSync(folder, renamed, { recursive: true });
    writeFileSync(join(renamed, '.gitattributes'), '*.safetensors filter=lfs');
    mkdirSync(join(renamed, '.cache/huggingface/download'), { recursive: true });
    writeFileSync(join(renamed, '.cache/huggingface/download/config.json.metadata'), 'x');
    expect((await verdictOf(renamed)).verdict).toBe('intact');
  });

  it('may be any folder, also one that no merge wrote', async () => {
    const folder = join(temporaryDirectory(), 'data');
    mkdirSync(join(folder, 'sub-1'), { recursive: true });
    mkdirSync(join(folder, 'sub'));
    for (const name of ['sub/a', 'sub-1/b', 'é.txt', 'README.md'])
      writeFileSync(join(folder, name), `${name}\n\nmethod: soup\n`);
    const { statement, signature } = await attest(folder, { key: keyFile('P-256') });
    expect(statement).toBeNull();
    expect(signature?.files).toBe(4);
    expect((await verdictOf(folder)).verdict).toBe('intact');
    writeFileSync(join(folder, 'sub/a'), 'b');
    expect((await verdictOf(folder)).wrong).toEqual(['sub/a is not the file that was signed']);
  });

  it('is not signed by another key', async () => {
    const found = await verdictOf(await signed(), 'other');
    expect(found).toMatchObject({
      verdict: 'damaged',
      wrong: ['model.sig was made with another key'],
      signature: { valid: false },
    });
  });

  it('is not valid with the name of the key alone', async () => {
    const folder = await signed();
    const bundle = JSON.parse(readFileSync(join(folder, 'model.sig'), 'utf8'));
    const theirs = await signed('other');
    const { verificationMaterial } = JSON.parse(readFileSync(join(theirs, 'model.sig'), 'utf8'));
    writeFileSync(join(folder, 'model.sig'), JSON.stringify({ ...bundle, verificationMaterial }));
    expect((await verdictOf(folder, 'other')).wrong).toEqual([
      'model.sig is not valid: it was changed, or made with another key',
    ]);
  });

  it.each([
    ['is missing', undefined, 'is missing: the folder is not signed'],
    ['is no JSON', () => 'x', 'cannot be checked: is not JSON (line 1, column 1)'],
    ['has a key twice', (text: string) => text.replace('{', '{"mediaType":"x",'), 'has a key twice'],
    [
      'is of another kind',
      (text: string) => text.replace('v0.3+json', 'v0.2+json'),
      'it is not a signature of a folder (mediaType:',
    ],
    [
      'is by an identity',
      (text: string) => text.replace(/"publicKey":\{.*?\}/, '"certificate":{"rawBytes":""}'),
      'model.sig is by an identity, and not by a key: give `identity` and `issuer`',
    ],
    [
      'names no signer',
      (text: string) => text.replace('"publicKey"', '"another"'),
      'cannot be checked: it names neither a key nor an identity',
    ],
    [
      'has two signatures',
      (text: string) => text.replace(/("signatures":\[)(\{.*?\})/, '$1$2,$2'),
      'it is not a signature of a folder (dsseEnvelope.signatures:',
    ],
    [
      'is of another payload',
      (text: string) => text.replace('"payload":"ey', '"payload":"fy'),
      'is not valid',
    ],
    ['is not UTF-8', () => Buffer.from([0xff, 0xfe]), 'is not UTF-8'],
  ])('is refused where the signature %s', async (_, edit, reason) => {
    const folder = await signed();
    const file = join(folder, 'model.sig');
    if (edit === undefined) renameSync(file, join(root, 'away.sig'));
    else writeFileSync(file, edit(readFileSync(file, 'utf8')));
    const { verdict, wrong } = await verdictOf(folder);
    expect(verdict).toBe('damaged');
    expect(wrong).toEqual([expect.stringContaining(reason)]);
  });

  it('is refused where files are links, devices or of other names', async () => {
    const folder = await signed();
    renameSync(join(folder, 'config.json'), join(root, 'config.json'));
    symlinkSync(join(root, 'config.json'), join(folder, 'config.json'));
    symlinkSync(root, join(folder, 'sub'));
    expect((await verdictOf(folder)).wrong).toEqual([
      'config.json is a symbolic link, which is not signed; put a copy of its file in its place',
      'sub is a symbolic link, which is not signed; put a copy of its file in its place',
    ]);
    await expect(attest(folder, { key: keyFile('P-256') })).rejects.toMatchObject({ code: 'OUTPUT_DAMAGED' });
  });
});

describe('an identity', () => {
  const google = 'https://accounts.google.com';

  it.each([
    [{ identity: 'a@b.co' }, 'identity', 'an identity, with `issuer` and its URL'],
    [{ identity: '', issuer: google }, 'identity', 'an identity, with `issuer` and its URL'],
    [{ issuer: google }, 'issuer', 'nothing without `identity`'],
    [{ identity: 'a@b.co', issuer: google, key: 'x.pem' }, 'identity', 'nothing beside `key`'],
    [{ identity: 'a@b.co', issuer: google, against: 'x' }, 'identity', 'no value together with `against`'],
  ])('is refused as %o', async (options, parameter, expected) => {
    await expect(verify(out, options)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { parameter, expected },
    });
  });

  it('is not a key that signed', async () => {
    const folder = await signed();
    const { verdict, files, signature } = await verify(folder, { identity: 'a@b.co', issuer: google });
    expect(verdict).toBe('damaged');
    expect(signature).toEqual({
      ...{ file: 'model.sig', valid: false, files: 0 },
      ...{ algorithm: 'Sigstore', key: null, identity: 'a@b.co', issuer: google },
    });
    expect(files.find(({ file }) => file === 'model.sig')?.reason).toBe(
      'is by a key, and not by an identity: give `key`',
    );
  });

  it('does not sign beside a key', async () => {
    await expect(attest(out, { key: keyFile('P-256'), keyless: true })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { parameter: 'key', expected: 'nothing beside `keyless`' },
    });
  });

  it('needs the library, and says how to install it', async () => {
    const folder = join(temporaryDirectory(), 'unsigned');
    cpSync(out, folder, { recursive: true });
    await expect(attest(folder, { keyless: true })).rejects.toMatchObject({
      code: 'SIGSTORE_UNAVAILABLE',
      message:
        'the library sigstore is not installed or cannot be loaded; install it where layerloom is: `npm install sigstore@4` (with -g beside a global layerloom)',
    });
    expect(existsSync(join(folder, 'model.sig'))).toBe(false);
  });
});

describe('a key', () => {
  const expected = (kind: string) =>
    `a ${kind} key in PEM, without a password, of EC P-256, P-384, P-521 or Ed25519`;

  it.each(['RSA', 'secp256k1', 'P-256-public'])('does not sign if it is %s', async (name) => {
    await expect(attest(out, { key: keyFile(name) })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { parameter: 'key', expected: expected('private') },
    });
  });

  it.each(['RSA-public', 'secp256k1-public', 'P-256'])('checks nothing if it is %s', async (name) => {
    const folder = await signed();
    await expect(verify(folder, { key: keyFile(name) })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { parameter: 'key', expected: expected('public') },
    });
  });

  it('is refused in the folder, also through a link', async () => {
    const folder = await signed();
    for (const [name, kind] of [
      ['P-256', 'attest'],
      ['P-256-public', 'verify'],
    ] as const) {
      cpSync(keyFile(name), join(folder, 'key.pem'));
      symlinkSync(join(folder, 'key.pem'), join(root, `link-${kind}.pem`));
      for (const key of [join(folder, 'key.pem'), join(root, `link-${kind}.pem`)])
        await expect(
          kind === 'attest' ? attest(folder, { key }) : verify(folder, { key }),
        ).rejects.toMatchObject({
          code: 'INVALID_PARAMETER',
        });
    }
  });

  it('that is missing, a folder or no key is one error', async () => {
    await expect(verify(out, { key: join(root, 'none.pem') })).rejects.toMatchObject({ code: 'READ_FAILED' });
    await expect(verify(out, { key: root })).rejects.toMatchObject({ code: 'READ_FAILED' });
    writeFileSync(keyFile('text'), 'not a key');
    await expect(verify(out, { key: keyFile('text') })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  });
});
