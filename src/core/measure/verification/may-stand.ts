/**
 * Files that people, git or the hub's client add to an output and no loader reads. Any other added file counts as
 * damage, because some loader may look for its name.
 */
const files: readonly RegExp[] = [
  // The model card, whose recipe is compared.
  /^README\.md$/,
  /^(LICEN[CS]E|NOTICE|COPYING|USE_POLICY)([-_][A-Za-z0-9_-]{1,40})?(\.(txt|md|pdf))?$/,
  /^CITATION\.(cff|bib)$/,
  /^\.git(attributes|ignore)$/,
  // Statement and signature. Attestation checks them.
  /^(layerloom\.intoto\.jsonl|model\.sig)$/,
  // A work tree's pointer to its repository.
  /^\.git$/,
];

/**
 * File managers write these into the folders that they show. Copies of attributes by macOS, `._NAME`, are not
 * allowed: some loaders take them for weights.
 */
const ofFileManagers = /^(\.DS_Store|Thumbs\.db|desktop\.ini)$/;

const picture = /^[^./\\\p{C}][^/\\\p{C}]{0,120}\.(png|jpe?g|gif|svg|webp)$/u;

const pictureFolders = new Set(['assets', 'figures', 'images', 'media', 'pictures']);

/** Folders of programs, which are never searched. */
const cacheFolders = new Set(['.git', '.cache/huggingface', '.huggingface']);

/** @param path from the output's folder, with `/` */
export const mayStand = (path: string): boolean => {
  const parts = path.split('/');
  const [folder = '', name = '', ...deeper] = parts;
  if (ofFileManagers.test(parts.at(-1) ?? '')) return true;
  if (parts.length === 1) return picture.test(path) || files.some((known) => known.test(path));
  return deeper.length === 0 && pictureFolders.has(folder) && picture.test(name);
};

/** Distinguishes a program's cache, folders to search (`open`), and folders that are not allowed. */
export const kindOfFolder = (path: string): 'cache' | 'open' | 'foreign' => {
  if (cacheFolders.has(path)) return 'cache';
  return path === '.cache' || pictureFolders.has(path) ? 'open' : 'foreign';
};
