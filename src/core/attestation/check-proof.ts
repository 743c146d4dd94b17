import type { Run } from '../engine/run.js';
import type {
  CheckedSignature,
  CheckedStatement,
  VerifiedFile,
} from '../measure/verification/verification.js';
import type { WrittenRecord } from '../measure/verification/written-record.js';
import type { Prover } from '../statements/signature.js';
import { readStatement } from '../statements/statement.js';
import { compareInputs } from './check-inputs.js';
import { checkSignature } from './check-signature.js';
import { checkStatement } from './check-statement.js';
import { compareStated } from './compare-stated.js';
import { digestsOf } from './digests-of.js';
import { placedInputs } from './input-places.js';
import { statedOf } from './stated.js';

export interface CheckedProof {
  readonly statement: CheckedStatement | null;
  readonly signature: CheckedSignature | null;
  readonly files: readonly VerifiedFile[];
  readonly hashes: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

/**
 * Checks a folder's statement, if present, and its signature, if a prover is given.
 *
 * @param record undefined if no merge wrote the folder; its statement is then compared with the files only
 * @throws SIGSTORE_UNAVAILABLE, READ_FAILED, INTERRUPTED
 */
export const checkProof = async (
  directory: string,
  record: WrittenRecord | undefined,
  prover: Prover | undefined,
  run: Run,
): Promise<CheckedProof> => {
  const stated = await (record === undefined
    ? compareFiles(directory, run)
    : compareRecord(directory, record, run));
  const hashes = stated?.hashes ?? new Map<string, string>();
  const signed = prover === undefined ? undefined : await checkSignature(directory, prover, run, hashes);
  return {
    statement: stated?.statement ?? null,
    signature: signed?.signature ?? null,
    files: [...(stated?.files ?? []), ...(signed?.files ?? [])],
    hashes,
    warnings: stated?.warnings ?? [],
  };
};

type Compared = Pick<CheckedProof, 'files' | 'hashes' | 'warnings'> & {
  readonly statement: CheckedStatement;
};

const compareRecord = async (
  directory: string,
  record: WrittenRecord,
  run: Run,
): Promise<Compared | undefined> => {
  const read = await readStatement(directory);
  if (read.state === 'absent') return undefined;
  const digests = await digestsOf(directory, record.shards, run);
  const { statement, files } = checkStatement(read, record, digests);
  return {
    ...{ statement, files, hashes: digests?.files ?? new Map() },
    warnings: [
      ...unidentified(statement),
      ...(read.state === 'read' ? await compareInputs(read.statement, placedInputs(record)) : []),
    ],
  };
};

const compareFiles = async (directory: string, run: Run): Promise<Compared | undefined> => {
  const stated = await statedOf(directory, undefined);
  if (stated.state === 'absent') return undefined;
  const { reason, hashes } =
    stated.state === 'invalid'
      ? { reason: stated.reason, hashes: new Map<string, string>() }
      : await compareStated(directory, stated, run);
  const inputs = stated.state === 'read' ? stated.inputs : [];
  const statement = {
    ...{ file: stated.file, valid: reason === undefined, tensors: null, inputs: inputs.length },
    identified: inputs.filter(({ sha256 }) => sha256 !== undefined).length,
  };
  return {
    ...{ statement, hashes, warnings: unidentified(statement) },
    files: [
      {
        ...{ file: stated.file, bytes: null },
        ...(reason === undefined ? { state: 'equal' } : { state: 'different', reason }),
      },
    ],
  };
};

const unidentified = ({ file, inputs, identified }: CheckedStatement): string[] =>
  identified < inputs ? [`${file} identifies ${identified} of ${inputs} input files by their contents`] : [];
