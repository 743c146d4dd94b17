import { createHash } from 'node:crypto';
import * as z from 'zod';
import { LayerloomError, reasonOf } from '../base/errors/errors.js';
import { visibleLine } from '../base/errors/visible.js';
import { staysInside } from '../models/address/file-name.js';
import { signatureName } from '../models/checkpoint/files/file-names.js';
import { decodeUtf8, parseJson } from '../texts/json.js';
import { firstIssue } from './first-issue.js';
import { statementType } from './statement.js';

// Signatures by OpenSSF Model Signing v1.0: a Sigstore bundle, with a DSSE envelope around a list of files.

export const mediaType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
export const payloadType = 'application/vnd.in-toto+json';
const predicateType = 'https://model_signing/signature/v1.0';

/** Paths that model-signing does not sign by default. */
export const ignoredPaths: readonly string[] = [
  signatureName,
  ...['.git', '.gitattributes', '.github', '.gitignore'],
];

export interface SignedFile {
  /** Path within the folder, with `/`. */
  readonly name: string;
  readonly sha256: string;
}

export interface SignedFolder {
  readonly files: readonly SignedFile[];
  /** True if the signer followed symbolic links. */
  readonly mayLink: boolean;
}

/** Orders paths by their components, as model-signing does. */
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

/** Returns the payload to sign: the list of a folder's files. */
export const signedPayload = (name: string, files: readonly SignedFile[]): Buffer => {
  const ordered = files.toSorted(byParts);
  return Buffer.from(
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
};

/** Who signed: a key, or an identity with its issuer. */
export interface SignedBy {
  /** `EC P-256`; `Sigstore` for an identity. */
  readonly algorithm: string;
  /** SHA-256 of the public key in PEM; null for an identity. */
  readonly key: string | null;
  /** The identity, such as an e-mail address or a workflow's URL; null for a key. */
  readonly identity: string | null;
  /** URL of the identity's issuer; null for a key. */
  readonly issuer: string | null;
}

/** Checks signatures by one key or one identity. */
export interface Prover {
  readonly by: SignedBy;
  /**
   * Returns undefined if the signature is valid, otherwise what is wrong, as a phrase after the file's name.
   */
  prove(bundle: Bundle): Promise<string | undefined>;
}

const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/, { error: 'expected base64' });

const bundleSchema = z.object({
  mediaType: z.literal(mediaType),
  // Drops other fields, so that no library finds another signature in them.
  verificationMaterial: z.object({
    publicKey: z.object({ hint: z.string().nullish() }).nullish(),
    certificate: z.object({ rawBytes: base64 }).nullish(),
    tlogEntries: z.array(z.record(z.string(), z.unknown())).nullish(),
    timestampVerificationData: z.record(z.string(), z.unknown()).nullish(),
  }),
  dsseEnvelope: z.object({
    payload: base64,
    payloadType: z.literal(payloadType),
    signatures: z.tuple([z.object({ sig: base64 })]),
  }),
});

/** Content of a signature file; only its form was checked. */
export type Bundle = z.infer<typeof bundleSchema>;

/** True for a path that a listing of the folder can contain. */
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
  /** A phrase after the file's name. */
  | { readonly reason: string };

const parsed = <T>(schema: z.ZodType<T>, bytes: Buffer, what: string): T => {
  const { data, error } = schema.safeParse(parseJson(decodeUtf8(bytes)));
  if (data !== undefined) return data;
  throw new Error(`it is not ${what} (${firstIssue(error)})`);
};

/**
 * Checks a signature and returns the signed files.
 *
 * @throws SIGSTORE_UNAVAILABLE
 */
export const openSignature = async (bytes: Buffer, prover: Prover): Promise<OpenedSignature> => {
  try {
    const bundle = parsed(bundleSchema, bytes, 'a signature of a folder');
    const reason = await prover.prove(bundle);
    // Parses the payload only if its signature is valid.
    return reason === undefined ? signedIn(Buffer.from(bundle.dsseEnvelope.payload, 'base64')) : { reason };
  } catch (error) {
    if (error instanceof LayerloomError && error.code === 'SIGSTORE_UNAVAILABLE') throw error;
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
