import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { layerloomCommand } from '../../base/errors/command-line.js';
import { LayerloomError, reasonOf } from '../../base/errors/errors.js';
import { readFailed } from '../../base/files/writing.js';
import { nearest } from '../../base/nearest.js';
import { parseAddress } from '../../models/address/address.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';
import type { JsonFault } from '../../models/checkpoint/files/json-file.js';
import { readWhole } from '../../models/reading/read-model.js';
import { locateIfHere } from '../../models/sources/locate.js';
import { expertFile, readFacts } from '../analysis/advice/saved-analysis.js';
import { type MavVectors, vectorsName } from '../analysis/analysis.js';
import { sameFiles } from '../analysis/statistics.js';
import { readVectors } from '../analysis/vectors-file.js';

export interface AnalysedExpert extends Pick<MavVectors, 'name' | 'base' | 'tensors'> {
  readonly file: string;
}

const ending = vectorsName('');

/**
 * Reads `NAME.json` or, if it is absent, `NAME.mav.safetensors`.
 *
 * @param given a name in the analysis, or the model
 * @param base the base with which the expert must have been compared
 * @throws PARTITION_INVALID if the expert is missing, unreadable, another model or of another base; the codes
 *   of `readVectors` and `readWhole`
 */
export const readAnalysedExpert = async (
  analysis: string,
  given: string,
  base: CheckpointIndex,
): Promise<AnalysedExpert> => {
  const files = await readdir(analysis).catch((cause: unknown) => {
    throw new LayerloomError(
      'PARTITION_INVALID',
      {
        file: analysis,
        reason: `cannot be read: ${reasonOf(cause)}`,
        remedy: `give the directory that \`${layerloomCommand('analyze')}\` wrote`,
      },
      { cause },
    );
  });
  const fileOf = (name: string) => [expertFile(name), vectorsName(name)].find((file) => files.includes(file));
  const model = fileOf(given) === undefined ? await openIfHere(given) : undefined;
  const name = model?.name ?? given;
  const found = fileOf(name);
  if (found === undefined) throw unknown(analysis, name, files);
  const file = join(analysis, found);
  const facts = found === expertFile(name) ? await readFacts(file, failOf) : await readVectors(file);
  if (!sameFiles(facts.base.files, base.files))
    throw new LayerloomError('PARTITION_INVALID', {
      file,
      reason: `${name} was compared with ${facts.base.path}, which is not ${base.path} or has changed since`,
      remedy: 'analyze the expert with this base',
    });
  if (model !== undefined && !sameFiles(facts.expert.files, model.files))
    throw new LayerloomError('PARTITION_INVALID', {
      file,
      reason: `${name} was analyzed as ${facts.expert.path}, which is not ${model.path} or has changed since`,
      remedy: 'analyze this expert',
    });
  return { name: facts.name, base: facts.base, tensors: facts.tensors, file };
};

const openIfHere = async (given: string): Promise<CheckpointIndex | undefined> => {
  const address = await parseAddress(given);
  const isHere = address.kind === 'adapted' || (await locateIfHere(address)) !== undefined;
  return isHere ? await readWhole(address) : undefined;
};

const unknown = (analysis: string, name: string, files: readonly string[]): LayerloomError => {
  const names = files.flatMap((file) => (file.endsWith(ending) ? [file.slice(0, -ending.length)] : []));
  const near = nearest(name, names);
  return new LayerloomError('PARTITION_INVALID', {
    file: analysis,
    reason:
      names.length === 0
        ? `has no analysis of ${name}, nor of any other expert`
        : `has no analysis of ${name}, but of ${names.join(', ')}`,
    remedy:
      names.length === 0
        ? `give the directory that \`${layerloomCommand('analyze')}\` wrote`
        : `name one of these${near === undefined ? '' : `, perhaps ${near}`}, or analyze ${name} too`,
  });
};

const failOf = ({ file, cause, isRead }: JsonFault): LayerloomError =>
  isRead
    ? new LayerloomError(
        'PARTITION_INVALID',
        {
          file,
          reason: 'is not the analysis of an expert, or is damaged',
          remedy: 'analyze the expert again',
        },
        { cause },
      )
    : readFailed(file, cause);
