import { join, resolve } from 'node:path';
import { LayerloomError } from '../../../../base/errors/errors.js';
import { invalidParameter } from '../../../../base/errors/invalid-parameter.js';
import { optionName } from '../../../../base/errors/option-name.js';
import { exists } from '../../../../base/files/exists.js';
import { idOfHubAddress, isRepositoryName, isRevision, parseHubId } from '../../../address/remote.js';
import type { CheckpointIndex } from '../../../checkpoint/checkpoint.js';
import { cardName, provenanceName } from '../../../checkpoint/files/file-names.js';
import { isObject, readJsonObject } from '../../../checkpoint/files/json.js';
import { readSideFile } from '../../../checkpoint/files/small-file.js';
import { hubEnvironment } from '../environment.js';
import { type HubSession, openHub } from '../requests/session/session.js';
import { checkCard } from './card.js';
import { localPathsIn } from './local-paths.js';
import { pushError } from './refusal.js';
import type { Source } from './upload/copy-from-sources.js';
import { filesToPush } from './upload/files-to-push.js';
import type { PushOptions, PushResult } from './upload/push-result.js';
import { upload } from './upload/upload.js';

/**
 * Uploads a checkpoint.
 *
 * @throws INVALID_PARAMETER, NOT_A_CHECKPOINT and errors of `open`; HUB_ACCESS, HUB_NOT_FOUND,
 *   HUB_UNAVAILABLE, PUSH_REFUSED, INTERRUPTED
 */
export const pushCheckpoint = async (
  directory: string,
  repository: string,
  options: PushOptions,
  open: () => Promise<CheckpointIndex>,
): Promise<PushResult> => {
  const id = checkRepository(repository);
  const { revision = 'main', dryRun = false } = options;
  if (!isRevision(revision)) throw invalidParameter('revision', revision, 'the name of a branch');
  const files = await filesToPush(directory, await open());
  const warnings = [...checkCard(await cardOf(directory)), ...(await localPathsIn(files))];
  for (const warning of warnings) options.onWarning?.(warning);
  if (dryRun) {
    const planned = files.map(({ name, bytes }) => ({ name, bytes, state: 'planned' as const }));
    return {
      id,
      revision,
      url: `${await endpointOf(options)}/${id}`,
      files: planned,
      bytesSent: 0,
      warnings,
    };
  }
  await using hub = await openHub(options);
  requireToken(hub, id);
  try {
    const pushed = await upload(hub, id, files, await sourcesOf(directory), options);
    return { id, revision, url: `${hub.environment.endpoint}/${id}`, ...pushed, warnings };
  } catch (error) {
    if (!options.signal?.aborted) throw pushError(hub, id, error);
    const state = 'push again to continue: files that were sent whole are not sent again';
    throw new LayerloomError('INTERRUPTED', { state }, { cause: error });
  } finally {
    hub.stop();
  }
};

const checkRepository = (repository: string): string => {
  const address = idOfHubAddress(repository);
  const { id, revision } = parseHubId(address ?? repository) ?? {};
  if (id === undefined || (address === undefined ? id !== repository : revision !== 'main'))
    throw invalidParameter(
      'repository',
      repository,
      `org/name, after the directory; a branch is given by ${optionName('revision')}`,
    );
  return id;
};

const cardOf = async (directory: string): Promise<string | undefined> => {
  const file = join(resolve(directory), cardName);
  if (!(await exists(file))) return undefined;
  return (await readSideFile(file)).toString();
};

const endpointOf = async ({ env }: PushOptions): Promise<string> => (await hubEnvironment(env)).endpoint;

const requireToken = ({ environment: { token, endpoint } }: HubSession, model: string): void => {
  if (token === undefined)
    throw new LayerloomError('HUB_ACCESS', {
      model,
      reason: 'no token was given',
      remedy: `make one with the role write at ${endpoint}/settings/tokens, and set HF_TOKEN`,
    });
};

const sourcesOf = async (directory: string): Promise<Source[]> => {
  const path = join(resolve(directory), provenanceName);
  if (!(await exists(path))) return [];
  const { inputs } = await readJsonObject(path);
  const sources = (Array.isArray(inputs) ? inputs : []).flatMap((input): Source[] => {
    const hub = isObject(input) ? input['hub'] : undefined;
    const { id, revision } = isObject(hub) ? hub : {};
    return typeof id === 'string' &&
      typeof revision === 'string' &&
      isRepositoryName(id) &&
      isRevision(revision)
      ? [{ id, revision }]
      : [];
  });
  return [...new Map(sources.map((source) => [`${source.id}@${source.revision}`, source])).values()];
};
