import { join } from 'node:path';
import * as z from 'zod';
import { reasonOf } from '../base/errors/errors.js';
import { staysInside } from '../models/address/file-name.js';
import { statementName } from '../models/checkpoint/files/file-names.js';
import { readSmallFile } from '../models/checkpoint/files/small-file.js';
import { decodeUtf8, parseJson } from '../texts/json.js';
import { firstIssue } from './first-issue.js';

// Statements of how weights were made, as in-toto Statement v1 with SLSA provenance v1.

export const statementType = 'https://in-toto.io/Statement/v1';
export const provenanceType = 'https://slsa.dev/provenance/v1';

export const builderId = 'pkg:npm/layerloom';

/** Identifies kinds of builds. The fragment has the kind and the version of `externalParameters`. */
export const buildTypes = {
  merge: 'pkg:npm/layerloom#merge/v1',
  export: 'pkg:npm/layerloom#export/v1',
} as const;

/** Subject for the digest of all tensors (`tensorsDigest`), which is not a file. */
export const tensorsSubject = 'tensors';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, { error: 'expected a SHA-256 in lower case' });

const text = z.string().max(4096);

const dependencySchema = z.strictObject({
  name: text.refine(staysInside, { error: 'expected MODEL/FILE' }),
  uri: text.exactOptional(),
  /** Without `sha256`, only the header's hash is known. */
  digest: z.strictObject({ sha256: sha256.exactOptional(), header_sha256: sha256.exactOptional() }),
  annotations: z.strictObject({
    role: text,
    model: text,
    base: text.exactOptional(),
    adapter: text.exactOptional(),
  }),
});

const schema = z.strictObject({
  _type: z.literal(statementType),
  subject: z
    .array(
      z.strictObject({
        name: text.refine(staysInside, { error: 'expected the name of a file in the folder' }),
        digest: z.strictObject({ sha256 }),
      }),
    )
    .min(1)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
      error: 'names a subject twice',
    }),
  predicateType: z.literal(provenanceType),
  predicate: z.strictObject({
    buildDefinition: z.strictObject({
      buildType: z.enum(Object.values(buildTypes)),
      externalParameters: z.record(z.string(), z.unknown()),
      resolvedDependencies: z.array(dependencySchema),
    }),
    runDetails: z.strictObject({
      builder: z.strictObject({
        id: z.literal(builderId),
        version: z.record(z.string(), text),
        builderDependencies: z
          .array(
            z.strictObject({
              name: text,
              digest: z.strictObject({ sha256 }).exactOptional(),
              annotations: z.strictObject({ version: text }),
            }),
          )
          .exactOptional(),
      }),
    }),
  }),
});

export type Statement = z.infer<typeof schema>;

export type Dependency = Statement['predicate']['buildDefinition']['resolvedDependencies'][number];

/** Returns a statement as one line of JSON. Equal statements give equal bytes. */
export const statementText = (statement: Statement): string => `${JSON.stringify(statement)}\n`;

export type ReadStatement =
  | { readonly state: 'absent' }
  /** `reason` is a phrase after the file's name. */
  | { readonly state: 'invalid'; readonly reason: string }
  | { readonly state: 'read'; readonly statement: Statement; readonly bytes: Buffer };

const mostBytes = 64 * 1024 * 1024;

export const limit = { most: mostBytes, what: 'a statement or a signature' };

export const parseStatement = (bytes: Buffer): ReadStatement => {
  const invalid = (reason: string): ReadStatement => ({ state: 'invalid', reason });
  let value: unknown;
  try {
    const [line = '', ...others] = decodeUtf8(bytes).split('\n');
    if (others.some((other) => other.trim() !== '')) return invalid('has more than one statement');
    value = parseJson(line);
  } catch (error) {
    return invalid(`is no statement: ${reasonOf(error)}`);
  }
  const { predicateType } = (value ?? {}) as { readonly predicateType?: unknown };
  if (typeof predicateType === 'string' && predicateType !== provenanceType)
    return invalid(`has the unknown predicate type ${JSON.stringify(predicateType.slice(0, 200))}`);
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return { state: 'read', statement: data, bytes };
  return invalid(`is no statement of layerloom (${firstIssue(error)})`);
};

/** Reads a folder's statement, checking only its form. */
export const readStatement = async (directory: string): Promise<ReadStatement> => {
  const path = join(directory, statementName);
  try {
    return parseStatement(await readSmallFile(path, limit));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'absent' };
    return { state: 'invalid', reason: `cannot be read: ${reasonOf(error)}` };
  }
};
