// Follows every link of the built site, anchors too, from its first page. Links to other sites are not followed.
// It reads the files as a server would send them, since asking one for each link takes a minute.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Parser } from 'htmlparser2';

const dist = fileURLToPath(new URL('dist', import.meta.url));
const base = process.env.SITE_BASE ?? '/';
const origin = 'http://localhost';

const fileOf = (pathname) => {
  if (!pathname.startsWith(base)) return undefined;
  const path = join(dist, decodeURIComponent(pathname.slice(base.length)));
  return [path, `${path}.html`, join(path, 'index.html')].find(
    (file) => existsSync(file) && statSync(file).isFile(),
  );
};

const read = (file) => {
  const links = new Set();
  const anchors = new Set();
  if (!file.endsWith('.html')) return { links, anchors };
  const onopentag = (tag, { href, src, id, name }) => {
    for (const link of [href, src]) if (link !== undefined) links.add(link);
    for (const anchor of [id, tag === 'a' ? name : undefined]) if (anchor !== undefined) anchors.add(anchor);
  };
  new Parser({ onopentag }).end(readFileSync(file, 'utf8'));
  return { links, anchors };
};

/** Contents of each file that a link leads to. */
const files = new Map();
const checked = new Set();
const external = new Set();
const broken = [];

const waiting = [{ url: new URL(base, origin), parent: '' }];
for (const { url, parent } of waiting) {
  if (checked.has(url.href)) continue;
  checked.add(url.href);
  const file = fileOf(url.pathname);
  if (file !== undefined && !files.has(file)) {
    files.set(file, read(file));
    for (const link of files.get(file).links) {
      const next = new URL(link, url);
      if (next.origin === origin) waiting.push({ url: next, parent: url.pathname });
      else external.add(next.href);
    }
  }
  const anchor = decodeURIComponent(url.hash.slice(1));
  if (file === undefined || (anchor !== '' && !files.get(file).anchors.has(anchor)))
    broken.push(`${parent} links to ${url.pathname}${url.hash}`);
}

for (const link of broken) console.error(link);
console.log(`${checked.size} links checked, ${broken.length} broken, ${external.size} external`);
process.exitCode = broken.length > 0 || checked.size < 2 ? 1 : 0;
