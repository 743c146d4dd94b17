import type { ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { isPlainWord, shellWord } from '../../../core/base/errors/command-line.js';
import { checkInterrupt, LayerloomError, reasonOf } from '../../../core/base/errors/errors.js';
import { openToAppend } from '../../../core/engine/output/durable.js';
import { endGroup, spawnGroup } from '../../../core/programs/process.js';

export interface ModelServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
}

interface ServerSettings {
  /** Shell command with the placeholders `{model}`, `{name}` and `{port}`. */
  readonly command: string;
  readonly model: string;
  readonly name: string;
  readonly log: string;
  readonly timeoutSeconds: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

interface ServerWords {
  readonly model: string;
  readonly name: string;
  readonly port: number;
}

const variableOf = (key: keyof ServerWords): string => `LAYERLOOM_${key.toUpperCase()}`;

const variablesOf = (words: ServerWords): Record<string, string> =>
  Object.fromEntries(
    (['model', 'name', 'port'] as const).map((key) => [variableOf(key), String(words[key])]),
  );

const piece = /\\.|['"]|\{(?<key>model|name|port)\}/gs;

/**
 * Fills in the placeholders of a command. Names come from other people's files, so outside quotes `spell` makes a
 * single shell word. Inside quotes another shell may parse the name (`sh -c "… {name}"`), so special characters are
 * refused.
 */
const withWords = (
  command: string,
  words: ServerWords,
  spell: (key: keyof ServerWords) => string,
): string => {
  let quote: string | undefined;
  return command.replace(piece, (text, key: keyof ServerWords | undefined) => {
    if (key === undefined) {
      if (text === quote) quote = undefined;
      else if (text.length === 1) quote ??= text;
      // In single quotes a backslash is literal, and the next quote ends them.
      else if (quote === "'" && text.endsWith("'")) quote = undefined;
      return text;
    }
    if (quote === undefined) return spell(key);
    const word = String(words[key]);
    if (isPlainWord(word)) return word;
    throw new LayerloomError('SERVER_UNSAFE', { key, word, variable: variableOf(key) });
  });
};

/**
 * Fills in a command for the user to copy.
 *
 * @throws SERVER_UNSAFE
 */
export const serverCommand = (command: string, words: ServerWords): string =>
  withWords(command, words, (key) => shellWord(String(words[key])));

const askEveryMs = 250;

/**
 * Starts a server and waits until `GET /v1/models` answers with a status below 500. Servers that need a key
 * (OPENAI_API_KEY, which the harness sends) or list no models thus count as ready; a loading server answers
 * 503. Disposing ends all its processes.
 *
 * @throws SERVER_UNSAFE; SERVER_FAILED if it ends, or does not answer in time; INTERRUPTED
 */
export const startServer = async (settings: ServerSettings): Promise<ModelServer> => {
  const { command, model, name, log, timeoutSeconds, environment, signal } = settings;
  const port = await freePort();
  const words = { model, name, port };
  const text = withWords(command, words, (key) => `"$${variableOf(key)}"`);
  const file = await openToAppend(log);
  const env = { ...process.env, ...environment, ...variablesOf(words) };
  let child: ChildProcess;
  try {
    child = spawnGroup(text, [], { output: file.fd, env });
  } catch (error) {
    await file.close();
    throw error;
  }
  let ended: string | undefined;
  child.once('error', (error) => {
    ended = reasonOf(error);
  });
  child.once('exit', (code, by) => {
    ended = by === null ? `it ended with exit code ${code}` : `it was ended by ${by}`;
  });
  await file.close();
  const url = `http://127.0.0.1:${port}`;
  const stop = () => endGroup(child);
  try {
    const deadline = performance.now() + timeoutSeconds * 1000;
    while (!(await answers(`${url}/v1/models`))) {
      checkInterrupt(signal);
      const reason =
        ended ?? (performance.now() > deadline ? `it did not answer within ${timeoutSeconds} s` : undefined);
      if (reason !== undefined) throw new LayerloomError('SERVER_FAILED', { model: name, reason, log });
      await pause(askEveryMs, undefined, { signal }).catch(() => undefined);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, [Symbol.asyncDispose]: stop };
};

const answers = async (url: string): Promise<boolean> => {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.body?.cancel();
    return response.status < 500;
  } catch {
    // The server does not listen yet.
    return false;
  }
};

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port);
        else reject(new Error('no port is free'));
      });
    });
  });
