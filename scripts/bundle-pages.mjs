/**
 * Bundles the scripts and the style of the pages into `dist/report/assets`, which the code that writes pages
 * inlines. Everything a page needs is in its own file.
 */

import { build } from 'esbuild';

await build({
  entryPoints: {
    analysis: 'src/report/pages/analysis-entry.tsx',
    report: 'src/report/pages/report-entry.tsx',
    pages: 'src/report/pages/pages.css',
  },
  absWorkingDir: new URL('..', import.meta.url).pathname,
  outdir: 'dist/report/assets',
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'inline',
  banner: {
    js: '/* Contains Preact (MIT, Jason Miller), d3-scale and its dependencies (ISC, Mike Bostock) and MiniSearch (MIT, Luca Ongaro). */',
  },
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
});
