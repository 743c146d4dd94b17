// @ts-check
/**
 * Bundles the library and the command line into `dist/cli/layerloom.cjs`, with licences in
 * `layerloom.licences.txt`. `dist/cli/start.cjs` loads it for the command and for the exported
 * `dist/layerloom.js`. A single file loads and compiles three times as fast as a hundred; as CommonJS, its
 * compiled code can be cached.
 *
 * Worker threads load their own bundle, `dist/core/engine/threads/worker-entry.cjs`: starting Node's ES module
 * loader in each thread takes as long as the rest of its start. The modules in `dist/` are for tests and
 * scripts.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { lateModules } from './late-modules.mjs';
import { libraryModules } from './library-modules.mjs';
import { licencesOf } from './licences.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'dist/cli');

/**
 * Libraries that stay in node_modules, because they need files beside them or few commands load them. All
 * have a CommonJS form.
 */
const external = [
  '@huggingface/jinja',
  'ml-matrix',
  'papaparse',
  'piscina',
  'preact',
  'preact-render-to-string',
  'undici',
];

/** Shared options: CommonJS for Node. @satisfies {import('esbuild').BuildOptions} */
const bundled = /** @type {const} */ ({
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
});

/** For bundles that are loaded often. @satisfies {import('esbuild').BuildOptions} */
const compact = /** @type {const} */ ({
  minifyWhitespace: true,
  minifySyntax: true,
  // Keeps lines short: Node prints the source line of an uncaught error.
  lineLimit: 160,
  // V8 stores ASCII in half the memory, and reads it faster.
  charset: 'ascii',
});

/**
 * Defines `urlOf$`, which `placesIn` substitutes for `import.meta.url`, and spares Node's modules behind
 * `createRequire` and `performance`, which take 1.5 ms to load.
 */
const substituted = {
  define: { 'performance.now': 'now$' },
  banner: {
    js: `const requireHere$ = require;
const now$ = () => { const [seconds, rest] = process.hrtime(); return seconds * 1e3 + rest / 1e6; };
const urlOf$ = (file) => require('node:url').pathToFileURL(require('node:path').join(__dirname, file)).href;`,
  },
};

/**
 * Makes `import.meta.url` that of the replaced compiled file: files are found relative to it.
 *
 * @param {string} folder the bundle's
 * @returns {import('esbuild').Plugin}
 */
const placesIn = (folder) => ({
  name: 'places',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/src\/.*\.tsx?$/ }, async ({ path }) => ({
      contents: placesOf(folder, path, await readFile(path, 'utf8')),
      loader: path.endsWith('x') ? 'tsx' : 'ts',
    })),
});

/** @param {string} folder @param {string} path @param {string} text */
const placesOf = (folder, path, text) => {
  const compiled = join(root, 'dist', relative(join(root, 'src'), path)).replace(/\.tsx?$/, '.js');
  return text
    .replaceAll('createRequire(import.meta.url)', 'requireHere$')
    .replaceAll('import.meta.url', `urlOf$("${relative(folder, compiled)}")`);
};

/** Keeps the bundles of libraries separate, since few commands load them. @type {import('esbuild').Plugin} */
const libraries = {
  name: 'libraries',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\..*\.js$/ }, ({ path, resolveDir }) => {
      const module = relative(join(root, 'src'), join(resolveDir, path)).replace(/\.js$/, '');
      return libraryModules.includes(module) ? { path: `../${module}.cjs`, external: true } : undefined;
    }),
};

/** Loads `child_process` at its first use: few commands start processes. @type {import('esbuild').Plugin} */
const lateProcesses = {
  name: 'late processes',
  setup: ({ onLoad }) =>
    onLoad(
      { filter: /\/(?:commander\/lib\/command|detect-libc\/lib\/detect-libc)\.js$/ },
      async ({ path }) => {
        const text = await readFile(path, 'utf8');
        const line = /^const childProcess = (require\('[\w:]+'\));\n/m;
        const [whole, call = ''] = line.exec(text) ?? [];
        if (whole === undefined) throw new Error(`${path} loads child_process in another way`);
        return { contents: text.replace(whole, '').replaceAll(/\bchildProcess\b/g, call) };
      },
    ),
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
  // A compiled script has no `import()`, so external libraries need a CommonJS form.
  supported: { 'dynamic-import': false },
  external,
  // The default prefers CommonJS, which cannot be tree-shaken.
  mainFields: ['module', 'main'],
  conditions: ['import', 'module'],
  legalComments: 'none',
  ...substituted,
  plugins: [
    lateProcesses,
    libraries,
    lateModules(root, external, (path, text) => placesOf(folder, path, text)),
  ],
});

/**
 * Escapes characters in regular expressions and templates that `charset` leaves, because `start.cts` reads a
 * byte as a character.
 *
 * @param {string} code
 */
const inAscii = (code) => {
  if (/\\[^\0-\x7f]/.test(code)) throw new Error('a backslash escapes a character outside ASCII');
  return code.replaceAll(
    /[^\0-\x7f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
};

/**
 * Gives esbuild's functions of modules one name: an object with a name of its own for each of 1,400 modules takes V8
 * 7 ms at each start.
 *
 * @param {string} code
 */
const withOneName = (code) => code.replaceAll(/\b(__(?:commonJS|esm)\(\{\s*)"[^"]+"\(/g, '$1m(');

// The first line identifies the program for caches of compiled code.
const body = withOneName(inAscii(outputFiles.map((output) => output.text).join('')));
// As a script it is a function that is called once; required, it calls itself.
const text = `(body => typeof arguments === 'object' ? body(exports, require, module, __filename, __dirname) : body)(
function (exports, require, module, __filename, __dirname) {${body}
})`;
const hash = createHash('sha256').update(text).digest('hex');
mkdirSync(folder, { recursive: true });
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
  ...substituted,
  plugins: [lateProcesses, placesIn(threads)],
});

writeFileSync(join(folder, 'layerloom.licences.txt'), licencesOf(root, metafile));

const { library } = createRequire(import.meta.url)(join(folder, 'start.cjs'));
writeFileSync(
  join(root, 'dist/layerloom.js'),
  // Node would parse an imported CommonJS file for its exports.
  `import { createRequire } from 'node:module';
const start = createRequire(import.meta.url)('./cli/start.cjs');
export const { ${Object.keys(library()).join(', ')} } = start.library();
`,
);
