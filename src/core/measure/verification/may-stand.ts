/**
 * Files that may stand in an output although no merge wrote them: those that people, git and the hub's client put there, and
 * that nothing reads which loads a model. All else is damage, since each loader looks for names of its own.
 */
const files: readonly RegExp[] = [
  // The card, whose recipe is compared.
  /^README\.md$/,
  /^(LICEN[CS]E|NOTICE|COPYING|USE_POLICY)([-_][A-Za-z0-9_-]{1,40})?(\.(txt|md|pdf))?$/,
  /^CITATION\.(cff|bib)$/,
  /^\.git(attributes|ignore)$/,
  // A work tree's link to its repository.
  /^\.git$/,
];

/**
 * File managers write them into each folder that somebody looks at. macOS's copies of attributes, `._NAME`, are not on the list:
 * some loaders take them for weights.
 */
const ofFileManagers = /^(\.DS_Store|Thumbs\.db|desktop\.ini)$/;

const picture = /^[^./\\\p{C}][^/\\\p{C}]{0,120}\.(png|jpe?g|gif|svg|webp)$/u;

/** Folders of a card's pictures. */
const pictureFolders = new Set(['assets', 'figures', 'images', 'media', 'pictures']);

/** Folders of programs, which are not looked into. */
const cacheFolders = new Set(['.git', '.cache/huggingface', '.huggingface']);

/** True if a file may stand in an output that did not have it. @param path from the output's folder, with `/` */
export const mayStand = (path: string): boolean => {
  const parts = path.split('/');
  const [folder = '', name = '', ...deeper] = parts;
  if (ofFileManagers.test(parts.at(-1) ?? '')) return true;
  if (parts.length === 1) return picture.test(path) || files.some((known) => known.test(path));
  return deeper.length === 0 && pictureFolders.has(folder) && picture.test(name);
};

/** Tells whether a folder that no merge wrote is a program's own, one to look into, or one that may not stand there. */
export const kindOfFolder = (path: string): 'cache' | 'open' | 'foreign' => {
  if (cacheFolders.has(path)) return 'cache';
  return path === '.cache' || pictureFolders.has(path) ? 'open' : 'foreign';
};
