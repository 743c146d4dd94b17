import type { KeyObject } from 'node:crypto';
import { LayerloomError } from '../base/errors/errors.js';
import { digestWeights } from '../engine/output/weight-digests.js';
import { Run } from '../engine/run.js';
import type {
  CheckedSignature,
  CheckedStatement,
  VerifiedFile,
} from '../measure/verification/verification.js';
import type { WrittenRecord } from '../measure/verification/written-record.js';
import { statementName } from '../models/checkpoint/files/file-names.js';
import type { WeightDigests } from '../statements/merge-statement.js';
import { readStatement } from '../statements/statement.js';
import { compareInputs } from './check-inputs.js';
import { checkSignature } from './check-signature.js';
import { checkStatement } from './check-statement.js';
import { placedInputs } from './input-places.js';

/** The result of comparing a folder with its statement and signature. */
export interface CheckedProof {
  readonly statement: CheckedStatement | null;
  readonly signature: CheckedSignature | null;
  readonly files: readonly VerifiedFile[];
  /** Hashes of files that were read. */
  readonly hashes: ReadonlyMap<string, string>;
  /** Includes warnings of inputs whose own statements differ. */
  readonly warnings: readonly string[];
}

/**
 * Checks a folder's statement, if present, and its signature, if a key is given.
 *
 * @param record undefined for a folder that no merge wrote: then its statement is not compared
 * @throws LayerloomError READ_FAILED, INTERRUPTED
 */
export const checkProof = async (
  directory: string,
  record: WrittenRecord | undefined,
  key: KeyObject | undefined,
  run: Run,
): Promise<CheckedProof> => {
  const read = record === undefined ? undefined : await readStatement(directory);
  const isStated = record !== undefined && read !== undefined && read.state !== 'absent';
  const digests = isStated ? await digestsOf(directory, record, run) : undefined;
  const stated = isStated ? checkStatement(read, record, digests) : undefined;
  const hashes = digests?.files ?? new Map<string, string>();
  const signed = key === undefined ? undefined : await checkSignature(directory, key, run, hashes);
  return {
    statement: stated?.statement ?? null,
    signature: signed?.signature ?? null,
    files: [...(stated?.files ?? []), ...(signed?.files ?? [])],
    hashes,
    warnings: [
      ...(stated !== undefined && stated.statement.identified < stated.statement.inputs
        ? [
            `${statementName} identifies ${stated.statement.identified} of ${stated.statement.inputs} input files by their contents`,
          ]
        : []),
      ...(isStated && read.state === 'read' ? await compareInputs(read.statement, placedInputs(record)) : []),
    ],
  };
};

/** Returns undefined if weights are missing or not files, which the comparison of files reports. */
const digestsOf = async (
  directory: string,
  { shards }: WrittenRecord,
  run: Run,
): Promise<WeightDigests | undefined> => {
  // Uses separate threads, because an unreadable file stops them.
  await using own = new Run({ threads: run.pool.threads, signal: run.signal }, false);
  try {
    return await digestWeights(directory, shards, own.pool, (done, total) =>
      run.report({ phase: 'checksums', done, total }),
    );
  } catch (error) {
    if (error instanceof LayerloomError && error.code !== 'INTERRUPTED') return undefined;
    throw error;
  }
};
