import type { KeyObject } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { LayerloomError } from '../base/errors/errors.js';
import { invalidParameter } from '../base/errors/invalid-parameter.js';
import { exists } from '../base/files/exists.js';
import { reading, writing } from '../base/files/writing.js';
import { replaceFile, syncDirectory, writeWhole } from '../engine/output/durable.js';
import { digestWeights } from '../engine/output/weight-digests.js';
import type { Run } from '../engine/run.js';
import type { VerifiedFile } from '../measure/verification/verification.js';
import { verifyFiles } from '../measure/verification/verify-files.js';
import type { WrittenRecord } from '../measure/verification/written-record.js';
import { configName, signatureName, statementName } from '../models/checkpoint/files/file-names.js';
import { readJsonObject } from '../models/checkpoint/files/json.js';
import { contentOf } from '../models/checkpoint/same/identity.js';
import { billOfMaterials } from '../statements/bill-of-materials.js';
import { signByIdentity } from '../statements/identity-signature.js';
import { signByKey } from '../statements/key-signature.js';
import { mergeStatement, type StatedRecord } from '../statements/merge-statement.js';
import { type SignedBy, signedPayload } from '../statements/signature.js';
import { type Statement, statementText } from '../statements/statement.js';
import { statedRecord } from './check-statement.js';
import { hashFiles } from './hash-files.js';
import { fileAt, placedInputs, placesOf } from './input-places.js';
import { listFolder } from './list-folder.js';

/** Result of writing a statement. */
export interface WrittenStatement {
  readonly file: string;
  /** The digest of all tensors (`tensorsDigest`), the same however they are stored. */
  readonly tensors: string;
  readonly files: number;
  /** Number of input files. `identified` counts those with a SHA-256 in the statement. */
  readonly inputs: number;
  readonly identified: number;
}

/** Result of signing a folder. */
export interface WrittenSignature extends SignedBy {
  readonly file: string;
  readonly files: number;
}

/**
 * Compares an output with its record, and writes its statement.
 *
 * @returns the statement, and hashes of files that were read
 * @throws OUTPUT_DAMAGED, READ_FAILED, WRITE_FAILED, INTERRUPTED, the codes of a header
 */
export const writeStatement = async (
  directory: string,
  record: WrittenRecord,
  run: Run,
): Promise<{
  readonly statement: WrittenStatement;
  readonly content: Statement;
  readonly hashes: ReadonlyMap<string, string>;
}> => {
  const stated = statedRecord(record);
  if (stated === undefined)
    throw damaged(directory, [
      { file: 'layerloom.json', bytes: null, state: 'different', reason: 'does not say what was merged' },
    ]);
  const digests = await digestWeights(directory, record.shards, run.pool, (done, total) =>
    run.report({ phase: 'checksums', done, total }),
  );
  run.pool.throwIfStopped();
  const files = await verifyFiles(directory, record.files, run, digests.files);
  const wrong = files.filter(({ state }) => state === 'different' || state === 'missing');
  if (wrong.length > 0 || record.isSealed === false) throw damaged(directory, wrong);
  const statement = mergeStatement(await withInputHashes(stated, record, run), digests);
  const path = join(directory, statementName);
  await writeInto(directory, path, statementText(statement));
  const inputs = statement.predicate.buildDefinition.resolvedDependencies;
  return {
    statement: {
      ...{ file: statementName, tensors: digests.tensors, files: digests.files.size },
      ...{ inputs: inputs.length, identified: inputs.filter(({ digest }) => digest.sha256).length },
    },
    ...{ content: statement, hashes: digests.files },
  };
};

/** Writes a bill of materials to a new file outside the output: in the output, nothing would verify it. */
export const writeBill = async (directory: string, file: string, statement: Statement): Promise<string> => {
  const config = join(directory, configName);
  const { architectures } = (await exists(config)) ? await readJsonObject(config) : {};
  const [architecture] = Array.isArray(architectures) ? (architectures as unknown[]) : [];
  const text = billOfMaterials(
    statement,
    basename(directory),
    typeof architecture === 'string' ? architecture : undefined,
  );
  await writeWhole(file, text, true);
  return resolve(file);
};

/** @throws OUTPUT_EXISTS, INVALID_PARAMETER for a file in the output */
export const checkBill = async (directory: string, file: string): Promise<void> => {
  if (await exists(file))
    throw new LayerloomError('OUTPUT_EXISTS', {
      ...{ out: file, reason: 'already exists', remedy: 'choose another file' },
    });
  const folder = await reading(file, () => realpath(dirname(resolve(file))));
  if (`${folder}/`.startsWith(`${directory}/`))
    throw invalidParameter('bom', file, 'a file outside the output');
};

/**
 * Signs all files of a folder with a key or the identity of this job.
 *
 * @throws OUTPUT_DAMAGED, SIGSTORE_UNAVAILABLE, READ_FAILED, WRITE_FAILED, INTERRUPTED
 */
export const signFolder = async (
  directory: string,
  by: KeyObject | 'identity',
  run: Run,
  known: ReadonlyMap<string, string>,
): Promise<WrittenSignature> => {
  const { files, refused } = await listFolder(directory, false);
  if (refused.length > 0)
    throw damaged(
      directory,
      refused.map(({ name, reason }) => ({ file: name, bytes: null, state: 'different', reason })),
      'the folder was not signed',
    );
  const hashes = await hashFiles(directory, files, run, known);
  const signed = [...hashes].map(([name, sha256]) => ({ name, sha256 }));
  const path = join(directory, signatureName);
  const payload = signedPayload(basename(directory), signed);
  const signature = by === 'identity' ? await signByIdentity(payload) : signByKey(payload, by);
  run.pool.throwIfStopped();
  await writeInto(directory, path, `${JSON.stringify(signature.bundle)}\n`);
  return { file: signatureName, ...signature.by, files: signed.length };
};

const writeInto = (directory: string, path: string, text: string): Promise<void> =>
  writing(path, async () => {
    await replaceFile(path, text);
    await syncDirectory(directory);
  });

const damaged = (
  out: string,
  files: readonly VerifiedFile[],
  remedy = 'no statement was written; mend it, or merge it again',
): LayerloomError<'OUTPUT_DAMAGED'> =>
  new LayerloomError('OUTPUT_DAMAGED', {
    out,
    damage:
      files.length === 0
        ? ['layerloom.json was edited since it was written']
        : files.map(({ file, reason }) => `${file} ${reason}`),
    remedy,
  });

const withInputHashes = async (
  stated: StatedRecord,
  record: WrittenRecord,
  run: Run,
): Promise<StatedRecord> => {
  const placed = placedInputs(record);
  const inputs = await Promise.all(
    stated.inputs.map(async (input, index) => ({
      ...input,
      files: await Promise.all(
        input.files.map(async (file, at) => {
          const place = placed[index];
          const recorded = place?.files[at];
          if (file.sha256 !== undefined || place === undefined || recorded === undefined) return file;
          for (const folder of placesOf(place)) {
            const path = await fileAt(folder, file.file);
            if (path === undefined) continue;
            const { bytes, mtimeNs } = recorded;
            const found = await contentOf({ path, bytes, mtimeNs, header: file.header }, run.signal).catch(
              (error: unknown) => {
                if (error instanceof LayerloomError && error.code !== 'INTERRUPTED') return undefined;
                throw error;
              },
            );
            if (found !== undefined) return { ...file, sha256: found.sha256 };
          }
          return file;
        }),
      ),
    })),
  );
  return { ...stated, inputs };
};
