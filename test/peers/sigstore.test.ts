import { execFile } from 'node:child_process';
import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { attest, layerSwap, soup, verify } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

// Signatures by an identity, through the library sigstore and mocks of its services. The trusted keys are those
// of the mocks; all else is the library's.

const modules = process.env['LAYERLOOM_SIGSTORE_MODULES'];
const python = process.env['LAYERLOOM_MODEL_SIGNING_PYTHON'];

const issuer = 'https://accounts.example.org';
const identity = 'xa@b.com';

interface Handler {
  readonly path: string;
  fn(body: string): Promise<{ statusCode: number; response: unknown; contentType?: string }>;
}

// biome-ignore lint/suspicious/noExplicitAny: libraries without types here.
type Any = any;

const later = (hours: number) => new Date(Date.now() + hours * 3_600_000);

const keyPair = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

const tokenOf = (sub: string, iss = issuer): string =>
  [encoded({ alg: 'none' }), encoded({ sub, iss, aud: 'sigstore' }), 'x'].join('.');

/** Breaks a certificate's lines as Rekor does. */
const wrapped = (verifier: string): string =>
  Buffer.from(new X509Certificate(Buffer.from(verifier, 'base64')).toString()).toString('base64');

/** Rekor records hashes of a proposed envelope, which its mock does not. */
const asRecorded = (body: string): object => {
  const { spec, ...entry } = JSON.parse(body);
  const { envelope, verifiers } = spec.proposedContent;
  const { payload, signatures } = JSON.parse(envelope);
  const sha256 = (content: Buffer | string) => ({
    ...{ algorithm: 'sha256', value: createHash('sha256').update(content).digest('hex') },
  });
  return {
    ...entry,
    spec: {
      envelopeHash: sha256(envelope),
      payloadHash: sha256(Buffer.from(payload, 'base64')),
      signatures: signatures.map(({ sig }: Any) => ({ signature: sig, verifier: wrapped(verifiers[0]) })),
    },
  };
};

/** Starts mocked services; returns the keys by which they are trusted. */
const services = async (library: NodeJS.Require, hours = 0): Promise<object> => {
  const { initializeCA, initializeCTLog, initializeTLog, fulcioHandler } = library('@sigstore/mock');
  const log = await initializeCTLog(keyPair());
  const ca = await initializeCA(keyPair(), log);
  const rekor = await initializeTLog(
    'https://rekor.sigstore.dev',
    keyPair(),
    hours > 0 ? later(hours) : undefined,
  );
  const nock = library('nock');
  const serve = (url: string, { path, fn }: Handler) =>
    nock(url)
      .persist()
      .post(path)
      .reply(async (_: string, body: unknown) => {
        const found = await fn(typeof body === 'string' ? body : JSON.stringify(body));
        return [found.statusCode, found.response, { 'Content-Type': found.contentType ?? 'text/plain' }];
      });
  serve('https://fulcio.sigstore.dev', fulcioHandler(ca));
  serve('https://rekor.sigstore.dev', {
    path: '/api/v1/log/entries',
    fn: async (body) => ({
      ...{ statusCode: 201, contentType: 'application/json' },
      response: await rekor.log(asRecorded(body)),
    }),
  });
  const since = { start: new Date(0) };
  const logOf = (url: string, keyId: Buffer, publicKey: Buffer) => ({
    ...{ baseUrl: url, hashAlgorithm: 'SHA2_256', logId: { keyId } },
    publicKey: { rawBytes: publicKey, keyDetails: 5, validFor: since },
  });
  return {
    certificateAuthorities: [
      {
        ...{ subject: { organization: 'mock', commonName: 'mock' }, uri: 'https://fulcio.sigstore.dev' },
        certChain: { certificates: [{ rawBytes: Buffer.from(ca.rootCertificate) }] },
        validFor: since,
      },
    ],
    timestampAuthorities: [],
    tlogs: [
      logOf(
        'https://rekor.sigstore.dev',
        createHash('sha256').update(rekor.publicKey).digest(),
        rekor.publicKey,
      ),
    ],
    ctlogs: [logOf('https://ctfe.sigstore.dev', Buffer.from(log.logID), log.publicKey)],
  };
};

/** The trusted keys as a file of model-signing. */
const clientTrust = (trusted: object): object => {
  const validFor = { start: new Date(0) };
  const at = (url: string) => [{ url, majorApiVersion: 1, validFor, operator: 'mock' }];
  const root = JSON.parse(
    JSON.stringify(trusted, (_, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString('base64') : value,
    ),
  );
  for (const { publicKey } of [...root.tlogs, ...root.ctlogs])
    publicKey.keyDetails = 'PKIX_ECDSA_P256_SHA_256';
  return {
    mediaType: 'application/vnd.dev.sigstore.clienttrustconfig.v0.1+json',
    trustedRoot: { ...root, mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1' },
    signingConfig: {
      mediaType: 'application/vnd.dev.sigstore.signingconfig.v0.2+json',
      caUrls: at('https://fulcio.sigstore.dev'),
      oidcUrls: at('https://oauth2.sigstore.dev/auth'),
      rekorTlogUrls: at('https://rekor.sigstore.dev'),
      tsaUrls: [],
      ...{ rekorTlogConfig: { selector: 'ANY' }, tsaConfig: { selector: 'ANY' } },
    },
  };
};

describe.skipIf(modules === undefined)('a signature by an identity', () => {
  let library: NodeJS.Require;
  let root: string;
  let out: string;
  let other: string;
  let trusted: object;

  beforeAll(async () => {
    vi.stubEnv('NODE_PATH', modules ?? '');
    (Module as unknown as { _initPaths(): void })._initPaths();
    library = createRequire(join(modules ?? '', 'lane.cjs'));
    const tuf = createRequire(library.resolve('sigstore'))('@sigstore/tuf');
    tuf.getTrustedRoot = async () => trusted;
    library('nock').disableNetConnect();
    root = mkdtempSync(join(tmpdir(), 'layerloom-'));
    const [task, language] = [1, 2].map((seed) =>
      writeCheckpoint(join(root, `expert-${seed}`), llama({ seed, layers: 2 })),
    ) as [string, string];
    [out, other] = [join(root, 'signed'), join(root, 'other')];
    await layerSwap({ task, language, bottom: 1, top: 1 }, { out, attest: true });
    await soup({ models: [task, language] }, { out: other, attest: true });
    trusted = await services(library);
    for (const folder of [out, other]) await signed(folder);
  });

  afterEach(() => {
    vi.unstubAllEnvs();
  });

  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const signed = async (folder: string, token = tokenOf(identity)) => {
    vi.stubEnv('SIGSTORE_ID_TOKEN', token);
    return await attest(folder, { keyless: true });
  };

  const copyOf = (folder: string): string => {
    const copy = join(temporaryDirectory(), 'copy');
    cpSync(folder, copy, { recursive: true });
    return copy;
  };

  const bundleOf = (folder: string): Any => JSON.parse(readFileSync(join(folder, 'model.sig'), 'utf8'));

  const withBundle = (bundle: object): string => {
    const copy = copyOf(out);
    writeFileSync(join(copy, 'model.sig'), JSON.stringify(bundle));
    return copy;
  };

  const verdictOf = async (folder: string, name = identity, by = issuer) => {
    const { verdict, files, signature } = await verify(folder, { identity: name, issuer: by });
    const wrong = files.filter(({ state }) => state === 'different' || state === 'missing');
    return {
      ...{ verdict, valid: signature?.valid },
      wrong: wrong.map(({ file, reason }) => `${file} ${reason}`),
    };
  };

  const refused = (...wrong: string[]) => ({ verdict: 'damaged', valid: false, wrong });

  it('is by this identity of this issuer, over all files, in the form that a key signs', async () => {
    const folder = copyOf(out);
    const { statement, signature } = await signed(folder);
    expect(statement).not.toBeNull();
    expect(signature).toMatchObject({ algorithm: 'Sigstore', key: null, identity, issuer });
    const found = await verify(folder, { identity, issuer });
    expect(found).toMatchObject({
      verdict: 'intact',
      signature: { valid: true, key: null, identity, issuer, files: signature?.files },
    });
    const { privateKey } = keyPair();
    const key = join(temporaryDirectory(), 'private.pem');
    writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const byIdentity = bundleOf(folder);
    await attest(folder, { key });
    const { dsseEnvelope, mediaType } = bundleOf(folder);
    expect(byIdentity.mediaType).toBe(mediaType);
    expect(byIdentity.dsseEnvelope.payload).toBe(dsseEnvelope.payload);
    expect(byIdentity.dsseEnvelope.payloadType).toBe(dsseEnvelope.payloadType);
  });

  it.skipIf(python === undefined)('is verified by model-signing, for this identity alone', async () => {
    const bundle = bundleOf(out);
    // The mock's log has one entry, and the library leaves out the empty parts of its proof.
    const [{ inclusionProof }] = bundle.verificationMaterial.tlogEntries;
    Object.assign(inclusionProof, { hashes: [], logIndex: '0' });
    const folder = withBundle(bundle);
    const trust = join(temporaryDirectory(), 'trust.json');
    writeFileSync(trust, JSON.stringify(clientTrust(trusted)));
    const check = (name: string) =>
      promisify(execFile)(python ?? '', [
        ...['-m', 'model_signing', 'verify', 'sigstore', folder, '--signature', join(folder, 'model.sig')],
        ...['--identity', name, '--identity_provider', issuer, '--trust_config', trust],
      ]);
    await expect(check('a@b.co')).rejects.toThrow('SANs do not match a@b.co');
    expect((await check(identity)).stdout).toContain('Verification succeeded');
  });

  it('is not by an identity that is a part, a pattern or another spelling of it', async () => {
    for (const name of ['a@b.co', 'a@b.com', '.*', 'xa@b\\.com', '^xa@b.com$', 'XA@b.com', `${identity} `])
      expect(await verdictOf(out, name)).toEqual(refused(`model.sig is by another identity, ${identity}`));
    for (const by of [`${issuer}/`, 'https://accounts.example', '.*', 'https://other.example'])
      expect(await verdictOf(out, identity, by)).toEqual(
        refused(`model.sig is by that identity of another issuer, ${issuer}`),
      );
  });

  it('is refused where files changed, or it is of another folder', async () => {
    const changed = copyOf(out);
    writeFileSync(join(changed, 'config.json'), '{}');
    writeFileSync(join(changed, 'added.txt'), 'x');
    const { verdict, valid, wrong } = await verdictOf(changed);
    expect([verdict, valid]).toEqual(['damaged', false]);
    expect(wrong).toContain('added.txt is not signed');
    const replayed = await verdictOf(withBundle(bundleOf(other)));
    expect(replayed).toMatchObject({ verdict: 'damaged', valid: false });
    expect(replayed.wrong.join('\n')).toMatch(/is not the file that was signed/);
  });

  it('is refused by a key, which cannot check it', async () => {
    const { publicKey } = keyPair();
    const key = join(temporaryDirectory(), 'public.pem');
    writeFileSync(key, publicKey.export({ type: 'spki', format: 'pem' }));
    const { verdict, signature, files } = await verify(out, { key });
    expect([verdict, signature?.valid]).toEqual(['damaged', false]);
    expect(files.find(({ file }) => file === 'model.sig')?.reason).toMatch(
      /^is by an identity, and not by a key/,
    );
  });

  const unlogged = 'model.sig is not recorded in the transparency log as it stands here';
  const uncertified =
    'model.sig has a certificate that Sigstore did not issue, or that was not valid when it signed';

  it('is refused where its log entry is missing, or of another signature', async () => {
    const [ours, theirs] = [bundleOf(out), bundleOf(other)];
    const material = ours.verificationMaterial;
    const having = (tlogEntries: unknown) =>
      withBundle({ ...ours, verificationMaterial: { ...material, tlogEntries } });
    const { tlogEntries } = theirs.verificationMaterial;
    const none = 'model.sig has no entry of the transparency log';
    expect(await verdictOf(having([]))).toEqual(refused(none));
    expect(await verdictOf(having(undefined))).toEqual(refused(none));
    expect(await verdictOf(having(tlogEntries))).toEqual(refused(unlogged));
    const [entry] = material.tlogEntries;
    for (const changed of [
      { ...entry, integratedTime: String(Number(entry.integratedTime) + 1) },
      { ...entry, inclusionProof: undefined, inclusionPromise: undefined },
      {},
    ])
      expect(await verdictOf(having([changed]))).toMatchObject({ verdict: 'damaged', valid: false });
  });

  it('is refused with another payload, signature or certificate, or with a second signature in it', async () => {
    const [ours, theirs] = [bundleOf(out), bundleOf(other)];
    const payload = Buffer.from(
      Buffer.from(ours.dsseEnvelope.payload, 'base64').toString().replace('"signed"', '"Signed"'),
    ).toString('base64');
    const { certificate } = theirs.verificationMaterial;
    const foreign = {
      messageDigest: { algorithm: 'SHA2_256', digest: createHash('sha256').update('').digest('base64') },
      signature: theirs.dsseEnvelope.signatures[0].sig,
    };
    for (const bundle of [
      { ...ours, dsseEnvelope: { ...ours.dsseEnvelope, payload } },
      { ...ours, dsseEnvelope: { ...ours.dsseEnvelope, signatures: theirs.dsseEnvelope.signatures } },
      { ...ours, verificationMaterial: { ...ours.verificationMaterial, certificate } },
      { ...ours, dsseEnvelope: { ...ours.dsseEnvelope, payload }, messageSignature: foreign },
      { ...ours, verificationMaterial: { ...ours.verificationMaterial, certificate: { rawBytes: '' } } },
    ]) {
      const found = await verdictOf(withBundle(bundle));
      expect(found).toMatchObject({ verdict: 'damaged', valid: false });
      expect(found.wrong).toHaveLength(1);
    }
  });

  it('is refused where the certificate had expired, or is of an authority that is not trusted', async () => {
    const ours = trusted;
    const copy = copyOf(out);
    library('nock').cleanAll();
    // Signs an hour after a certificate of ten minutes.
    trusted = await services(library, 1);
    await expect(signed(copy)).rejects.toMatchObject({
      code: 'SIGSTORE_UNAVAILABLE',
      message: `Sigstore's own signature ${uncertified.replace('model.sig ', '')}; nothing was written; sign again`,
    });
    expect(await verdictOf(out)).toEqual(refused(uncertified));
    trusted = ours;
    library('nock').cleanAll();
    const theirs = await services(library);
    trusted = theirs;
    await signed(copy);
    trusted = ours;
    expect(await verdictOf(copy)).toEqual(refused(uncertified));
  });

  it('is not made without an identity, by a malformed token, or without services', async () => {
    const folder = copyOf(out);
    const before = readFileSync(join(folder, 'model.sig'), 'utf8');
    const failure = async (token: string): Promise<Error> =>
      await signed(folder, token).then(
        () => new Error('signed'),
        (error: Error) => error,
      );
    expect((await failure('')).message).toBe(
      'there is no identity to sign with; run in a job of GitHub Actions with `id-token: write`, or put an OpenID Connect token for the audience sigstore into SIGSTORE_ID_TOKEN',
    );
    const secret = 'not-a-token-but-a-secret';
    const malformed = await failure(secret);
    expect(malformed.message).toMatch(/^the identity token is not a token of OpenID Connect; /);
    library('nock').cleanAll();
    const unreachable = await failure(tokenOf(secret));
    expect(unreachable.message).toMatch(/^Sigstore gave no certificate for the identity token; /);
    for (const error of [malformed, unreachable]) {
      expect(error).toMatchObject({ code: 'SIGSTORE_UNAVAILABLE' });
      expect(error.cause).toBeUndefined();
      expect(`${error.stack}${JSON.stringify(error)}`).not.toContain(secret);
    }
    expect(readFileSync(join(folder, 'model.sig'), 'utf8')).toBe(before);
  });

  it('is neither made nor checked without the trusted keys', async () => {
    const ours = trusted;
    const fetched = createRequire(library.resolve('sigstore'))('@sigstore/tuf');
    const { getTrustedRoot } = fetched;
    fetched.getTrustedRoot = async () => {
      throw new Error('offline');
    };
    const reason = {
      code: 'SIGSTORE_UNAVAILABLE',
      message: expect.stringMatching(/^Sigstore's trusted keys cannot/),
    };
    const folder = copyOf(other);
    const unsigned = join(temporaryDirectory(), 'unsigned');
    cpSync(folder, unsigned, { recursive: true, filter: (file) => !file.endsWith('model.sig') });
    await expect(verify(folder, { identity, issuer })).rejects.toMatchObject(reason);
    await expect(signed(unsigned)).rejects.toMatchObject(reason);
    expect(existsSync(join(unsigned, 'model.sig'))).toBe(false);
    fetched.getTrustedRoot = getTrustedRoot;
    trusted = ours;
  });
});
