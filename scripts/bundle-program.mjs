// @ts-check
/**
 * Bundles the library and the command line into `dist/cli/layerloom.cjs`, and the licences of the libraries in it into
 * `layerloom.licences.txt`. `dist/cli/start.cjs`, bundled too, loads it for the command, and for `dist/layerloom.js`, which
 * the package exports: one file is loaded and compiled in a third of the time of some hundred, and as CommonJS it can be
 * compiled from a cache. Worker threads load a bundle of their own, `dist/core/engine/threads/worker-entry.cjs`: Node's loader
 * of ES modules would start anew in each, which takes as long as all else that piscina and the worker do at a thread's
 * start. The modules in `dist/` are for tests and scripts.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { libraryModules } from './library-modules.mjs';
import { licencesOf } from './licences.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'dist/cli');

/**
 * Libraries that stay in node_modules, for they find files beside them, or few commands load them. All have a CommonJS
 * form, which every Node can `require`.
 */
const external = [
  '@huggingface/jinja',
  'detect-libc',
  'ml-matrix',
  'papaparse',
  'piscina',
  'preact',
  'preact-render-to-string',
  'undici',
];

/** What all bundles have in common: of CommonJS for Node. @satisfies {import('esbuild').BuildOptions} */
const bundled = /** @type {const} */ ({
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
});

/** Of those that are loaded often. @satisfies {import('esbuild').BuildOptions} */
const compact = /** @type {const} */ ({
  minifyWhitespace: true,
  minifySyntax: true,
  // Node prints the line of an error that nothing catches.
  lineLimit: 160,
  // V8 keeps a text of ASCII in half the memory, and reads it faster.
  charset: 'ascii',
});

/** Defines what `placesIn` puts in the place of `import.meta.url`. */
const banner = {
  js: `const urlOf$ = (file) => require('node:url').pathToFileURL(require('node:path').join(__dirname, file)).href;`,
};

/**
 * Makes `import.meta.url` that of the compiled file which a bundle replaces: files are found relative to it.
 *
 * @param {string} folder the bundle's
 * @returns {import('esbuild').Plugin}
 */
const placesIn = (folder) => ({
  name: 'places',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/src\/.*\.tsx?$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const compiled = join(root, 'dist', relative(join(root, 'src'), path)).replace(/\.tsx?$/, '.js');
      return {
        contents: text.replaceAll('import.meta.url', `urlOf$("${relative(folder, compiled)}")`),
        loader: path.endsWith('x') ? 'tsx' : 'ts',
      };
    }),
});

/**
 * Leaves the bundles of libraries apart, since few commands load them.
 *
 * @type {import('esbuild').Plugin}
 */
const libraries = {
  name: 'libraries',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\..*\.js$/ }, ({ path, resolveDir }) => {
      const module = relative(join(root, 'src'), join(resolveDir, path)).replace(/\.js$/, '');
      return libraryModules.includes(module) ? { path: `../${module}.cjs`, external: true } : undefined;
    }),
};

const { metafile, outputFiles } = await build({
  stdin: {
    contents: `exports.run = () => void require('./src/cli/main.ts');
      exports.library = () => require('./src/index.ts');`,
    resolveDir: root,
  },
  absWorkingDir: root,
  write: false,
  metafile: true,
  ...bundled,
  ...compact,
  // A compiled script has no `import()`; what is external has a CommonJS form.
  supported: { 'dynamic-import': false },
  external,
  // The default prefers CommonJS, of which nothing can be left out.
  mainFields: ['module', 'main'],
  conditions: ['import', 'module'],
  legalComments: 'none',
  banner,
  plugins: [placesIn(folder), libraries],
});

// The first line tells caches of compiled code which program this is.
const text = outputFiles.map((output) => output.text).join('');
const hash = createHash('sha256').update(text).digest('hex');
writeFileSync(join(folder, 'layerloom.cjs'), `// ${hash}\n${text}`);

await build({
  entryPoints: [join(root, 'src/cli/start.cts')],
  outfile: join(folder, 'start.cjs'),
  allowOverwrite: true,
  ...bundled,
  external: ['./layerloom.cjs'],
});

const threads = join(root, 'dist/core/engine/threads');

await build({
  entryPoints: [join(root, 'src/core/engine/threads/worker-entry.cts')],
  outfile: join(threads, 'worker-entry.cjs'),
  allowOverwrite: true,
  ...bundled,
  ...compact,
  external: ['detect-libc'],
  banner,
  plugins: [placesIn(threads)],
});

writeFileSync(join(folder, 'layerloom.licences.txt'), licencesOf(root, metafile));

const { library } = createRequire(import.meta.url)(join(folder, 'start.cjs'));
writeFileSync(
  join(root, 'dist/layerloom.js'),
  `import start from './cli/start.cjs';
export const { ${Object.keys(library()).join(', ')} } = start.library();
`,
);
