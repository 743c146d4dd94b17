#!/usr/bin/env node
import { reasonOf } from '../core/base/errors/errors.js';
import { exitCodes } from '../core/base/errors/sentence.js';
import { type Wait, waits } from '../core/models/sources/hub/requests/session/waits.js';
import { note } from './print.js';
import { reportError, runCommandLine } from './run-command-line.js';

let isReaderGone = false;
// Shells report 141 for a program ended by SIGPIPE, which Node ignores.
process.once('exit', () => {
  if (isReaderGone) process.exitCode ||= 141;
});

// If the pipe of stdout is closed (`| head`), work continues, and only the exit code tells. Any other failed
// write is an error, even if the merge is complete.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') {
      isReaderGone ||= stream === process.stdout;
      return;
    }
    process.off('exit', endedUnsettled);
    process.stderr.write(`error: the output cannot be written: ${reasonOf(error)}\n`);
    process.exit(exitCodes.failed);
  });

const args = process.argv.slice(2);

// Reports waits even with --quiet, so that a waiting command is never silent.
waits.subscribe((message) => {
  const { seconds, reason } = message as Wait;
  note(`waiting ${seconds} s: ${reason}`);
});

// The bundle is CommonJS, without top-level await. Node exits if nothing can continue a command, for example
// after a forgotten promise; this is a failure.
const endedUnsettled = (): void => {
  process.exitCode = reportError(new Error('the command ended before its work was done'), args);
};
process.once('exit', endedUnsettled);

/** Maximum delay of the exit, in milliseconds, for work that libraries left behind. */
const graceMs = 2000;

/** Answers calls from other languages. */
const serve = async (...descriptors: string[]): Promise<number> =>
  (await import('./serve.js')).serve(...descriptors);

void (args[0] === 'serve-calls' ? serve(...args.slice(1)) : runCommandLine(args)).then((code) => {
  process.off('exit', endedUnsettled);
  process.exitCode = code;
  const endOnceWritten = () => {
    if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  };
  setInterval(endOnceWritten, graceMs).unref();
});
