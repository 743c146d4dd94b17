import { existsSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { pageOf, root, targetOf } from './pages.mjs';

const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Address of the repository in a browser, or undefined while package.json names none. */
export const repositoryUrl = (repository?.url ?? repository)?.replace(/^git\+/, '').replace(/\.git$/, '');

const isRelative = (href) => !/^([a-z][a-z0-9+.-]*:|\/|#)/i.test(href);

/**
 * Makes links between Markdown files, which are relative to where the files are in the repository, into links
 * between pages. A link to a file that is no page leads to the repository; without its address the text stays.
 *
 * @param md the parser, of markdown-it
 * @param pages sources of all pages
 */
export const sourceLinks = (md, pages) => {
  md.core.ruler.push('source_links', ({ tokens, env }) => {
    // The search index renders pages without their path and drops links.
    if (env.realPath === undefined) return;
    const source = relative(root, env.realPath).replaceAll('\\', '/');
    for (const { children } of tokens)
      for (const [index, token] of (children ?? []).entries())
        if (token.type === 'link_open' && isRelative(token.attrGet('href')))
          follow(source, token, children.indexOf(children.slice(index).find(isClose)), children, pages);
  });
};

const isClose = ({ type }) => type === 'link_close';

const follow = (source, token, close, children, pages) => {
  const href = token.attrGet('href');
  const { path, anchor } = targetOf(source, href);
  const page = [path, posix.join(path, 'README.md')].find((candidate) => pages.has(candidate));
  if (page !== undefined)
    token.attrSet('href', `/${pageOf(page)}${anchor === undefined ? '' : `#${anchor}`}`);
  else if (!existsSync(join(root, path))) throw new Error(`${source}: there is no ${path} (${href})`);
  else if (repositoryUrl !== undefined) token.attrSet('href', `${repositoryUrl}/blob/main/${path}`);
  else for (const part of [token, children[close]]) Object.assign(part, { type: 'text', content: '' });
};
