/** Bundles scripts and styles into `dist/study/pages/assets`, to be inlined into each page. */

import { build } from 'esbuild';

await build({
  entryPoints: {
    analysis: 'src/study/pages/components/analysis-entry.tsx',
    comparison: 'src/study/pages/components/comparison-entry.tsx',
    report: 'src/study/pages/components/report-entry.tsx',
    pages: 'src/study/pages/components/pages.css',
  },
  absWorkingDir: new URL('..', import.meta.url).pathname,
  outdir: 'dist/study/pages/assets',
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  // Names of private fields, by MiniSearch's convention. No page data has such names.
  mangleProps: /^_[a-z]{2}/,
  charset: 'utf8',
  legalComments: 'inline',
  banner: {
    js: '/* Contains Preact (MIT, Jason Miller), d3-scale and its dependencies (ISC, Mike Bostock) and MiniSearch (MIT, Luca Ongaro). */',
  },
  jsx: 'transform',
  jsxFactory: 'h',
  jsxFragment: 'Fragment',
  inject: ['scripts/jsx.mjs'],
  // Without this, esbuild would use the JSX runtime of tsconfig.json, which is for Node.
  tsconfigRaw: {},
  logLevel: 'warning',
});
