import type { HubFile } from '../../requests/remote-file.js';

export interface RemoteEntry {
  readonly path: string;
  readonly size: number;
  readonly oid?: string;
  readonly lfs?: { readonly oid: string };
}

export interface HubCalls {
  pathsInfo(id: string, revision: string, paths: string[]): Promise<RemoteEntry[]>;
  /** Lists all files of a commit; empty if the model was removed or is not accessible. */
  listFiles(id: string, commit: string): Promise<readonly HubFile[]>;
  /** Posts to the hub's API; undefined if it refuses. */
  post(path: string, body: object): Promise<unknown>;
}
