import { join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import type { RecordedFile, RecordedInput, RecordedInputs } from '../../methods/recipe/recorded-inputs.js';
import type { CheckpointIndex, FileIdentity } from '../../models/checkpoint/checkpoint.js';
import { adapterConfigName } from '../../models/checkpoint/files/file-names.js';
import { recordedName } from '../../models/checkpoint/recorded-name.js';
import { observePath } from '../../models/checkpoint/same/identity.js';
import type { OpenedInputs } from './inputs/opened-inputs.js';

/**
 * Compares files with `layerloom.json`: size, header, and modification time or else SHA-256. For hub models
 * at the recorded commit, times may differ.
 *
 * @throws INPUT_NOT_AS_RECORDED
 */
export const checkRecorded = async (
  { checkpoints }: OpenedInputs,
  { file: record, found }: RecordedInputs,
): Promise<void> => {
  for (const { model, checkpoint } of checkpoints) {
    const input = found.get(model);
    if (input !== undefined) await checkInput(checkpoint, input, record);
  }
};

const checkInput = async (
  { path, hub, adapted, files }: CheckpointIndex,
  input: RecordedInput,
  record: string,
): Promise<void> => {
  const differs = (file: string, reason: string) =>
    new LayerloomError('INPUT_NOT_AS_RECORDED', { file, reason, record });
  if (adapted?.config !== input.adapted?.config)
    throw differs(join(adapted?.adapter.path ?? path, adapterConfigName), 'was written');
  const recorded = new Map(input.files.map((file) => [file.file, file]));
  const isCommit = hub !== undefined && hub.revision === input.hub?.revision;
  for (const file of files) {
    const former = recorded.get(recordedName({ path }, file));
    if (former === undefined) throw differs(file.path, 'was added');
    const reason = await changeOf(file, former, isCommit);
    if (reason !== undefined) throw differs(file.path, reason);
    recorded.delete(former.file);
  }
  const [gone] = recorded.keys();
  if (gone !== undefined) throw differs(path, `lost ${gone}`);
};

const changeOf = async (
  file: FileIdentity,
  { bytes, header, mtimeNs, sha256 }: RecordedFile,
  isCommit: boolean,
): Promise<string | undefined> => {
  if (file.bytes !== bytes) return `has changed from ${bytes} to ${file.bytes} bytes`;
  if (file.header !== header) return 'has got another header';
  if (file.mtimeNs === mtimeNs || isCommit) return undefined;
  if (sha256 === undefined)
    return 'has another modification time (no SHA-256 was recorded, by which its content could be compared)';
  const { hash } = await observePath(file, 'bytes');
  return hash === sha256 ? undefined : 'was written';
};
