import type { HubOptions } from '../../hub.js';

/** Options of `push`. */
export interface PushOptions extends HubOptions {
  /** Whether a new repository is private. Default: the organisation's setting, mostly public. */
  readonly private?: boolean | undefined;
  /** The branch, created if missing. Default `main`. */
  readonly revision?: string | undefined;
  /** The commit's title. */
  readonly message?: string | undefined;
  /** Called with each warning before anything is sent; the result lists them too. */
  readonly onWarning?: ((warning: string) => void) | undefined;
  /** List and check files without asking the hub. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** A file of a pushed checkpoint. */
export interface PushedFile {
  readonly name: string;
  readonly bytes: number;
  /**
   * `sent`; `there`: already in the repository; `copied`: by the hub from a merged model; `planned`: dry run.
   */
  readonly state: 'sent' | 'there' | 'copied' | 'planned';
}

/** The result of `push`. */
export interface PushResult {
  /** `org/name`. */
  readonly id: string;
  /** The branch. */
  readonly revision: string;
  readonly url: string;
  /** The new commit; undefined without changes and in a dry run. */
  readonly commit?: string;
  readonly files: readonly PushedFile[];
  /** Bytes of large files sent; small ones are in the commit. */
  readonly bytesSent: number;
  readonly warnings: readonly string[];
}
