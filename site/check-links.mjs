// Follows every link of the built site, anchors too, from its first page. Links to other sites are not followed.

import { LinkChecker, LinkState } from 'linkinator';
import { serve } from 'vitepress';

const base = process.env.SITE_BASE ?? '/';
const port = 4179;
const origin = `http://localhost:${port}`;

const app = await serve({ root: import.meta.dirname, base, port });
const checker = new LinkChecker();
const { links } = await checker.check({
  path: `${origin}${base}`,
  recurse: true,
  checkFragments: true,
  concurrency: 20,
  retryErrors: true,
  linksToSkip: [`^(?!${origin})`],
});
app.server.close();

const checked = links.filter(({ state }) => state !== LinkState.SKIPPED);
const broken = checked.filter(({ state }) => state === LinkState.BROKEN);
for (const { url, parent, status } of broken)
  console.error(`${parent?.replace(origin, '')} links to ${url.replace(origin, '')} (${status})`);
console.log(
  `${checked.length} links checked, ${broken.length} broken, ${links.length - checked.length} external`,
);
process.exitCode = broken.length > 0 || checked.length < 2 ? 1 : 0;
