import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository, whose Markdown files the site shows where they are. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** Folder of the pages that are generated before the site is built; git ignores it. */
export const generated = 'site/generated/';

/**
 * Groups of the sidebar, with the sources of their pages in reading order. `rest` takes the pages of docs/ that no
 * group names, so that a new one is on the site at once; `contributing` is a folded list at the end.
 *
 * @type {readonly { title: string; sources: readonly string[]; rest?: boolean; contributing?: readonly string[] }[]}
 */
export const groups = [
  {
    title: 'Start',
    sources: [
      'README.md',
      'docs/install.md',
      'docs/which-command.md',
      'docs/command-line.md',
      'docs/tutorials/mergekit.md',
      'docs/tutorials/paper.md',
      'docs/tutorials/python.md',
      'docs/tutorials/node.md',
      'examples/notebooks/README.md',
      'docs/questions.md',
    ],
  },
  {
    title: 'Merge',
    sources: [
      'docs/method.md',
      'docs/methods.md',
      'docs/choosing-layers.md',
      'docs/parts.md',
      'docs/published.md',
      'docs/mergekit-recipes.md',
      'docs/checkpoints.md',
      'docs/mixtures.md',
      'docs/adapter-merges.md',
      'docs/tokenizers.md',
      'docs/transplant.md',
      'docs/again.md',
    ],
    rest: true,
  },
  {
    title: 'Look',
    sources: [
      'docs/analysis.md',
      'docs/diff.md',
      'docs/verify.md',
      'docs/proof.md',
      'docs/when-merging-fails.md',
    ],
  },
  {
    title: 'Study',
    sources: [
      'docs/experiments.md',
      'docs/clusters.md',
      'docs/evaluation.md',
      'docs/tables.md',
      'docs/report.md',
      'docs/bundle.md',
      'docs/search.md',
      'docs/frames.md',
      'docs/training.md',
      'docs/partition.md',
      'docs/modular.md',
    ],
  },
  {
    title: 'Formats',
    sources: [
      'docs/files.md',
      'docs/folders.md',
      'docs/hub.md',
      'docs/families.md',
      'docs/adapters.md',
      'docs/extract-lora.md',
      'docs/quantised.md',
      'docs/gguf.md',
    ],
  },
  {
    title: 'Reference',
    sources: [
      'docs/api.md',
      'docs/python.md',
      'docs/errors.md',
      'docs/numbers.md',
      'docs/parity.md',
      'bench/RESULTS.md',
      'CHANGELOG.md',
    ],
    contributing: [
      'CONTRIBUTING.md',
      'docs/architecture.md',
      'docs/prebuilds.md',
      'test/peers/README.md',
      'tasks/README.md',
      'examples/demo/README.md',
      'examples/real-experts/README.md',
      'examples/modular/README.md',
      'examples/custom-method/README.md',
    ],
  },
];

/** Markdown files in a folder of the repository and the folders below it. */
const markdownIn = (/** @type {string} */ folder) =>
  existsSync(`${root}${folder}`)
    ? readdirSync(`${root}${folder}`, { recursive: true })
        .map(String)
        .filter((file) => file.endsWith('.md'))
        .map((file) => `${folder}${file.replaceAll('\\', '/')}`)
        .sort()
    : [];

const named = new Set(groups.flatMap(({ sources, contributing = [] }) => [...sources, ...contributing]));

/** The groups with the pages that are there. */
export const presentGroups = () => {
  const rest = markdownIn('docs/').filter((source) => !named.has(source));
  const present = (/** @type {readonly string[]} */ files) =>
    files.filter((file) => existsSync(`${root}${file}`));
  return groups.map(({ title, sources, rest: takesRest, contributing = [] }) => ({
    title,
    sources: [...present(sources), ...(takesRest ? rest : [])],
    contributing: present(contributing),
  }));
};

/** Every page, as a path in the repository. Dead links are found by what is missing here. */
export const sources = () => [
  'site/index.md',
  ...presentGroups().flatMap((group) => [...group.sources, ...group.contributing]),
  ...markdownIn(generated),
];

/** A page's place on the site, from its path in the repository. */
export const pageOf = (/** @type {string} */ source) => {
  /** @type {Readonly<Record<string, string>>} */
  const elsewhere = {
    'site/index.md': 'index.md',
    'README.md': 'overview.md',
    'CONTRIBUTING.md': 'contributing.md',
    'CHANGELOG.md': 'changelog.md',
    'bench/RESULTS.md': 'measurements.md',
  };
  return (
    elsewhere[source] ??
    source
      .replace(/^docs\//, '')
      .replace(/^site\/generated\//, 'reference/')
      .replace(/\/README\.md$/, '.md')
  );
};

/** The first heading of a page, without its code marks. */
export const titleOf = (/** @type {string} */ source) => {
  const [, heading] = /^# (.+)$/m.exec(readFileSync(`${root}${source}`, 'utf8')) ?? [];
  if (heading === undefined) throw new Error(`${source}: a page begins with a heading: # Title`);
  return source === 'README.md' ? 'Overview' : heading.replaceAll('`', '');
};

/**
 * The page or file that a relative link of a source means, as a path in the repository.
 *
 * @param {string} source
 * @param {string} href
 */
export const targetOf = (source, href) => {
  const [path = '', anchor] = href.split('#');
  return { path: posix.join(posix.dirname(source), decodeURI(path)), anchor };
};
