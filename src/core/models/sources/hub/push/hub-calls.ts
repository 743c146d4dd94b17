import type { HubFile } from '../requests/remote-file.js';

/** A file of a repository, as the hub lists it. */
export interface RemoteEntry {
  readonly path: string;
  readonly size: number;
  readonly oid?: string;
  readonly lfs?: { readonly oid: string };
}

/** What asks the hub: its own library with the parameters that all calls have in common. */
export interface HubCalls {
  /** Lists files of a repository at a revision; those that it does not have are left out. */
  pathsInfo(id: string, revision: string, paths: string[]): Promise<RemoteEntry[]>;
  /** Lists all files of a commit; none where the model is gone, or not for this token. */
  listFiles(id: string, commit: string): Promise<readonly HubFile[]>;
  /** Asks the API by POST; undefined where it refuses. */
  post(path: string, body: object): Promise<unknown>;
}
