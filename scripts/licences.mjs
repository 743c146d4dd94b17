// @ts-check
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns the licences and notices of the libraries in a bundle: each text once, with the names of its
 * libraries.
 *
 * @param {string} root
 * @param {import('esbuild').Metafile} metafile
 */
export const licencesOf = (root, { inputs }) => {
  const libraries = new Set(
    Object.keys(inputs).flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []),
  );
  /** @type {Map<string, string[]>} */
  const names = new Map();
  for (const library of [...libraries].sort()) {
    const files = readdirSync(join(root, library)).filter((file) =>
      /^(licen[cs]e|copying|notice)/i.test(file),
    );
    const { name, version, license } = JSON.parse(readFileSync(join(root, library, 'package.json'), 'utf8'));
    const texts = files.map((file) => readFileSync(join(root, library, file), 'utf8').trim());
    const text =
      texts.length > 0
        ? texts.join('\n\n')
        : `${license}, says its package.json; it has no file of its licence`;
    names.set(text, [...(names.get(text) ?? []), `${name} ${version}`]);
  }
  return [...names]
    .map(([text, those]) => `${those.join('\n')}\n\n${text}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
};
