// @ts-check
// A process of schedules.mjs: runs command lines from standard input one after another, taking turns with other
// processes, and prints their output as JSON.
import { readSync, writeSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import './in-this-thread.mjs';
import { say } from './seam.mjs';

/**
 * A command to run: the process of the schedule that it is, and how far its host's clock is ahead.
 *
 * @typedef {{ readonly words: readonly string[]; readonly process?: number; readonly age?: number;
 *   readonly clock?: number }} Job
 */

const [dist = '', sandbox = '', turns = ''] = process.argv.slice(2);
const { runCommandLine } = await import(pathToFileURL(join(dist, 'cli/run-command-line.js')).href);

/** @param {object} message */
const tell = (message) => {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length; )
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      // The reader is slow.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
};

/** The next line of standard input. Blocks the whole process: between commands it does nothing. */
const lines = (function* () {
  const chunk = Buffer.alloc(65536);
  let text = '';
  for (;;) {
    const read = readSync(0, chunk);
    if (read === 0) return;
    text += chunk.toString('utf8', 0, read);
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      yield text.slice(0, end);
      text = text.slice(end + 1);
    }
  }
})();

const into = (/** @type {'stdout' | 'stderr'} */ stream) =>
  /** @type {typeof process.stdout.write} */ (
    (text, ...rest) => {
      tell({ [stream]: String(text) });
      const last = rest.at(-1);
      if (typeof last === 'function') last();
      return true;
    }
  );
process.stdout.write = into('stdout');
process.stderr.write = into('stderr');

say('root', sandbox);
say('on');
// Makes libuv's pool thread known before the first turn.
await stat(sandbox);
tell({ ready: true });
for (const line of lines) {
  /** @type {Job} */
  const { words, process: number, age, clock } = JSON.parse(line);
  say('begin');
  if (age !== undefined) say('age', age);
  if (clock !== undefined) say('clock', clock);
  if (number !== undefined) say('join', turns, number);
  const code = await runCommandLine([...words, '--json']).catch((/** @type {unknown} */ error) =>
    String(error),
  );
  say('leave');
  tell({ code });
}
