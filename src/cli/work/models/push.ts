import { push } from '../../../api/push.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { describePush } from '../../text/models/hub-text.js';
import { show, watched } from '../running/show.js';

interface PushCommandOptions extends OutputOptions {
  readonly directory: string;
  readonly repository: string;
  readonly private?: boolean;
  readonly revision?: string;
  readonly message?: string;
  readonly verify?: boolean;
  readonly dryRun?: boolean;
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
