import {
  checkBill,
  signFolder,
  type WrittenSignature,
  type WrittenStatement,
  writeBill,
  writeStatement,
} from '../core/attestation/attest-output.js';
import { localFolder } from '../core/attestation/local-folder.js';
import { LayerloomError } from '../core/base/errors/errors.js';
import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { optionName } from '../core/base/errors/option-name.js';
import { Run, type RunControls } from '../core/engine/run.js';
import { isOutput } from '../core/measure/verification/is-output.js';
import { readWrittenRecord } from '../core/measure/verification/written-record.js';
import { readKey } from '../core/statements/keys.js';

/** Options of `attest`. */
export interface AttestOptions extends Pick<RunControls, 'threads' | 'signal' | 'onProgress'> {
  /** Private key in PEM (EC P-256, P-384, P-521 or Ed25519) that signs all files; default: no signature. */
  key?: string | undefined;
  /**
   * Sign all files in the folder through Sigstore, with the identity of this job or of the token in
   * SIGSTORE_ID_TOKEN. The public log keeps the identity for ever. Needs the package sigstore. Default false.
   */
  keyless?: boolean | undefined;
  /** New file, outside the output, for its bill of materials: CycloneDX 1.7 in JSON; inputs are ancestors. */
  bom?: string | undefined;
}

/** Result of `attest`. */
export interface Attestation {
  readonly out: string;
  /** Statement; null for a folder that no merge wrote, which is only signed. */
  readonly statement: WrittenStatement | null;
  readonly signature: WrittenSignature | null;
  /** Absolute path of the bill of materials; null without `bom`. */
  readonly bom: string | null;
  readonly seconds: number;
  readonly warnings: readonly string[];
}

/**
 * Writes `layerloom.intoto.jsonl` into an output: an in-toto statement of its weights, recipe and inputs.
 * Equal merges get equal statements. With a key or an identity, also signs the folder into `model.sig`, like
 * OpenSSF's model-signing; this works for any folder.
 *
 * @example await attest('./merged', { key: './private.pem' })
 * @param out a merge's directory
 * @throws LayerloomError OUTPUT_UNRECORDED, OUTPUT_DAMAGED if it is not as its merge wrote it,
 *   INVALID_PARAMETER for a key of another kind, SIGSTORE_UNAVAILABLE, OUTPUT_EXISTS, READ_FAILED,
 *   WRITE_FAILED, INTERRUPTED
 */
export const attest = async (
  out: string,
  { key, keyless = false, bom, ...controls }: AttestOptions = {},
): Promise<Attestation> => {
  const started = performance.now();
  const path = await localFolder(out);
  if (keyless && key !== undefined)
    throw invalidParameter('key', key, `nothing beside ${optionName('keyless')}`);
  const by = keyless ? 'identity' : key === undefined ? undefined : await readKey(key, 'private', path);
  const isRecorded = await isOutput(path, false, by !== undefined);
  if (bom !== undefined && !isRecorded)
    throw invalidParameter('bom', bom, 'no value for a folder that no merge wrote');
  if (bom !== undefined) await checkBill(path, bom);
  await using run = new Run(controls, false);
  try {
    const record = isRecorded ? await readWrittenRecord(path) : undefined;
    const written = record && (await writeStatement(path, record, run));
    const bill = bom !== undefined && written && (await writeBill(path, bom, written.content));
    const signature = by && (await signFolder(path, by, run, written?.hashes ?? new Map()));
    return {
      out: path,
      statement: written?.statement ?? null,
      signature: signature ?? null,
      bom: bill || null,
      seconds: (performance.now() - started) / 1000,
      warnings: [],
    };
  } catch (error) {
    throw error instanceof LayerloomError ? error : run.reasonOf(error, {});
  }
};
