import { createHash, type KeyObject } from 'node:crypto';
import * as z from 'zod';
import { reasonOf } from '../base/errors/errors.js';
import { visibleLine } from '../base/errors/visible.js';
import { staysInside } from '../models/address/file-name.js';
import { signatureName } from '../models/checkpoint/files/file-names.js';
import { decodeUtf8, parseJson } from '../texts/json.js';
import { firstIssue } from './first-issue.js';
import { hintOf, isSignedBy, signBytes } from './keys.js';
import { statementType } from './statement.js';

// Signatures of OpenSSF Model Signing v1.0: a Sigstore bundle with a DSSE envelope that lists all files.

const mediaType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
const payloadType = 'application/vnd.in-toto+json';
const predicateType = 'https://model_signing/signature/v1.0';

/** Paths that model-signing ignores by default. */
export const ignoredPaths: readonly string[] = [
  signatureName,
  ...['.git', '.gitattributes', '.github', '.gitignore'],
];

/** A file of a folder, with its SHA-256. */
export interface SignedFile {
  /** Path from the folder, with `/`. */
  readonly name: string;
  readonly sha256: string;
}

export interface SignedFolder {
  readonly files: readonly SignedFile[];
  /** True if the signer followed symbolic links. */
  readonly mayLink: boolean;
}

/** Orders paths part by part, as model-signing does. */
const byParts = (a: SignedFile, b: SignedFile): number => {
  const [left, right] = [a.name.split('/'), b.name.split('/')];
  for (const [index, part] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = Buffer.compare(Buffer.from(part), Buffer.from(other));
    if (order !== 0) return order;
  }
  return left.length - right.length;
};

const rootOf = (digests: readonly string[]): string => {
  const hash = createHash('sha256');
  for (const digest of digests) hash.update(Buffer.from(digest, 'hex'));
  return hash.digest('hex');
};

/** Returns the bytes to sign: DSSE's pre-authentication encoding. */
const encoded = (payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `), payload]);

/**
 * Returns a signature of a folder's files, as text.
 *
 * @param name the folder's name, for information only
 */
export const signatureText = (name: string, files: readonly SignedFile[], key: KeyObject): string => {
  const ordered = files.toSorted(byParts);
  const payload = Buffer.from(
    JSON.stringify({
      _type: statementType,
      subject: [{ name, digest: { sha256: rootOf(ordered.map(({ sha256 }) => sha256)) } }],
      predicateType,
      predicate: {
        serialization: {
          ...{ method: 'files', hash_type: 'sha256', allow_symlinks: false },
          ignore_paths: ignoredPaths,
        },
        resources: ordered.map(({ name: file, sha256 }) => ({
          ...{ name: file, algorithm: 'sha256', digest: sha256 },
        })),
      },
    }),
  );
  const bundle = {
    mediaType,
    verificationMaterial: { publicKey: { hint: hintOf(key) }, tlogEntries: [] },
    dsseEnvelope: {
      payload: payload.toString('base64'),
      payloadType,
      signatures: [{ sig: signBytes(encoded(payload), key).toString('base64'), keyid: '' }],
    },
  };
  return `${JSON.stringify(bundle)}\n`;
};

const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/, { error: 'expected base64' });

const bundleSchema = z.object({
  mediaType: z.literal(mediaType),
  verificationMaterial: z.object({
    publicKey: z.object({ hint: z.string().nullish() }),
  }),
  dsseEnvelope: z.object({
    payload: base64,
    payloadType: z.literal(payloadType),
    signatures: z.tuple([z.object({ sig: base64 })]),
  }),
});

/** True for a path that a listing of the folder could contain. */
const isPlain = (name: string): boolean =>
  staysInside(name) && name.split('/').every((part) => part !== '' && part !== '.');

const payloadSchema = z.object({
  _type: z.literal(statementType),
  predicateType: z.literal(predicateType),
  subject: z.tuple([z.object({ digest: z.object({ sha256: z.string() }) })]),
  predicate: z.object({
    serialization: z.object({
      method: z.literal('files'),
      hash_type: z.literal('sha256'),
      allow_symlinks: z.boolean(),
      ignore_paths: z.array(z.string()).optional(),
    }),
    resources: z
      .array(
        z.object({
          name: z.string().refine(isPlain, { error: 'expected a name inside the folder' }),
          algorithm: z.literal('sha256'),
          digest: z.string().regex(/^[0-9a-f]{64}$/, { error: 'expected a SHA-256' }),
        }),
      )
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
        error: 'a file is listed twice',
      }),
  }),
});

export type OpenedSignature =
  | { readonly signed: SignedFolder }
  /** A phrase that follows the file's name. */
  | { readonly reason: string };

const parsed = <T>(schema: z.ZodType<T>, bytes: Buffer, what: string): T => {
  const { data, error } = schema.safeParse(parseJson(decodeUtf8(bytes)));
  if (data !== undefined) return data;
  throw new Error(`it is not ${what} (${firstIssue(error)})`);
};

/** Checks a signature with a key, and returns the signed files. */
export const openSignature = (bytes: Buffer, key: KeyObject): OpenedSignature => {
  try {
    const { verificationMaterial, dsseEnvelope } = parsed(
      bundleSchema,
      bytes,
      'a signature of a folder by a key',
    );
    const { hint } = verificationMaterial.publicKey;
    if (typeof hint === 'string' && hint !== '' && hint !== hintOf(key))
      return { reason: 'was made with another key' };
    const payload = Buffer.from(dsseEnvelope.payload, 'base64');
    const [{ sig }] = dsseEnvelope.signatures;
    // Parses the payload only after its signature was checked.
    if (!isSignedBy(encoded(payload), Buffer.from(sig, 'base64'), key))
      return { reason: 'is not valid: it was changed, or made with another key' };
    return signedIn(payload);
  } catch (error) {
    return { reason: `cannot be checked: ${reasonOf(error)}` };
  }
};

const signedIn = (payload: Buffer): OpenedSignature => {
  const { subject, predicate } = parsed(payloadSchema, payload, 'a list of files by SHA-256');
  const { resources, serialization } = predicate;
  if (subject[0].digest.sha256 !== rootOf(resources.map(({ digest }) => digest)))
    return { reason: 'contradicts itself: its root digest is not that of its files' };
  const left = (serialization.ignore_paths ?? []).filter((path) => !ignoredPaths.includes(path));
  if (left.length > 0)
    return {
      reason: visibleLine(`leaves out files that are part of a model: ${left.slice(0, 8).join(', ')}`),
    };
  return {
    signed: {
      files: resources.map(({ name, digest }) => ({ name, sha256: digest })),
      mayLink: serialization.allow_symlinks,
    },
  };
};
