import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { slug } from 'github-slugger';
import { defineConfig } from 'vitepress';
import { llmsText } from '../../scripts/llms.mjs';
import { repositoryUrl, sourceLinks } from '../links.mjs';
import { generated, pageOf, presentGroups, root, sources, titleOf } from '../pages.mjs';
import { searchOptions } from '../search.mjs';
import { codeTabs } from '../tabs.mjs';

const pages = new Set(sources());

const link = (source) => `/${pageOf(source).replace(/\.md$/, '')}`;
const entry = (source) => ({ text: titleOf(source), link: link(source) });

/** The sidebar's entries of the generated pages. */
const outline = JSON.parse(readFileSync(`${root}${generated}sidebar.json`, 'utf8'));

const sidebar = presentGroups().map(({ title, sources: members, contributing }) => ({
  text: title,
  collapsed: false,
  items: [
    ...(title === 'Reference'
      ? [...outline.reference, { text: 'API, every name', link: '/reference/api/' }]
      : []),
    ...members.map(entry),
    ...(contributing.length === 0
      ? []
      : [{ text: 'Contributing', collapsed: true, items: contributing.map(entry) }]),
  ],
}));

/** Finds Vue for pages above this folder, from where its node_modules would not be searched. */
const vueOfPages = {
  name: 'vue-of-pages',
  enforce: 'pre',
  resolveId(id, importer, options) {
    if (!/^vue(\/|$)/.test(id)) return undefined;
    if (options.ssr) return { id, external: true };
    // The importer to resolve from must be a file that exists.
    return importer?.endsWith('.md')
      ? this.resolve(id, `${root}site/pages.mjs`, { ...options, skipSelf: true })
      : undefined;
  },
};

/** Puts each page's Markdown beside it, and llms.txt, whose links lead there, above them. */
const addTexts = ({ outDir }) => {
  for (const source of pages) {
    const place = join(outDir, pageOf(source));
    mkdirSync(dirname(place), { recursive: true });
    copyFileSync(join(root, source), place);
  }
  writeFileSync(join(outDir, 'llms.txt'), llmsText(pageOf));
  copyFileSync(join(root, 'skills/layerloom/SKILL.md'), join(outDir, 'SKILL.md'));
};

const back = { text: '← All pages', link: link('README.md') };

export default defineConfig({
  title: 'layerloom',
  description: 'Merges fine-tuned LLM checkpoints by layer swapping: exact, fast, small in memory',
  lang: 'en',
  // GitHub Pages serves a project below its name.
  base: process.env.SITE_BASE ?? '/',
  srcDir: '..',
  srcExclude: ['!(docs|site|bench|examples|tasks|test)/**/*.md', '!(README|CONTRIBUTING|CHANGELOG).md'],
  outDir: './dist',
  cacheDir: './.vitepress/cache',
  rewrites: (source) => (pages.has(source) ? pageOf(source) : source),
  lastUpdated: false,
  buildEnd: addTexts,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${process.env.SITE_BASE ?? '/'}mark.svg` }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // GitHub's anchors, so that a link to a heading works in the repository and on the site.
    anchor: { slugify: slug },
    config: (md) => {
      sourceLinks(md, pages);
      codeTabs(md);
    },
  },
  vite: {
    publicDir: `${root}site/public`,
    plugins: [vueOfPages],
  },
  themeConfig: {
    logo: '/mark.svg',
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { miniSearch: { searchOptions } } },
    sidebar: { '/': sidebar, '/reference/api/': [back, ...outline.api] },
    nav: [
      { text: 'Start', link: link('README.md') },
      { text: 'Questions', link: '/questions' },
      { text: 'Commands', link: '/reference/commands/' },
      { text: 'Recipes', link: '/reference/recipes' },
      { text: 'API', link: '/reference/api/' },
    ],
    ...(repositoryUrl === undefined ? {} : { socialLinks: [{ icon: 'github', link: repositoryUrl }] }),
  },
});
