import { isDeepStrictEqual } from 'node:util';
import { itemAt } from '../base/errors/lookup.js';
import type { CheckedStatement, VerifiedFile } from '../measure/verification/verification.js';
import type { WrittenRecord } from '../measure/verification/written-record.js';
import { statementName } from '../models/checkpoint/files/file-names.js';
import {
  mergeStatement,
  type StatedRecord,
  statedRecordSchema,
  type WeightDigests,
} from '../statements/merge-statement.js';
import {
  type ReadStatement,
  type Statement,
  statementText,
  tensorsSubject,
} from '../statements/statement.js';

/** Returns the parts of a record that statements repeat; undefined if the record has another form. */
export const statedRecord = ({ content }: WrittenRecord): StatedRecord | undefined =>
  statedRecordSchema.safeParse(content).data;

/** Adds a statement's input hashes to a record without any, from a merge without `--checksums`. */
const withHashes = (record: StatedRecord, { predicate }: Statement): StatedRecord => {
  const dependencies = predicate.buildDefinition.resolvedDependencies.values();
  return {
    ...record,
    inputs: record.inputs.map((input) => ({
      ...input,
      files: input.files.map((file) => {
        const stated = dependencies.next().value?.digest.sha256;
        const sha256 = file.sha256 ?? stated;
        return sha256 === undefined ? file : { ...file, sha256 };
      }),
    })),
  };
};

const differences = (stated: Statement, given: Statement): string[] => {
  const partsOf = ({ subject, predicate: { buildDefinition: build, runDetails } }: Statement) => {
    return {
      'files or other SHA-256 than those that are there': subject.filter(
        ({ name }) => name !== tensorsSubject,
      ),
      'another digest of the tensors': subject.filter(({ name }) => name === tensorsSubject),
      'another recipe than layerloom.json': [build.buildType, build.externalParameters],
      'other inputs than layerloom.json': build.resolvedDependencies,
      'another builder than layerloom.json': runDetails,
    };
  };
  const wanted = Object.entries(partsOf(given));
  return Object.entries(partsOf(stated)).flatMap(([what, value], index) =>
    isDeepStrictEqual(value, itemAt(wanted, index)[1]) ? [] : [what],
  );
};

/**
 * Checks a statement: makes the folder's statement again and compares.
 *
 * @returns an entry for each stated weight file, or one entry for an invalid statement
 */
export const checkStatement = (
  read: Exclude<ReadStatement, { readonly state: 'absent' }>,
  record: WrittenRecord,
  digests: WeightDigests | undefined,
): { readonly statement: CheckedStatement; readonly files: readonly VerifiedFile[] } => {
  const dependencies =
    read.state === 'read' ? read.statement.predicate.buildDefinition.resolvedDependencies : [];
  const reason = faultOf(read, record, digests);
  return {
    statement: {
      file: statementName,
      valid: reason === undefined,
      tensors: digests?.tensors ?? null,
      inputs: dependencies.length,
      identified: dependencies.filter(({ digest }) => digest.sha256 !== undefined).length,
    },
    files:
      reason === undefined
        ? [statementName, ...(digests?.files.keys() ?? [])].map((file) => ({
            file,
            bytes: null,
            state: 'equal',
          }))
        : [{ file: statementName, bytes: null, state: 'different', reason }],
  };
};

const faultOf = (
  read: Exclude<ReadStatement, { readonly state: 'absent' }>,
  record: WrittenRecord,
  digests: WeightDigests | undefined,
): string | undefined => {
  if (read.state === 'invalid') return read.reason;
  if (digests === undefined) return 'cannot be compared with the weights';
  const own = statedRecord(record);
  if (own === undefined) return 'cannot be compared with layerloom.json, which does not say what was merged';
  const given = mergeStatement(withHashes(own, read.statement), digests);
  const found = differences(read.statement, given);
  if (found.length > 0) return `states ${found.join(', ')}`;
  return read.bytes.equals(Buffer.from(statementText(given)))
    ? undefined
    : 'is not written as layerloom writes it';
};
