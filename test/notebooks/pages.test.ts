import { afterAll, beforeAll, describe, it } from 'vitest';
import { carryOutPage } from '../docs/carry-out.js';
import { fencesOf, pages } from '../docs/fences.js';
import { Workplace } from '../docs/workplace.js';
import { linkPackage, python, skipped } from './package.js';

// Of docs/python.md `npm run test:wheels` runs the programs, in each Python.
const withPython = pages.filter(
  (page) => page !== 'docs/python.md' && fencesOf(page).some(({ language }) => language === 'python'),
);

describe.skipIf(python === undefined)(`what a page shows in Python${skipped}`, () => {
  let workplace: Workplace;
  let fullSize: string;
  beforeAll(() => {
    workplace = new Workplace();
    fullSize = workplace.fullSizeDirectory();
  });
  afterAll(() => workplace.remove());

  it.for(withPython)('%s', (page) =>
    carryOutPage(page, { workplace, fullSize, python: `PYTHONPATH='${linkPackage()}' '${python}'` }),
  );
});
