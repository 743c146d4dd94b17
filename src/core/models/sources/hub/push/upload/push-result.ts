import type { HubOptions } from '../../hub.js';

/** Options of `push`. */
export interface PushOptions extends HubOptions {
  /** True to make a new repository private. Default: the organisation's setting, mostly public. */
  readonly private?: boolean | undefined;
  /** The branch, which is created if missing. Default `main`. */
  readonly revision?: string | undefined;
  /** The commit's title. */
  readonly message?: string | undefined;
  /** Called with each warning before anything is sent. The result lists warnings too. */
  readonly onWarning?: ((warning: string) => void) | undefined;
  /** True to refuse an output that is not as its merge wrote it, by `verify`. Default false. */
  readonly verify?: boolean | undefined;
  /** True to list and check files without asking the hub. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** A file of a pushed checkpoint. */
export interface PushedFile {
  readonly name: string;
  readonly bytes: number;
  /** `there`: already in the repository; `copied`: by the hub from a merged model; `planned`: dry run. */
  readonly state: 'sent' | 'there' | 'copied' | 'planned';
}

/** The result of `push`. */
export interface PushResult {
  /** `org/name`. */
  readonly id: string;
  readonly revision: string;
  readonly url: string;
  /** The new commit; undefined if nothing changed, and in a dry run. */
  readonly commit?: string;
  readonly files: readonly PushedFile[];
  /** Bytes of large files sent. Small files are part of the commit. */
  readonly bytesSent: number;
  readonly warnings: readonly string[];
}
