import { afterAll, beforeAll, describe, it } from 'vitest';
import { carryOutPage } from '../docs/carry-out.js';
import { fencesOf, pages } from '../docs/fences.js';
import { Workplace } from '../docs/workplace.js';
import { linkPackage, python, skipped } from './package.js';

// `npm run test:wheels` runs docs/python.md in each Python, and `npm run test:frames` runs docs/frames.md.
const elsewhere = ['docs/python.md', 'docs/frames.md'];
const withPython = pages.filter(
  (page) => !elsewhere.includes(page) && fencesOf(page).some(({ language }) => language === 'python'),
);

describe.skipIf(python === undefined)(`what a page shows in Python${skipped}`, () => {
  let workplace: Workplace;
  let fullSize: string;
  beforeAll(() => {
    workplace = new Workplace();
    fullSize = workplace.fullSizeDirectory();
  });
  afterAll(() => workplace.remove(), 600_000);

  it.for(withPython)('%s', (page) =>
    carryOutPage(page, { workplace, fullSize, python: `PYTHONPATH='${linkPackage()}' '${python}'` }),
  );
});
