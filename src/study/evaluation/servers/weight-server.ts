import type { ServerClient } from './server-client.js';

export interface WeightServer {
  readonly title: string;
  /** Server's option that loads layerloom's code into its workers. */
  readonly option: string;
  /** Environment variables that the server gets with PYTHONPATH. */
  readonly variables: Readonly<Record<string, string>>;
  /** @throws ServerError */
  readonly model: (server: ServerClient) => Promise<{ readonly servedName: string; readonly root: string }>;
  /** Sends each worker a request of `parts.py`. @throws ServerError */
  readonly exchange: (server: ServerClient, request: object) => Promise<readonly string[]>;
  /** Empties the prefix cache and checks it. @throws ServerError */
  readonly emptyCache: (server: ServerClient, servedName: string) => Promise<void>;
}

/** A prompt longer than any server's prefix cache block. */
export const probe = 'layerloom '.repeat(100);
