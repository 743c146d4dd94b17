import type { HubOptions } from '../hub.js';

/** Options of `push`. */
export interface PushOptions extends HubOptions {
  /** Make the repository private if it is made now. Default: as the organisation has it, mostly public. */
  readonly private?: boolean | undefined;
  /** The branch to commit to, made where it is missing. Default `main`. */
  readonly revision?: string | undefined;
  /** The commit's title. */
  readonly message?: string | undefined;
  /** Called with each warning before anything is sent; the result has them too. */
  readonly onWarning?: ((warning: string) => void) | undefined;
  /** List the files, check them, and ask nothing of the hub. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** A file of a pushed checkpoint. */
export interface PushedFile {
  readonly name: string;
  readonly bytes: number;
  /**
   * `sent`; `there`: the repository had it with the same content; `copied`: the hub copied it from a model
   * that was merged; `planned` in a dry run.
   */
  readonly state: 'sent' | 'there' | 'copied' | 'planned';
}

/** What `push` did. */
export interface PushResult {
  /** `org/name`. */
  readonly id: string;
  /** The branch. */
  readonly revision: string;
  readonly url: string;
  /** The commit that was made; undefined where nothing was to be changed, and in a dry run. */
  readonly commit?: string;
  readonly files: readonly PushedFile[];
  /** Bytes of large files that were sent; small ones are in the commit. */
  readonly bytesSent: number;
  readonly warnings: readonly string[];
}
