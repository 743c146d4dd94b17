import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { hashFiles } from '../attestation/hash-files.js';
import { version } from '../base/files/version.js';
import { writing } from '../base/files/writing.js';
import { hashHere } from '../engine/output/checksums.js';
import { writeDurably } from '../engine/output/durable.js';
import { Run } from '../engine/run.js';
import type { CheckpointIndex } from '../models/checkpoint/checkpoint.js';
import { statementName } from '../models/checkpoint/files/file-names.js';
import { recordedName } from '../models/checkpoint/recorded-name.js';
import { exportStatement, type StatedProgram } from '../statements/export-statement.js';
import { packageUrl } from '../statements/purl.js';
import { statementText } from '../statements/statement.js';
import { type ConvertedType, type GgufType, isConvertedType } from './gguf-types.js';
import type { Program } from './programs.js';

export interface RanProgram {
  readonly program: Program;
  readonly version?: string | undefined;
}

/** Returns the type to convert to before llama-quantize: the smallest that holds all weights exactly. */
export const between = ({ tensors }: CheckpointIndex): ConvertedType => {
  const dtypes = new Set([...tensors.values()].map(({ dtype }) => dtype));
  const [only] = dtypes;
  if (dtypes.size === 1 && only === 'BF16') return 'bf16';
  return dtypes.size === 1 && only === 'F16' ? 'f16' : 'f32';
};

interface Made {
  readonly type: GgufType;
  readonly file: string;
  readonly programs: readonly RanProgram[];
}

/** @throws READ_FAILED, WRITE_FAILED, INTERRUPTED */
export const stateExport = async (
  checkpoint: CheckpointIndex,
  { type, file, programs }: Made,
  directory: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  await using run = new Run({ signal }, false);
  const names = checkpoint.files.map((one) => recordedName(checkpoint, one));
  const hashes = await hashFiles(checkpoint.path, names, run);
  const [sha256 = ''] = (await hashFiles(directory, [file], run)).values();
  const uri = packageUrl(checkpoint);
  const { name: model } = checkpoint;
  const statement = exportStatement({
    ...{ version, file, sha256 },
    parameters: {
      ...{ format: 'gguf', type },
      ...(isConvertedType(type) ? {} : { convertedTo: between(checkpoint) }),
    },
    programs: await Promise.all(programs.map(stated)),
    dependencies: [...hashes].map(([name, digest]) => ({
      name: `${model}/${name}`,
      ...(uri === undefined ? {} : { uri }),
      digest: { sha256: digest },
      annotations: { role: 'model', model },
    })),
  });
  const path = join(directory, statementName);
  await writing(path, () => writeDurably(path, statementText(statement)));
};

/** Leaves out a command given by the user, which may contain local paths. */
const stated = async ({ program, version: printed }: RanProgram): Promise<StatedProgram> => ({
  name: program.name,
  version: printed,
  sha256: program.path === undefined ? undefined : await hashHere(await realpath(program.path)),
});
