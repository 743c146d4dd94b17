import type { HubOptions } from '../../hub.js';

/** Options of `push`. */
export interface PushOptions extends HubOptions {
  /** Make a new repository private; default: the organisation's setting, mostly public. */
  readonly private?: boolean | undefined;
  /** The branch, created if missing; default `main`. */
  readonly revision?: string | undefined;
  /** The commit's title. */
  readonly message?: string | undefined;
  /** Called with each warning before anything is sent; the result lists warnings too. */
  readonly onWarning?: ((warning: string) => void) | undefined;
  /** Refuse an output that `verify` finds damaged; default false. */
  readonly verify?: boolean | undefined;
  /** List and check files without asking the hub; default false. */
  readonly dryRun?: boolean | undefined;
}

/** A file of a pushed checkpoint. */
export interface PushedFile {
  readonly name: string;
  readonly bytes: number;
  /** `there`: already in the repository; `copied`: by the hub from a merged model; `planned`: dry run. */
  readonly state: 'sent' | 'there' | 'copied' | 'planned';
}

/** Result of `push`. */
export interface PushResult {
  readonly id: string;
  readonly revision: string;
  readonly url: string;
  /** The new commit; undefined if nothing changed, and in a dry run. */
  readonly commit?: string;
  readonly files: readonly PushedFile[];
  /** Bytes of large files sent; small files are part of the commit. */
  readonly bytesSent: number;
  readonly warnings: readonly string[];
}
