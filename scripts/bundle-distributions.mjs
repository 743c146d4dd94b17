// @ts-check
/**
 * Bundles the functions of @stdlib that scores need into `dist/scores/stdlib.cjs`, and their licences into
 * `stdlib.licences.txt`: a package each, they would be most of an installation.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { licencesOf } from './licences.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const { metafile } = await build({
  stdin: {
    contents: `
      exports.binomialCdf = require('@stdlib/stats-base-dists-binomial-cdf');
      exports.tCdf = require('@stdlib/stats-base-dists-t-cdf');
      exports.padjust = require('@stdlib/stats-padjust');`,
    resolveDir: root,
  },
  absWorkingDir: root,
  outfile: 'dist/scores/stdlib.cjs',
  bundle: true,
  metafile: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
});
writeFileSync(join(root, 'dist/scores/stdlib.licences.txt'), licencesOf(root, metafile));
