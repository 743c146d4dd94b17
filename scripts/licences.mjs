// @ts-check
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns the licences of the libraries in a bundle, each text once.
 *
 * @param {string} root
 * @param {import('esbuild').Metafile} metafile
 */
export const licencesOf = (root, metafile) => {
  const libraries = new Set(
    Object.keys(metafile.inputs).flatMap(
      (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [],
    ),
  );
  /** @type {Map<string, string[]>} */
  const byText = new Map();
  for (const library of [...libraries].sort()) {
    const files = readdirSync(join(root, library)).filter((file) =>
      /^(licen[cs]e|copying|notice)/i.test(file),
    );
    if (files.length === 0) throw new Error(`${library} has no licence file`);
    const text = files.map((file) => readFileSync(join(root, library, file), 'utf8').trim()).join('\n\n');
    const { name, version } = JSON.parse(readFileSync(join(root, library, 'package.json'), 'utf8'));
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version}`]);
  }
  return [...byText]
    .map(([text, names]) => `${names.join('\n')}\n\n${text}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
};
