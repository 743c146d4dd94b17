#!/usr/bin/env node
import { exitCodes } from '../core/base/errors.js';
import { type Wait, waits } from '../core/models/sources/hub/requests/waits.js';
import { note } from './print.js';
import { reportError, runCommandLine } from './run-command-line.js';

/** The exit code that shells give a program whose reader has gone, which SIGPIPE ends. Node is sent none. */
const readerGone = 141;

// A closed pipe (`| head`) ends no work, and is not told of; but output was lost. Any other failed write is an error,
// although the merge itself may be complete.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') {
      if (stream === process.stdout)
        process.once('exit', () => {
          process.exitCode ||= readerGone;
        });
      return;
    }
    process.off('exit', endedUnsettled);
    process.stderr.write(`error: the output cannot be written: ${error.message}\n`);
    process.exit(exitCodes.failed);
  });

const args = process.argv.slice(2);

// Also with --quiet: a command that stands still is never silent.
waits.subscribe((message) => {
  const { seconds, reason } = message as Wait;
  note(`waiting ${seconds} s: ${reason}`);
});

// The bundle is CommonJS, which has no top-level await. Node ends once nothing is left that could continue a command,
// as where a promise is forgotten: such an end is no success, and is never silent.
const endedUnsettled = (): void => {
  process.exitCode = reportError(new Error('the command ended before its work was done'), args);
};
process.once('exit', endedUnsettled);

/** Milliseconds that what a library has left running keeps a command that has ended. */
const graceMs = 2000;

/** Answers calls of programs in other languages; loaded for these alone. */
const serve = async (descriptor?: string): Promise<number> => (await import('./serve.js')).serve(descriptor);

void (args[0] === 'serve-calls' ? serve(args[1]) : runCommandLine(args)).then((code) => {
  process.off('exit', endedUnsettled);
  process.exitCode = code;
  const endOnceWritten = () => {
    if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  };
  setInterval(endOnceWritten, graceMs).unref();
});
