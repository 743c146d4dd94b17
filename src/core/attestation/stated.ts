import { basename, join } from 'node:path';
import * as z from 'zod';
import { reasonOf } from '../base/errors/errors.js';
import { namesIn } from '../base/files/unless-missing.js';
import { statementName } from '../models/checkpoint/files/file-names.js';
import { readSmallFile } from '../models/checkpoint/files/small-file.js';
import { firstIssue } from '../statements/first-issue.js';
import {
  buildTypes,
  limit,
  readStatement,
  type Statement,
  statementType,
  tensorsSubject,
} from '../statements/statement.js';
import { parseJson } from '../texts/json.js';

export interface StatedInput {
  readonly model: string;
  readonly file: string;
  readonly sha256: string | undefined;
  readonly uri: string | undefined;
}

/** A statement by layerloom or ggufpacker, in a common form. */
export interface Stated {
  readonly file: string;
  readonly kind: 'merge' | 'export' | 'quantisation';
  /** The method of a merge, or the type of the weights. */
  readonly method: string;
  readonly by: string;
  /** SHA-256 by file name. */
  readonly subjects: ReadonlyMap<string, string>;
  readonly tensors?: string | undefined;
  readonly inputs: readonly StatedInput[];
}

export type StatedOf =
  | { readonly state: 'absent' }
  | { readonly state: 'invalid'; readonly file: string; readonly reason: string }
  | ({ readonly state: 'read' } & Stated);

/**
 * Reads the statement of a model: layerloom's, or ggufpacker's beside a GGUF file.
 *
 * @param file the model's file in the folder; undefined for all files
 */
export const statedOf = async (folder: string, file: string | undefined): Promise<StatedOf> => {
  const own = await readStatement(folder);
  if (own.state === 'invalid') return { state: 'invalid', file: statementName, reason: own.reason };
  if (own.state === 'read') {
    const stated = inOwn(own.statement);
    if (file === undefined || stated.subjects.has(file)) return { state: 'read', ...stated };
  }
  const names = file === undefined ? await namesIn(folder) : [`${file}${derivationEnd}`];
  const derivations = names.filter((name) => name.endsWith(`.gguf${derivationEnd}`));
  // Ignores several derivations: none describes the whole folder.
  const [derivation, ...others] = derivations;
  if (derivation === undefined || others.length > 0) return { state: 'absent' };
  return await derivationIn(folder, derivation);
};

const inOwn = ({ subject, predicate: { buildDefinition, runDetails } }: Statement): Stated => {
  const { buildType, externalParameters, resolvedDependencies } = buildDefinition;
  const isMerge = buildType === buildTypes.merge;
  const { recipe, type } = externalParameters as { recipe?: Record<string, unknown>; type?: unknown };
  const method = isMerge ? recipe?.['method'] : type;
  return {
    file: statementName,
    kind: isMerge ? 'merge' : 'export',
    method: typeof method === 'string' ? method : 'of no stated method',
    by: [
      `layerloom ${runDetails.builder.version['layerloom'] ?? ''}`.trim(),
      ...(runDetails.builder.builderDependencies ?? []).map(
        ({ name, annotations }) => `${name} (version ${annotations.version})`,
      ),
    ].join(', '),
    subjects: new Map(
      subject
        .filter(({ name }) => name !== tensorsSubject)
        .map(({ name, digest }) => [name, digest.sha256] as const),
    ),
    tensors: subject.find(({ name }) => name === tensorsSubject)?.digest.sha256,
    inputs: resolvedDependencies.map(({ name, uri, digest, annotations: { model } }) => ({
      model,
      file: name.startsWith(`${model}/`) ? name.slice(model.length + 1) : name,
      ...{ sha256: digest.sha256, uri },
    })),
  };
};

const derivationEnd = '.derivation.json';

/** The only predicate type of ggufpacker 0.4. */
const derivationType = 'https://github.com/theadamdanielsson/ggufpacker/attestation/gguf-derivation/v0';

const sha256 = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });
const plainName = z
  .string()
  .max(4096)
  .refine((name) => basename(name) === name && !['', '.', '..'].includes(name) && !/[\\\p{Cc}]/u.test(name), {
    error: 'expected the name of a file in the same folder as this statement',
  });

const derivationSchema = z.object({
  _type: z.literal(statementType),
  predicateType: z.literal(derivationType),
  subject: z.tuple([z.object({ name: plainName, digest: sha256 })]),
  predicate: z.object({
    baseModel: z.object({ name: plainName, digest: sha256, uri: z.string().max(4096).optional() }),
    recipe: z.object({ quantType: z.string().max(64) }),
    builder: z.object({
      tool: z.string().max(256),
      buildIdentity: z.object({ versionBanner: z.string().max(1024).nullish() }).optional(),
    }),
  }),
});

const derivationIn = async (folder: string, name: string): Promise<StatedOf> => {
  const invalid = (reason: string): StatedOf => ({ state: 'invalid', file: name, reason });
  let value: unknown;
  try {
    value = parseJson(await readSmallFile(join(folder, name), limit));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'absent' };
    return invalid(`is no statement: ${reasonOf(error)}`);
  }
  const { data, error } = derivationSchema.safeParse(value);
  if (data === undefined) return invalid(`is no derivation by ggufpacker (${firstIssue(error)})`);
  const { baseModel, recipe, builder } = data.predicate;
  const [{ name: subject, digest }] = data.subject;
  const banner = builder.buildIdentity?.versionBanner;
  return {
    ...{ state: 'read', file: name, kind: 'quantisation', method: recipe.quantType },
    by: typeof banner === 'string' ? `${builder.tool} (${banner.split('\n')[0]})` : builder.tool,
    subjects: new Map([[subject, digest.sha256]]),
    inputs: [
      {
        ...{ model: baseModel.name, file: baseModel.name },
        ...{ sha256: baseModel.digest.sha256, uri: baseModel.uri },
      },
    ],
  };
};
