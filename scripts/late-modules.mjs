// @ts-check
/**
 * Bundles modules so that each runs when an export of it is first used, as React Native's inline requires do.
 * A command uses few modules, and making the schemas of the others takes as long as its own work.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { transformSync } from 'esbuild';
import { libraryModules } from './library-modules.mjs';

/** esbuild's own functions at the top of a module. */
const helpers = /^(?:#!.*\n)?(?:var __\w+ = (?:.*;\n|[\s\S]*?\n(?:\}|\)\));\n))+/;

const exported =
  /^var stdin_exports = \{\};\n(?:__export\(stdin_exports, ([\s\S]*?\n\})\);\n)?module\.exports = .*\n/m;

const imported = /^var (\w+) = (?:__toESM\()?require\("([^"]+)"\)\)?;\n/gm;

/**
 * Turns a module into CommonJS that requires each import at its first use.
 *
 * @param {string} text
 * @param {'ts' | 'tsx'} loader
 * @param {(name: string) => boolean} isExternal true for packages whose default export `require` returns
 * @returns {{ code: string, used: [library: string, name: string][] }} also the uses of bundled libraries
 */
const withLateImports = (text, loader, isExternal) => {
  if (/^export (?:let|var)\b/m.test(text)) throw new Error('an exported variable would keep its first value');
  /** @type {RegExpMatchArray[]} */
  let own = [];
  let code = transformSync(text, {
    loader,
    format: 'cjs',
    // The bundle lowers syntax.
    target: 'esnext',
    supported: { 'dynamic-import': false },
    tsconfigRaw: { compilerOptions: { jsx: 'react-jsx', jsxImportSource: 'preact' } },
  })
    .code.replace(helpers, '')
    .replace(exported, (_, names = '') => {
      own = [...names.matchAll(/^ {2}(\w+): \(\) => (.+?),?$/gm)];
      return '';
    });
  // At the end, as plain properties, which are read faster than getters: no module imports itself by others
  // (test/imports.test.ts).
  code += `module.exports = { ${own
    .map(([, name, value = '']) =>
      /^\w+$/.test(value) ? `${name}: ${value}` : `get ${name}() { return ${value}; }`,
    )
    .join(', ')} };\n`;
  /** @type {[string, string][]} */
  const used = [];
  for (const [index, [line, local = '', from = '']] of [...code.matchAll(imported)].entries()) {
    const rest = code.replace(line, '');
    const uses = [
      ...rest.matchAll(
        new RegExp(`${local.startsWith('import_') ? '(?<![\\w$])' : '(?<![-.\\w$])'}${local}\\.(\\w+)`, 'g'),
      ),
    ];
    if (!from.startsWith('.') && !isExternal(from)) for (const [, name = ''] of uses) used.push([from, name]);
    // Short, because a module has many uses of its imports.
    const late = `$${index}`;
    const whole = new RegExp(`\\b${local}\\b${isExternal(from) ? '(?:\\.default\\b)?' : ''}`, 'g');
    // Required at once: an import for its effect, and a name that is also a word, as in `[a-z]`.
    code =
      uses.length === 0 || uses.length < [...rest.matchAll(whole)].length
        ? code.replace(line, () => `var ${local} = require("${from}");\n`)
        : `var ${late};\n${rest.replaceAll(whole, () => `(${late} ??= require("${from}"))`)}`;
  }
  code = code.replaceAll(/__toESM\((require\("[^"]+"\))\)/g, '$1');
  const left = /\b__(?:export|reExport|toESM|toCommonJS|copyProps)\b.*|\bstdin_exports\b.*/.exec(code);
  if (left !== null) throw new Error(`esbuild writes modules in another way: ${left[0]}`);
  return { code: `"use strict";\n${code}`, used };
};

/**
 * Makes the modules of `src` run late. Keeps only what they use of bundled libraries: esbuild would keep a
 * library whole that is required.
 *
 * @param {string} root
 * @param {readonly string[]} external
 * @param {(path: string, text: string) => string} edit applied to the text of each module
 * @returns {import('esbuild').Plugin}
 */
export const lateModules = (root, external, edit) => {
  const source = join(root, 'src');
  const isExternal = (/** @type {string} */ name) =>
    name.startsWith('node:') || external.some((one) => name === one || name.startsWith(`${one}/`));
  /** @type {Map<string, string>} */
  const modules = new Map();
  /** @type {Map<string, Set<string>>} */
  const libraries = new Map();
  for (const name of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    if (!/\.tsx?$/.test(name) || libraryModules.includes(name.replace(/\.tsx?$/, ''))) continue;
    const path = join(source, name);
    const text = edit(path, readFileSync(path, 'utf8'));
    const { code, used } = withLateImports(text, name.endsWith('x') ? 'tsx' : 'ts', isExternal);
    modules.set(name, code);
    for (const [library, one] of used) libraries.set(library, (libraries.get(library) ?? new Set()).add(one));
  }
  return {
    name: 'late modules',
    setup: ({ onLoad, onResolve }) => {
      // In a namespace, because esbuild takes files of this package for ES modules.
      onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
        const found = relative(source, join(resolveDir, path)).replace(/\.[jt]sx?$/, '');
        const file = [`${found}.ts`, `${found}.tsx`].find((one) => modules.has(one));
        return file === undefined ? undefined : { path: file, namespace: 'src' };
      });
      onLoad({ filter: /.*/, namespace: 'src' }, ({ path }) => ({
        contents: /** @type {string} */ (modules.get(path)),
        resolveDir: dirname(join(source, path)),
      }));
      onResolve({ filter: /^[^.]/ }, ({ path, namespace }) => {
        if (!libraries.has(path)) return undefined;
        if (namespace === 'used') return { path, namespace: 'picked' };
        return namespace === 'src' ? { path, namespace: 'used' } : undefined;
      });
      // Plain properties, which are read faster than the getters of an ES module.
      onLoad({ filter: /.*/, namespace: 'used' }, ({ path }) => ({
        contents: `module.exports = { ...require("${path}") };`,
      }));
      onLoad({ filter: /.*/, namespace: 'picked' }, ({ path }) => ({
        contents: `export { ${[...(libraries.get(path) ?? [])].join(', ')} } from "${path}";`,
        resolveDir: root,
      }));
    },
  };
};
