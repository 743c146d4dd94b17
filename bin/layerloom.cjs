#!/usr/bin/env node
'use strict';

// The command's first file, in syntax that Node 10 parses: an older Node than the package needs gets one message,
// where importing the program would end in errors of its syntax.
const oldest = 20;

if (Number(process.versions.node.split('.')[0]) < oldest) {
  process.stderr.write(
    `error: layerloom needs Node.js ${oldest} or later, and this is ${process.version} at ${process.execPath}; install a newer one\n`,
  );
  process.exitCode = 1;
} else if (/^(--version|-V)$/.test(process.argv.slice(2).join(' '))) {
  // Answered here, since scripts ask it often: it needs nothing of the program. A reader that is gone ends it as SIGPIPE
  // would, as other commands (src/cli/main.ts).
  process.stdout.on('error', () => {
    process.exitCode = 141;
  });
  process.stdout.write(`${require('../package.json').version}\n`);
} else {
  require('../dist/cli/start.cjs').run();
}
