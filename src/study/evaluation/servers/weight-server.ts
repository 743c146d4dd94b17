import type { AskedServer } from './asked-server.js';

/** A kind of server that takes weights: how one is started, and how it is asked. */
export interface WeightServer {
  /** Its program. */
  readonly title: string;
  /** The option of its command that brings our code into its workers. */
  readonly option: string;
  /** Variables of its process, besides where our code is. */
  readonly variables: Readonly<Record<string, string>>;
  /**
   * Returns the name by which it answers for its model, and the checkpoint that it was started for.
   *
   * @throws Fault
   */
  readonly model: (server: AskedServer) => Promise<{ readonly servedName: string; readonly root: string }>;
  /** Gives each worker a request of `parts.py`. Returns what each says. @throws Fault */
  readonly exchange: (server: AskedServer, request: object) => Promise<readonly string[]>;
  /** Empties its cache of prefixes, and sees that it is empty. @throws Fault */
  readonly emptyCache: (server: AskedServer, servedName: string) => Promise<void>;
}

/** Words of a prompt longer than a block of any cache of prefixes. */
export const probe = 'layerloom '.repeat(100);
