import * as z from 'zod';
import { recordedOriginShape } from '../models/address/origin-schema.js';
import { packageUrl } from './purl.js';
import {
  builderId,
  buildTypes,
  type Dependency,
  provenanceType,
  type Statement,
  statementType,
  tensorsSubject,
} from './statement.js';

const origin = z.object(recordedOriginShape);

/** The part of `layerloom.json` that a statement repeats. */
export const statedRecordSchema = z.object({
  layerloom: z.string(),
  method: z.string(),
  recipe: z.record(z.string(), z.unknown()),
  completeRecipe: z.record(z.string(), z.unknown()).exactOptional(),
  inputs: z.array(
    origin.extend({
      role: z.string(),
      name: z.string(),
      adapted: z.object({ base: origin, adapter: origin }).exactOptional(),
      files: z.array(z.object({ file: z.string(), header: z.string(), sha256: z.string().exactOptional() })),
    }),
  ),
});

export type StatedRecord = z.infer<typeof statedRecordSchema>;

/** SHA-256 of each weight file by name, in order, and the digest of all tensors. */
export interface WeightDigests {
  readonly files: ReadonlyMap<string, string>;
  readonly tensors: string;
}

export const subjectsOf = ({ files, tensors }: WeightDigests): Statement['subject'] => [
  ...[...files].map(([name, sha256]) => ({ name, digest: { sha256 } })),
  { name: tensorsSubject, digest: { sha256: tensors } },
];

/** Returns a merge's statement. Contains no time, path or host, so equal merges have equal statements. */
export const mergeStatement = (record: StatedRecord, digests: WeightDigests): Statement => ({
  _type: statementType,
  subject: subjectsOf(digests),
  predicateType: provenanceType,
  predicate: {
    buildDefinition: {
      buildType: buildTypes.merge,
      externalParameters: { recipe: sorted(recipeOf(record)) },
      resolvedDependencies: record.inputs.flatMap(dependenciesOf),
    },
    runDetails: { builder: builderOf(record.layerloom) },
  },
});

/** The addon always has the package's version. */
const builderOf = (version: string) => ({
  id: builderId as typeof builderId,
  version: { layerloom: version, addon: version },
});

/** Returns the recipe with models named as in the card. An extraction's record has paths. */
const recipeOf = ({ method, recipe, completeRecipe, inputs }: StatedRecord): Record<string, unknown> => {
  const nameOf = (role: string) => inputs.find((input) => input.role === role)?.name;
  const names = { base: nameOf('base'), model: nameOf('expert') };
  return completeRecipe ?? { method, ...recipe, ...names };
};

const dependenciesOf = ({ role, name, adapted, files, ...from }: StatedRecord['inputs'][number]) =>
  files.map(({ file, header, sha256 }): Dependency => {
    const uri = packageUrl(from);
    const [base, adapter] = [adapted?.base ?? {}, adapted?.adapter ?? {}].map(packageUrl);
    return {
      name: `${name}/${file}`,
      ...(uri === undefined ? {} : { uri }),
      digest: sha256 === undefined ? { header_sha256: header } : { sha256 },
      annotations: {
        ...{ role, model: name },
        ...(base === undefined ? {} : { base }),
        ...(adapter === undefined ? {} : { adapter }),
      },
    };
  });

/** Sorts keys at every depth, because their order means nothing in recipes. */
const sorted = (value: unknown): Record<string, unknown> => sortedValue(value) as Record<string, unknown>;

const sortedValue = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortedValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sortedValue(inner)]),
  );
};
