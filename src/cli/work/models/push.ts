import { push } from '../../../api/push.js';
import type { PushOptions } from '../../../core/models/sources/hub/push/upload/push-result.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { describePush } from '../../text/models/hub-text.js';
import { show, watched } from '../running/show.js';

interface PushCommandOptions
  extends OutputOptions,
    Pick<PushOptions, 'private' | 'revision' | 'message' | 'verify' | 'dryRun'> {
  readonly directory: string;
  readonly repository: string;
}

export const pushCommand = async ({
  directory,
  repository,
  json,
  quiet,
  verbose: _verbose,
  ...given
}: PushCommandOptions): Promise<void> => {
  const result = await watched({ quiet }, ({ signal, onProgress }) =>
    push(directory, repository, {
      ...given,
      onWarning: quiet ? undefined : warn,
      signal,
      onProgress: onProgress && ((state) => onProgress({ phase: 'upload', ...state })),
    }),
  );
  show(result, { json, quiet }, describePush);
};
