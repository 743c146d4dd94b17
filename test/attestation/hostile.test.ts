import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attest, chain, LayerloomError, layerSwap, soup, verify } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

// Statements, records, signatures, keys and folders of strangers: each is refused in one sentence.

const statement = 'layerloom.intoto.jsonl';
const record = 'layerloom.json';
const signature = 'model.sig';

const pem = (key: KeyObject, options: object = {}): string =>
  key
    .export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem', ...options } as never)
    .toString();

/** A folder with a merge, `out`, signed and stated; its experts; and another such merge, `other`. */
let made: string;

beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), 'layerloom-'));
  const [task, language] = ['math', 'swh'].map((name, seed) =>
    writeCheckpoint(join(made, name), llama({ seed, layers: 2 })),
  ) as [string, string];
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(join(made, 'key.pem'), pem(privateKey));
  writeFileSync(join(made, 'public.pem'), pem(publicKey));
  await layerSwap({ task, language, bottom: 1, top: 1 }, { out: join(made, 'out'), attest: true });
  await soup({ models: [task, language] }, { out: join(made, 'other'), attest: true });
  for (const name of ['out', 'other']) await attest(join(made, name), { key: join(made, 'key.pem') });
});

afterAll(() => rmSync(made, { recursive: true, force: true }));

/** Copies everything, since chains are followed to the experts beside the merge. */
const copied = (): string => {
  const root = join(temporaryDirectory(), 'copy');
  cpSync(made, root, { recursive: true });
  return join(root, 'out');
};

const edit = (out: string, name: string, change: (text: string) => string | Buffer): void => {
  const path = join(out, name);
  const text = readFileSync(path, 'utf8');
  const changed = change(text);
  expect(changed).not.toBe(text);
  writeFileSync(path, changed);
};

// biome-ignore lint/suspicious/noExplicitAny: any JSON.
type Json = any;

const editJson = (out: string, name: string, change: (value: Json) => void): void =>
  edit(out, name, (text) => {
    const value = JSON.parse(text);
    change(value);
    return `${JSON.stringify(value)}\n`;
  });

const shardIn = (out: string): string =>
  readdirSync(out)
    .sort()
    .find((name) => name.endsWith('.safetensors')) ?? '';

const sentence = (error: unknown): string => {
  expect(error).toBeInstanceOf(LayerloomError);
  return (error as LayerloomError).message;
};

/** Returns the faults that `verify` finds, or its error. */
const faultsOf = async (out: string, key?: string): Promise<string[]> => {
  try {
    const { verdict, files } = await verify(out, key === undefined ? {} : { key });
    const wrong = files.filter(({ state }) => state === 'different' || state === 'missing');
    expect(verdict === 'damaged').toBe(wrong.length > 0);
    return wrong.map(({ file, reason }) => `${file} ${reason}`);
  } catch (error) {
    return [sentence(error)];
  }
};

const linkOf = async (out: string): Promise<string> => {
  try {
    const { complete, root } = await chain(out);
    if (complete) return 'complete';
    const models = [root, ...root.inputs, ...root.inputs.flatMap(({ inputs }) => inputs)];
    expect(models.some(({ statement: state }) => state === 'invalid') || root.statement === 'none').toBe(
      true,
    );
    return models.map(({ reason }) => reason ?? '').find((reason) => reason !== '') ?? 'no statement';
  } catch (error) {
    return sentence(error);
  }
};

const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

type Case = readonly [name: string, change: (out: string) => void, says: string];

const statements: readonly Case[] = [
  ['is empty', (out) => edit(out, statement, () => ''), 'is no statement'],
  ['is one space', (out) => edit(out, statement, () => ' '), 'is no statement'],
  ['is cut', (out) => edit(out, statement, (text) => text.slice(0, text.length / 2)), 'is no statement'],
  ['is null', (out) => edit(out, statement, () => 'null'), 'is no statement of layerloom'],
  ['is a number', (out) => edit(out, statement, () => '1e999'), 'is no statement'],
  ['is a list of itself', (out) => edit(out, statement, (text) => `[${text.trim()}]`), 'is no statement'],
  ['is not UTF-8', (out) => edit(out, statement, () => Buffer.from([0x7b, 0xff, 0x7d])), 'is not UTF-8'],
  ['is UTF-16', (out) => edit(out, statement, (text) => Buffer.from(text, 'utf16le')), 'statement'],
  ['begins with a byte order mark', (out) => edit(out, statement, (text) => `\uFEFF${text}`), statement],
  ['is two lines', (out) => edit(out, statement, (text) => text + text), 'has more than one statement'],
  [
    'hides a second line behind empty ones',
    (out) => edit(out, statement, (text) => `${text}\n\n\n{}`),
    'has more than one statement',
  ],
  [
    'has a key twice',
    (out) => edit(out, statement, (text) => text.replace('"subject":', '"subject":[],"subject":')),
    'has a key twice',
  ],
  [
    'has a key twice by an escape',
    (out) => edit(out, statement, (text) => text.replace('"subject":', '"su\\u0062ject":[],"subject":')),
    'has a key twice',
  ],
  [
    'is nested 200,000 times',
    (out) => edit(out, statement, (text) => text.replace('"recipe":', `"x":${deep(200_000)},"recipe":`)),
    'is no statement',
  ],
  [
    'has two million subjects',
    (out) =>
      edit(out, statement, (text) =>
        text.replace('"subject":[', `"subject":[${'{"name":"a","digest":{}},'.repeat(2_000_000)}`),
      ),
    'has more than 333334 keys',
  ],
  [
    'is above 64 MiB',
    (out) => edit(out, statement, (text) => `${text.trimEnd()}${' '.repeat(65 * 2 ** 20)}\n`),
    'cannot be read',
  ],
  [
    'has an unknown predicate type',
    (out) => editJson(out, statement, (value) => (value.predicateType = 'https://example.org/v1')),
    'has the unknown predicate type "https://example.org/v1"',
  ],
  [
    'has a predicate type of 100,000 characters',
    (out) => editJson(out, statement, (value) => (value.predicateType = 'x'.repeat(100_000))),
    'has the unknown predicate type "xxx',
  ],
  [
    'has a predicate type that is no text',
    (out) => editJson(out, statement, (value) => (value.predicateType = {})),
    'is no statement of layerloom (predicateType',
  ],
  [
    'is of in-toto 0.1',
    (out) => edit(out, statement, (text) => text.replace('Statement/v1', 'Statement/v0.1')),
    'is no statement of layerloom (_type',
  ],
  [
    'is of another builder',
    (out) => edit(out, statement, (text) => text.replace('"id":"pkg:npm/layerloom"', '"id":"pkg:npm/x"')),
    'is no statement of layerloom',
  ],
  [
    'is of an unknown build',
    (out) => edit(out, statement, (text) => text.replace('#merge/v1', '#merge/v2')),
    'is no statement of layerloom',
  ],
  [
    'says that a merge is an export',
    (out) => edit(out, statement, (text) => text.replace('#merge/v1', '#export/v1')),
    'states another recipe than layerloom.json',
  ],
  ...[
    '../model.safetensors',
    'a/../../b.safetensors',
    '/etc/passwd',
    'C:\\x.safetensors',
    '',
    'a\u0000b',
  ].map(
    (name): Case => [
      `has a subject named ${JSON.stringify(name)}`,
      (out) => editJson(out, statement, (value) => (value.subject[0].name = name)),
      'expected the name of a file in the folder',
    ],
  ),
  [
    'has an input outside its model',
    (out) =>
      editJson(out, statement, (value) => {
        value.predicate.buildDefinition.resolvedDependencies[0].name = 'math/../../x.safetensors';
      }),
    'expected MODEL/FILE',
  ],
  [
    'has a subject twice',
    (out) => editJson(out, statement, (value) => value.subject.push(value.subject[0])),
    'names a subject twice',
  ],
  ['has no subject', (out) => editJson(out, statement, (value) => (value.subject = [])), 'is no statement'],
  [
    'states no file of weights',
    (out) => editJson(out, statement, (value) => (value.subject = value.subject.slice(-1))),
    statement,
  ],
  ['leaves out a shard', (out) => editJson(out, statement, (value) => value.subject.shift()), statement],
  [
    'has a hash in capitals',
    (out) =>
      editJson(out, statement, (value) => {
        value.subject[0].digest.sha256 = value.subject[0].digest.sha256.toUpperCase();
      }),
    'expected a SHA-256 in lower case',
  ],
  [
    'has only a weaker hash',
    (out) => editJson(out, statement, (value) => (value.subject[0].digest = { md5: '0'.repeat(32) })),
    'is no statement of layerloom',
  ],
  [
    'has an additional key',
    (out) => editJson(out, statement, (value) => (value.trusted = true)),
    'is no statement of layerloom',
  ],
  [
    'has a key that acts on a terminal',
    (out) => editJson(out, statement, (value) => (value['\n\u001b[2Kintact'] = true)),
    'is no statement of layerloom',
  ],
  [
    'has such a key twice',
    (out) => edit(out, statement, (text) => text.replace('{', '{"\\n\\u001b[2K":1,"\\n\\u001b[2K":1,')),
    'has a key twice',
  ],
  [
    'states another digest of the tensors',
    (out) => editJson(out, statement, (value) => (value.subject.at(-1).digest.sha256 = sha('other'))),
    'states another digest of the tensors',
  ],
  [
    'is of another folder',
    (out) => cpSync(join(dirname(out), 'other', statement), join(out, statement)),
    statement,
  ],
  [
    'is a link to that of another folder',
    (out) => {
      rmSync(join(out, statement));
      symlinkSync(join(dirname(out), 'other', statement), join(out, statement));
    },
    statement,
  ],
  [
    'is a folder',
    (out) => {
      rmSync(join(out, statement));
      mkdirSync(join(out, statement));
    },
    'cannot be read',
  ],
];

const records: readonly Case[] = [
  ['is empty', (out) => edit(out, record, () => ''), record],
  ['is no JSON', (out) => edit(out, record, () => '{'), record],
  ['is null', (out) => edit(out, record, () => 'null'), record],
  ['is not UTF-8', (out) => edit(out, record, () => Buffer.from([0xff])), record],
  ['has a key twice', (out) => edit(out, record, (text) => text.replace('{', '{"files":[],')), record],
  ['is nested without end', (out) => edit(out, record, () => `{"files":${deep(200_000)}}`), record],
  ['has another form', (out) => editJson(out, record, (value) => (value.files = 1)), record],
  [
    'names a file outside the folder',
    (out) => editJson(out, record, (value) => value.files.push('../math/model.safetensors')),
    record,
  ],
  ['was edited', (out) => editJson(out, record, (value) => (value.method = 'soup')), record],
  ['is of another folder', (out) => cpSync(join(dirname(out), 'other', record), join(out, record)), ''],
  [
    'is a link that leads nowhere',
    (out) => {
      rmSync(join(out, record));
      symlinkSync('/nowhere/layerloom.json', join(out, record));
    },
    record,
  ],
  [
    'is a folder',
    (out) => {
      rmSync(join(out, record));
      mkdirSync(join(out, record));
    },
    record,
  ],
];

const flip = (path: string): void => {
  const bytes = readFileSync(path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  writeFileSync(path, bytes);
};

const linkedTo = (path: string, target: string): void => {
  rmSync(path, { recursive: true, force: true });
  symlinkSync(target, path);
};

const put = (path: string, text = 'x'): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** Changes that neither the record nor the signature allows. */
const folders: readonly Case[] = [
  ['has a changed byte in its weights', (out) => flip(join(out, shardIn(out))), statement],
  [
    'has renamed weights',
    (out) => renameSync(join(out, shardIn(out)), join(out, 'model-9.safetensors')),
    statement,
  ],
  [
    'has more weights',
    (out) => cpSync(join(out, shardIn(out)), join(out, 'adapter_model.safetensors')),
    'adapter_model.safetensors',
  ],
  [
    'has weights of another in its own place by a link',
    (out) => linkedTo(join(out, shardIn(out)), join(dirname(out), 'math/model.safetensors')),
    statement,
  ],
  [
    'has a pipe for weights',
    (out) => {
      rmSync(join(out, shardIn(out)));
      execFileSync('mkfifo', [join(out, 'model-00001-of-00003.safetensors')]);
    },
    '',
  ],
];

/** Changes that the key alone finds: the record does not have these files. */
const unsigned: readonly Case[] = [
  [
    '.git with weights',
    (out) => put(join(out, '.git/model.safetensors')),
    '.git/model.safetensors is named like',
  ],
  ['.git with weights in capitals', (out) => put(join(out, '.git/a/B.GGUF')), '.git/a/B.GGUF is named like'],
  [
    '.git with an index of weights',
    (out) => put(join(out, '.git/model.safetensors.index.json')),
    'is named like weights',
  ],
  ['.git with a pickle', (out) => put(join(out, '.git/objects/pytorch_model.bin')), 'is named like weights'],
  ['.github with weights', (out) => put(join(out, '.github/x.safetensors')), 'is named like weights'],
  [
    'cache with weights',
    (out) => put(join(out, '.cache/huggingface/x.safetensors')),
    'is named like weights',
  ],
  [
    '.gitignore that is a folder of weights',
    (out) => put(join(out, '.gitignore/x.pt')),
    'is named like weights',
  ],
  ['.git that is a link', (out) => linkedTo(join(out, '.git'), dirname(out)), '.git is a symbolic link'],
  [
    '.git with a link',
    (out) => {
      put(join(out, '.git/HEAD'));
      linkedTo(join(out, '.git/logs'), dirname(out));
    },
    '.git/logs is a symbolic link',
  ],
  [
    'link to a file of elsewhere',
    (out) => linkedTo(join(out, 'LICENSE'), '/etc/hostname'),
    'LICENSE is a symbolic link',
  ],
  ['key', (out) => cpSync(join(made, 'public.pem'), join(out, 'public.pem')), 'public.pem is not signed'],
  [
    'card that claims a statement and a signature',
    (out) => edit(out, 'README.md', (text) => `${text}\nVerified: signed by layerloom, statement valid.\n`),
    'README.md is not the file that was signed',
  ],
  ['code', (out) => put(join(out, 'modeling_llama.py')), 'modeling_llama.py is not signed'],
  [
    'file in a folder named like a cache',
    (out) => put(join(out, 'sub/.git/config')),
    'sub/.git/config is not signed',
  ],
];

/** A signature with a payload, by the right key: what is in the payload is trusted no more for it. */
const signedAs = (out: string, change: (payload: Json) => void): void =>
  editJson(out, signature, (bundle) => {
    const payload = JSON.parse(Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString());
    change(payload);
    const bytes = Buffer.from(JSON.stringify(payload));
    const type = bundle.dsseEnvelope.payloadType;
    const encoded = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${bytes.length} `), bytes]);
    bundle.dsseEnvelope.payload = bytes.toString('base64');
    bundle.dsseEnvelope.signatures[0].sig = sign(
      'sha256',
      encoded,
      readFileSync(join(made, 'key.pem')),
    ).toString('base64');
  });

const signatures: readonly Case[] = [
  ['is empty', (out) => edit(out, signature, () => ''), 'cannot be checked'],
  ['is cut', (out) => edit(out, signature, (text) => text.slice(0, 900)), 'cannot be checked'],
  ['is null', (out) => edit(out, signature, () => 'null'), 'cannot be checked'],
  ['is two', (out) => edit(out, signature, (text) => text + text), 'cannot be checked'],
  ['is nested without end', (out) => edit(out, signature, () => deep(200_000)), 'cannot be checked'],
  [
    'is above 64 MiB',
    (out) => edit(out, signature, (text) => text + ' '.repeat(65 * 2 ** 20)),
    'cannot be read',
  ],
  [
    'is a folder',
    (out) => {
      rmSync(join(out, signature));
      mkdirSync(join(out, signature));
    },
    'cannot be read',
  ],
  [
    'is that of another folder',
    (out) => cpSync(join(dirname(out), 'other', signature), join(out, signature)),
    '',
  ],
  [
    'has no signature',
    (out) => editJson(out, signature, (bundle) => (bundle.dsseEnvelope.signatures = [])),
    'cannot be checked',
  ],
  [
    'has an empty signature',
    (out) => editJson(out, signature, (bundle) => (bundle.dsseEnvelope.signatures[0].sig = '')),
    'is not valid',
  ],
  [
    'has base64 that is none',
    (out) => editJson(out, signature, (bundle) => (bundle.dsseEnvelope.payload = '%%%')),
    'expected base64',
  ],
  [
    'is of another type of payload',
    (out) => editJson(out, signature, (bundle) => (bundle.dsseEnvelope.payloadType = 'text/plain')),
    'cannot be checked',
  ],
  [
    'has a certificate',
    (out) =>
      editJson(out, signature, (bundle) => (bundle.verificationMaterial = { certificate: { rawBytes: '' } })),
    'is by an identity, and not by a key',
  ],
  [
    'covers no file',
    (out) => signedAs(out, (payload) => (payload.predicate.resources = [])),
    'contradicts itself',
  ],
  [
    'has another predicate',
    (out) => signedAs(out, (payload) => (payload.predicateType = 'https://slsa.dev/provenance/v1')),
    'predicateType',
  ],
  [
    'has the statement as its payload',
    (out) =>
      signedAs(out, (payload) =>
        Object.assign(payload, JSON.parse(readFileSync(join(out, statement), 'utf8'))),
      ),
    'it is not a list of files by SHA-256',
  ],
  [
    'covers a file outside',
    (out) => signedAs(out, (payload) => (payload.predicate.resources[0].name = '../math/model.safetensors')),
    'expected a name inside the folder',
  ],
  [
    'covers a file twice',
    (out) => signedAs(out, (payload) => payload.predicate.resources.push(payload.predicate.resources[0])),
    'a file is listed twice',
  ],
  [
    'leaves out the weights',
    (out) =>
      signedAs(out, (payload) =>
        payload.predicate.serialization.ignore_paths.push('model.safetensors\n\u001b[2K'),
      ),
    'leaves out files that are part of a model',
  ],
  [
    'has weaker hashes',
    (out) => signedAs(out, (payload) => (payload.predicate.serialization.hash_type = 'blake2')),
    'hash_type',
  ],
];

const keyOf = (name: string): string => join(made, `${name}.pem`);

/** Keys that neither sign nor check. */
const keys = (): Readonly<Record<string, string | Buffer>> => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const aes = { cipher: 'aes-256-cbc', passphrase: 'x' };
  const agreement = generateKeyPairSync('x25519');
  const koblitz = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  return {
    'RSA private': pem(rsa.privateKey),
    'RSA public': pem(rsa.publicKey),
    'RSA-PSS private': pem(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey),
    encrypted: pem(ec.privateKey, aes),
    'encrypted in the old form': ec.privateKey.export({ type: 'sec1', format: 'pem', ...aes }),
    'X25519 private': pem(agreement.privateKey),
    'X25519 public': pem(agreement.publicKey),
    'Ed448 private': pem(generateKeyPairSync('ed448').privateKey),
    'secp256k1 private': pem(koblitz.privateKey),
    'secp256k1 public': pem(koblitz.publicKey),
    'DSA public': pem(generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 }).publicKey),
    DER: ec.privateKey.export({ type: 'pkcs8', format: 'der' }),
    JWK: JSON.stringify(ec.privateKey.export({ format: 'jwk' })),
    OpenSSH: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqg0v0 a@b',
    empty: '',
    cut: pem(ec.privateKey).slice(0, 80),
    'a certificate that is none': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    'a megabyte': 'x'.repeat(2 ** 20),
  };
};

describe('a stranger’s', () => {
  it.each(statements)('statement that %s is neither intact nor followed', async (_, change, says) => {
    const out = copied();
    change(out);
    const faults = await faultsOf(out);
    expect(faults).toEqual([expect.stringContaining(says)]);
    expect(faults[0]).toContain(statement);
    expect(faults[0]).not.toMatch(/\p{Cc}/u);
    expect(await linkOf(out)).not.toMatch(/\p{Cc}/u);
    expect(await linkOf(out)).toContain(statement);
    // Without its record too, whoever signed the folder.
    rmSync(join(out, record));
    rmSync(join(out, signature));
    if (!says.includes(record)) {
      await attest(out, { key: keyOf('key') }).catch(() => undefined);
      expect(await faultsOf(out, keyOf('public'))).not.toEqual([]);
    }
  });

  it.each(records)('record that %s is neither intact nor followed', async (_, change, says) => {
    const out = copied();
    change(out);
    const faults = await faultsOf(out);
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.join()).toContain(says);
    expect(await linkOf(out)).toContain(says);
    expect(await linkOf(out)).not.toBe('complete');
    expect(await faultsOf(out, keyOf('public'))).not.toEqual([]);
  });

  it.each(folders)('folder that %s is neither intact nor followed', async (_, change, says) => {
    const out = copied();
    change(out);
    expect((await faultsOf(out)).join()).toContain(says);
    expect((await faultsOf(out, keyOf('public'))).length).toBeGreaterThan(0);
    expect(await linkOf(out)).toContain(statement);
  });

  it.each(unsigned)('%s beside the weights is found by the key', async (_, change, says) => {
    const out = copied();
    change(out);
    expect(await faultsOf(out, keyOf('public'))).toContainEqual(expect.stringContaining(says));
    if (!says.includes('not')) {
      rmSync(join(out, signature));
      await expect(attest(out, { key: keyOf('key') })).rejects.toThrow(says);
    }
  });

  it.each(signatures)('signature that %s is refused', async (_, change, says) => {
    const out = copied();
    change(out);
    const faults = await faultsOf(out, keyOf('public'));
    expect(faults.join()).toContain(says);
    expect(faults.join()).not.toMatch(/\p{Cc}/u);
    // Another folder's signature is valid, and each of its files is another.
    if (says !== '') expect(faults).toEqual([expect.stringContaining(signature)]);
  });

  it('keys of other kinds neither sign nor check', async () => {
    const out = copied();
    for (const [name, text] of [
      ...Object.entries(keys()),
      ['public', undefined],
      ['key', undefined],
    ] as const) {
      const path = text === undefined ? keyOf(name) : join(dirname(out), 'some.pem');
      if (text !== undefined) writeFileSync(path, text);
      const refusals = [
        ...(name === 'key' ? [] : [attest(out, { key: path })]),
        ...(name === 'public' ? [] : [verify(out, { key: path })]),
      ];
      for (const refusal of await Promise.allSettled(refusals)) {
        const { code } = (refusal as PromiseRejectedResult).reason as LayerloomError;
        expect([name, code]).toEqual([name, name === 'a megabyte' ? 'READ_FAILED' : 'INVALID_PARAMETER']);
      }
    }
    expect(await faultsOf(out, keyOf('public'))).toEqual([]);
  });
});

describe('a chain', () => {
  it('is not complete, nor a merge intact, where the inputs are gone or others', async () => {
    const out = copied();
    rmSync(join(dirname(out), 'swh'), { recursive: true });
    rmSync(join(made, 'swh-away'), { recursive: true, force: true });
    renameSync(join(made, 'swh'), join(made, 'swh-away'));
    try {
      expect(await chain(out)).toMatchObject({ complete: false });
      for (const options of [{ againstInputs: true }, { against: out }, { against: join(out, 'README.md') }])
        await expect(verify(out, options)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
    } finally {
      renameSync(join(made, 'swh-away'), join(made, 'swh'));
    }
  });

  it('is not complete where merges state each other', async () => {
    const root = temporaryDirectory();
    const weights = readFileSync(join(made, 'math/model.safetensors'));
    const stated = JSON.parse(readFileSync(join(made, 'out', statement), 'utf8'));
    const [name, sha256] = ['model.safetensors', createHash('sha256').update(weights).digest('hex')];
    for (const [folder, other] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      put(join(root, folder, name));
      writeFileSync(join(root, folder, name), weights);
      stated.subject = [{ name, digest: { sha256 } }];
      stated.predicate.buildDefinition.resolvedDependencies = [
        { name: `${other}/${name}`, digest: { sha256 }, annotations: { role: 'task', model: other } },
      ];
      writeFileSync(join(root, folder, statement), `${JSON.stringify(stated)}\n`);
    }
    const { complete, root: top } = await chain(join(root, 'a'));
    expect(complete).toBe(false);
    expect(top.inputs[0]?.inputs[0]).toMatchObject({
      statement: 'invalid',
      reason: `${statement} states that the model was made from itself`,
    });
  });
});
